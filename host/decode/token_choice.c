/* token_choice.c — mask, draw, judge, and again. */
#include "decode/token_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scrub.h"

qn_status token_choice_init(token_choice *c, sampler *chooser, const token_hooks *hooks, error_context *err) {
    *c = (token_choice){.chooser = chooser, .hooks = hooks};
    if (hooks->judge != NULL) {
        c->spare = malloc((size_t)chooser->n_tokens * sizeof *c->spare);
        if (c->spare == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory for a row of %u logits", chooser->n_tokens);
        }
    }
    return QN_OK;
}

void token_choice_deinit(token_choice *c) {
    scrub_free(c->spare, c->spare != NULL ? (size_t)c->chooser->n_tokens * sizeof *c->spare : 0);
    *c = (token_choice){0};
}

static bool has_choice(const float *logits, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(logits[i])) {
            return true;
        }
    }
    return false;
}

/* Draws until the judge takes one. */
static qn_status draw_judged(token_choice *c, float *logits, uint32_t step, uint32_t *out_id, choice_outcome *out_outcome,
                             error_context *err) {
    const token_judge *judge = c->hooks->judge;
    for (uint32_t attempt = 0;; attempt++) {
        QN_TRY(sampler_draw(c->chooser, logits, out_id, err), err, "drawing a token");
        const judge_question question = {.step = step, .attempt = attempt, .token = *out_id, .n_tokens = c->chooser->n_tokens,
                                         .logits = c->spare};
        const judge_verdict verdict = judge->judge(judge->ctx, &question);
        if (verdict == JUDGE_ALLOW) {
            return QN_OK;
        }
        logits[*out_id] = -INFINITY;
        if (verdict == JUDGE_ABORT || attempt == TOKEN_MAX_RESAMPLES || !has_choice(logits, c->chooser->n_tokens)) {
            *out_outcome = CHOICE_REFUSED;
            return QN_OK;
        }
        c->n_resampled++;
    }
}

qn_status token_choice_make(token_choice *c, float *logits, const int32_t *recent, uint32_t n_recent, uint32_t step,
                            uint32_t *out_id, choice_outcome *out_outcome, error_context *err) {
    const token_constraint *constraint = c->hooks->constraint;
    *out_outcome = CHOICE_TAKEN;
    if (c->spare != NULL) {
        memcpy(c->spare, logits, (size_t)c->chooser->n_tokens * sizeof *logits);
    }
    if (constraint != NULL) {
        uint32_t n_left = 0;
        QN_TRY(constraint->mask(constraint->ctx, logits, c->chooser->n_tokens, &n_left, err), err, "applying the constraint");
        if (n_left == 0) {
            *out_outcome = CHOICE_DEAD_END;
            return QN_OK;
        }
    }
    sampler_adjust(c->chooser, logits, recent, n_recent);
    return c->hooks->judge != NULL ? draw_judged(c, logits, step, out_id, out_outcome, err)
                                   : sampler_draw(c->chooser, logits, out_id, err);
}
