/* perplexity.h — how surprised a model is by a text: exp of the mean of -ln p(token | the tokens before it in its window).
 *
 * The text is cut into windows of as many tokens as the context has. Each window is read from its beginning, with BOS in place of its
 * first token where the tokenizer adds one; only the tokens of its second half are scored, so that each of them has at least half a
 * window before it. What does not fill a window is left out. These are the windows of llama-perplexity: numbers of both can be compared.
 *
 * Threading: one thread at a time; scoring uses the workers.
 * Memory:    one step's rows of logits, which the session has; nothing per window.
 */
#ifndef HOST_PERPLEXITY_H
#define HOST_PERPLEXITY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/team.h"
#include "decode/session.h"

#define PERPLEXITY_LEAST_WINDOW 8u

typedef struct perplexity {
    uint32_t n_windows;
    uint64_t n_scored;   /* tokens */
    double value;        /* the perplexity */
    double error;        /* its standard error, from the spread of the tokens' surprise */
    double mean_nll;     /* nats a token */
} perplexity;

typedef struct perplexity_options {
    uint32_t window;     /* tokens, at most the session's context */
    uint32_t max_windows; /* 0 = all */
    uint32_t bos;        /* in place of a window's first token; TOKEN_NONE: none */
    team *workers;
    const volatile uint32_t *cancel; /* may be null */
    void (*on_window)(void *ctx, const perplexity *so_far, uint32_t n_all); /* may be null */
    void *ctx;
} perplexity_options;

/* QN_BAD_INPUT: the text fills no window; QN_CORRUPT: a logit is no number; QN_CANCELLED: *out says what was scored by then. */
qn_status perplexity_run(session *s, const uint32_t *ids, uint64_t n_ids, const perplexity_options *options, perplexity *out,
                         error_context *err);

#endif
