/* token_choice.h — one token from one row of logits, with everybody asked who may have a say.
 *
 * Threading: one thread at a time per choice.
 * Memory:    a spare row, only for a judge, allocated by token_choice_init; choosing allocates nothing.
 */
#ifndef HOST_TOKEN_CHOICE_H
#define HOST_TOKEN_CHOICE_H
#include "decode/sampler.h"
#include "decode/token_hooks.h"

typedef uint32_t choice_outcome;
enum {
    CHOICE_TAKEN = 0,
    CHOICE_DEAD_END = 1, /* the constraint leaves nothing */
    CHOICE_REFUSED = 2   /* the judge said ABORT, or every retry was refused */
};

typedef struct token_choice {
    sampler *chooser;
    const token_hooks *hooks;
    float *spare;          /* [n_tokens] the row as the model made it, for the judge; null without */
    uint32_t n_resampled;  /* in all */
} token_choice;

qn_status token_choice_init(token_choice *c, sampler *chooser, const token_hooks *hooks, error_context *err);
void token_choice_deinit(token_choice *c);

/* Chooses from logits[n_vocab], which is changed. `recent` are the last n_recent ids. `step`: tokens taken so far. */
qn_status token_choice_make(token_choice *c, float *logits, const int32_t *recent, uint32_t n_recent, uint32_t step,
                            uint32_t *out_id, choice_outcome *out_outcome, error_context *err);

#endif
