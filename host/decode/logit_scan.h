/* logit_scan.h — going over a row of logits as fast as the processor reads it.
 *
 * A row has one number per token of the vocabulary, 150,000 and more, and something is asked of all of them at each token: the
 * greatest, or the sum of what the softmax makes of them. The loops go over blocks of constant size and halve them, so that a compiler
 * makes vector instructions of them without being told which.
 *
 * Numbers that are not finite do not count, wherever they stand. Answers do not depend on the number of lanes that the machine has.
 *
 * Threading: pure. Memory: none.
 */
#ifndef HOST_LOGIT_SCAN_H
#define HOST_LOGIT_SCAN_H
#include <stdint.h>

/* Logits that are looked at together: a search goes into a block only when its greatest may matter. */
#define LOGIT_BLOCK 128u

/* The greatest finite one of logits[0..n); -INFINITY when there is none. [any-thread] [no-alloc] */
float logit_scan_greatest(const float *logits, uint32_t n);

/* Index of the greatest finite one, the lowest of equal ones; n when there is none. [any-thread] [no-alloc] */
uint32_t logit_scan_find(const float *logits, uint32_t n);

/* Sum of exp((logit - greatest) / temperature) over the finite ones, each of them within 3e-7 of its value. `greatest` is what logit_scan_greatest
 * found; temperature > 0. [any-thread] [no-alloc] */
double logit_scan_sum(const float *logits, uint32_t n, float greatest, float temperature);

#endif
