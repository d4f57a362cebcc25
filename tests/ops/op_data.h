/* op_data.h — random numbers and weights for op tests.
 *
 * Two kinds of data: exact (small non-zero integers and powers of two, so that every sum in any order is exact in f32) and real.
 * Weights of block formats are random bits with sane scales: every scale, sign and nibble turns up, not only what an encoder
 * would write.
 *
 * Threading: one thread at a time per generator. Memory: op_weight_make gives memory that the caller frees.
 */
#ifndef OP_DATA_H
#define OP_DATA_H
#include <stdbool.h>

#include <quoin/program.h>

typedef struct op_random {
    uint64_t state;
} op_random;

uint64_t op_random_next(op_random *random);
uint32_t op_random_below(op_random *random, uint32_t limit);
/* Uniform in [-1, 1). */
float op_random_signed(op_random *random);

/* Every weight format of formats.def. */
extern const qn_format op_weight_formats[];
extern const uint32_t op_n_weight_formats;

/* n values: exact: +-1..+-3 (with `peak`, +-127 once in each 32, so that 8-bit quantisation is exact too); real: two thirds
 * uniform, the rest heavy-tailed. */
void op_fill(op_random *random, bool is_exact, bool has_peaks, uint64_t n, float *values);

typedef struct op_weight {
    void *bytes;
    uint64_t n_bytes;
    float *values;   /* decoded [count] */
} op_weight;

/* A tensor of `first + count` elements, of which the last `count` are the weight. first: a multiple of the block. */
op_weight op_weight_make(op_random *random, qn_format format, bool is_exact, uint64_t first, uint64_t count);
void op_weight_free(op_weight *weight);

#endif
