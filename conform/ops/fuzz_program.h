/* fuzz_program.h — random programs of a few ops that are valid, with data that keeps numbers of a sane size.
 *
 *     fuzz_program f;
 *     fuzz_program_init(&f, ctx, n_ops, salt);
 *     const op_step *step = fuzz_program_step(&f);     the next of at most FUZZ_STEPS steps
 *     fuzz_program_free(&f);
 *
 * Widths are biased to 1, to neighbours of powers of two, primes and sizes of real models. Weights have formats of
 * decode-core-0, states F16 or F32. Steps have 1 to FUZZ_TOKENS tokens of one to three sequences, at positions that
 * begin anywhere below 2^20, in cells anywhere, described by spans cut and shuffled at random.
 *
 * Threading: one thread at a time per object. Memory: owned by the object.
 */
#ifndef CONFORM_FUZZ_PROGRAM_H
#define CONFORM_FUZZ_PROGRAM_H
#include "cells.h"

enum { FUZZ_STEPS = 4, FUZZ_TOKENS = 12, FUZZ_VALUES = 32, FUZZ_POSITIONS = FUZZ_STEPS * FUZZ_TOKENS };

/* A buffer that later ops may read. */
typedef struct fuzz_value {
    uint32_t buffer, columns, symbol;
    double size;         /* of its elements, roughly */
    bool is_read;
} fuzz_value;

typedef struct fuzz_program {
    op_model m;
    fuzz_value values[FUZZ_VALUES];
    uint32_t n_values;
    uint32_t n_sequences, n_cells;
    uint32_t lengths[3];  /* positions of each sequence so far */
    int32_t begins[3];    /* first position of each */
    cell_map map;
    char text[256];       /* its ops, in order */
} fuzz_program;

/* n_ops ops at least; attention brings its projections. */
void fuzz_program_init(fuzz_program *self, cf_context *ctx, uint32_t n_ops, uint64_t salt);
void fuzz_program_free(fuzz_program *self);

qn_limits fuzz_program_limits(const fuzz_program *self);

const op_step *fuzz_program_step(fuzz_program *self);

#endif
