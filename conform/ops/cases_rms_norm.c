/* cases_rms_norm.c — RMS_NORM over whole rows and over heads. */
#include "cases.h"

static void check_rms_norm(harness *h, uint32_t n, uint32_t group, uint32_t t, float epsilon, float size, bool has_zeros) {
    op_random random = harness_random(h, ((uint64_t)n << 32) ^ ((uint64_t)group << 8) ^ t);
    op_case c = op_case_make((uint64_t)t * n, "rms_norm n %u group %u t %u epsilon %g size %g", n, group, t, (double)epsilon,
                             (double)size);
    const qn_rms_norm_attrs attrs = {.size = sizeof attrs, .group = group, .epsilon = epsilon};
    float *x = malloc((size_t)t * n * sizeof *x), *weight = malloc(group * sizeof *weight);
    const uint32_t x_at = op_program_add_rows(c.program, "x", QN_ROLE_INPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
    const uint32_t w_at = op_program_add_weight(c.program, "w", QN_FORMAT_F32, group, 0);
    const uint32_t y_at = op_program_add_rows(c.program, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
    assert_true(x != NULL && weight != NULL);
    op_program_add_op(c.program, QN_OP_RMS_NORM, QN_NO_LAYER, 2, (const uint32_t[]){x_at, w_at}, y_at, &attrs, sizeof attrs);
    op_fill(&random, false, false, (uint64_t)t * n, x);
    op_fill(&random, false, false, group, weight);
    for (uint64_t i = 0; i < (uint64_t)t * n; i++) {
        x[i] = has_zeros && i < group ? 0 : x[i] * size;
    }
    oracle_rms_norm(x, weight, t, n, &attrs, c.want, c.bound);
    op_case_set(&c, x_at, x, (uint64_t)t * n * sizeof *x);
    op_case_set(&c, w_at, weight, group * sizeof *weight);
    c.n_tokens = t;
    c.output = y_at;
    harness_check(h, &c);
    op_case_free(&c);
    free(x);
    free(weight);
}

static void rms_norm_keeps_the_bound_for_rows_of_any_length(harness *h) {
    static const uint32_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 257, 576, 2048};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        check_rms_norm(h, lengths[i], lengths[i], 1 + (uint32_t)i % 5, i % 2 == 0 ? 1e-5f : 1e-6f, 1, false);
    }
}

static void rms_norm_keeps_the_bound_for_heads(harness *h) {
    static const uint32_t heads[] = {1, 2, 3, 7, 16}, dims[] = {1, 5, 16, 64, 80, 128, 256};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        for (size_t j = 0; j < COUNT_OF(dims); j++) {
            check_rms_norm(h, heads[i] * dims[j], dims[j], 1 + (uint32_t)(i + j) % 4, 1e-6f, 1, false);
        }
    }
}

static void rms_norm_of_large_and_small_rows_keeps_the_bound(harness *h) {
    check_rms_norm(h, 64, 64, 2, 1e-5f, 1e6f, false);
    check_rms_norm(h, 64, 64, 2, 1e-5f, 1e-6f, false);
    check_rms_norm(h, 65, 65, 2, 0, 1e-3f, false);
}

static void rms_norm_of_zeros_is_zero(harness *h) {
    check_rms_norm(h, 33, 33, 2, 1e-5f, 1, true);
    check_rms_norm(h, 128, 64, 3, 1e-6f, 1, true);
}

static const op_test tests[] = {
    OP_TEST(rms_norm_keeps_the_bound_for_rows_of_any_length),
    OP_TEST(rms_norm_keeps_the_bound_for_heads),
    OP_TEST(rms_norm_of_large_and_small_rows_keeps_the_bound),
    OP_TEST(rms_norm_of_zeros_is_zero),
};
OP_SUITE(suite_rms_norm, QN_OP_RMS_NORM, tests);
