/* fuzz_program.c — one function an op that adds it, when what it needs is there. */
#include "fuzz_program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_SIZE 1000.0
#define N_VOCAB 17u

static const qn_format formats[] = {QN_FORMAT_F32,  QN_FORMAT_F16,  QN_FORMAT_BF16,     QN_FORMAT_Q8_0,
                                    QN_FORMAT_Q4_0, QN_FORMAT_Q4_1, QN_FORMAT_Q5_0,     QN_FORMAT_Q4_K,
                                    QN_FORMAT_Q5_K, QN_FORMAT_Q6_K, QN_FORMAT_Q4_K_SOA, QN_FORMAT_TERNARY};

static uint32_t below(fuzz_program *f, uint32_t n) {
    return cf_random_below(&f->m.random, n);
}

static uint32_t draw_width(fuzz_program *f) {
    static const uint32_t widths[] = {1,   1,   2,   3,   7,   13,  16,  31,  32,  32,  33,  61,
                                      63,  64,  64,  65,  96,  127, 128, 128, 129, 192, 251, 255,
                                      256, 256, 256, 257, 288, 320, 509, 512, 576, 768, 960, 1536};
    return widths[below(f, CF_COUNT_OF(widths))];
}

static qn_format draw_format(fuzz_program *f, uint32_t columns) {
    qn_format format;
    do {
        format = formats[below(f, CF_COUNT_OF(formats))];
    } while (columns % op_format_unit(format) != 0);
    return format;
}

/* --- Values ------------------------------------------------------------------------------------------------------- */

static fuzz_value *add_value(fuzz_program *f, uint32_t role, uint32_t columns, uint32_t symbol, double size) {
    char name[16];
    snprintf(name, sizeof name, "v%u", f->n_values);
    fuzz_value *const value = &f->values[f->n_values++];
    *value = (fuzz_value){op_model_rows(&f->m, name, role, columns, symbol), columns, symbol, size,
                          role != QN_ROLE_ACT};
    return value;
}

static fuzz_value *draw_value(fuzz_program *f) {
    return &f->values[below(f, f->n_values)];
}

/* Another of the same shape, or the same one. */
static fuzz_value *draw_like(fuzz_program *f, const fuzz_value *x) {
    fuzz_value *found = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_values; i++) {
        if (f->values[i].columns == x->columns && f->values[i].symbol == x->symbol && below(f, ++n) == 0) {
            found = &f->values[i];
        }
    }
    return found;
}

static void note(fuzz_program *f, const char *what) {
    const size_t used = strlen(f->text);
    snprintf(f->text + used, sizeof f->text - used, "%s%s", used == 0 ? "" : " ", what);
}

/* Adds op(in0, in1) -> a new value, and says so. */
static void put(fuzz_program *f, uint32_t op, fuzz_value *out, uint32_t n_inputs, const uint32_t *inputs,
                const void *attrs, uint32_t attrs_bytes) {
    char what[64];
    op_program_add_op(f->m.builder, op, QN_NO_LAYER, n_inputs, inputs, out->buffer, attrs, attrs_bytes);
    snprintf(what, sizeof what, "%s[%u]", qn_op_name(op), out->columns);
    note(f, what);
}

/* --- Ops: each returns false when nothing suits it ---------------------------------------------------------------- */

static fuzz_value *put_matmul(fuzz_program *f, fuzz_value *x, uint32_t rows) {
    const qn_format format = draw_format(f, x->columns);
    const bool has_bias = below(f, 3) == 0;
    const uint32_t w = op_model_weight_sized(&f->m, qn_format_name(format), format, x->columns, rows,
                                             1 / sqrt((double)x->columns));
    const uint32_t bias = has_bias ? op_model_weight_sized(&f->m, "bias", QN_FORMAT_F32, rows, 0, 0.5) : 0;
    x->is_read = true;
    fuzz_value *const y = add_value(f, QN_ROLE_ACT, rows, x->symbol, x->size + 0.5);
    put(f, QN_OP_MATMUL, y, has_bias ? 3 : 2, (const uint32_t[]){w, x->buffer, bias}, NULL, 0);
    return y;
}

static bool add_matmul(fuzz_program *f) {
    put_matmul(f, draw_value(f), draw_width(f));
    return true;
}

static bool add_sum(fuzz_program *f) {
    fuzz_value *const a = draw_value(f), *const b = draw_like(f, a);
    if (a->size + b->size > MOST_SIZE) {
        return false;
    }
    a->is_read = true;
    if (below(f, 4) == 0) {
        const uint32_t w = op_model_weight_sized(&f->m, "vector", QN_FORMAT_F32, a->columns, 0, 1);
        put(f, QN_OP_ADD, add_value(f, QN_ROLE_ACT, a->columns, a->symbol, a->size + 1), 2,
            (const uint32_t[]){a->buffer, w}, NULL, 0);
    } else {
        b->is_read = true;
        put(f, QN_OP_ADD, add_value(f, QN_ROLE_ACT, a->columns, a->symbol, a->size + b->size), 2,
            (const uint32_t[]){a->buffer, b->buffer}, NULL, 0);
    }
    return true;
}

static bool add_scale(fuzz_program *f) {
    fuzz_value *const x = draw_value(f);
    const qn_scale_attrs attrs = {.size = sizeof attrs, .factor = op_random_signed(&f->m.random) * 2};
    x->is_read = true;
    put(f, QN_OP_SCALE, add_value(f, QN_ROLE_ACT, x->columns, x->symbol, x->size * 2), 1, &x->buffer, &attrs,
        sizeof attrs);
    return true;
}

static bool add_softcap(fuzz_program *f) {
    fuzz_value *const x = draw_value(f);
    const qn_softcap_attrs attrs = {.size = sizeof attrs, .cap = 1 + (float)below(f, 50)};
    x->is_read = true;
    put(f, QN_OP_SOFTCAP, add_value(f, QN_ROLE_ACT, x->columns, x->symbol, fmin(x->size, (double)attrs.cap)), 1,
        &x->buffer, &attrs, sizeof attrs);
    return true;
}

static bool add_gated(fuzz_program *f) {
    fuzz_value *const gate = draw_value(f), *const up = draw_like(f, gate);
    const qn_gated_attrs attrs = {.size = sizeof attrs, .kind = below(f, 2)};
    if (gate->size * up->size > MOST_SIZE) {
        return false;
    }
    gate->is_read = up->is_read = true;
    put(f, QN_OP_GATED, add_value(f, QN_ROLE_ACT, gate->columns, gate->symbol, gate->size * up->size), 2,
        (const uint32_t[]){gate->buffer, up->buffer}, &attrs, sizeof attrs);
    return true;
}

/* A divisor of n, often n itself. */
static uint32_t draw_divisor(fuzz_program *f, uint32_t n) {
    uint32_t d = 1 + below(f, n);
    while (n % d != 0) {
        d++;
    }
    return d;
}

static bool add_norm(fuzz_program *f) {
    fuzz_value *const x = draw_value(f);
    const qn_rms_norm_attrs attrs = {.size = sizeof attrs, .group = draw_divisor(f, x->columns), .epsilon = 1e-5f};
    const uint32_t inputs[2] = {x->buffer, op_model_weight_sized(&f->m, "norm", QN_FORMAT_F32, attrs.group, 0, 1)};
    x->is_read = true;
    put(f, QN_OP_RMS_NORM, add_value(f, QN_ROLE_ACT, x->columns, x->symbol, 3), 2, inputs, &attrs, sizeof attrs);
    return true;
}

static qn_rope_attrs draw_rope(fuzz_program *f, uint32_t n_head, uint32_t head_dim) {
    return (qn_rope_attrs){.size = sizeof(qn_rope_attrs),
                           .n_head = n_head,
                           .head_dim = head_dim,
                           .n_rot = 2 + 2 * below(f, head_dim / 2),
                           .pairing = below(f, 2),
                           .base = 10000,
                           .freq_scale = below(f, 2) == 0 ? 1 : 0.25f,
                           .attn_factor = 1};
}

static fuzz_value *put_rope(fuzz_program *f, fuzz_value *x, uint32_t n_head) {
    const qn_rope_attrs attrs = draw_rope(f, n_head, x->columns / n_head);
    x->is_read = true;
    fuzz_value *const y = add_value(f, QN_ROLE_ACT, x->columns, x->symbol, x->size);
    put(f, QN_OP_ROPE, y, 1, &x->buffer, &attrs, sizeof attrs);
    return y;
}

static bool add_rope(fuzz_program *f) {
    fuzz_value *const x = draw_value(f);
    const uint32_t head_dim = draw_divisor(f, x->columns);
    if (x->symbol != QN_DIM_TOKENS || head_dim % 2 != 0) {
        return false;
    }
    put_rope(f, x, x->columns / head_dim);
    return true;
}

static uint32_t add_state(fuzz_program *f, fuzz_value *x, const char *name, qn_format format) {
    const uint32_t state = op_program_add_state(f->m.builder, name, format, x->columns, 0);
    x->is_read = true;
    op_program_add_op(f->m.builder, QN_OP_STATE_WRITE, QN_NO_LAYER, 2, (const uint32_t[]){x->buffer, state},
                      OP_NO_OUTPUT, NULL, 0);
    return state;
}

/* Projections, sometimes turned, states, and attention over them. */
static bool add_attention(fuzz_program *f) {
    static const uint32_t dims[] = {1, 2, 8, 16, 32, 33, 64, 80, 128}, ratios[] = {1, 1, 2, 3, 4, 7};
    fuzz_value *const x = draw_value(f);
    const uint32_t n_kv_head = 1 + below(f, 3), n_head = n_kv_head * ratios[below(f, CF_COUNT_OF(ratios))];
    const uint32_t head_dim = dims[below(f, CF_COUNT_OF(dims))],
                   value_dim = below(f, 2) == 0 ? head_dim : dims[below(f, CF_COUNT_OF(dims))];
    const qn_format format = below(f, 2) == 0 ? QN_FORMAT_F16 : QN_FORMAT_F32;
    const qn_attention_attrs attrs = {.size = sizeof attrs,
                                      .n_head = n_head,
                                      .n_kv_head = n_kv_head,
                                      .head_dim = head_dim,
                                      .value_dim = value_dim,
                                      .window = below(f, 2) * (1 + below(f, FUZZ_POSITIONS)),
                                      .scale = 1 / sqrtf((float)head_dim),
                                      .softcap = (float)(below(f, 2) * 20)};
    if (x->symbol != QN_DIM_TOKENS || x->size > 10 || f->n_values + 7 > FUZZ_VALUES) {
        return false;
    }
    fuzz_value *q = put_matmul(f, x, n_head * head_dim), *k = put_matmul(f, x, n_kv_head * head_dim);
    fuzz_value *const v = put_matmul(f, x, n_kv_head * value_dim);
    if (head_dim % 2 == 0 && below(f, 2) == 0) {
        q = put_rope(f, q, n_head);
        k = put_rope(f, k, n_kv_head);
    }
    const uint32_t inputs[3] = {q->buffer, add_state(f, k, "keys", format), add_state(f, v, "values", format)};
    q->is_read = true;
    put(f, QN_OP_ATTENTION, add_value(f, QN_ROLE_ACT, n_head * value_dim, QN_DIM_TOKENS, v->size), 3, inputs, &attrs,
        sizeof attrs);
    return true;
}

static bool add_embed(fuzz_program *f) {
    const uint32_t columns = draw_width(f);
    const qn_format format = draw_format(f, columns);
    const uint32_t inputs[2] = {op_model_weight_sized(&f->m, "table", format, columns, N_VOCAB, 1),
                                op_model_numbers(&f->m, "ids", QN_DIM_TOKENS)};
    put(f, QN_OP_EMBED, add_value(f, QN_ROLE_ACT, columns, QN_DIM_TOKENS, 1), 2, inputs, NULL, 0);
    return true;
}

static bool add_select(fuzz_program *f) {
    fuzz_value *const x = draw_value(f);
    if (x->symbol != QN_DIM_TOKENS) {
        return false;
    }
    const uint32_t inputs[2] = {x->buffer, op_model_numbers(&f->m, "rows", QN_DIM_OUTPUTS)};
    x->is_read = true;
    put(f, QN_OP_SELECT_ROWS, add_value(f, QN_ROLE_ACT, x->columns, QN_DIM_OUTPUTS, x->size), 2, inputs, NULL, 0);
    return true;
}

/* --- Programs ----------------------------------------------------------------------------------------------------- */

static bool add_something(fuzz_program *f) {
    static bool (*const adders[])(fuzz_program * f) = {add_matmul,    add_matmul, add_sum,   add_sum,  add_scale,
                                                       add_softcap,   add_gated,  add_norm,  add_norm, add_rope,
                                                       add_attention, add_embed,  add_select};
    return adders[below(f, CF_COUNT_OF(adders))](f);
}

/* What nobody reads becomes an output; now and then it stays what it is, and a plugin may leave it away. */
static void choose_outputs(fuzz_program *f) {
    for (uint32_t i = 0; i < f->n_values; i++) {
        if (!f->values[i].is_read && (i + 1 == f->n_values || below(f, 4) > 0)) {
            f->m.builder->buffers[f->values[i].buffer].role = QN_ROLE_OUTPUT;
        }
    }
}

void fuzz_program_init(fuzz_program *self, cf_context *ctx, uint32_t n_ops, uint64_t salt) {
    memset(self, 0, sizeof *self);
    op_model_init(&self->m, ctx, DATA_MODEL, salt);
    op_program_add_group(self->m.builder, 0);
    const uint32_t n_inputs = 1 + below(self, 2);
    for (uint32_t i = 0; i < n_inputs; i++) {
        add_value(self, QN_ROLE_INPUT, draw_width(self), QN_DIM_TOKENS, 1);
    }
    while (self->m.builder->n_ops < n_ops && self->n_values < FUZZ_VALUES) {
        add_something(self);
    }
    choose_outputs(self);
    op_model_finish(&self->m);
    self->n_sequences = 1 + below(self, 3);
    self->n_cells = self->n_sequences * FUZZ_POSITIONS + below(self, 9);
    for (uint32_t s = 0; s < self->n_sequences; s++) {
        self->begins[s] = below(self, 3) == 0 ? (int32_t)below(self, 1 << 20) : 0;
    }
    cell_map_init(&self->map, &self->m, self->n_cells, self->n_sequences, FUZZ_POSITIONS);
    cell_map_scatter(&self->map, below(self, CELLS_ORDERS));
}

void fuzz_program_free(fuzz_program *self) {
    op_model_free(&self->m);
}

qn_limits fuzz_program_limits(const fuzz_program *self) {
    return op_model_limits(&self->m, FUZZ_TOKENS, FUZZ_TOKENS, self->n_sequences, self->n_cells);
}

/* --- Steps -------------------------------------------------------------------------------------------------------- */

static const void *draw_input(fuzz_program *f, const op_step *step, const qn_buffer *buffer) {
    const uint64_t n = op_step_elements(step, buffer);
    if (buffer->format == QN_FORMAT_F32) {
        return op_model_values(&f->m, false, n);
    }
    int32_t *const numbers = op_model_take(&f->m, n, sizeof *numbers);
    const bool is_rows = buffer->symbols[0] == QN_DIM_OUTPUTS;
    for (uint64_t i = 0; i < n; i++) {
        numbers[i] = (int32_t)below(f, is_rows ? step->n_tokens : N_VOCAB);
    }
    return numbers;
}

/* The next positions of sequences that take turns at random. */
static void draw_tokens(fuzz_program *f, uint32_t n_tokens, int32_t *positions, uint32_t *sequences) {
    for (uint32_t t = 0; t < n_tokens; t++) {
        sequences[t] = below(f, f->n_sequences);
        positions[t] = (int32_t)f->lengths[sequences[t]]++;
    }
}

static void begin_elsewhere(const fuzz_program *f, qn_placement *placement, uint32_t n_tokens, int32_t *positions,
                            const uint32_t *sequences) {
    qn_span *const spans = (qn_span *)(uintptr_t)placement->spans;
    for (uint32_t s = 0; s < f->n_sequences; s++) {
        for (uint32_t i = placement->span_at[s]; i < placement->span_at[s + 1]; i++) {
            spans[i].first_position += f->begins[s];
        }
    }
    for (uint32_t t = 0; t < n_tokens; t++) {
        positions[t] += f->begins[sequences[t]];
    }
}

const op_step *fuzz_program_step(fuzz_program *self) {
    op_step *const step = op_model_take(&self->m, 1, sizeof *step);
    const uint32_t n_tokens = below(self, 3) == 0 ? 1 : 1 + below(self, FUZZ_TOKENS);
    int32_t *const positions = op_model_take(&self->m, n_tokens, sizeof *positions);
    uint32_t *const sequences = op_model_take(&self->m, n_tokens, sizeof *sequences);
    qn_placement *const placement = op_model_take(&self->m, 1, sizeof *placement);
    draw_tokens(self, n_tokens, positions, sequences);
    *placement = cell_map_place(&self->map, n_tokens, positions, sequences, below(self, 2) == 0);
    begin_elsewhere(self, placement, n_tokens, positions, sequences);
    op_step_init(step, n_tokens, below(self, 6) == 0 ? 0 : 1 + below(self, n_tokens));
    step->n_sequences = self->n_sequences;
    step->positions = positions;
    step->sequences = self->n_sequences == 1 && below(self, 2) == 0 ? NULL : sequences;
    step->placements = placement;
    for (uint32_t b = 0; b < self->m.program->n_buffers; b++) {
        const qn_buffer *const buffer = qn_program_buffer(self->m.program, b);
        if (buffer->role == QN_ROLE_INPUT) {
            step->inputs[b] = draw_input(self, step, buffer);
        }
    }
    return step;
}
