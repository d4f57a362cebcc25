/* deltas.h — low-rank changes of a model's projections as ops of its decode program.
 *
 *     y = W x            becomes   y + B (s (A x))         MATMUL A, SCALE s (not for 1), MATMUL B, ADD
 *     x = E[ids]         becomes   x + B (s A[ids])        EMBED A, SCALE s, MATMUL B, ADD
 *
 * No op is new, so every backend runs them, and prefill, decode and the checking of guesses are the same program. Where no
 * change belongs, nothing is written: a model without deltas has the program that it always had. Several changes of one
 * place are added one after another, in their order.
 *
 * Threading: values; building is one thread's work.
 * Memory:    matrices are borrowed by everything that is made from them, until the program is freed.
 */
#ifndef HOST_DELTAS_H
#define HOST_DELTAS_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/lora.h>

#include "base/program_builder.h"
#include "model/model.h"

/* One change. No role of several matrices: those are taken apart before. */
typedef struct model_delta {
    lora_role role;
    uint32_t layer;        /* LORA_NO_LAYER where the role has none */
    uint32_t rank;         /* >= 1 */
    float scale;           /* finite; strength included */
    uint64_t n_in, n_out;  /* of the place, as delta_shape tells them */
    blk_type type;         /* of both: BLK_F32 or BLK_F16 */
    const void *a;         /* [rank][n_in]; of LORA_TOKEN_EMBD [n_in][rank]; aligned for its elements */
    const void *b;         /* [n_out][rank] */
} model_delta;

/* What the matrix at this place takes and gives in `m`; false when the model has no such place. LORA_ATTN_QKV and
 * LORA_FFN_GATE_UP are answered for every model: as one matrix they are only a way of writing. [any-thread] */
bool delta_shape(const model *m, lora_role role, uint32_t layer, uint64_t *out_n_in, uint64_t *out_n_out);

/* Rows of Q, K and V. [any-thread] */
uint64_t delta_q_rows(const hparams *h);
uint64_t delta_k_rows(const hparams *h);
uint64_t delta_v_rows(const hparams *h);

/* A matrix of a delta and the buffer that it fills. */
typedef struct delta_binding {
    uint32_t buffer;
    const void *data;
    uint64_t bytes;
} delta_binding;

typedef struct delta_builder {
    program_builder *b;
    const model_delta *deltas; /* [n_deltas] */
    uint32_t n_deltas;
    delta_binding *bindings;   /* room for 2 n_deltas */
    uint32_t n_bindings;
} delta_builder;

/* y with every change of this place, which takes x; y itself when there is none. */
uint32_t deltas_apply(delta_builder *d, lora_role role, uint32_t layer, uint32_t x, uint32_t y);

/* The embedding x of `ids` with every change of the table of tokens, then of the embedding. */
uint32_t deltas_apply_to_embedding(delta_builder *d, uint32_t ids, uint32_t x);

#endif
