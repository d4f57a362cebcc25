/* gate.c — the table of gates, and the walk through it. */
#include "govern/gate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/fnv.h"
#include "common/sha.h"
#include "common/utf8.h"

static const gate_row rows[] = {
    {"cancel", GATE_BEFORE, gate_cancel, "did somebody stop the request?"},
    {"thermal", GATE_BEFORE, gate_thermal, "is the machine cool enough, or the intent critical?"},
    {"intent", GATE_BEFORE, gate_intent, "is the intent one that this policy, its frame and its profile allow?"},
    {"scope", GATE_BEFORE, gate_scope, "is each scope known, its volume the right one, and may it be used here?"},
    {"licence", GATE_BEFORE, gate_licence, "is enough known of the model, and do licence and consents permit this use?"},
    {"facts", GATE_BEFORE, gate_facts, "which statements of the granted scopes stand in the prompt?"},
    {"egress", GATE_BEFORE, gate_egress, "may what stands in the prompt go where the answer goes?"},
    {"identity", GATE_BEFORE, gate_identity, "who acts, and for whom?"},
    {"infer", GATE_INFER, gate_infer, "what does the model say?"},
    {"sieve", GATE_AFTER, gate_sieve, "was the statement that a sieve made the clear choice?"},
    {"rules", GATE_AFTER, gate_rules, "do the statements fit the policy's shapes and rules?"},
    {"output", GATE_AFTER, gate_output, "is the answer well-formed, within limits, and what can it cite?"},
    {"grounding", GATE_AFTER, gate_grounding, "do facts of the granted scopes support each statement?"},
    {"commit", GATE_AFTER, gate_commit, "do the statements hold now, or when their signers agree?"},
    {"report", GATE_REPORT, gate_report, "is this run in the log?"},
};

const gate_row *gate_rows(uint32_t *out_count) {
    *out_count = (uint32_t)(sizeof rows / sizeof rows[0]);
    return rows;
}

/* ---------------------------------------------------------------- answers of gates */

/* Details go into records that are UTF-8, and onto terminals: what was cut in the middle of a character ends before it, and what would move
 * a cursor is a question mark. */
static void make_plain(char *text) {
    const uint64_t wrong = utf8_first_invalid(text, strlen(text));
    if (wrong != UTF8_ALL_VALID) {
        text[wrong] = 0;
    }
    for (char *at = text; *at != 0; at++) {
        *at = (unsigned char)*at < 0x20 || *at == 0x7F ? '?' : *at;
    }
}

void gate_say(gate_result *out, gate_verdict verdict, gate_code code, const char *format, ...) {
    va_list args;
    out->verdict = verdict;
    out->code = code;
    va_start(args, format);
    vsnprintf(out->detail, sizeof out->detail, format, args);
    va_end(args);
    make_plain(out->detail);
}

void gate_say_error(gate_result *out, gate_code code, const error_context *err) {
    gate_say(out, VERDICT_FAIL, code, "%s", error_text(err));
}

bool gate_wants_review(const request *r) {
    for (uint32_t i = 0; i < r->n_results; i++) {
        if (r->results[i].verdict == VERDICT_REVIEW) {
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- the walk */

static gate_verdict ask(request *r, const gate_row *row) {
    gate_result spare = {0};
    const bool has_room = r->n_results < REQUEST_MAX_RESULTS;
    gate_result *out = has_room ? &r->results[r->n_results] : &spare;
    *out = (gate_result){.gate = row->name};
    r->n_results += has_room;
    const double begin = request_seconds(r);
    row->ask(r, out);
    double *const sums[] = {&r->seconds_before, &r->seconds_infer, &r->seconds_after, &r->seconds_after};
    *sums[row->phase] += request_seconds(r) - begin;
    return out->verdict;
}

static bool is_end(gate_verdict verdict) {
    return verdict == VERDICT_BLOCK || verdict == VERDICT_FAIL;
}

/* The outcome as of the results so far: the last that ended the run, otherwise the first that wants somebody to look. */
static void settle(request *r) {
    const gate_result *cause = NULL;
    for (uint32_t i = 0; i < r->n_results; i++) {
        const gate_result *one = &r->results[i];
        const bool is_stronger = is_end(one->verdict) || one->verdict == VERDICT_REVIEW || one->verdict == VERDICT_SUSPEND;
        if (is_stronger && (cause == NULL || one->verdict > cause->verdict)) {
            cause = one;
        }
    }
    r->code = cause != NULL ? cause->code : CODE_NONE;
    r->outcome = cause == NULL                        ? (r->has_receipt ? OUTCOME_COMMITTED : OUTCOME_COMPLETED)
                 : cause->verdict == VERDICT_REVIEW   ? OUTCOME_REVIEW
                 : cause->verdict == VERDICT_SUSPEND  ? OUTCOME_SUSPENDED
                 : cause->verdict == VERDICT_BLOCK    ? OUTCOME_BLOCKED
                                                      : OUTCOME_FAILED;
}

/* Names this run in records and in the answer. Nobody can cite it: it is no fact. */
static uint64_t make_token(const request *r) {
    uint8_t digest[SHA256_BYTES] = {0};
    uint64_t token = 0;
    sha256_stream stream;
    if (sha256_begin(&stream)) {
        sha256_add(&stream, &r->now_ms, sizeof r->now_ms);
        sha256_add(&stream, r->rules->digest, sizeof r->rules->digest);
        sha256_add(&stream, r->prompt.data, r->prompt.size);
        sha256_end(&stream, digest);
    }
    memcpy(&token, digest, sizeof token);
    return token & FNV_Q_MASK;
}

void gates_run(request *r) {
    bool is_over = false;
    r->began = request_seconds(r);
    r->now_ms = request_now(r);
    r->token = make_token(r);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_over && rows[i].phase != GATE_REPORT && !r->is_dry) {
            continue;
        }
        if (rows[i].phase == GATE_REPORT) {
            settle(r);
        }
        is_over = is_end(ask(r, &rows[i])) || is_over;
    }
    settle(r);
}

bool governed_may_show(const request *r) {
    return r->outcome != OUTCOME_NONE && r->outcome != OUTCOME_BLOCKED && r->outcome != OUTCOME_FAILED;
}
