/* govern_text.c — outcomes for people and programs. */
#include "cli/govern_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/graph_command.h"

#define LINE_SIZE 2048
#define CLAIM_SIZE 16384
#define HEX_SIZE (2 * Q42_DIGEST_BYTES + 1)

/* ---------------------------------------------------------------- JSON */

static json_t *describe_policy(const request *r) {
    char hex[HEX_SIZE];
    return json_pack("{s:s, s:I, s:s}", "path", r->rules->path, "version", (json_int_t)r->rules->is.policy.version, "digest",
                     graph_hex(r->rules->digest, Q42_DIGEST_BYTES, hex));
}

static json_t *describe_request(const request *r) {
    json_t *scopes = json_array();
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        json_array_append_new(scopes, json_string(r->scopes[i].name));
    }
    return json_pack("{s:o, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:i, s:s}", "token", graph_json_id(r->token), "intent", r->intent, "frame",
                     r->frame, "profile", r->profile, "agent", r->agent, "principal", r->principal, "scopes", scopes, "tier", (int)r->tier,
                     "destination", destination_name(r->world.where));
}

static json_t *describe_results(const request *r, bool with_questions) {
    uint32_t n;
    const gate_row *rows = gate_rows(&n);
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->n_results; i++) {
        const gate_result *one = &r->results[i];
        json_t *object = json_pack("{s:s, s:s, s:o, s:s, s:s}", "gate", one->gate, "verdict", gate_verdict_name(one->verdict), "code",
                                   graph_json_id(one->code), "reason", gate_code_word(one->code), "detail", one->detail);
        for (uint32_t k = 0; with_questions && k < n; k++) {
            if (strcmp(rows[k].name, one->gate) == 0) {
                json_object_set_new(object, "asks", json_string(rows[k].asks));
            }
        }
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *describe_quin(const q42_quin *quin) {
    return json_pack("[o, o, o, o, o, o]", graph_json_id(quin->subject), graph_json_id(quin->predicate), graph_json_id(quin->object),
                     graph_json_id(quin->context), graph_json_id(quin->metadata), graph_json_id(quin->parity));
}

static json_t *describe_claims(const request *r) {
    char text[CLAIM_SIZE];
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->n_claims; i++) {
        const request_claim *claim = &r->claims[i];
        request_claim_text(claim, text, sizeof text);
        json_array_append_new(list, json_pack("{s:o, s:o, s:s?, s:f, s:i}", "statement", command_json_text(text, strlen(text)), "quin",
                                              describe_quin(&claim->quin), "grounding", claim->grounding, "score", claim->score, "proof_steps", (int)claim->n_steps));
    }
    return list;
}

static json_t *describe_citations(const request *r) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->n_citations; i++) {
        const fmt_str text = request_fact_text(r, r->citations[i]);
        json_array_append_new(list, json_pack("{s:o, s:o}", "fact", graph_json_id(r->citations[i]), "text",
                                              text.size > 0 ? command_json_text(text.data, text.size) : json_null()));
    }
    return list;
}

static json_t *describe_receipt(const request *r) {
    char hex[HEX_SIZE];
    return !r->is_logged ? json_null()
                         : json_pack("{s:s, s:I, s:I, s:s, s:b, s:o, s:s?}", "log", wal_directory(r->log), "transaction",
                                     (json_int_t)r->receipt.transaction, "sequence", (json_int_t)r->receipt.sequence, "digest",
                                     graph_hex(r->receipt.digest, Q42_DIGEST_BYTES, hex), "signed", (int)r->receipt.is_signed, "agreement",
                                     r->agreement != 0 ? graph_json_id(r->agreement) : json_null(), "generation", r->record[0] != 0 ? r->record : NULL);
}

static json_t *describe_answer(const request *r) {
    const request_answer *a = &r->answer;
    return json_pack("{s:o, s:s?, s:b, s:i, s:i, s:o, s:o}", "text",
                     governed_may_show(r) && a->text.size > 0 ? command_json_text(a->text.text, a->text.size) : json_null(), "stop_reason",
                     a->stop_reason, "partial", (int)a->is_partial, "prompt_tokens", (int)a->n_prompt, "tokens", (int)a->n_tokens, "context", governed_may_show(r) && r->preface.size > 0 ? command_json_text(r->preface.text, r->preface.size)
                                                                                     : json_null(), "margin", a->is_structured && isfinite(a->margin) ? json_real(a->margin) : json_null());
}

static json_t *describe_timings(const request *r) {
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "gate_seconds_before", r->seconds_before, "infer_seconds", r->seconds_infer,
                     "gate_seconds_after", r->seconds_after, "load_s", r->answer.load_seconds, "prefill_s", r->answer.prefill_seconds,
                     "decode_s", r->answer.decode_seconds);
}

static json_t *describe_identity(const request *r) {
    return r->has_identity ? json_pack("[o, o]", describe_quin(&r->identity[0]), describe_quin(&r->identity[1])) : json_array();
}

json_t *govern_text_describe(const request *r) {
    return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "outcome", governed_outcome_name(r->outcome), "code",
                     graph_json_id(r->code), "reason", gate_code_word(r->code), "answer", describe_answer(r), "claims",
                     governed_may_show(r) ? describe_claims(r) : json_array(), "citations", describe_citations(r), "audit",
                     describe_results(r, false), "receipt", describe_receipt(r), "policy", describe_policy(r), "request", describe_request(r),
                     "identity", describe_identity(r), "timings", describe_timings(r));
}

json_t *govern_text_describe_dry(const request *r) {
    return json_pack("{s:o, s:o, s:o}", "policy", describe_policy(r), "request", describe_request(r), "gates", describe_results(r, true));
}

/* ---------------------------------------------------------------- lines */

static bool print_claims(const request *r) {
    char text[CLAIM_SIZE];
    bool is_taken = true;
    for (uint32_t i = 0; is_taken && i < r->n_claims; i++) {
        request_claim_text(&r->claims[i], text, sizeof text - 1);
        const size_t size = strlen(text);
        text[size] = '\n';
        is_taken = command_write(text, size + 1);
    }
    return is_taken;
}

static bool print_answer(const request *r) {
    const text_buffer *text = &r->answer.text;
    if (!governed_may_show(r)) {
        return true;
    }
    if (r->n_claims > 0) {
        return print_claims(r);
    }
    return text->size == 0 || (command_write(text->text, text->size) && command_write("\n", 1));
}

static const gate_result *find_cause(const request *r) {
    for (uint32_t i = r->n_results; i-- > 0;) {
        if (r->results[i].code == r->code && r->results[i].verdict >= VERDICT_REVIEW) {
            return &r->results[i];
        }
    }
    return NULL;
}

static void tell_outcome(const request *r) {
    const gate_result *cause = find_cause(r);
    for (uint32_t i = 0; i < r->n_results; i++) {
        if (r->results[i].verdict == VERDICT_NOTE) {
            log_line(QN_LOG_INFO, "%s: %s", r->results[i].gate, r->results[i].detail);
        }
    }
    if (r->record[0] != 0) {
        log_line(QN_LOG_INFO, "recorded as %s", r->record);
    }
    for (uint32_t i = 0; governed_may_show(r) && i < r->n_citations; i++) {
        const fmt_str text = request_fact_text(r, r->citations[i]);
        log_line(QN_LOG_INFO, "cited: fact %016" PRIx64 " %.*s", r->citations[i], (int)text.size, text.size > 0 ? text.data : "");
    }
    if (cause == NULL) {
        log_line(QN_LOG_INFO, "%s: %u citations, record %" PRIu64 " of %s", governed_outcome_name(r->outcome), r->n_citations,
                 r->receipt.sequence, r->log != NULL ? wal_directory(r->log) : "-");
        return;
    }
    log_line(governed_may_show(r) ? QN_LOG_WARN : QN_LOG_ERROR, "%s (%s, %016" PRIx64 "): %s: %s", governed_outcome_name(r->outcome),
             gate_code_word(r->code), r->code, cause->gate, cause->detail);
}

bool govern_text_print(const request *r) {
    const bool is_taken = print_answer(r);
    tell_outcome(r);
    return is_taken;
}

bool govern_text_print_dry(const request *r) {
    char line[LINE_SIZE];
    uint32_t n;
    const gate_row *rows = gate_rows(&n);
    bool is_taken = true;
    for (uint32_t i = 0; is_taken && i < n && i < r->n_results; i++) {
        const gate_result *one = &r->results[i];
        const bool has_code = one->code != CODE_NONE;
        const int size = snprintf(line, sizeof line, "%-10s %s\n           %s%s%s: %s\n", rows[i].name, rows[i].asks,
                                  gate_verdict_name(one->verdict), has_code ? ", " : "", has_code ? gate_code_word(one->code) : "",
                                  one->detail[0] != 0 ? one->detail : "nothing to say");
        is_taken = command_write(line, size < LINE_SIZE ? (size_t)size : LINE_SIZE - 1);
    }
    return is_taken;
}
