/* deltas.c — shapes of places, and the ops of a change. */
#include "model/deltas.h"

#include <stdio.h>

#define NAME_SIZE 64

uint64_t delta_q_rows(const hparams *h) {
    return (uint64_t)h->n_head * h->head_dim;
}

uint64_t delta_k_rows(const hparams *h) {
    return (uint64_t)h->n_head_kv * h->head_dim;
}

uint64_t delta_v_rows(const hparams *h) {
    return (uint64_t)h->n_head_kv * h->value_dim;
}

bool delta_shape(const model *m, lora_role role, uint32_t layer, uint64_t *out_n_in, uint64_t *out_n_out) {
    const hparams *h = &m->hparams;
    if (lora_role_has_layer(role) ? layer >= h->n_layer : layer != LORA_NO_LAYER) {
        return false;
    }
    *out_n_in = role == LORA_ATTN_OUTPUT  ? (uint64_t)h->n_head * h->value_dim
                : role == LORA_FFN_DOWN   ? h->n_ff
                : role == LORA_TOKEN_EMBD ? h->n_vocab
                                          : h->n_embd;
    switch (role) {
    case LORA_ATTN_Q: *out_n_out = delta_q_rows(h); return true;
    case LORA_ATTN_K: *out_n_out = delta_k_rows(h); return true;
    case LORA_ATTN_V: *out_n_out = delta_v_rows(h); return true;
    case LORA_ATTN_QKV: *out_n_out = delta_q_rows(h) + delta_k_rows(h) + delta_v_rows(h); return true;
    case LORA_FFN_GATE:
    case LORA_FFN_UP: *out_n_out = h->n_ff; return true;
    case LORA_FFN_GATE_UP: *out_n_out = 2 * (uint64_t)h->n_ff; return true;
    case LORA_OUTPUT: *out_n_out = h->n_vocab; return true;
    case LORA_ATTN_OUTPUT:
    case LORA_FFN_DOWN:
    case LORA_TOKEN_EMBD:
    case LORA_EMBEDDING: *out_n_out = h->n_embd; return true;
    default: return false;
    }
}

static uint32_t add_matrix(delta_builder *d, const model_delta *delta, char which, const void *data, uint64_t width,
                           uint64_t height) {
    char name[NAME_SIZE];
    if (delta->layer == LORA_NO_LAYER) {
        snprintf(name, sizeof name, "%s.lora_%c", lora_role_name(delta->role), which);
    } else {
        snprintf(name, sizeof name, "blk.%u.%s.lora_%c", delta->layer, lora_role_name(delta->role), which);
    }
    const uint32_t buffer = program_matrix(d->b, delta->type, width, height, name);
    const uint64_t bytes = width * height * (delta->type == BLK_F16 ? 2 : 4);
    d->bindings[d->n_bindings++] = (delta_binding){buffer, data, bytes};
    return buffer;
}

/* y + B (s z), where z has `rank` elements a row: the scale goes where the rows are shortest. */
static uint32_t add_expanded(delta_builder *d, const model_delta *delta, uint32_t z, uint32_t y) {
    const uint32_t b = add_matrix(d, delta, 'b', delta->b, delta->rank, delta->n_out);
    const uint32_t scaled = delta->scale != 1.0f ? program_scale(d->b, z, delta->scale) : z;
    return program_add(d->b, y, program_matmul(d->b, b, scaled, PROGRAM_NO_BUFFER));
}

uint32_t deltas_apply(delta_builder *d, lora_role role, uint32_t layer, uint32_t x, uint32_t y) {
    for (uint32_t i = 0; i < d->n_deltas; i++) {
        const model_delta *delta = &d->deltas[i];
        if (delta->role == role && delta->layer == layer) {
            const uint32_t a = add_matrix(d, delta, 'a', delta->a, delta->n_in, delta->rank);
            y = add_expanded(d, delta, program_matmul(d->b, a, x, PROGRAM_NO_BUFFER), y);
        }
    }
    return y;
}

uint32_t deltas_apply_to_embedding(delta_builder *d, uint32_t ids, uint32_t x) {
    for (uint32_t i = 0; i < d->n_deltas; i++) {
        const model_delta *delta = &d->deltas[i];
        if (delta->role == LORA_TOKEN_EMBD) {
            const uint32_t a = add_matrix(d, delta, 'a', delta->a, delta->rank, delta->n_in);
            x = add_expanded(d, delta, program_embed(d->b, a, ids), x);
        }
    }
    return deltas_apply(d, LORA_EMBEDDING, LORA_NO_LAYER, x, x);
}
