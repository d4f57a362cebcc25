/* generate.c — the loop. */
#include "decode/generate.h"

#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "base/clock.h"
#include "base/scrub.h"
#include "decode/drafts.h"
#include "decode/token_choice.h"

typedef struct loop {
    session *s;
    token_choice choice;
    drafts guesses;
    const generate_options *options;
    generate_result *result;
    detokenizer text;
    char *room;
    size_t room_bytes;
    sampler_candidate top[GENERATE_MAX_LOGPROBS];
    uint32_t n_top;
    double begin, middle; /* seconds; middle: the prompt is read, 0 before */
} loop;

const char *stop_reason_name(stop_reason reason) {
    static const char *const names[] = {"stop", "length", "context", "deadline", "cancelled",
                                        "error", "complete", "dead-end", "judged", "watch"};
    return reason < sizeof names / sizeof names[0] ? names[reason] : "error";
}

static bool is_cancelled(const loop *l) {
    return l->options->cancel != NULL && qn_flag_is_up(l->options->cancel);
}

static bool is_over(double now, double begin, uint64_t limit_ms) {
    return limit_ms > 0 && (now - begin) * 1e3 >= (double)limit_ms;
}

static bool is_late(const loop *l) {
    const double now = clock_seconds();
    const bool is_reading = l->middle == 0.0;
    return is_over(now, l->begin, l->options->deadline_ms) ||
           is_over(now, is_reading ? l->begin : l->middle, is_reading ? l->options->prefill_ms : l->options->decode_ms);
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

static qn_status choose(loop *l, uint32_t *out_id, choice_outcome *out_outcome, error_context *err) {
    const double begin = clock_seconds();
    float *row = drafts_row(&l->guesses);
    qn_status status;
    if (row == NULL) { /* the device kept the logits and gave the greatest */
        *out_outcome = CHOICE_TAKEN;
        status = sampler_choose_top(l->choice.chooser, l->s->top_ids, l->s->top_values, l->s->n_top, out_id, err);
    } else {
        l->n_top = l->options->n_logprobs > 0 ? sampler_top(l->choice.chooser, row, l->options->n_logprobs, l->top) : 0;
        status = token_choice_make(&l->choice, row, l->s->history, drafts_length(&l->guesses), l->result->n_generated, out_id,
                                   out_outcome, err);
    }
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

/* The reason to stop instead of taking `id`, or STOP_ERROR when there is none. */
static stop_reason find_end(loop *l, choice_outcome outcome, uint32_t id) {
    if (outcome != CHOICE_TAKEN) {
        return outcome == CHOICE_DEAD_END ? STOP_DEAD_END : STOP_JUDGED;
    }
    if (is_stop(l, id)) {
        l->result->stop_token = id;
        return STOP_TOKEN;
    }
    return STOP_ERROR;
}

/* Hands the token to the constraint and the listener. *out_reason: why nothing may follow, or STOP_ERROR. */
static qn_status take(loop *l, uint32_t id, stop_reason *out_reason, error_context *err) {
    const token_constraint *constraint = l->options->hooks.constraint;
    bool is_complete = false;
    if (constraint != NULL) {
        QN_TRY(constraint->accept(constraint->ctx, id, &is_complete, err), err, "taking token %u", l->result->n_generated);
    }
    l->result->n_generated++;
    const bool goes_on = emit(l, id, detokenizer_push(&l->text, id, l->room, l->room_bytes));
    *out_reason = !goes_on ? STOP_CANCELLED : is_complete ? STOP_COMPLETE : STOP_ERROR;
    return QN_OK;
}

static bool is_watch_over(const loop *l) {
    const token_watch *watch = l->options->hooks.watch;
    const uint32_t step = l->result->n_generated;
    return watch != NULL && step > 0 && step % watch->every == 0 && !watch->go_on(watch->ctx, step);
}

static qn_status decode(loop *l, error_context *err) {
    const uint32_t budget = l->options->max_tokens;
    stop_reason *reason = &l->result->reason;
    for (;;) {
        uint32_t id = 0;
        choice_outcome outcome;
        *reason = find_reason(l, budget);
        if (*reason == STOP_ERROR && is_watch_over(l)) {
            *reason = STOP_WATCH;
        }
        if (*reason != STOP_ERROR) {
            return QN_OK;
        }
        QN_TRY(choose(l, &id, &outcome, err), err, "choosing token %u", l->result->n_generated);
        *reason = find_end(l, outcome, id);
        if (*reason == STOP_ERROR) {
            QN_TRY(take(l, id, reason, err), err, "taking a token");
        }
        if (*reason != STOP_ERROR) {
            return QN_OK;
        }
        if (l->result->n_generated >= budget) {
            continue; /* the last token's successor is not wanted: it is not computed, and the budget is the reason */
        }
        if (drafts_length(&l->guesses) == l->s->p->n_ctx) {
            *reason = STOP_CONTEXT;
            return QN_OK;
        }
        QN_TRY(drafts_append(&l->guesses, id, budget - l->result->n_generated, err), err, "decoding token %u",
               l->result->n_generated);
    }
}

/* Decodes and leaves the session with what was chosen and no guess. */
static qn_status decode_and_settle(loop *l, error_context *err) {
    error_context late = {0};
    qn_status status = decode(l, err);
    const qn_status settled = drafts_settle(&l->guesses, &late);
    if (status == QN_OK && settled != QN_OK) {
        *err = late;
        status = settled;
    }
    l->result->n_drafted = l->guesses.n_drafted;
    l->result->n_accepted = l->guesses.n_accepted;
    l->result->n_resampled = l->choice.n_resampled;
    return status;
}

static qn_status run_loop(loop *l, const uint32_t *ids, uint32_t n, error_context *err) {
    bool is_done = false;
    qn_status status = prefill(l, ids, n, &is_done, err);
    l->middle = clock_seconds();
    l->result->prefill_seconds = l->middle - l->begin;
    if (status == QN_OK && is_done && l->options->on_prefilled != NULL) {
        l->options->on_prefilled(l->options->prefilled_ctx, l->result->n_prompt);
    }
    if (status == QN_OK && is_done) {
        status = decode_and_settle(l, err);
        l->n_top = 0;
        const size_t held = detokenizer_flush(&l->text, l->room, l->room_bytes);
        if (held > 0) {
            emit(l, TOKEN_NONE, held);
        }
    }
    l->result->decode_seconds = clock_seconds() - l->middle;
    if (status == QN_CANCELLED && is_cancelled(l)) {
        l->result->reason = STOP_CANCELLED;
        return QN_OK;
    }
    return status;
}

static qn_status prepare(loop *l, sampler *chooser, error_context *err) {
    const tokenizer *tok = l->s->p->m->tok;
    detokenizer_init(&l->text, tok, l->options->show_special, l->options->at_start);
    drafts_init(&l->guesses, l->s, l->options->hooks.drafts);
    l->room_bytes = detokenizer_room(tok);
    l->room = malloc(l->room_bytes);
    if (l->room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a token's text");
    }
    return token_choice_init(&l->choice, chooser, &l->options->hooks, err);
}

qn_status generate_run(session *s, sampler *chooser, const uint32_t *ids, uint32_t n, const generate_options *options,
                       generate_result *out_result, error_context *err) {
    loop l = {.s = s, .options = options, .result = out_result, .begin = clock_seconds()};
    *out_result = (generate_result){.reason = STOP_ERROR, .stop_token = TOKEN_NONE};
    if (n == 0) {
        return FAIL(err, QN_BAD_INPUT,
                    "the prompt is empty and the tokenizer adds no BOS: there is nothing to continue; give a prompt");
    }
    const bool needs_row = options->n_logprobs > 0 || token_hooks_need_row(&options->hooks);
    qn_status status = prepare(&l, chooser, err);
    if (status == QN_OK) {
        session_want_top(s, needs_row ? 0 : sampler_needs(chooser), chooser->n_tokens);
        status = run_loop(&l, ids, n, err);
        session_want_top(s, 0, 0);
    }
    token_choice_deinit(&l.choice);
    scrub_free(l.room, l.room_bytes);
    scrub_memory(NULL, SCRUB_TEXT, &l, sizeof l); /* the detokenizer's tail, candidates, guesses */
    return status;
}
