/* harness.c — one case on one and on many workers, against the oracle. */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cells.h"

void harness_open(harness *self, cf_context *ctx) {
    memset(self, 0, sizeof *self);
    self->ctx = ctx;
    cf_open(ctx, &self->one, 1);
    cell_maps_limit_spans(self->one.info.max_spans);
    self->has_many = self->one.info.device_class == QN_DEVICE_CPU;
    if (self->has_many) {
        cf_open(ctx, &self->many, 3);
    }
}

const cf_backend *harness_widest(const harness *self) {
    return self->has_many ? &self->many : &self->one;
}

/* Rounding to nearest errs up and down, towards zero and away from it alike: over many products both means of error /
 * bound are near zero. Sums that are cut instead of rounded, or an operand that is, move one of them. */
static void judge_bias(const harness *self) {
    const double most = self->ctx->numeric == QN_NUMERIC_ACT8 ? 0.02 : 0.005;
    const double n = self->n_errors == 0 ? 1 : (double)self->n_errors, up = self->sum_up / n,
                 outward = self->sum_outward / n;
    CF_CHECK(self->ctx, self->n_errors < 1000 || (fabs(up) <= most && fabs(outward) <= most),
             "products err to one side: over %llu elements the mean of error / bound is %.3g, and away from zero %.3g; "
             "both should be within %g",
             (unsigned long long)self->n_errors, up, outward, most);
}

void harness_close(harness *self) {
    cf_context *const ctx = self->ctx;
    judge_bias(self);
    cf_close(ctx, &self->one);
    cf_close(ctx, &self->many);
    if (self->n_refused > 0 && (self->n_done == 0 || (ctx->test->must & CF_MUST_DECODE) != 0)) {
        cf_unsupported(ctx, "%s", self->refusal);
    }
}

/* --- Verdicts and coverage ---------------------------------------------------------------------------------------- */

/* The format that decides whether a plugin has an op: that of its weight matrix or state. */
static uint32_t deciding_format(const qn_program *program, const qn_op *op) {
    const uint32_t *const operands = qn_program_operands(program, op);
    switch (op->op) {
    case QN_OP_EMBED:
    case QN_OP_MATMUL: return qn_program_buffer(program, operands[0])->format;
    case QN_OP_STATE_WRITE:
    case QN_OP_ATTENTION: return qn_program_buffer(program, operands[1])->format;
    default: return CF_NO_FORMAT;
    }
}

/* Tells each op, format, verdict and is_tested once. */
static void cover_once(cf_context *ctx, const qn_program *program, const qn_op *op, uint32_t verdict, bool is_tested) {
    static uint64_t told[256];
    static uint32_t n_told;
    const uint32_t format = deciding_format(program, op);
    const uint64_t key = (uint64_t)op->op << 40 | (uint64_t)(format & 0xffff) << 8 | verdict << 1 | (is_tested ? 1 : 0);
    for (uint32_t i = 0; i < n_told; i++) {
        if (told[i] == key) {
            return;
        }
    }
    if (n_told < CF_COUNT_OF(told)) {
        told[n_told++] = key;
    }
    cf_cover(ctx, op->op, format, verdict, is_tested);
}

bool harness_offers(harness *self, const op_model *m, uint32_t flags) {
    rig_verdicts *const v = &self->verdicts;
    if (rig_is_offered(self->ctx, &self->one, m, flags, v)) {
        return true;
    }
    const qn_op *const op = qn_program_op(m->program, v->refused);
    cover_once(self->ctx, m->program, op, QN_VERDICT_NO, false);
    if (self->n_refused++ == 0) {
        snprintf(self->refusal, sizeof self->refusal, "the verdict on %s is no: %s", qn_op_name(op->op), v->text);
    }
    return false;
}

void harness_covered(harness *self, const op_model *m) {
    for (uint32_t i = 0; i < m->program->n_ops; i++) {
        cover_once(self->ctx, m->program, qn_program_op(m->program, i), self->verdicts.of[i], true);
    }
    self->n_done++;
}

/* --- Comparing ---------------------------------------------------------------------------------------------------- */

static bool has_same_bits(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

/* A sum of exact terms that is zero may come out with either sign, and a result that f32 holds as a subnormal as zero.
 */
static bool is_exactly(float got, double want) {
    return has_same_bits(got, (float)want) || (got == 0 && fabs(want) < 0x1p-126);
}

void harness_compare(cf_context *ctx, const char *what, const float *got, const double *want, const double *bound,
                     bool is_exact, uint64_t n) {
    uint64_t n_wrong = 0, first = 0;
    for (uint64_t i = 0; i < n; i++) {
        const bool is_right = !isfinite(want[i])
                              || (is_exact || bound[i] == 0 ? is_exactly(got[i], want[i])
                                                            : fabs(got[i] - want[i]) <= bound[i]);
        if (!is_right) {
            first = n_wrong == 0 ? i : first;
            n_wrong++;
        }
    }
    if (n_wrong > 0) {
        const bool is_bits = is_exact || bound[first] == 0;
        cf_fail(ctx, "%llu of %llu elements of %s are wrong, the first is element %llu: got %.9g, want %.9g, %s %.3g",
                (unsigned long long)n_wrong, (unsigned long long)n, what, (unsigned long long)first, (double)got[first],
                want[first], is_bits ? "to the bit; difference" : "bound",
                is_bits ? fabs(got[first] - want[first]) : bound[first]);
    }
}

static void note_errors(harness *self, const float *got, const double *want, const double *bound, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (bound[i] > 0 && isfinite(want[i])) {
            const double error = (got[i] - want[i]) / bound[i];
            self->sum_up += error;
            self->sum_outward += want[i] < 0 ? -error : error;
            self->n_errors++;
        }
    }
}

/* --- Running ------------------------------------------------------------------------------------------------------ */

typedef struct run_of_case {
    harness *h;
    const op_model *m;
    const qn_limits *limits;
    const harness_step *steps;
    uint32_t n_steps;
    bool is_exact;
    uint32_t weight_flags;
    scratch memory;
    float **kept;          /* [n_steps * n_buffers] outputs of the first team */
} run_of_case;

static bool is_output(const op_model *m, uint32_t buffer) {
    return qn_program_buffer(m->program, buffer)->role == QN_ROLE_OUTPUT;
}

/* Only MATMULs say anything about bias: other functions may err by their formula. */
static bool is_product(const op_model *m) {
    return qn_program_op(m->program, 0)->op == QN_OP_MATMUL && m->kind == DATA_REAL;
}

static void compare_first(run_of_case *c, uint32_t s, const rig *r, oracle_run *oracle) {
    const op_step *const step = &c->steps[s].step;
    oracle_run_step(oracle, step);
    for (uint32_t b = 0; b < c->m->program->n_buffers; b++) {
        if (is_output(c->m, b)) {
            const qn_buffer *const buffer = qn_program_buffer(c->m->program, b);
            const uint64_t n = op_step_elements(step, buffer);
            const float *const got = rig_output(r, b);
            harness_compare(c->h->ctx, qn_program_name(c->m->program, buffer), got, oracle_run_want(oracle, b),
                            oracle_run_bound(oracle, b), c->is_exact, n);
            if (is_product(c->m)) {
                note_errors(c->h, got, oracle_run_want(oracle, b), oracle_run_bound(oracle, b), n);
            }
        }
    }
}

static void keep(run_of_case *c, uint32_t s, const rig *r) {
    for (uint32_t b = 0; b < c->m->program->n_buffers; b++) {
        if (is_output(c->m, b)) {
            const uint64_t n = op_step_elements(&c->steps[s].step, qn_program_buffer(c->m->program, b));
            float *const copy = scratch_take(c->h->ctx, &c->memory, n, sizeof *copy);
            memcpy(copy, rig_output(r, b), n * sizeof *copy);
            c->kept[(size_t)s * c->m->program->n_buffers + b] = copy;
        }
    }
}

static void compare_bits(const run_of_case *c, uint32_t s, uint32_t with, const rig *r, const char *when) {
    for (uint32_t b = 0; b < c->m->program->n_buffers; b++) {
        const float *const kept = c->kept[(size_t)with * c->m->program->n_buffers + b];
        const uint64_t n = op_step_elements(&c->steps[s].step, qn_program_buffer(c->m->program, b));
        CF_CHECK(c->h->ctx, !is_output(c->m, b) || memcmp(kept, rig_output(r, b), n * sizeof *kept) == 0,
                 "output %s has other bits %s", qn_program_name(c->m->program, qn_program_buffer(c->m->program, b)),
                 when);
    }
}

static void run_on(run_of_case *c, const cf_backend *on, bool is_first) {
    oracle_run *const oracle = is_first ? oracle_run_open(c->m, c->limits, c->h->ctx->numeric) : NULL;
    rig r;
    rig_open_with(&r, c->h->ctx, on, c->m, c->limits, QN_COMPILE_DETERMINISTIC, c->weight_flags);
    for (uint32_t s = 0; s < c->n_steps; s++) {
        rig_run(&r, &c->steps[s].step);
        if (c->steps[s].repeats != HARNESS_NEW) {
            compare_bits(c, s, c->steps[s].repeats, &r, "in the second run");
        } else if (is_first) {
            compare_first(c, s, &r, oracle);
            keep(c, s, &r);
        } else {
            compare_bits(c, s, s, &r, "with three workers than with one");
        }
    }
    rig_close(&r);
    oracle_run_close(oracle);
}

void harness_run(harness *self, const op_model *m, const qn_limits *limits, const harness_step *steps, uint32_t n_steps,
                 bool is_exact, uint32_t weight_flags) {
    run_of_case c = {self, m, limits, steps, n_steps, is_exact, weight_flags, {NULL}, NULL};
    if (!harness_offers(self, m, QN_COMPILE_DETERMINISTIC)) {
        return;
    }
    c.kept = scratch_take(self->ctx, &c.memory, (uint64_t)n_steps * m->program->n_buffers, sizeof *c.kept);
    run_on(&c, &self->one, true);
    if (self->has_many) {
        run_on(&c, &self->many, false);
    }
    scratch_free(&c.memory);
    harness_covered(self, m);
}

/* Rows [from, from + n) of all. */
static op_step rows_of(const op_model *m, const op_step *all, uint32_t from, uint32_t n) {
    op_step step = *all;
    step.n_tokens = n;
    step.positions = all->positions + from;
    for (uint32_t b = 0; b < m->program->n_buffers; b++) {
        const qn_buffer *const buffer = qn_program_buffer(m->program, b);
        if (buffer->role == QN_ROLE_INPUT) {
            const uint64_t columns = buffer->rank == 1 ? 1 : buffer->dims[0];
            step.inputs[b] = (const char *)all->inputs[b] + from * columns * 4;
        }
    }
    return step;
}

void harness_rows(harness *self, const op_model *m, const op_step *all, bool is_exact, uint32_t weight_flags) {
    const uint32_t t = all->n_tokens;
    const harness_step steps[] = {
        {rows_of(m, all, 0, t), HARNESS_NEW},
        {rows_of(m, all, t - 1, 1), HARNESS_NEW},
        {rows_of(m, all, 0, t), 0},
        {rows_of(m, all, 1 % t, t / 2 == 0 ? 1 : t / 2), HARNESS_NEW},
    };
    const qn_limits limits = op_model_limits(m, t, 0, 1, 0);
    harness_run(self, m, &limits, steps, t < 4 ? 3 : 4, is_exact, weight_flags);
}
