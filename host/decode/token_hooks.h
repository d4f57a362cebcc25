/* token_hooks.h — who may stand between a row of logits and the token that is taken from it.
 *
 *     logits ─► constraint.mask ─► bias, penalty, draw ─► judge.judge ─► stop token? ─► constraint.accept ─► emitted
 *                                        ▲                    │
 *                                        └──── RESAMPLE ──────┘   the id is forbidden in this row, at most 8 times
 *
 * All of it happens in the thread that decodes, before the token is appended: what comes out depends on nothing but the logits and the
 * hooks, not on timing. A hook that is null is not there and costs nothing. None may allocate while tokens are made.
 *
 * A draft source guesses what comes next. Guesses are run through the model together with the last token and taken only as far as the
 * model, the sampler and all hooks would have chosen the same; so they change how fast an answer comes, never the answer.
 *
 * Threading: called by the thread that is in generate_run.
 * Errors:    a failing mask or accept ends the generation with that error.
 */
#ifndef HOST_TOKEN_HOOKS_H
#define HOST_TOKEN_HOOKS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define TOKEN_MAX_RESAMPLES 8u
#define TOKEN_MAX_DRAFT 8u

/* A rule about which texts may be made: a term of a graph, a JSON document, a sentence of a grammar. */
typedef struct token_constraint {
    void *ctx;
    /* Sets to -INFINITY each of logits[n_tokens] that may not come now; a stop token stays where the text may end here. *out_n_left: how
     * many are left. None: the generation ends with STOP_DEAD_END. */
    qn_status (*mask)(void *ctx, float *logits, uint32_t n_tokens, uint32_t *out_n_left, error_context *err);
    /* `id`, no stop token, comes next. *out_is_complete: nothing can follow; the generation ends with STOP_COMPLETE behind it. */
    qn_status (*accept)(void *ctx, uint32_t id, bool *out_is_complete, error_context *err);
} token_constraint;

typedef uint32_t judge_verdict;
enum {
    JUDGE_ALLOW = 0,
    JUDGE_RESAMPLE = 1, /* not this one: the next choice from the same logits */
    JUDGE_ABORT = 2     /* the generation ends with STOP_JUDGED; the token is not taken */
};

typedef struct judge_question {
    uint32_t step;        /* tokens taken before this one, since the prompt's end */
    uint32_t attempt;     /* 0, or how many ids this step lost already */
    uint32_t token;       /* the choice; may be a stop token */
    uint32_t n_tokens;
    const float *logits;  /* [n_tokens] the model's own, before constraint, bias and penalty */
} judge_question;

typedef struct token_judge {
    void *ctx;
    judge_verdict (*judge)(void *ctx, const judge_question *question);
} token_judge;

/* Something outside that may slow a run or end it: a sensor, say. Asked before every `every`-th token. */
typedef struct token_watch {
    void *ctx;
    uint32_t every;       /* at least 1 */
    bool (*go_on)(void *ctx, uint32_t step); /* may sleep; false: the generation ends with STOP_WATCH */
} token_watch;

typedef struct draft_source {
    void *ctx;
    /* Writes at most `room` guesses of what follows history[n]; returns how many, 0 for none. */
    uint32_t (*propose)(void *ctx, const int32_t *history, uint32_t n, uint32_t *out_ids, uint32_t room);
} draft_source;

typedef struct token_hooks {
    const token_constraint *constraint;
    const token_judge *judge;
    const token_watch *watch;
    const draft_source *drafts; /* needs a plan whose max_outputs is above 1 */
} token_hooks;

/* Whether a choice needs the whole row of logits on the host. */
static inline bool token_hooks_need_row(const token_hooks *hooks) {
    return hooks->constraint != NULL || hooks->judge != NULL || hooks->drafts != NULL;
}

#endif
