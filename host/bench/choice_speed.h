/* choice_speed.h — microseconds that it takes to choose a token from a row of logits.
 *
 * Threading: one thread at a time.
 * Memory:    a sampler's candidates while it runs.
 */
#ifndef HOST_CHOICE_SPEED_H
#define HOST_CHOICE_SPEED_H
#include <stdint.h>

#include "base/error.h"

typedef struct choice_speed {
    double greedy_us;     /* the greatest */
    double top_us;        /* temperature 0.8, top-k 40, top-p 0.95 */
    double any_us;        /* temperature 0.8, among all tokens */
    double logprobs_us;   /* the ten most likely with their log-probabilities */
} choice_speed;

/* `logits` [n_vocab], of which the first n_tokens are tokens. The median of many calls each. QN_NO_HOST_MEM; QN_CORRUPT when no logit is
 * a finite number. */
qn_status choice_speed_measure(const float *logits, uint32_t n_vocab, uint32_t n_tokens, choice_speed *out, error_context *err);

#endif
