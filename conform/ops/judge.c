/* judge.c — noise as a measure, and taps for blame. */
#include "judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

/* How many times what noise moved an output an honest plugin may be off. The noise of F32ACC is the very bound of each
 * op, which honest sums stay far below; that of ACT8 is what honest quantisation does. */
static double slack_of(uint32_t numeric) {
    return numeric == QN_NUMERIC_ACT8 ? 4 : 2;
}

void judge_open(judge *self, const op_model *m, const qn_limits *limits, uint32_t numeric) {
    self->m = m;
    self->numeric = numeric;
    self->clean = oracle_run_open(m, limits, numeric);
    self->n_noisy = m->ctx->is_quick ? 1 : JUDGE_NOISES;
    for (uint32_t i = 0; i < self->n_noisy; i++) {
        self->noisy[i] = oracle_run_open(m, limits, numeric);
        oracle_run_set_noise(self->noisy[i], 900 + i);
    }
}

void judge_close(judge *self) {
    oracle_run_close(self->clean);
    for (uint32_t i = 0; i < self->n_noisy; i++) {
        oracle_run_close(self->noisy[i]);
    }
}

void judge_step(judge *self, const op_step *step) {
    oracle_run_step(self->clean, step);
    for (uint32_t i = 0; i < self->n_noisy; i++) {
        oracle_run_step(self->noisy[i], step);
    }
}

void judge_move(judge *self, const qn_state_move *move) {
    oracle_run_move(self->clean, move);
    for (uint32_t i = 0; i < self->n_noisy; i++) {
        oracle_run_move(self->noisy[i], move);
    }
}

const double *judge_want(const judge *self, uint32_t output) {
    return oracle_run_want(self->clean, output);
}

double judge_limit(const judge *self, uint32_t output, const op_step *step) {
    const uint64_t n = op_step_elements(step, qn_program_buffer(self->m->program, output));
    const double *const want = judge_want(self, output);
    double most = 0x1p-60;
    for (uint32_t i = 0; i < self->n_noisy; i++) {
        const double *const moved = oracle_run_want(self->noisy[i], output);
        for (uint64_t e = 0; e < n; e++) {
            most = fmax(most, fabs(moved[e] - want[e]));
        }
    }
    return slack_of(self->numeric) * most;
}

bool judge_is_near(const judge *self, const rig *r, const op_step *step, char text[256]) {
    for (uint32_t b = 0; b < self->m->program->n_buffers; b++) {
        const qn_buffer *const buffer = qn_program_buffer(self->m->program, b);
        if (buffer->role != QN_ROLE_OUTPUT) {
            continue;
        }
        const uint64_t n = op_step_elements(step, buffer);
        const double *const want = judge_want(self, b), limit = judge_limit(self, b, step);
        const float *const got = rig_output(r, b);
        for (uint64_t i = 0; i < n; i++) {
            /* The oracle does not round its last result to f32. */
            if (!(fabs(got[i] - want[i]) <= limit + 0x1p-24 * fabs(want[i]))) {
                snprintf(text, 256, "element %llu of %s: got %.9g, want %.9g, limit %.3g", (unsigned long long)i,
                         qn_program_name(self->m->program, buffer), (double)got[i], want[i], limit);
                return false;
            }
        }
    }
    return true;
}

/* --- Blame -------------------------------------------------------------------------------------------------------- */

static void load_taps(oracle_run *oracle, rig *r, const op_step *step, scratch *memory) {
    for (uint32_t b = 0; b < r->program->n_buffers; b++) {
        const qn_buffer *const buffer = qn_program_buffer(r->program, b);
        const uint64_t bytes = buffer->role == QN_ROLE_STATE
                                   ? r->limits.cells[buffer->group] * qn_format_bytes(buffer->format, buffer->dims[0])
                                   : op_step_elements(step, buffer) * 4;
        if (buffer->role == QN_ROLE_ACT || buffer->role == QN_ROLE_STATE) {
            void *const data = scratch_take(r->ctx, memory, bytes, 1);
            rig_tap(r, b, data, bytes);
            oracle_run_load(oracle, b, data);
        }
    }
}

/* The cells of this step hold what was written there. */
static void judge_state(const rig *r, oracle_run *oracle, const op_step *step, uint32_t index, scratch *memory,
                        const char *before) {
    const qn_op *const op = qn_program_op(r->program, index);
    const uint32_t b = qn_program_operands(r->program, op)[1];
    const qn_buffer *const state = qn_program_buffer(r->program, b);
    const uint64_t row_bytes = qn_format_bytes(state->format, state->dims[0]),
                   bytes = r->limits.cells[state->group] * row_bytes;
    uint8_t *const got = scratch_take(r->ctx, memory, bytes, 1);
    memcpy(got, oracle_run_state(oracle, b), bytes);
    oracle_run_op(oracle, index);
    for (uint32_t t = 0; t < step->n_tokens; t++) {
        const uint64_t cell = step->placements[state->group].cells[t];
        CF_CHECK(r->ctx, memcmp(got + cell * row_bytes, oracle_run_state(oracle, b) + cell * row_bytes, row_bytes) == 0,
                 "%s: op %u (%s) wrote other bits into cell %llu of %s than its input rounded", before, index,
                 qn_op_name(op->op), (unsigned long long)cell, qn_program_name(r->program, state));
    }
}

void judge_every_op(cf_context *ctx, rig *materialised, const op_step *step, uint32_t numeric, const char *before) {
    const qn_program *const program = materialised->program;
    oracle_run *const oracle = oracle_run_open(materialised->model, &materialised->limits, numeric);
    scratch memory = {NULL};
    char what[320];
    oracle_run_begin(oracle, step);
    load_taps(oracle, materialised, step, &memory);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *const op = qn_program_op(program, i);
        if (op->n_outputs == 0) {
            judge_state(materialised, oracle, step, i, &memory, before);
            continue;
        }
        const uint32_t out = qn_program_operands(program, op)[op->n_inputs];
        const qn_buffer *const buffer = qn_program_buffer(program, out);
        const uint64_t n = op_step_elements(step, buffer);
        snprintf(what, sizeof what, "%s, the output of op %u (%s), %s", qn_program_name(program, buffer), i,
                 qn_op_name(op->op), before);
        float *const got = scratch_take(ctx, &memory, n, sizeof *got);
        if (buffer->role == QN_ROLE_OUTPUT) {
            memcpy(got, rig_output(materialised, out), n * sizeof *got);
        } else {
            memcpy(got, oracle_run_values(oracle, out), n * sizeof *got);
        }
        oracle_run_op(oracle, i);
        harness_compare(ctx, what, got, oracle_run_want(oracle, out), oracle_run_bound(oracle, out), false, n);
    }
    scratch_free(&memory);
    oracle_run_close(oracle);
}
