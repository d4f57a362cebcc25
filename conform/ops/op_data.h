/* op_data.h — random numbers and weights for op tests.
 *
 * Kinds of numbers:
 *   exact    non-zero small integers and scales that are powers of two, so that every sum in any order is exact in f32
 *   real     two thirds uniform in [-1, 1), the rest heavy-tailed
 *   model    weights with a root mean square that the caller gives, so that rows stay about as large through many
 * layers corners  what formats can say at most: every bit of a block set or clear, scales of zero, subnormal, largest
 * and of either sign Weights of block formats are random bits with sane scales: every sub-scale, sign and nibble turns
 * up, not only what an encoder would write.
 *
 * Threading: one thread at a time per generator. Memory: the caller's scratch.
 */
#ifndef CONFORM_OP_DATA_H
#define CONFORM_OP_DATA_H
#include "scratch.h"

enum { DATA_EXACT, DATA_REAL, DATA_CORNERS, DATA_MODEL };

/* "exact integers", "real numbers", "corner values", "numbers of a model". Static. */
const char *op_data_name(uint32_t kind);

/* Uniform in [-1, 1). */
float op_random_signed(cf_random *random);

/* n values. has_peaks: with DATA_EXACT, +-127 once in each 32, so that 8-bit quantisation is exact too. Other kinds are
 * as DATA_REAL. */
void op_fill(cf_random *random, uint32_t kind, bool has_peaks, uint64_t n, float *values);

/* Every format of formats.def that is a weight's: all but I32. */
extern const qn_format op_weight_formats[];
extern const uint32_t op_n_weight_formats;

/* Elements that a row of this format is a multiple of. */
uint32_t op_format_unit(qn_format format);

typedef struct op_weight {
    void *bytes;     /* null: none */
    uint64_t n_bytes;
    uint64_t first;  /* element of the tensor that is the weight's first */
    float *values;   /* decoded [count] */
    uint64_t count;
    void *panels;    /* null, or the tensor as panels: what is bound instead of bytes; 64-byte aligned */
    uint64_t n_panel_bytes;
} op_weight;

/* A tensor of `first + count` elements, of which the last `count` are the weight. first: a multiple of the block. */
op_weight op_weight_make(cf_context *ctx, scratch *memory, cf_random *random, qn_format format, uint32_t kind,
                         uint64_t first, uint64_t count);

/* DATA_MODEL: root mean square about `size`. I8, which has no scale, is as it is. */
op_weight op_weight_make_sized(cf_context *ctx, scratch *memory, cf_random *random, qn_format format, double size,
                               uint64_t first, uint64_t count);

#endif
