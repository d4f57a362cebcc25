/* cases_rms_norm.c — RMS_NORM over whole rows and over heads. */
#include "cases.h"

typedef struct norm_case {
    uint32_t n, group, t;
    float epsilon, size;
    bool has_zeros;     /* the first group is all zero */
    bool has_nan;       /* the last group but one holds NaN */
} norm_case;

static void check_rms_norm(harness *h, const norm_case *c) {
    if (!cf_case(h->ctx, "n %u group %u t %u epsilon %g size %g%s%s", c->n, c->group, c->t, (double)c->epsilon,
                 (double)c->size, c->has_zeros ? " zeros" : "", c->has_nan ? " nan" : "")) {
        return;
    }
    const qn_rms_norm_attrs attrs = {.size = sizeof attrs, .group = c->group, .epsilon = c->epsilon};
    const uint64_t n = (uint64_t)c->t * c->n;
    op_model m;
    op_model_init(&m, h->ctx, DATA_REAL, ((uint64_t)c->n << 32) ^ ((uint64_t)c->group << 8) ^ c->t);
    const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, c->n, QN_DIM_TOKENS);
    const uint32_t inputs[2] = {x, op_model_vector(&m, "w", op_model_values(&m, false, c->group), c->group)};
    op_program_add_op(m.builder, QN_OP_RMS_NORM, QN_NO_LAYER, 2, inputs,
                      op_model_rows(&m, "y", QN_ROLE_OUTPUT, c->n, QN_DIM_TOKENS), &attrs, sizeof attrs);
    op_model_finish(&m);
    op_step step = case_step(c->t);
    float *const values = op_model_values(&m, false, n);
    for (uint64_t i = 0; i < n; i++) {
        values[i] = c->has_zeros && i < c->group ? 0 : values[i] * c->size;
    }
    if (c->has_nan) {
        values[n - c->group - 1] = NAN;
    }
    step.inputs[x] = values;
    harness_rows(h, &m, &step, false, QN_WEIGHT_BORROW);
    op_model_free(&m);
}

static void rms_norm_keeps_the_bound_for_rows_of_any_length(cf_context *ctx) {
    static const uint32_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 257, 576, 2048};
    harness h;
    harness_open(&h, ctx);
    for (size_t i = 0; i < CF_COUNT_OF(lengths); i += ctx->is_quick ? 3 : 1) {
        check_rms_norm(&h, &(norm_case){.n = lengths[i], .group = lengths[i], .t = 1 + (uint32_t)i % 5,
                                        .epsilon = i % 2 == 0 ? 1e-5f : 1e-6f, .size = 1});
    }
    harness_close(&h);
}

static void rms_norm_keeps_the_bound_for_heads(cf_context *ctx) {
    static const uint32_t heads[] = {1, 2, 3, 7, 16}, dims[] = {1, 5, 16, 64, 80, 128, 256};
    harness h;
    harness_open(&h, ctx);
    for (size_t i = 0; i < CF_COUNT_OF(heads); i++) {
        for (size_t j = ctx->is_quick ? i : 0; j < CF_COUNT_OF(dims); j += ctx->is_quick ? 5 : 1) {
            check_rms_norm(&h, &(norm_case){.n = heads[i] * dims[j],
                                            .group = dims[j],
                                            .t = 1 + (uint32_t)(i + j) % 4,
                                            .epsilon = 1e-6f,
                                            .size = 1});
        }
    }
    harness_close(&h);
}

static void rms_norm_of_large_and_small_rows_keeps_the_bound(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    check_rms_norm(&h, &(norm_case){.n = 64, .group = 64, .t = 2, .epsilon = 1e-5f, .size = 1e6f});
    check_rms_norm(&h, &(norm_case){.n = 64, .group = 64, .t = 2, .epsilon = 1e-5f, .size = 1e-6f});
    check_rms_norm(&h, &(norm_case){.n = 65, .group = 65, .t = 2, .epsilon = 0, .size = 1e-3f});
    harness_close(&h);
}

static void rms_norm_of_zeros_is_zero(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    check_rms_norm(&h, &(norm_case){.n = 33, .group = 33, .t = 2, .epsilon = 1e-5f, .size = 1, .has_zeros = true});
    check_rms_norm(&h, &(norm_case){.n = 128, .group = 64, .t = 3, .epsilon = 1e-6f, .size = 1, .has_zeros = true});
    harness_close(&h);
}

static void rms_norm_keeps_nan_in_its_group(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    check_rms_norm(&h, &(norm_case){.n = 65, .group = 65, .t = 3, .epsilon = 1e-5f, .size = 1, .has_nan = true});
    check_rms_norm(&h, &(norm_case){.n = 192, .group = 64, .t = 2, .epsilon = 1e-6f, .size = 1, .has_nan = true});
    harness_close(&h);
}

static const cf_test tests[] = {
    CASES_TEST(rms_norm_keeps_the_bound_for_rows_of_any_length, "R1 R2 R3", CF_MUST_DECODE),
    CASES_TEST(rms_norm_keeps_the_bound_for_heads, "R1 R2 R3", CF_MUST_DECODE),
    CASES_TEST(rms_norm_of_large_and_small_rows_keeps_the_bound, "R1", CF_MUST_DECODE),
    CASES_TEST(rms_norm_of_zeros_is_zero, "R1", CF_MUST_DECODE),
    CASES_TEST(rms_norm_keeps_nan_in_its_group, "R5", CF_MUST_DECODE),
};
const cf_suite cf_suite_rms_norm = CF_SUITE(2, "rms_norm", tests);
