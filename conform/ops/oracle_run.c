/* oracle_run.c — one function an op, which finds its operands and hands them to oracle.c. */
#include "oracle_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "oracle_formats.h"

typedef struct place {
    float *values;          /* input, act, output: [most rows * columns]; state: [cells][columns], decoded */
    double *want, *bound;   /* act, output */
    uint8_t *stored;        /* state: [cells][row bytes] */
} place;

struct oracle_run {
    cf_context *ctx;
    const op_model *model;
    const qn_program *program;
    qn_limits limits;
    uint32_t numeric;
    bool is_noisy;
    cf_random noise;
    scratch memory;
    const op_step *step;
    place places[OP_PROGRAM_ROOM];
};

static const qn_buffer *buffer_of(const oracle_run *self, uint32_t buffer) {
    return qn_program_buffer(self->program, buffer);
}

static uint64_t columns_of(const qn_buffer *buffer) {
    return buffer->rank == 1 ? 1 : buffer->dims[0];
}

static uint64_t state_row_bytes(const qn_buffer *buffer) {
    return qn_format_bytes(buffer->format, buffer->dims[0]);
}

static void take_place(oracle_run *self, uint32_t index) {
    const qn_buffer *const buffer = buffer_of(self, index);
    place *const p = &self->places[index];
    const op_step most = {.n_tokens = self->limits.max_tokens, .n_outputs = self->limits.max_outputs};
    const uint64_t n = buffer->role == QN_ROLE_STATE ? self->limits.cells[buffer->group] * buffer->dims[0]
                                                     : op_step_elements(&most, buffer);
    if (buffer->role == QN_ROLE_STATE) {
        p->stored = scratch_take(self->ctx, &self->memory, self->limits.cells[buffer->group], state_row_bytes(buffer));
    }
    if (buffer->role == QN_ROLE_ACT || buffer->role == QN_ROLE_OUTPUT) {
        p->want = scratch_take(self->ctx, &self->memory, n, sizeof *p->want);
        p->bound = scratch_take(self->ctx, &self->memory, n, sizeof *p->bound);
    }
    if (buffer->role != QN_ROLE_WEIGHT && buffer->format != QN_FORMAT_I32) {
        p->values = scratch_take(self->ctx, &self->memory, n, sizeof *p->values);
    }
}

oracle_run *oracle_run_open(const op_model *model, const qn_limits *limits, uint32_t numeric) {
    oracle_run *const self = calloc(1, sizeof *self);
    CF_CHECK(model->ctx, self != NULL, "the suite has no memory");
    self->ctx = model->ctx;
    self->model = model;
    self->program = model->program;
    self->limits = *limits;
    self->numeric = numeric;
    for (uint32_t b = 0; b < self->program->n_buffers; b++) {
        take_place(self, b);
    }
    return self;
}

void oracle_run_close(oracle_run *self) {
    if (self != NULL) {
        scratch_free(&self->memory);
        free(self);
    }
}

void oracle_run_set_noise(oracle_run *self, uint64_t salt) {
    self->is_noisy = true;
    self->noise = cf_random_make(self->ctx, salt);
}

const double *oracle_run_want(const oracle_run *self, uint32_t buffer) {
    return self->places[buffer].want;
}

const double *oracle_run_bound(const oracle_run *self, uint32_t buffer) {
    return self->places[buffer].bound;
}

const float *oracle_run_values(const oracle_run *self, uint32_t buffer) {
    return self->places[buffer].values;
}

const uint8_t *oracle_run_state(const oracle_run *self, uint32_t buffer) {
    return self->places[buffer].stored;
}

/* --- One op ------------------------------------------------------------------------------------------------------- */

/* An op's operands, and the rows that its output has in this step. */
typedef struct call {
    oracle_run *run;
    const qn_op *op;
    const uint32_t *operands;
    const void *attrs;
    uint32_t out;          /* buffer */
    uint64_t rows, columns; /* of it */
    double *want, *bound;
} call;

static const float *values_of(const call *c, uint32_t input) {
    const uint32_t buffer = c->operands[input];
    const float *const weight = c->run->model->weights[buffer].values;
    return weight != NULL ? weight : c->run->places[buffer].values;
}

static const int32_t *numbers_of(const call *c, uint32_t input) {
    return c->run->step->inputs[c->operands[input]];
}

static float noise_in(oracle_run *run, double size) {
    return (float)(size * (double)op_random_signed(&run->noise));
}

static void exact(const call *c, uint64_t at, double want) {
    c->want[at] = want;
    c->bound[at] = 0;
}

static void run_embed(const call *c) {
    const float *const table = values_of(c, 0);
    for (uint64_t at = 0; at < c->rows * c->columns; at++) {
        const uint64_t row = (uint64_t)numbers_of(c, 1)[at / c->columns];
        exact(c, at, (double)table[row * c->columns + at % c->columns]);
    }
}

static void run_select_rows(const call *c) {
    const float *const x = values_of(c, 0);
    for (uint64_t at = 0; at < c->rows * c->columns; at++) {
        const uint64_t row = (uint64_t)numbers_of(c, 1)[at / c->columns];
        exact(c, at, (double)x[row * c->columns + at % c->columns]);
    }
}

/* Each block of 32 of a row, moved by up to half a step of its 8-bit quantisation. */
static void quantise_at_random(oracle_run *run, uint64_t n_rows, uint64_t k, float *x) {
    for (uint64_t row = 0; row < n_rows; row++) {
        for (uint64_t begin = 0; begin < k; begin += 32) {
            float *const block = x + row * k + begin;
            const uint64_t n = k - begin < 32 ? k - begin : 32;
            float most = 0;
            for (uint64_t i = 0; i < n; i++) {
                most = fmaxf(most, fabsf(block[i]));
            }
            for (uint64_t i = 0; i < n; i++) {
                block[i] += noise_in(run, (double)most / 254);
            }
        }
    }
}

static void run_matmul(const call *c) {
    oracle_run *const run = c->run;
    const qn_buffer *const weight = buffer_of(run, c->operands[0]);
    const uint64_t k = weight->dims[0];
    const bool is_act8 = run->numeric == QN_NUMERIC_ACT8;
    const float *x = values_of(c, 1);
    float *moved = NULL;
    if (is_act8 && run->is_noisy) {
        moved = malloc(c->rows * k * sizeof *moved + 1);
        CF_CHECK(run->ctx, moved != NULL, "the suite has no memory");
        memcpy(moved, x, c->rows * k * sizeof *moved);
        quantise_at_random(run, c->rows, k, moved);
        x = moved;
    }
    oracle_matmul(values_of(c, 0), x, c->op->n_inputs == 3 ? values_of(c, 2) : NULL, (uint32_t)c->rows,
                  (uint32_t)c->columns, (uint32_t)k, is_act8 && !run->is_noisy, c->want, c->bound);
    free(moved);
}

static void run_rope(const call *c) {
    oracle_rope(values_of(c, 0), c->op->n_inputs == 2 ? values_of(c, 1) : NULL, c->run->step->positions,
                (uint32_t)c->rows, c->attrs, c->want, c->bound);
}

static void run_add(const call *c) {
    const uint64_t period = buffer_of(c->run, c->operands[1])->role == QN_ROLE_WEIGHT ? c->columns : 0;
    oracle_add(values_of(c, 0), values_of(c, 1), c->rows * c->columns, period, c->want, c->bound);
}

static void run_scale(const call *c) {
    oracle_scale(values_of(c, 0), c->rows * c->columns, ((const qn_scale_attrs *)c->attrs)->factor, c->want);
    memset(c->bound, 0, c->rows * c->columns * sizeof *c->bound);
}

static void run_state_write(const call *c) {
    const uint32_t state = c->operands[1];
    const qn_buffer *const buffer = buffer_of(c->run, state);
    const uint64_t n = buffer->dims[0], row_bytes = state_row_bytes(buffer);
    const place *const p = &c->run->places[state];
    for (uint32_t t = 0; t < c->run->step->n_tokens; t++) {
        const uint32_t cell = c->run->step->placements[buffer->group].cells[t];
        oracle_store(buffer->format, values_of(c, 0) + t * n, n, p->stored + cell * row_bytes);
        oracle_decode(buffer->format, p->stored + cell * row_bytes, 0, n, p->values + cell * n);
    }
}

/* Half the spacing at 1 of a state's format: what rounding the query to it may be off. */
static double format_rounding(qn_format format) {
    return format == QN_FORMAT_F16 ? 0x1p-11 : format == QN_FORMAT_BF16 ? 0x1p-8 : 0;
}

/* Copies the rows of K and V that a token sees behind each other. Returns how many. */
static uint32_t gather_visible(const call *c, uint32_t token, float *k, float *v) {
    const oracle_run *const run = c->run;
    const op_step *const step = run->step;
    const qn_buffer *const k_state = buffer_of(run, c->operands[1]);
    const uint64_t k_row = k_state->dims[0], v_row = buffer_of(run, c->operands[2])->dims[0];
    const qn_placement *const p = &step->placements[k_state->group];
    const uint32_t sequence = step->sequences == NULL ? 0 : step->sequences[token];
    const int64_t window = ((const qn_attention_attrs *)c->attrs)->window, position = step->positions[token];
    uint32_t n = 0;
    for (uint32_t s = p->span_at[sequence]; s < p->span_at[sequence + 1]; s++) {
        for (uint32_t i = 0; i < p->spans[s].n_cells; i++) {
            const int64_t distance = position - (p->spans[s].first_position + (int64_t)i);
            const uint64_t cell = (uint64_t)p->spans[s].first_cell + i;
            if (distance >= 0 && (window == 0 || distance < window)) {
                memcpy(k + n * k_row, run->places[c->operands[1]].values + cell * k_row, k_row * sizeof *k);
                memcpy(v + n * v_row, run->places[c->operands[2]].values + cell * v_row, v_row * sizeof *v);
                n++;
            }
        }
    }
    return n;
}

static void run_attention(const call *c) {
    oracle_run *const run = c->run;
    const qn_buffer *const k_state = buffer_of(run, c->operands[1]), *const v_state = buffer_of(run, c->operands[2]);
    const qn_attention_attrs *const attrs = c->attrs;
    const uint64_t q_row = (uint64_t)attrs->n_head * attrs->head_dim, n_cells = run->limits.cells[k_state->group];
    const double rounding = format_rounding(k_state->format) > format_rounding(v_state->format)
                                ? format_rounding(k_state->format)
                                : format_rounding(v_state->format);
    const bool is_act8 = run->numeric == QN_NUMERIC_ACT8 && k_state->format == QN_FORMAT_Q8_0;
    scratch memory = {NULL};
    float *const k = scratch_take(run->ctx, &memory, n_cells * k_state->dims[0], sizeof *k);
    float *const v = scratch_take(run->ctx, &memory, n_cells * v_state->dims[0], sizeof *v);
    float *const q = scratch_take(run->ctx, &memory, q_row, sizeof *q);
    for (uint32_t t = 0; t < c->rows; t++) {
        const uint32_t n = gather_visible(c, t, k, v);
        for (uint64_t i = 0; i < q_row; i++) {
            const float value = values_of(c, 0)[t * q_row + i];
            q[i] = run->is_noisy ? value + noise_in(run, rounding * fabs((double)value)) : value;
        }
        if (is_act8 && run->is_noisy) {
            quantise_at_random(run, attrs->n_head, attrs->head_dim, q);
        }
        oracle_attention(q, k, v, n, attrs, run->is_noisy ? 0 : rounding, is_act8 && !run->is_noisy,
                         c->want + t * c->columns, c->bound + t * c->columns);
    }
    scratch_free(&memory);
}

static void compute(const call *c) {
    const uint64_t n = c->rows * c->columns;
    switch (c->op->op) {
    case QN_OP_EMBED: run_embed(c); break;
    case QN_OP_MATMUL: run_matmul(c); break;
    case QN_OP_ADD: run_add(c); break;
    case QN_OP_SCALE: run_scale(c); break;
    case QN_OP_RMS_NORM:
        oracle_rms_norm(values_of(c, 0), values_of(c, 1), (uint32_t)c->rows, (uint32_t)c->columns, c->attrs, c->want,
                        c->bound);
        break;
    case QN_OP_ROPE: run_rope(c); break;
    case QN_OP_STATE_WRITE: run_state_write(c); break;
    case QN_OP_ATTENTION: run_attention(c); break;
    case QN_OP_GATED:
        oracle_gated(values_of(c, 0), values_of(c, 1), n, ((const qn_gated_attrs *)c->attrs)->kind, c->want, c->bound);
        break;
    case QN_OP_SOFTCAP:
        oracle_softcap(values_of(c, 0), n, ((const qn_softcap_attrs *)c->attrs)->cap, c->want, c->bound);
        break;
    default: run_select_rows(c); break;
    }
}

void oracle_run_op(oracle_run *self, uint32_t index) {
    const qn_op *const op = qn_program_op(self->program, index);
    call c = {.run = self,
              .op = op,
              .operands = qn_program_operands(self->program, op),
              .attrs = qn_program_attrs(self->program, op)};
    if (op->n_outputs == 1) {
        c.out = c.operands[op->n_inputs];
        c.rows = op_step_rows(self->step, buffer_of(self, c.out));
        c.columns = columns_of(buffer_of(self, c.out));
        c.want = self->places[c.out].want;
        c.bound = self->places[c.out].bound;
    }
    compute(&c);
}

/* --- Steps -------------------------------------------------------------------------------------------------------- */

void oracle_run_begin(oracle_run *self, const op_step *step) {
    self->step = step;
    for (uint32_t b = 0; b < self->program->n_buffers; b++) {
        const qn_buffer *const buffer = buffer_of(self, b);
        if (buffer->role == QN_ROLE_INPUT && buffer->format == QN_FORMAT_F32) {
            memcpy(self->places[b].values, step->inputs[b], op_step_elements(step, buffer) * sizeof(float));
        }
    }
}

void oracle_run_load(oracle_run *self, uint32_t buffer, const void *data) {
    const qn_buffer *const b = buffer_of(self, buffer);
    const place *const p = &self->places[buffer];
    if (b->role == QN_ROLE_STATE) {
        const uint64_t n_cells = self->limits.cells[b->group];
        memcpy(p->stored, data, n_cells * state_row_bytes(b));
        for (uint64_t cell = 0; cell < n_cells; cell++) {
            oracle_decode(b->format, p->stored + cell * state_row_bytes(b), 0, b->dims[0],
                          p->values + cell * b->dims[0]);
        }
    } else {
        memcpy(p->values, data, op_step_elements(self->step, b) * sizeof(float));
    }
}

/* What was computed becomes what later ops read. */
static void settle(oracle_run *self, uint32_t index) {
    const qn_op *const op = qn_program_op(self->program, index);
    if (op->n_outputs == 0) {
        return;
    }
    const uint32_t out = qn_program_operands(self->program, op)[op->n_inputs];
    const place *const p = &self->places[out];
    const uint64_t n = op_step_elements(self->step, buffer_of(self, out));
    for (uint64_t i = 0; i < n; i++) {
        p->want[i] += self->is_noisy ? (double)noise_in(self, p->bound[i]) : 0;
        p->values[i] = (float)p->want[i];
    }
}

void oracle_run_step(oracle_run *self, const op_step *step) {
    oracle_run_begin(self, step);
    for (uint32_t i = 0; i < self->program->n_ops; i++) {
        oracle_run_op(self, i);
        settle(self, i);
    }
}

void oracle_run_move(oracle_run *self, const qn_state_move *move) {
    for (uint32_t b = 0; b < self->program->n_buffers; b++) {
        const qn_buffer *const buffer = buffer_of(self, b);
        const place *const p = &self->places[b];
        if (buffer->role != QN_ROLE_STATE || buffer->group != move->group) {
            continue;
        }
        const uint64_t row_bytes = state_row_bytes(buffer), n = buffer->dims[0];
        if (move->kind == QN_MOVE_ZERO) {
            memset(p->stored + move->to * row_bytes, 0, move->n_cells * row_bytes);
            memset(p->values + move->to * n, 0, move->n_cells * n * sizeof *p->values);
        } else {
            memmove(p->stored + move->to * row_bytes, p->stored + move->from * row_bytes, move->n_cells * row_bytes);
            memmove(p->values + move->to * n, p->values + move->from * n, move->n_cells * n * sizeof *p->values);
        }
    }
}
