/* two_layer.c — building and running the two-layer decoder of two_layer.h. */
#include "two_layer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define N_EMBD 256
#define N_FF 512
#define N_HEAD 4
#define N_KV_HEAD 2
#define HEAD_DIM 64

typedef struct builder {
    two_layer *model;
    op_program *p;
    op_random *random;
    uint32_t layer;
    char name[64];
} builder;

static const char *name_of(builder *b, const char *what) {
    snprintf(b->name, sizeof b->name, "%s.%u", what, b->layer);
    return b->name;
}

/* Random weights, made about as large as keeps the rows that leave a product as large as those that enter. */
static uint32_t add_weight(builder *b, const char *what, qn_format format, uint64_t columns, uint64_t rows, float size) {
    two_layer *m = b->model;
    const uint64_t count = columns * (rows == 0 ? 1 : rows);
    const uint32_t at = op_program_add_weight(b->p, name_of(b, what), format, columns, rows);
    op_weight *weight = &m->weights[m->n_weights];
    assert_true(m->n_weights < sizeof m->weights / sizeof m->weights[0]);
    *weight = op_weight_make(b->random, format, false, 0, count);
    for (uint64_t i = 0; format == QN_FORMAT_F32 && i < count; i++) {
        weight->values[i] = op_random_signed(b->random) * size + (rows == 0 && size < 1 ? 1 : 0);
        memcpy((char *)weight->bytes + i * 4, &weight->values[i], 4);
    }
    m->weight_at[m->n_weights++] = at;
    return at;
}

static uint32_t add_act(builder *b, const char *what, uint32_t columns) {
    return op_program_add_rows(b->p, name_of(b, what), QN_ROLE_ACT, QN_FORMAT_F32, columns, QN_DIM_TOKENS);
}

static uint32_t put_op(builder *b, uint32_t op, const char *what, uint32_t columns, uint32_t in0, uint32_t in1, const void *attrs,
                       uint32_t attrs_bytes) {
    const uint32_t inputs[2] = {in0, in1}, out = add_act(b, what, columns);
    op_program_add_op(b->p, op, b->layer, in1 == OP_NO_OUTPUT ? 1 : 2, inputs, out, attrs, attrs_bytes);
    return out;
}

static uint32_t put_norm(builder *b, const char *what, uint32_t x, uint32_t columns, uint32_t group) {
    const qn_rms_norm_attrs attrs = {.size = sizeof attrs, .group = group, .epsilon = 1e-5f};
    char weight[48];
    snprintf(weight, sizeof weight, "%s_weight", what);
    const uint32_t w = add_weight(b, weight, QN_FORMAT_F32, group, 0, 0.2f);
    return put_op(b, QN_OP_RMS_NORM, what, columns, x, w, &attrs, sizeof attrs);
}

static uint32_t put_matmul(builder *b, const char *what, qn_format format, uint32_t x, uint32_t columns, uint32_t rows, bool has_bias) {
    char text[48];
    snprintf(text, sizeof text, "%s_weight", what);
    const uint32_t w = add_weight(b, text, format, columns, rows, 0.05f);
    if (!has_bias) {
        return put_op(b, QN_OP_MATMUL, what, rows, w, x, NULL, 0);
    }
    snprintf(text, sizeof text, "%s_bias", what);
    const uint32_t inputs[3] = {w, x, add_weight(b, text, QN_FORMAT_F32, rows, 0, 1)}, out = add_act(b, what, rows);
    op_program_add_op(b->p, QN_OP_MATMUL, b->layer, 3, inputs, out, NULL, 0);
    return out;
}

static uint32_t put_rope(builder *b, const char *what, uint32_t x, uint32_t n_head) {
    const qn_rope_attrs attrs = {.size = sizeof attrs, .n_head = n_head, .head_dim = HEAD_DIM, .n_rot = b->layer == 0 ? HEAD_DIM : 48,
                                 .pairing = b->layer == 0 ? QN_ROPE_ADJACENT : QN_ROPE_HALF, .base = 10000, .freq_scale = 1,
                                 .attn_factor = 1};
    const uint32_t factors = b->layer == 0 ? OP_NO_OUTPUT : add_weight(b, "factors", QN_FORMAT_F32, attrs.n_rot / 2, 0, 0.5f);
    return put_op(b, QN_OP_ROPE, what, n_head * HEAD_DIM, x, factors, &attrs, sizeof attrs);
}

static uint32_t put_attention(builder *b, uint32_t x) {
    const qn_format formats[2][4] = {{QN_FORMAT_Q4_K, QN_FORMAT_Q8_0, QN_FORMAT_F16, QN_FORMAT_Q4_0},
                                     {QN_FORMAT_Q6_K, QN_FORMAT_Q4_K_SOA, QN_FORMAT_TERNARY, QN_FORMAT_Q5_K}};
    const qn_format *format = formats[b->layer], state_format = b->layer == 0 ? QN_FORMAT_F16 : QN_FORMAT_F32;
    const qn_attention_attrs attrs = {.size = sizeof attrs, .n_head = N_HEAD, .n_kv_head = N_KV_HEAD, .head_dim = HEAD_DIM,
                                      .value_dim = HEAD_DIM, .window = b->layer == 0 ? 0 : 6, .scale = 0.125f,
                                      .softcap = b->layer == 0 ? 0 : 20};
    uint32_t q = put_matmul(b, "q", format[0], x, N_EMBD, N_HEAD * HEAD_DIM, b->layer == 0);
    uint32_t k = put_matmul(b, "k", format[1], x, N_EMBD, N_KV_HEAD * HEAD_DIM, b->layer == 0);
    const uint32_t v = put_matmul(b, "v", format[2], x, N_EMBD, N_KV_HEAD * HEAD_DIM, b->layer == 0);
    q = put_norm(b, "q_norm", q, N_HEAD * HEAD_DIM, HEAD_DIM);
    k = put_norm(b, "k_norm", k, N_KV_HEAD * HEAD_DIM, HEAD_DIM);
    q = put_rope(b, "q_rope", q, N_HEAD);
    k = put_rope(b, "k_rope", k, N_KV_HEAD);
    const uint32_t state_k = op_program_add_state(b->p, name_of(b, "state_k"), state_format, N_KV_HEAD * HEAD_DIM, b->layer);
    const uint32_t state_v = op_program_add_state(b->p, name_of(b, "state_v"), state_format, N_KV_HEAD * HEAD_DIM, b->layer);
    const uint32_t inputs[3] = {q, state_k, state_v};
    op_program_add_op(b->p, QN_OP_STATE_WRITE, b->layer, 2, (const uint32_t[]){k, state_k}, OP_NO_OUTPUT, NULL, 0);
    op_program_add_op(b->p, QN_OP_STATE_WRITE, b->layer, 2, (const uint32_t[]){v, state_v}, OP_NO_OUTPUT, NULL, 0);
    const uint32_t y = add_act(b, "attention", N_HEAD * HEAD_DIM);
    op_program_add_op(b->p, QN_OP_ATTENTION, b->layer, 3, inputs, y, &attrs, sizeof attrs);
    return put_matmul(b, "attention_out", format[3], y, N_HEAD * HEAD_DIM, N_EMBD, false);
}

static uint32_t put_feed_forward(builder *b, uint32_t x) {
    const qn_gated_attrs attrs = {.size = sizeof attrs, .kind = b->layer == 0 ? QN_GATED_SILU : QN_GATED_GELU_TANH};
    const uint32_t gate = put_matmul(b, "gate", b->layer == 0 ? QN_FORMAT_BF16 : QN_FORMAT_Q4_1, x, N_EMBD, N_FF, false);
    const uint32_t up = put_matmul(b, "up", b->layer == 0 ? QN_FORMAT_F32 : QN_FORMAT_Q5_0, x, N_EMBD, N_FF, false);
    const uint32_t y = put_op(b, QN_OP_GATED, "gated", N_FF, gate, up, &attrs, sizeof attrs);
    return put_matmul(b, "down", b->layer == 0 ? QN_FORMAT_Q4_K : QN_FORMAT_Q6_K, y, N_FF, N_EMBD, false);
}

/* The random weights of some formats are large; the norm after each block keeps the stream at one size. */
static uint32_t put_layer(builder *b, uint32_t x) {
    const uint32_t attended = put_norm(b, "post_attention_norm", put_attention(b, put_norm(b, "attention_norm", x, N_EMBD, N_EMBD)),
                                       N_EMBD, N_EMBD);
    x = put_op(b, QN_OP_ADD, "attention_add", N_EMBD, x, attended, NULL, 0);
    const uint32_t fed = put_norm(b, "post_ffn_norm", put_feed_forward(b, put_norm(b, "ffn_norm", x, N_EMBD, N_EMBD)), N_EMBD, N_EMBD);
    x = put_op(b, QN_OP_ADD, "ffn_add", N_EMBD, x, fed, NULL, 0);
    b->p->ops[b->p->n_ops - 1].flags = QN_OP_LAYER_END;
    return x;
}

static uint32_t put_head(builder *b, uint32_t x, uint32_t table) {
    const qn_softcap_attrs cap = {.size = sizeof cap, .cap = 30};
    two_layer *m = b->model;
    const uint32_t selected = op_program_add_rows(b->p, "selected", QN_ROLE_ACT, QN_FORMAT_F32, N_EMBD, QN_DIM_OUTPUTS);
    const uint32_t normed = op_program_add_rows(b->p, "normed", QN_ROLE_ACT, QN_FORMAT_F32, N_EMBD, QN_DIM_OUTPUTS);
    const uint32_t raw = op_program_add_rows(b->p, "raw_logits", QN_ROLE_ACT, QN_FORMAT_F32, TWO_LAYER_VOCAB, QN_DIM_OUTPUTS);
    const qn_rms_norm_attrs norm = {.size = sizeof norm, .group = N_EMBD, .epsilon = 1e-6f};
    op_program_add_op(b->p, QN_OP_SELECT_ROWS, QN_NO_LAYER, 2, (const uint32_t[]){x, m->rows}, selected, NULL, 0);
    op_program_add_op(b->p, QN_OP_RMS_NORM, QN_NO_LAYER, 2,
                      (const uint32_t[]){selected, add_weight(b, "norm_weight", QN_FORMAT_F32, N_EMBD, 0, 0.2f)}, normed, &norm,
                      sizeof norm);
    op_program_add_op(b->p, QN_OP_MATMUL, QN_NO_LAYER, 2, (const uint32_t[]){table, normed}, raw, NULL, 0);
    m->logits = op_program_add_rows(b->p, "logits", QN_ROLE_OUTPUT, QN_FORMAT_F32, TWO_LAYER_VOCAB, QN_DIM_OUTPUTS);
    op_program_add_op(b->p, QN_OP_SOFTCAP, QN_NO_LAYER, 1, &raw, m->logits, &cap, sizeof cap);
    return m->logits;
}

void two_layer_init(two_layer *self, op_random *random) {
    const qn_scale_attrs scale = {.size = sizeof scale, .factor = 4};
    memset(self, 0, sizeof *self);
    self->builder = op_program_create();
    builder b = {.model = self, .p = self->builder, .random = random};
    op_program_add_group(b.p, 0);
    op_program_add_group(b.p, 6);
    self->ids = op_program_add_rows(b.p, "ids", QN_ROLE_INPUT, QN_FORMAT_I32, 0, QN_DIM_TOKENS);
    self->rows = op_program_add_rows(b.p, "rows", QN_ROLE_INPUT, QN_FORMAT_I32, 0, QN_DIM_OUTPUTS);
    const uint32_t table = add_weight(&b, "embedding", QN_FORMAT_Q8_0, N_EMBD, TWO_LAYER_VOCAB, 1);
    uint32_t x = put_op(&b, QN_OP_EMBED, "embedded", N_EMBD, table, self->ids, NULL, 0);
    x = put_op(&b, QN_OP_SCALE, "scaled", N_EMBD, x, OP_NO_OUTPUT, &scale, sizeof scale);
    for (b.layer = 0; b.layer < 2; b.layer++) {
        x = put_layer(&b, x);
    }
    put_head(&b, x, table);
    self->program = op_program_finish(self->builder);
}

void two_layer_deinit(two_layer *self) {
    for (uint32_t i = 0; i < self->n_weights; i++) {
        op_weight_free(&self->weights[i]);
    }
    op_program_destroy(self->builder);
    memset(self, 0, sizeof *self);
}

void two_layer_open(const two_layer *self, rig *r, const backend *on, uint32_t flags, uint32_t numeric, uint32_t max_sequences) {
    const qn_limits limits = rig_limits(TWO_LAYER_TOKENS, TWO_LAYER_TOKENS, max_sequences, 2, TWO_LAYER_CELLS);
    rig_init(r, on, self->program, &limits);
    for (uint32_t i = 0; i < self->n_weights; i++) {
        rig_set(r, self->weight_at[i], self->weights[i].bytes, self->weights[i].n_bytes);
    }
    rig_compile(r, flags, numeric);
}

void two_layer_cells_init(two_layer_cells *self, uint32_t n_sequences, uint32_t n_positions, uint32_t order, op_random *random) {
    for (uint32_t g = 0; g < 2; g++) {
        cell_map_init(&self->maps[g], TWO_LAYER_CELLS, n_sequences, n_positions);
        cell_map_scatter(&self->maps[g], order, random);
    }
}

void two_layer_cells_deinit(two_layer_cells *self) {
    cell_map_deinit(&self->maps[0]);
    cell_map_deinit(&self->maps[1]);
}

qn_status two_layer_try(const two_layer *self, rig *r, two_layer_cells *cells, const two_layer_step *step) {
    for (uint32_t g = 0; g < 2; g++) {
        cell_map_place(&cells->maps[g], step->n_tokens, step->positions, step->sequences, NULL);
        cells->placements[g] = cells->maps[g].placement;
    }
    rig_set(r, self->ids, step->ids, step->n_tokens * sizeof step->ids[0]);
    rig_set(r, self->rows, step->rows, step->n_outputs * sizeof step->rows[0]);
    qn_step raw = {.n_tokens = step->n_tokens, .n_outputs = step->n_outputs, .n_sequences = step->n_sequences,
                   .positions = step->positions, .sequences = step->sequences, .placements = cells->placements};
    return rig_try_step(r, &raw);
}

void two_layer_run(const two_layer *self, rig *r, two_layer_cells *cells, const two_layer_step *step, float *logits) {
    const qn_status status = two_layer_try(self, r, cells, step);
    if (status != QN_OK) {
        fail_msg("step: status %d (op %u): %s", status, r->error.op, r->error.text);
    }
    const float *output = rig_output(r, self->logits);
    memcpy(logits, output, (size_t)step->n_outputs * TWO_LAYER_VOCAB * sizeof *logits);
    for (uint32_t i = 0; i < step->n_outputs * TWO_LAYER_VOCAB; i++) {
        assert_true(isfinite(logits[i]));
    }
}
