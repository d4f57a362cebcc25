/* token_work.h — what one token asks of the machine: bytes to read and products to make, counted in the decode program.
 *
 * Counted are the matrix products with weights. What attention adds depends on the position and is left out, as are norms and the like.
 *
 * Threading: pure. Memory: none.
 */
#ifndef HOST_TOKEN_WORK_H
#define HOST_TOKEN_WORK_H
#include <stdint.h>

#include "decode/plan.h"

/* Products, each with its addition, by the units that make them. Weights of a block format count as bytes when the program quantises
 * activations (class ACT8), everything else as f32. */
typedef struct products {
    uint64_t int8, f32;
} products;

typedef struct token_work {
    uint64_t bytes;   /* of weights that decoding one token reads */
    products decode;  /* of one token that is decoded: with the matrix that makes logits */
    products prompt;  /* of one token of a long prompt: without it */
} token_work;

/* `more_bytes`: weights that the program has beside the model's, of adapters. */
token_work token_work_count(const plan *p, uint64_t more_bytes);

/* Operations: a product and its addition are two. */
static inline double products_operations(const products *p) {
    return 2.0 * ((double)p->int8 + (double)p->f32);
}

/* Which part of what the machine can do is used by so many tokens a second: 0 to 1, or 0 when a peak that is needed is not known. */
double products_share(const products *p, double tokens_per_second, double int8_peak, double f32_peak);

#endif
