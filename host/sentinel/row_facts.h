/* row_facts.h — what the rules ask of a row of logits: the two greatest, how many are no number, and how undecided it is.
 *
 * The entropy is that of softmax(row) over the finite logits, at temperature 1, in nats:
 *
 *     m = max x,   w_i = exp(x_i - m),   Z = sum w_i,   H = ln Z - (sum w_i (x_i - m)) / Z        0 <= H <= ln n
 *
 * exp is a polynomial of single precision with a relative error below 3e-7, and no w is taken for less than exp(-80); H is right to 1e-4 nats
 * and better for rows of up to 2^20 logits. Two passes over the row, one without the entropy: both in lanes that a compiler makes vectors
 * of. The result depends on the row alone.
 *
 * Threading: pure. Memory: none. [no-alloc]
 */
#ifndef HOST_SENTINEL_ROW_FACTS_H
#define HOST_SENTINEL_ROW_FACTS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct row_facts {
    float best, second;     /* the two greatest finite logits, equal ones each; -FLT_MAX where there is none */
    uint32_t n_odd;         /* NaN and infinities */
    float entropy;          /* nats; 0 when not asked for, or when no logit is finite */
} row_facts;

/* logits: [n], n >= 1. */
row_facts row_facts_of(const float *logits, uint32_t n, bool with_entropy);

#endif
