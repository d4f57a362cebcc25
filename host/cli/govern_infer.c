/* govern_infer.c — from a request that was let through to an answer that nobody has seen yet. */
#include "cli/govern_infer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "common/sha.h"

/* Text is kept until the gates behind the model have looked at it. */
static bool keep_text(void *ctx, const generate_event *event) {
    request *r = ctx;
    govern_record_take(&((govern_engine *)r->world.ctx)->record, event->id);
    return text_buffer_append(&r->answer.text, event->text, event->text_bytes);
}

/* What is left of the shorter of two limits, policy and --deadline, both counted from the beginning of the request. False when nothing is.
 * *out_ms 0: any time. */
static bool find_time(const govern_engine *g, const request *r, uint64_t *out_ms) {
    const double passed = (request_seconds(r) - r->began) * 1e3;
    double most = (double)r->rules->is.limits.deadline;
    if (g->parts->has_deadline && g->parts->deadline > 0 && (most == 0.0 || g->parts->deadline * 1e3 < most)) {
        most = g->parts->deadline * 1e3;
    }
    *out_ms = most == 0.0 ? 0 : most - passed >= 1.0 ? (uint64_t)(most - passed) : 1;
    return most == 0.0 || passed < most;
}

/* What can be known before anything is computed. */
static qn_status check_fit(const govern_engine *g, uint32_t budget, error_context *err) {
    const uint32_t n_tokens = tokenizer_size(g->e.m->tok), n_rows = g->e.m->hparams.n_vocab, n_ctx = g->e.p->n_ctx;
    if (n_tokens == 0 || n_tokens > n_rows) {
        return FAIL(err, QN_BAD_INPUT, "%s: %u tokens have names and the model has %u rows for them", g->model_path, n_tokens, n_rows);
    }
    if (g->input->ids.count == 0) {
        return FAIL(err, QN_BAD_INPUT, "the prompt is empty");
    }
    if (g->input->ids.count + budget > n_ctx) {
        return FAIL(err, QN_LIMIT, "%zu tokens of prompt and %u of answer are more than the context of %u; -n and --ctx change that",
                    g->input->ids.count, budget, n_ctx);
    }
    return QN_OK;
}

static qn_status open_parts(govern_engine *g, error_context *err) {
    if (g->model_path == NULL) {
        return FAIL(err, QN_NOT_FOUND, "no MODEL was given");
    }
    const qn_status status = engine_open(g->c, g->model_path, g->parts->engine, &g->e);
    if (status < 0) {
        *err = g->c->err;
        error_clear(&g->c->err);
    }
    return status;
}

/* The sieve of the command line, or that of the policy where one statement is asked for. There is no way from it to free text. */
static qn_status choose_constraint(govern_engine *g, const request *r, error_context *err) {
    const char *file = r->rules->is.sieve.file;
    g->constrain = *g->parts->constrain;
    if (r->mode == OUTPUT_GRAPH && g->constrain.sieve == NULL && file != NULL) {
        QN_TRY(policy_get_file(r->rules, file, g->sieve_path, &g->constrain.sieve_text, err), err, "finding the sieve");
        g->constrain.sieve = g->sieve_path;
    }
    return r->mode != OUTPUT_GRAPH || g->constrain.sieve != NULL
               ? QN_OK
               : FAIL(err, QN_BAD_INPUT, "one statement is asked for, and no sieve makes it: --sieve FILE, or [sieve] file in the policy");
}

/* Where something has to be known of the model, it has to be known of what changes it. */
static qn_status judge_adapters(const govern_engine *g, const request *r, error_context *err) {
    char hex[SHA256_HEX_SIZE];
    const policy_words *known = &r->rules->is.provenance.adapters;
    const bool is_asked = known->n_items > 0 || r->rules->is.provenance.level > 0 || r->rules->is.provenance.require_signature;
    for (uint32_t i = 0; is_asked && i < g->e.adapters.n_uses; i++) {
        sha256_to_hex(g->e.adapters.uses[i].from.digest, hex);
        if (!policy_words_have(known, hex)) {
            return FAIL(err, QN_DENIED, "%s: its SHA-256 %s is none of [provenance] adapters", g->e.adapters.uses[i].from.path, hex);
        }
    }
    return QN_OK;
}

/* A sieve prints terms of its volume, so that has to be a granted one: the file that it reads itself, not what has its name by now. */
static qn_status judge_sieve(const govern_engine *g, const request *r, error_context *err) {
    const graph_volume *used = g->constraint.terms != NULL ? sieve_get_volume(g->constraint.terms) : NULL;
    bool is_granted = used == NULL;
    for (uint32_t i = 0; i < r->n_scopes && !is_granted; i++) {
        is_granted = r->scopes[i].volume != NULL && graph_volume_is_same(used, r->scopes[i].volume);
    }
    return is_granted ? QN_OK
                      : FAIL(err, QN_DENIED, "the sieve %s has terms of %s, which serves no scope that was granted", g->constrain.sieve,
                             graph_volume_path(used));
}

/* The policy's rules stand above those of the command line, which may only add an observer. */
static qn_status open_sentinel(govern_engine *g, const request *r, error_context *err) {
    g->rules = *g->parts->sentinel;
    if (r->rules->is.sentinel.file != NULL) {
        if (g->rules.rules != NULL) {
            return FAIL(err, QN_BAD_INPUT, "the policy has a sentinel of its own; leave out --sentinel");
        }
        QN_TRY(policy_get_file(r->rules, r->rules->is.sentinel.file, g->rules_path, &g->rules.rules_text, err), err, "finding the sentinel");
        g->rules.rules = g->rules_path;
    }
    return sentinel_run_open(&g->rules, &g->sentinel, err);
}

static qn_status prepare_prompt(govern_engine *g, const request *r, generate_options *options, error_context *err) {
    sampler_options sampling;
    const uint32_t n_tokens = tokenizer_size(g->e.m->tok);
    g->input->preface = (fmt_str){r->preface.text, r->preface.size};
    QN_TRY(prompt_encode(g->parts->prompt, g->e.m, g->input, err), err, "encoding the prompt");
    if (g->parts->graph->shows_prompt) {
        QN_TRY(prompt_show(g->e.m, g->input, err), err, "--show-prompt");
    }
    QN_TRY(sampling_collect(g->parts->sampling, n_tokens, &sampling, err), err, "preparing");
    QN_TRY(sampler_create(&sampling, g->e.m->hparams.n_vocab, n_tokens, &g->chooser, err), err, "preparing");
    options->at_start = g->input->starts_text;
    options->n_stops = model_stop_ids(g->e.m, options->stops, GENERATE_MAX_STOPS);
    for (uint32_t i = 0; i < g->input->stops.count && options->n_stops < GENERATE_MAX_STOPS; i++) {
        options->stops[options->n_stops++] = g->input->stops.ids[i];
    }
    return QN_OK;
}

/* A budget that nobody asked for is what a sieve needs, or what the context has room for. */
static void shrink_budget(const govern_engine *g, generate_options *options) {
    const size_t n_prompt = g->input->ids.count, n_ctx = g->e.p->n_ctx;
    if (g->parts->has_budget) {
        return;
    }
    if (g->constraint.terms != NULL) {
        options->max_tokens = sieve_budget(g->constraint.terms);
    } else if (n_prompt < n_ctx && options->max_tokens > n_ctx - n_prompt) {
        options->max_tokens = (uint32_t)(n_ctx - n_prompt);
    }
}

/* In the order in which things can be known; *out_code: what it is called when this fails. */
static qn_status prepare(govern_engine *g, request *r, generate_options *options, gate_code *out_code, error_context *err) {
    *out_code = CODE_SIEVE;
    QN_TRY(choose_constraint(g, r, err), err, "preparing");
    *out_code = CODE_SENTINEL;
    QN_TRY(open_sentinel(g, r, err), err, "preparing");
    *out_code = CODE_NO_MODEL;
    QN_TRY(open_parts(g, err), err, "opening the model");
    *out_code = CODE_MODEL_PROVENANCE;
    QN_TRY(govern_check_kernels(r, g->c, &g->e, err), err, "preparing");
    QN_TRY(judge_adapters(g, r, err), err, "preparing");
    *out_code = CODE_SETUP;
    QN_TRY(prepare_prompt(g, r, options, err), err, "preparing");
    *out_code = CODE_SIEVE;
    QN_TRY(run_constraint_open(&g->constraint, &g->constrain, g->e.m->tok, g->parts->has_budget, options, err), err, "preparing");
    *out_code = CODE_SCOPE_UNKNOWN;
    QN_TRY(judge_sieve(g, r, err), err, "preparing");
    *out_code = CODE_SETUP;
    shrink_budget(g, options);
    QN_TRY(check_fit(g, options->max_tokens, err), err, "preparing");
    if (!text_buffer_reserve(&r->answer.text, detokenizer_room(g->e.m->tok) * ((size_t)options->max_tokens + 1))) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for an answer of %u tokens", options->max_tokens);
    }
    *out_code = CODE_SENTINEL;
    QN_TRY(sentinel_run_begin(&g->rules, &g->sentinel, g->e.m->tok, &options->hooks, err), err, "preparing");
    *out_code = CODE_INFERENCE;
    run_settings settings;
    prove_collect_settings(&g->e, g->parts->engine, g->parts->prompt, &g->chooser.options, g->input->preface.size > 0,
                           options->max_tokens, &settings);
    QN_TRY(prove_collect_rules(g->parts->constrain, g->parts->sentinel, &settings, err), err, "preparing");
    return govern_record_begin(&g->record, r, g->c, &g->e, &settings, &g->input->ids, err);
}

/* The statement of a sieve; none when the tokens did not suffice for one. */
static qn_status take_statement(const govern_engine *g, request *r, error_context *err) {
    sieve_result made;
    if (g->constraint.terms == NULL || !sieve_is_complete(g->constraint.terms)) {
        r->answer.is_partial = r->answer.is_partial || g->constraint.terms != NULL;
        return QN_OK;
    }
    QN_TRY(sieve_get_result(g->constraint.terms, &made, err), err, "taking the statement");
    const char *const texts[4] = {made.terms[0], made.terms[1], made.terms[2], made.graph};
    r->answer.is_structured = true;
    r->answer.needs_review = made.needs_review;
    r->answer.margin = made.margins[0];
    for (size_t i = 1; i < SIEVE_SLOTS; i++) {
        r->answer.margin = made.margins[i] < r->answer.margin ? made.margins[i] : r->answer.margin;
    }
    return request_add_claim(r, &made.quin, texts, err);
}

static void take_result(const govern_engine *g, request *r, const thermal_monitor *heat) {
    const generate_result *result = &g->result;
    const bool is_hot = result->reason == STOP_WATCH && heat != NULL && heat->has_stopped;
    r->answer.n_prompt = result->n_prompt;
    r->answer.n_tokens = result->n_generated;
    r->answer.stop_reason = is_hot ? "thermal" : stop_reason_name(result->reason);
    r->answer.is_partial = result->reason == STOP_DEADLINE || result->reason == STOP_CANCELLED || result->reason == STOP_WATCH;
    /* Statements that stop where the tokens did may lack their end. */
    r->answer.is_partial = r->answer.is_partial || (r->mode != OUTPUT_TEXT && (result->reason == STOP_BUDGET || result->reason == STOP_CONTEXT)) ||
                           (g->constraint.language != NULL && !constraint_is_complete(g->constraint.language));
    r->answer.is_judged = result->reason == STOP_JUDGED;
    r->answer.load_seconds = g->e.load_seconds;
    r->answer.prefill_seconds = result->prefill_seconds;
    r->answer.decode_seconds = result->decode_seconds;
}

qn_status govern_infer(void *ctx, request *r, gate_code *out_code, error_context *err) {
    govern_engine *g = ctx;
    thermal_monitor *heat = r->world.heat;
    const token_watch watch = {.ctx = heat, .every = r->rules->is.thermal.every, .go_on = thermal_go_on};
    const uint32_t most = r->rules->is.limits.tokens;
    generate_options options = {.max_tokens = g->parts->budget < most ? g->parts->budget : most, .prefill_ms = r->rules->is.limits.prefill,
                                .decode_ms = r->rules->is.limits.decode, .cancel = &g->c->services.cancel,
                                .on_token = keep_text, .ctx = r, .on_prefilled = run_events_prefilled, .prefilled_ctx = g->parts->events, .hooks = {.watch = heat != NULL ? &watch : NULL, .drafts = g->parts->drafts}};
    QN_TRY(prepare(g, r, &options, out_code, err), err, "preparing the request");
    *out_code = CODE_INFERENCE;
    if (!find_time(g, r, &options.deadline_ms)) {
        g->result.reason = STOP_DEADLINE;
    } else {
        run_events_begin(g->parts->events, (uint32_t)g->input->ids.count);
        const qn_status status = run_constraint_generate(&g->constraint, g->e.s, &g->chooser, &g->input->ids, &options, &g->result, err);
        run_events_end(g->parts->events, &g->result);
        QN_TRY(status, err, "asking the model");
    }
    sentinel_run_end(&g->sentinel, &g->result);
    sentinel_run_tell(&g->sentinel);
    take_result(g, r, heat);
    return take_statement(g, r, err);
}

qn_status govern_add_record(void *ctx, request *r, wal *log, error_context *err) {
    govern_engine *g = ctx;
    QN_TRY(govern_record_add(&g->record, r, log, err), err, "recording");
    snprintf(r->record, sizeof r->record, "%s", g->record.name);
    return QN_OK;
}

void govern_engine_close(govern_engine *g) {
    run_events *events = g->parts != NULL ? g->parts->events : NULL;
    scrub_report *report = events != NULL ? &events->early : NULL;
    sentinel_run_scrub(&g->sentinel, report);
    sentinel_run_close(&g->sentinel);
    govern_record_end(&g->record);
    run_constraint_close(&g->constraint);
    if (g->chooser.candidates != NULL) {
        scrub_memory(report, SCRUB_LOGITS, g->chooser.candidates, (size_t)g->chooser.n_vocab * sizeof *g->chooser.candidates);
    }
    sampler_destroy(&g->chooser);
    if (events != NULL && events->model != NULL) {
        run_events_evict(events, &g->e, g->input);
    }
}
