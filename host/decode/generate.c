/* generate.c — the loop. */
#include "decode/generate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

typedef struct loop {
    session *s;
    sampler *chooser;
    const generate_options *options;
    generate_result *result;
    detokenizer text;
    char *room;
    size_t room_bytes;
    sampler_candidate top[GENERATE_MAX_LOGPROBS];
    uint32_t n_top;
    double begin;
} loop;

const char *stop_reason_name(stop_reason reason) {
    static const char *const names[] = {"stop", "length", "context", "deadline", "cancelled", "error"};
    return reason < sizeof names / sizeof names[0] ? names[reason] : "error";
}

static bool is_cancelled(const loop *l) {
    return l->options->cancel != NULL && *l->options->cancel != 0;
}

static bool is_late(const loop *l) {
    return l->options->deadline_ms > 0 && (clock_seconds() - l->begin) * 1e3 >= (double)l->options->deadline_ms;
}

static bool is_stop(const loop *l, uint32_t id) {
    for (uint32_t i = 0; i < l->options->n_stops; i++) {
        if (l->options->stops[i] == id) {
            return true;
        }
    }
    return false;
}

static bool emit(loop *l, uint32_t id, size_t bytes) {
    const generate_event event = {.id = id, .text = l->room, .text_bytes = bytes, .top = l->top, .n_top = l->n_top};
    return l->options->on_token == NULL || l->options->on_token(l->options->ctx, &event);
}

static qn_status choose(loop *l, uint32_t *out_id, error_context *err) {
    const double begin = clock_seconds();
    const uint32_t n = session_length(l->s);
    if (l->s->n_top > 0 || l->s->n_logits == 0) {
        const qn_status chosen = sampler_choose_top(l->chooser, l->s->top_ids, l->s->top_values, l->s->n_top, out_id, err);
        l->result->sample_seconds += clock_seconds() - begin;
        return chosen;
    }
    l->n_top = l->options->n_logprobs > 0 ? sampler_top(l->chooser, l->s->logits, l->options->n_logprobs, l->top) : 0;
    const qn_status status = sampler_choose(l->chooser, l->s->logits, l->s->history, n, out_id, err);
    l->result->sample_seconds += clock_seconds() - begin;
    return status;
}

/* Reason to stop before another token is chosen, or STOP_ERROR when there is none. */
static stop_reason find_reason(const loop *l, uint32_t budget) {
    if (is_cancelled(l)) {
        return STOP_CANCELLED;
    }
    if (is_late(l)) {
        return STOP_DEADLINE;
    }
    return l->result->n_generated >= budget ? STOP_BUDGET : STOP_ERROR;
}

/* Long prompts are appended a chunk at a time, so that a deadline or a cancel is seen between chunks. */
static qn_status prefill(loop *l, const uint32_t *ids, uint32_t n, bool *out_is_done, error_context *err) {
    const uint32_t chunk = l->s->p->limits.max_tokens;
    *out_is_done = false;
    if (n > l->s->p->n_ctx - session_length(l->s)) {
        return session_append(l->s, ids, n, err); /* refuses, with the numbers */
    }
    for (uint32_t at = 0; at < n;) {
        const uint32_t now = n - at < chunk ? n - at : chunk;
        const stop_reason reason = find_reason(l, UINT32_MAX);
        if (reason != STOP_ERROR) {
            l->result->reason = reason;
            return QN_OK;
        }
        QN_TRY(session_append(l->s, ids + at, now, err), err, "reading the prompt");
        at += now;
        l->result->n_prompt = at;
    }
    *out_is_done = true;
    return QN_OK;
}

static qn_status decode(loop *l, error_context *err) {
    const uint32_t budget = l->options->max_tokens;
    for (;;) {
        uint32_t id = 0;
        l->result->reason = find_reason(l, budget);
        if (l->result->reason != STOP_ERROR) {
            return QN_OK;
        }
        QN_TRY(choose(l, &id, err), err, "choosing token %u", l->result->n_generated);
        if (is_stop(l, id)) {
            l->result->reason = STOP_TOKEN;
            l->result->stop_token = id;
            return QN_OK;
        }
        l->result->n_generated++;
        if (!emit(l, id, detokenizer_push(&l->text, id, l->room, l->room_bytes))) {
            l->result->reason = STOP_CANCELLED;
            return QN_OK;
        }
        if (l->result->n_generated >= budget) {
            continue; /* the last token's successor is not wanted: it is not computed, and the budget is the reason */
        }
        if (session_length(l->s) == l->s->p->n_ctx) {
            l->result->reason = STOP_CONTEXT;
            return QN_OK;
        }
        QN_TRY(session_append(l->s, &id, 1, err), err, "decoding token %u", l->result->n_generated);
    }
}

static qn_status run_loop(loop *l, const uint32_t *ids, uint32_t n, error_context *err) {
    bool is_done = false;
    qn_status status = prefill(l, ids, n, &is_done, err);
    const double middle = clock_seconds();
    l->result->prefill_seconds = middle - l->begin;
    if (status == QN_OK && is_done) {
        status = decode(l, err);
        l->n_top = 0;
        const size_t held = detokenizer_flush(&l->text, l->room, l->room_bytes);
        if (held > 0) {
            emit(l, TOKEN_NONE, held);
        }
    }
    l->result->decode_seconds = clock_seconds() - middle;
    if (status == QN_CANCELLED && is_cancelled(l)) {
        l->result->reason = STOP_CANCELLED;
        return QN_OK;
    }
    return status;
}

qn_status generate_run(session *s, sampler *chooser, const uint32_t *ids, uint32_t n, const generate_options *options,
                       generate_result *out_result, error_context *err) {
    loop l = {.s = s, .chooser = chooser, .options = options, .result = out_result, .begin = clock_seconds()};
    *out_result = (generate_result){.reason = STOP_ERROR, .stop_token = TOKEN_NONE};
    if (n == 0) {
        return FAIL(err, QN_BAD_INPUT,
                    "the prompt is empty and the tokenizer adds no BOS: there is nothing to continue; give a prompt");
    }
    detokenizer_init(&l.text, s->p->m->tok, options->show_special, options->at_start);
    l.room_bytes = detokenizer_room(s->p->m->tok);
    l.room = malloc(l.room_bytes);
    if (l.room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a token's text");
    }
    session_want_top(s, options->n_logprobs == 0 ? sampler_needs(chooser) : 0, chooser->n_tokens);
    const qn_status status = run_loop(&l, ids, n, err);
    session_want_top(s, 0, 0);
    free(l.room);
    return status;
}
