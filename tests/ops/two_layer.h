/* two_layer.h — a decoder of two layers with random weights that uses every op of the registry.
 *
 * Layer 0: adjacent RoPE, biases, SiLU, full attention in cell group 0, F16 state. Layer 1: half RoPE with factors, norms per
 * head, GELU, scaled input, a window of 6 in cell group 1, F32 state, capped scores. Tied embedding in Q8_0, other weights in
 * several formats; capped logits of the selected rows.
 *
 * Threading: one thread at a time per object. Memory: owned by the model until two_layer_deinit.
 */
#ifndef TWO_LAYER_H
#define TWO_LAYER_H
#include "backend.h"
#include "cells.h"

#define TWO_LAYER_VOCAB 96
#define TWO_LAYER_CELLS 40
#define TWO_LAYER_TOKENS 24

typedef struct two_layer {
    op_program *builder;
    const qn_program *program;
    uint32_t ids, rows, logits;            /* buffers */
    uint32_t n_weights;
    uint32_t weight_at[64];                /* buffer of each weight */
    op_weight weights[64];
} two_layer;

void two_layer_init(two_layer *self, op_random *random);
void two_layer_deinit(two_layer *self);

/* A rig for it, compiled, with a session. */
void two_layer_open(const two_layer *self, rig *r, const backend *on, uint32_t flags, uint32_t numeric, uint32_t max_sequences);

/* Where its two cell groups put the positions of up to three sequences. */
typedef struct two_layer_cells {
    cell_map maps[2];
    qn_placement placements[2];
} two_layer_cells;

void two_layer_cells_init(two_layer_cells *self, uint32_t n_sequences, uint32_t n_positions, uint32_t order, op_random *random);
void two_layer_cells_deinit(two_layer_cells *self);

/* One step: n tokens with their ids, positions and sequences (null: all 0); logits of the tokens in `rows` are wanted. */
typedef struct two_layer_step {
    uint32_t n_tokens, n_outputs, n_sequences;
    const int32_t *ids, *positions, *rows;
    const uint32_t *sequences;
} two_layer_step;

/* Runs it and copies the logits [n_outputs][TWO_LAYER_VOCAB]. */
void two_layer_run(const two_layer *self, rig *r, two_layer_cells *cells, const two_layer_step *step, float *logits);
/* The same, without copying, and the status is the caller's to judge. */
qn_status two_layer_try(const two_layer *self, rig *r, two_layer_cells *cells, const two_layer_step *step);

#endif
