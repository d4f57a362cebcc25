/* gate_licence.c — what is known of the model, what its licence permits, and who consented: out of its provenance volume and of the consents
 * of scopes. */
#include <inttypes.h>
#include <string.h>

#include "govern/consent.h"
#include "govern/gate.h"
#include "model/model.h"
#include "prove/prove_check.h"
#include "prove/prove_model.h"

/* ---------------------------------------------------------------- consents of scopes */

/* True when every scope with a consent has one that holds. */
static bool judge_scopes(const request *r, const trusted_keys *keys, gate_result *out) {
    char path[POLICY_PATH_SIZE];
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        const policy_scope *scope = r->scopes[i].is;
        error_context err = {0};
        if (scope == NULL || scope->consent == NULL) {
            continue;
        }
        qn_status status = policy_resolve(r->rules, scope->consent, path, &err);
        status = status < 0 ? status : consent_judge_file(r, path, r->scopes[i].name, keys, &err);
        if (status < 0) {
            gate_say(out, VERDICT_BLOCK, CODE_CONSENT, "scope %s: %s", r->scopes[i].name, error_text(&err));
            return false;
        }
    }
    return true;
}

/* ---------------------------------------------------------------- the model */

/* The first use that the policy needs and the licence does not permit; null when there is none. */
static const char *find_forbidden(const request *r, const prove_reading *reading) {
    const policy_words *uses = &r->rules->is.provenance.uses;
    for (uint32_t i = 0; i < uses->n_items; i++) {
        uint64_t at = 0, licence;
        bool is_permitted = false;
        while (!is_permitted && prove_next_of_type(reading, "q42m:Licence", &at, &licence)) {
            fmt_str text;
            for (uint32_t k = 0; k < PROVE_N_USES; k++) {
                is_permitted = is_permitted || (prove_get_text(reading, licence, "q42m:permitsUse", k, &text) &&
                                                prove_text_is(text, uses->items[i]));
            }
        }
        if (!is_permitted) {
            return uses->items[i];
        }
    }
    return NULL;
}

static void judge_report(const request *r, const prove_report *report, const prove_reading *reading, const trusted_keys *keys,
                         gate_result *out) {
    const char *why = NULL, *forbidden;
    error_context err = {0};
    if (!prove_meets(report, r->rules->is.provenance.level, r->rules->is.provenance.require_signature, &why)) {
        gate_say(out, VERDICT_BLOCK, CODE_MODEL_PROVENANCE, "level %u%s: %s", report->level, report->is_authenticated ? "" : ", unauthenticated",
                 why);
    } else if ((forbidden = find_forbidden(r, reading)) != NULL) {
        gate_say(out, VERDICT_BLOCK, CODE_LICENCE, "no licence of the model permits %s", forbidden);
    } else if (r->rules->is.provenance.require_consent && consent_judge_model(r, reading, keys, &err) < 0) {
        gate_say(out, VERDICT_BLOCK, CODE_CONSENT, "%s", error_text(&err));
    } else {
        gate_say(out, VERDICT_PASS, CODE_NONE, "level %u%s", report->level, report->is_authenticated ? "" : ", unauthenticated");
    }
}

static qn_status look_at_model(request *r, const trusted_keys *keys, gate_result *out, error_context *err) {
    char path[PROVE_PATH_SIZE];
    prove_report report;
    prove_reading reading = {0};
    const model_options how = {.mode = FMT_MODE_DEFAULT, .container_only = true, .skip_integrity = true, .skip_weight_check = true};
    model *m = NULL;
    if (r->model_path == NULL || !prove_path_of(r->model_path, path)) {
        return FAIL(err, QN_NOT_FOUND, "there is no model to ask about");
    }
    QN_TRY(model_open(r->model_path, &how, r->world.workers, &m, err), err, "looking at the model");
    const prove_check_options options = {.p64 = &m->p64, .p64_path = r->model_path, .volume_path = path, .keys = keys, .now_ms = r->now_ms};
    qn_status status = QN_OK;
    if (m->format == MODEL_P64) {
        status = prove_check(&options, &report, &reading, err);
    } else {
        prove_report_nothing(&report, "a provenance volume is about a P64, and this file is a GGUF");
    }
    if (status >= 0) {
        judge_report(r, &report, &reading, keys, out);
    }
    prove_read_close(&reading);
    model_close(m);
    return status;
}

static bool asks_of_model(const request *r) {
    const policy_values *is = &r->rules->is;
    return is->provenance.level > 0 || is->provenance.require_signature || is->provenance.require_consent || is->provenance.uses.n_items > 0;
}

void gate_licence(request *r, gate_result *out) {
    error_context err = {0};
    trusted_keys keys = {0};
    char path[POLICY_PATH_SIZE];
    const char *trusted = r->rules->is.provenance.trusted_keys;
    qn_status status = trusted != NULL ? policy_resolve(r->rules, trusted, path, &err) : QN_OK;
    status = status < 0 || trusted == NULL ? status : trusted_keys_read(path, &keys, &err);
    if (status < 0) {
        gate_say_error(out, CODE_CONSENT, &err);
    } else if (judge_scopes(r, &keys, out) && asks_of_model(r)) {
        if (r->is_dry && r->model_path == NULL) {
            gate_say(out, VERDICT_SKIPPED, CODE_NONE, "a model of level %u would be asked for", r->rules->is.provenance.level);
        } else if (look_at_model(r, &keys, out, &err) < 0) {
            gate_say(out, VERDICT_BLOCK, CODE_MODEL_PROVENANCE, "%s", error_text(&err));
        }
    } else if (out->verdict == VERDICT_PASS) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "the policy asks nothing of the model");
    }
    trusted_keys_free(&keys);
}
