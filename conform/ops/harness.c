/* harness.c — one case on one and on many workers, twice, against the oracle. */
#include "harness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

op_case op_case_make(uint64_t n, const char *label_format, ...) {
    op_case self = {.program = op_program_create(), .n = n};
    va_list args;
    va_start(args, label_format);
    vsnprintf(self.label, sizeof self.label, label_format, args);
    va_end(args);
    self.want = calloc(n + 1, sizeof(double));
    self.bound = calloc(n + 1, sizeof(double));
    assert_non_null(self.want);
    assert_non_null(self.bound);
    return self;
}

void op_case_free(op_case *self) {
    op_program_destroy(self->program);
    for (uint32_t b = 0; b < OP_PROGRAM_ROOM; b++) {
        free(self->data[b].base);
    }
    free(self->want);
    free(self->bound);
    *self = (op_case){.n = 0};
}

void op_case_set(op_case *self, uint32_t buffer, const void *data, uint64_t bytes) {
    rig_memory *memory = &self->data[buffer];
    free(memory->base);
    memory->base = malloc(bytes + 1);
    assert_non_null(memory->base);
    memory->data = memory->base;
    memory->bytes = bytes;
    memcpy(memory->data, data, bytes);
}

op_random harness_random(const harness *self, uint64_t salt) {
    op_random random = {self->seed * UINT64_C(0xd1342543de82ef95) + salt};
    op_random_next(&random);
    return random;
}

/* --- Comparing -------------------------------------------------------------------------------------------------------- */

static bool has_same_bits(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool is_within(float got, double want, double bound, bool is_exact) {
    /* A sum of exact terms that is zero may come out with either sign. */
    return is_exact ? has_same_bits(got, (float)want) || (got == 0 && want == 0) : fabs(got - want) <= bound;
}

void harness_compare(const harness *self, const char *label, const float *got, const double *want, const double *bound,
                     bool is_exact, uint64_t n) {
    uint64_t n_wrong = 0, first = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!is_within(got[i], want[i], bound[i], is_exact)) {
            first = n_wrong == 0 ? i : first;
            n_wrong++;
        }
    }
    if (n_wrong > 0) {
        fail_msg("%s: %llu of %llu elements are wrong, the first is element %llu: got %.9g, want %.9g, %s %.3g (seed %llu)", label,
                 (unsigned long long)n_wrong, (unsigned long long)n, (unsigned long long)first, (double)got[first], want[first],
                 is_exact ? "exactly; difference" : "bound",
                 is_exact ? fabs(got[first] - want[first]) : bound[first], (unsigned long long)self->seed);
    }
}

/* --- Running ---------------------------------------------------------------------------------------------------------- */

static void fill_rig(rig *r, const op_case *c, const qn_program *program) {
    r->weight_flags = c->weight_flags == 0 ? QN_WEIGHT_BORROW : c->weight_flags;
    for (uint32_t b = 0; b < program->n_buffers; b++) {
        if (c->data[b].base != NULL) {
            rig_set(r, b, c->data[b].data, c->data[b].bytes);
            rig_set_first(r, b, c->first_element[b]);
        }
    }
}

/* Runs the case twice on one backend and keeps the first result, or compares with the one that is there. */
static void run_on(harness *self, const backend *on, const op_case *c, const qn_program *program, const qn_limits *limits,
                   int32_t *positions, float *result, bool is_first) {
    rig r;
    rig_init(&r, on, program, limits);
    fill_rig(&r, c, program);
    rig_compile(&r, QN_COMPILE_DETERMINISTIC, self->numeric);
    for (uint32_t turn = 0; turn < 2; turn++) {
        qn_step step = {.n_tokens = c->n_tokens, .n_outputs = c->n_outputs, .n_sequences = 1, .positions = positions};
        rig_step(&r, &step);
        const float *output = rig_output(&r, c->output);
        if (is_first && turn == 0) {
            memcpy(result, output, c->n * sizeof(float));
        } else if (memcmp(result, output, c->n * sizeof(float)) != 0) {
            fail_msg("%s: other bits %s (seed %llu)", c->label, turn == 0 ? "with three workers than with one" : "in the second run",
                     (unsigned long long)self->seed);
        }
    }
    rig_deinit(&r);
}

static bool is_offered(harness *self, const qn_program *program, const qn_limits *limits) {
    rig r;
    rig_init(&r, &self->one, program, limits);
    const bool is_yes = rig_check(&r, self->numeric);
    rig_deinit(&r);
    return is_yes;
}

bool harness_try(harness *self, op_case *c) {
    const qn_program *program = op_program_finish(c->program);
    const qn_limits limits = rig_limits(c->n_tokens, c->n_outputs == 0 ? 1 : c->n_outputs, 1, 0, 0);
    int32_t *positions = malloc(c->n_tokens * sizeof *positions);
    float *result = calloc(c->n + 1, sizeof(float));
    assert_non_null(positions);
    assert_non_null(result);
    for (uint32_t t = 0; t < c->n_tokens; t++) {
        positions[t] = c->positions == NULL ? (int32_t)t : c->positions[t];
    }
    const bool is_run = is_offered(self, program, &limits);
    if (is_run) {
        run_on(self, &self->one, c, program, &limits, positions, result, true);
        run_on(self, &self->many, c, program, &limits, positions, result, false);
        harness_compare(self, c->label, result, c->want, c->bound, c->is_exact, c->n);
        self->n_cases++;
    }
    free(positions);
    free(result);
    return is_run;
}

void harness_check(harness *self, op_case *c) {
    if (!harness_try(self, c)) {
        fail_msg("%s: the plugin's verdict is no", c->label);
    }
}
