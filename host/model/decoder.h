/* decoder.h — from a model to the decode program that a plugin compiles: buffers, ops, and which tensor fills which
 * buffer.
 *
 *   ids ─ embed ─┬─ norm ─ q,k,v ─ (head norm) ─ rope ─ write k,v ─ attention ─ output ─┬─ norm ─ gate,up ─ gated ─
 * down ─┐ … ─ norm ─ logits └──────────────────────── residual sum ────────────────────────────────┴───────── residual
 * sum ──────────┘
 *
 * Threading: building is one thread's work; the result is immutable.
 * Memory:    owned by the decoder; it borrows the model, which must outlive it.
 */
#ifndef HOST_DECODER_H
#define HOST_DECODER_H
#include <stdint.h>

#include <quoin/ops.h>

#include "base/error.h"
#include "model/deltas.h"
#include "model/model.h"

#define DECODER_MAX_GROUPS 2u

typedef struct weight_binding {
    uint32_t buffer;
    const model_tensor *tensor;
    uint64_t first_element; /* rows of a fused tensor begin here */
    float *values;          /* owned: a vector that the file stores in another type than F32, decoded; otherwise null */
} weight_binding;

typedef struct decoder {
    qn_program *program;
    weight_binding *weights;
    uint32_t n_weights;
    delta_binding *delta_weights; /* matrices of the deltas; no tensors of the model */
    uint32_t n_delta_weights;
    uint32_t ids, rows, logits;  /* buffer numbers of the inputs and the output */
    uint32_t n_groups;
    uint32_t group_window[DECODER_MAX_GROUPS]; /* 0 = full */
    uint64_t state_bytes_per_cell[DECODER_MAX_GROUPS]; /* K and V of all layers of the group */
} decoder;

typedef struct decoder_options {
    qn_format state_format; /* QN_FORMAT_F16, F32, BF16 or Q8_0 */
    uint32_t n_ctx;         /* decides between the factor sets of longrope models */
    const model_delta *deltas; /* [n_deltas]; their matrices are borrowed as long as the decoder is used */
    uint32_t n_deltas;      /* 0 = the model as it is */
} decoder_options;

/* Checks that every tensor that the architecture needs is there with the right shape and a type that can be run; the
 * first missing or misshapen one is named with what was wanted. QN_BAD_INPUT: a delta has no place in this model. */
qn_status decoder_build(const model *m, const decoder_options *options, decoder **out_decoder, error_context *err);
void decoder_destroy(decoder *d);

#endif
