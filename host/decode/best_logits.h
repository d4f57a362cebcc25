/* best_logits.h — the k best of a row of logits: greater ones first, of equal ones the lower id.
 *
 * Threading: pure.
 * Memory:    the caller's room for k candidates.
 */
#ifndef HOST_BEST_LOGITS_H
#define HOST_BEST_LOGITS_H
#include <stdint.h>

typedef struct sampler_candidate {
    float value;  /* logit, later probability */
    uint32_t id;
} sampler_candidate;

/* Writes the k best finite ones of logits[0..n) to `out`, best first, and returns how many there are: fewer than k only when no more are
 * finite. Near one pass of reading for a small k; k log n for each that turns out to be better than those before it. [any-thread] [no-alloc] */
uint32_t best_logits_collect(const float *logits, uint32_t n, uint32_t k, sampler_candidate *out);

#endif
