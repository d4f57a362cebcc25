/* stack.c — building the decoders of stack.h. */
#include "stack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const stack_family stack_families[] = {
    {.name = "llama", .pairing = QN_ROPE_ADJACENT, .activation = QN_GATED_SILU, .n_rot_of = 1},
    {.name = "qwen2",
     .pairing = QN_ROPE_HALF,
     .activation = QN_GATED_SILU,
     .has_qkv_bias = true,
     .is_tied = true,
     .n_rot_of = 1},
    {.name = "qwen3",
     .pairing = QN_ROPE_HALF,
     .activation = QN_GATED_SILU,
     .has_qk_norm = true,
     .is_yarn = true,
     .n_rot_of = 1},
    {.name = "gemma2",
     .pairing = QN_ROPE_HALF,
     .activation = QN_GATED_GELU_TANH,
     .has_post_norms = true,
     .is_tied = true,
     .full_every = 2,
     .embed_scale = 16,
     .attn_softcap = 50,
     .final_softcap = 30,
     .n_rot_of = 1},
    {.name = "gemma3",
     .pairing = QN_ROPE_HALF,
     .activation = QN_GATED_GELU_TANH,
     .has_qk_norm = true,
     .has_post_norms = true,
     .is_tied = true,
     .full_every = 2,
     .embed_scale = 16,
     .n_rot_of = 1},
    {.name = "phi3",
     .pairing = QN_ROPE_HALF,
     .activation = QN_GATED_SILU,
     .has_fused_rows = true,
     .has_factors = true,
     .n_rot_of = 2},
    {.name = "everything",
     .pairing = QN_ROPE_ADJACENT,
     .activation = QN_GATED_SILU,
     .has_qkv_bias = true,
     .has_qk_norm = true,
     .has_post_norms = true,
     .has_factors = true,
     .is_tied = true,
     .full_every = 2,
     .embed_scale = 4,
     .attn_softcap = 20,
     .final_softcap = 30,
     .n_rot_of = 2},
};
const uint32_t stack_n_families = CF_COUNT_OF(stack_families);

const stack_family *stack_family_of_everything(void) {
    return &stack_families[CF_COUNT_OF(stack_families) - 1];
}

stack_shape stack_small_shape(uint32_t n_layer, qn_format format, qn_format state_format) {
    return (stack_shape){.n_layer = n_layer,
                         .n_embd = 256,
                         .n_ff = 512,
                         .n_head = 4,
                         .n_kv_head = 2,
                         .head_dim = 64,
                         .n_vocab = 256,
                         .window = 6,
                         .state_format = state_format,
                         .formats = {format},
                         .n_formats = 1};
}

stack_shape stack_mixed_shape(uint32_t n_layer) {
    static const qn_format formats[STACK_MOST_FORMATS] = {
        QN_FORMAT_Q8_0, QN_FORMAT_Q4_K, QN_FORMAT_F16,     QN_FORMAT_Q4_0, QN_FORMAT_Q6_K,    QN_FORMAT_Q4_K_SOA,
        QN_FORMAT_BF16, QN_FORMAT_Q5_K, QN_FORMAT_TERNARY, QN_FORMAT_Q4_1, QN_FORMAT_F32, QN_FORMAT_Q5_0};
    stack_shape shape = stack_small_shape(n_layer, QN_FORMAT_F32, QN_FORMAT_F16);
    memcpy(shape.formats, formats, sizeof formats);
    shape.n_formats = STACK_MOST_FORMATS;
    return shape;
}

/* --- Building ----------------------------------------------------------------------------------------------------- */

typedef struct builder {
    stack *s;
    op_model *m;
    uint32_t layer;          /* or QN_NO_LAYER */
    uint32_t n_matrices;
    uint32_t factors;        /* buffer */
    char name[64];
} builder;

static const char *name_of(builder *b, const char *what) {
    snprintf(b->name, sizeof b->name, b->layer == QN_NO_LAYER ? "%s" : "%s.%u", what, b->layer);
    return b->name;
}

static qn_format next_format(builder *b) {
    return b->s->shape.formats[b->n_matrices++ % b->s->shape.n_formats];
}

/* As large as keeps the rows that leave the product as large as those that enter. */
static uint32_t add_matrix(builder *b, const char *what, uint32_t columns, uint32_t rows) {
    return op_model_weight_sized(b->m, name_of(b, what), next_format(b), columns, rows, 1 / sqrt((double)columns));
}

static uint32_t add_vector(builder *b, const char *what, uint32_t n, float middle, float spread) {
    float values[4096];
    for (uint32_t i = 0; i < n && i < CF_COUNT_OF(values); i++) {
        values[i] = middle + op_random_signed(&b->m->random) * spread;
    }
    return op_model_vector(b->m, name_of(b, what), values, n);
}

typedef struct operands {
    uint32_t in[3], n;
} operands;

static uint32_t put(builder *b, uint32_t op, const char *what, uint32_t columns, uint32_t symbol, operands in,
                    const void *attrs, uint32_t attrs_bytes) {
    const uint32_t out = op_model_rows(b->m, name_of(b, what), QN_ROLE_ACT, columns, symbol);
    op_program_add_op(b->m->builder, op, b->layer, in.n, in.in, out, attrs, attrs_bytes);
    return out;
}

static uint32_t put_norm(builder *b, const char *what, uint32_t x, uint32_t columns, uint32_t group, uint32_t symbol) {
    const qn_rms_norm_attrs attrs = {.size = sizeof attrs, .group = group, .epsilon = 1e-5f};
    char weight[48];
    snprintf(weight, sizeof weight, "%s_weight", what);
    return put(b, QN_OP_RMS_NORM, what, columns, symbol, (operands){{x, add_vector(b, weight, group, 1, 0.2f)}, 2},
               &attrs, sizeof attrs);
}

static uint32_t put_matmul(builder *b, const char *what, uint32_t weight, uint32_t x, uint32_t rows, bool has_bias) {
    char text[48];
    snprintf(text, sizeof text, "%s_bias", what);
    const operands in = {{weight, x, has_bias ? add_vector(b, text, rows, 0, 0.3f) : 0}, has_bias ? 3 : 2};
    return put(b, QN_OP_MATMUL, what, rows, QN_DIM_TOKENS, in, NULL, 0);
}

static bool is_windowed(const builder *b) {
    return b->s->family->full_every != 0 && (b->layer + 1) % b->s->family->full_every != 0;
}

static uint32_t put_rope(builder *b, const char *what, uint32_t x, uint32_t n_head) {
    const stack_family *const f = b->s->family;
    const uint32_t head_dim = b->s->shape.head_dim;
    const bool is_yarn = f->is_yarn;
    const qn_rope_attrs attrs = {.size = sizeof attrs,
                                 .n_head = n_head,
                                 .head_dim = head_dim,
                                 .n_rot = head_dim / f->n_rot_of,
                                 .pairing = f->pairing,
                                 .base = is_windowed(b) ? 10000 : 1000000,
                                 .freq_scale = is_yarn ? 0.25f : 1,
                                 .ext_factor = is_yarn ? 1 : 0,
                                 .attn_factor = 1,
                                 .n_ctx_orig = is_yarn ? 4096 : 0,
                                 .beta_fast = is_yarn ? 32 : 0,
                                 .beta_slow = is_yarn ? 1 : 0};
    return put(b, QN_OP_ROPE, what, n_head * head_dim, QN_DIM_TOKENS,
               (operands){{x, b->factors}, f->has_factors ? 2 : 1}, &attrs, sizeof attrs);
}

typedef struct projections {
    uint32_t q, k, v; /* weight buffers */
} projections;

static projections add_projections(builder *b) {
    const stack_shape *const s = &b->s->shape;
    const uint32_t q_rows = s->n_head * s->head_dim, kv_rows = s->n_kv_head * s->head_dim;
    if (!b->s->family->has_fused_rows) {
        const uint32_t q = add_matrix(b, "q_weight", s->n_embd, q_rows),
                       k = add_matrix(b, "k_weight", s->n_embd, kv_rows);
        return (projections){q, k, add_matrix(b, "v_weight", s->n_embd, kv_rows)};
    }
    /* The first is the whole tensor's first rows: its buffer only names fewer of them. */
    const uint32_t q = add_matrix(b, "qkv_weight", s->n_embd, q_rows + 2 * kv_rows);
    const uint32_t k = op_model_weight_of(b->m, name_of(b, "k_weight"), q, q_rows, kv_rows);
    const uint32_t v = op_model_weight_of(b->m, name_of(b, "v_weight"), q, q_rows + kv_rows, kv_rows);
    b->m->builder->buffers[q].dims[1] = q_rows;
    return (projections){q, k, v};
}

static uint32_t put_attention(builder *b, uint32_t x) {
    const stack_shape *const s = &b->s->shape;
    const stack_family *const f = b->s->family;
    const uint32_t q_columns = s->n_head * s->head_dim, kv_columns = s->n_kv_head * s->head_dim;
    const qn_attention_attrs attrs = {.size = sizeof attrs,
                                      .n_head = s->n_head,
                                      .n_kv_head = s->n_kv_head,
                                      .head_dim = s->head_dim,
                                      .value_dim = s->head_dim,
                                      .window = is_windowed(b) ? s->window : 0,
                                      .scale = 1 / sqrtf((float)s->head_dim),
                                      .softcap = f->attn_softcap};
    const uint32_t group = is_windowed(b) && stack_groups(b->s) > 1 ? 1 : 0;
    const projections w = add_projections(b);
    uint32_t q = put_matmul(b, "q", w.q, x, q_columns, f->has_qkv_bias),
             k = put_matmul(b, "k", w.k, x, kv_columns, f->has_qkv_bias);
    const uint32_t v = put_matmul(b, "v", w.v, x, kv_columns, f->has_qkv_bias);
    if (f->has_qk_norm) {
        q = put_norm(b, "q_norm", q, q_columns, s->head_dim, QN_DIM_TOKENS);
        k = put_norm(b, "k_norm", k, kv_columns, s->head_dim, QN_DIM_TOKENS);
    }
    q = put_rope(b, "q_rope", q, s->n_head);
    k = put_rope(b, "k_rope", k, s->n_kv_head);
    const uint32_t state_k = op_program_add_state(b->m->builder, name_of(b, "state_k"), s->state_format, kv_columns,
                                                  group);
    const uint32_t state_v = op_program_add_state(b->m->builder, name_of(b, "state_v"), s->state_format, kv_columns,
                                                  group);
    op_program_add_op(b->m->builder, QN_OP_STATE_WRITE, b->layer, 2, (const uint32_t[]){k, state_k}, OP_NO_OUTPUT, NULL,
                      0);
    op_program_add_op(b->m->builder, QN_OP_STATE_WRITE, b->layer, 2, (const uint32_t[]){v, state_v}, OP_NO_OUTPUT, NULL,
                      0);
    const uint32_t y = put(b, QN_OP_ATTENTION, "attention", q_columns, QN_DIM_TOKENS,
                           (operands){{q, state_k, state_v}, 3}, &attrs, sizeof attrs);
    return put_matmul(b, "attention_out", add_matrix(b, "attention_out_weight", q_columns, s->n_embd), y, s->n_embd,
                      false);
}

static uint32_t put_feed_forward(builder *b, uint32_t x) {
    const stack_shape *const s = &b->s->shape;
    const qn_gated_attrs attrs = {.size = sizeof attrs, .kind = b->s->family->activation};
    const bool is_fused = b->s->family->has_fused_rows;
    const uint32_t gate_weight = add_matrix(b, "gate_weight", s->n_embd, is_fused ? 2 * s->n_ff : s->n_ff);
    const uint32_t up_weight = is_fused
                                   ? op_model_weight_of(b->m, name_of(b, "up_weight"), gate_weight, s->n_ff, s->n_ff)
                                   : add_matrix(b, "up_weight", s->n_embd, s->n_ff);
    b->m->builder->buffers[gate_weight].dims[1] = s->n_ff;
    const uint32_t gate = put_matmul(b, "gate", gate_weight, x, s->n_ff, false),
                   up = put_matmul(b, "up", up_weight, x, s->n_ff, false);
    const uint32_t y = put(b, QN_OP_GATED, "gated", s->n_ff, QN_DIM_TOKENS, (operands){{gate, up}, 2}, &attrs,
                           sizeof attrs);
    return put_matmul(b, "down", add_matrix(b, "down_weight", s->n_ff, s->n_embd), y, s->n_embd, false);
}

static uint32_t put_part(builder *b, const char *name, uint32_t x, uint32_t (*part)(builder *b, uint32_t x)) {
    const uint32_t n = b->s->shape.n_embd;
    char before[32], after[32], sum[32];
    snprintf(before, sizeof before, "%s_norm", name);
    snprintf(after, sizeof after, "post_%s_norm", name);
    snprintf(sum, sizeof sum, "%s_add", name);
    uint32_t y = part(b, put_norm(b, before, x, n, n, QN_DIM_TOKENS));
    if (b->s->family->has_post_norms) {
        y = put_norm(b, after, y, n, n, QN_DIM_TOKENS);
    }
    return put(b, QN_OP_ADD, sum, n, QN_DIM_TOKENS, (operands){{x, y}, 2}, NULL, 0);
}

static void put_head(builder *b, uint32_t x, uint32_t table) {
    stack *const s = b->s;
    const uint32_t n = s->shape.n_embd, n_vocab = s->shape.n_vocab;
    const qn_softcap_attrs cap = {.size = sizeof cap, .cap = s->family->final_softcap};
    const uint32_t selected = put(b, QN_OP_SELECT_ROWS, "selected", n, QN_DIM_OUTPUTS, (operands){{x, s->rows}, 2},
                                  NULL, 0);
    const uint32_t normed = put_norm(b, "output_norm", selected, n, n, QN_DIM_OUTPUTS);
    const uint32_t head = s->family->is_tied
                              ? table
                              : op_model_weight_sized(b->m, "output_weight", next_format(b), n, n_vocab, 0.25);
    const uint32_t in[2] = {head, normed};
    if (s->family->final_softcap == 0) {
        s->logits = op_model_rows(b->m, "logits", QN_ROLE_OUTPUT, n_vocab, QN_DIM_OUTPUTS);
        op_program_add_op(b->m->builder, QN_OP_MATMUL, QN_NO_LAYER, 2, in, s->logits, NULL, 0);
    } else {
        const uint32_t raw = put(b, QN_OP_MATMUL, "raw_logits", n_vocab, QN_DIM_OUTPUTS, (operands){{head, normed}, 2},
                                 NULL, 0);
        s->logits = op_model_rows(b->m, "logits", QN_ROLE_OUTPUT, n_vocab, QN_DIM_OUTPUTS);
        op_program_add_op(b->m->builder, QN_OP_SOFTCAP, QN_NO_LAYER, 1, &raw, s->logits, &cap, sizeof cap);
    }
}

uint32_t stack_groups(const stack *self) {
    return self->family->full_every == 0 ? 1 : 2;
}

void stack_init(stack *self, cf_context *ctx, const stack_family *family, const stack_shape *shape, uint64_t salt) {
    builder b = {.s = self, .m = &self->m, .layer = QN_NO_LAYER};
    const qn_scale_attrs scale = {.size = sizeof scale, .factor = family->embed_scale};
    memset(self, 0, sizeof *self);
    self->family = family;
    self->shape = *shape;
    op_model_init(&self->m, ctx, DATA_MODEL, salt);
    op_program_add_group(self->m.builder, 0);
    if (stack_groups(self) > 1) {
        op_program_add_group(self->m.builder, shape->window);
    }
    self->ids = op_model_numbers(&self->m, "ids", QN_DIM_TOKENS);
    self->rows = op_model_numbers(&self->m, "rows", QN_DIM_OUTPUTS);
    const uint32_t table = op_model_weight_sized(&self->m, "embedding", next_format(&b), shape->n_embd, shape->n_vocab,
                                                 0.25);
    uint32_t x = put(&b, QN_OP_EMBED, "embedded", shape->n_embd, QN_DIM_TOKENS, (operands){{table, self->ids}, 2}, NULL,
                     0);
    if (family->embed_scale != 0) {
        x = put(&b, QN_OP_SCALE, "scaled", shape->n_embd, QN_DIM_TOKENS, (operands){{x}, 1}, &scale, sizeof scale);
    }
    if (family->has_factors) {
        b.factors = add_vector(&b, "factors", shape->head_dim / family->n_rot_of / 2, 2, 1);
    }
    for (b.layer = 0; b.layer < shape->n_layer; b.layer++) {
        x = put_part(&b, "attention", x, put_attention);
        x = put_part(&b, "ffn", x, put_feed_forward);
        self->m.builder->ops[self->m.builder->n_ops - 1].flags = QN_OP_LAYER_END;
    }
    b.layer = QN_NO_LAYER;
    put_head(&b, x, table);
    op_model_finish(&self->m);
}

void stack_free(stack *self) {
    op_model_free(&self->m);
    memset(self, 0, sizeof *self);
}
