/* cases_rope.c — ROPE: both pairings, partial rotation, every scaling, positions far out. */
#include "cases.h"

static void check_rope(harness *h, const qn_rope_attrs *attrs, const char *what, uint32_t t, bool has_factors) {
    static const int32_t far_positions[] = {0, 1, 7, 100, 4095, 8192, 131071, 1048575};
    const uint32_t n = attrs->n_head * attrs->head_dim;
    op_random random = harness_random(h, ((uint64_t)n << 32) ^ ((uint64_t)attrs->n_rot << 8) ^ t);
    op_case c = op_case_make((uint64_t)t * n, "rope %s n_head %u head_dim %u n_rot %u t %u", what, attrs->n_head, attrs->head_dim,
                             attrs->n_rot, t);
    float *x = malloc((size_t)t * n * sizeof *x), *factors = malloc(attrs->head_dim * sizeof *factors);
    const uint32_t x_at = op_program_add_rows(c.program, "x", QN_ROLE_INPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
    const uint32_t y_at = op_program_add_rows(c.program, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
    uint32_t inputs[2] = {x_at, 0};
    int32_t positions[COUNT_OF(far_positions)];
    assert_true(x != NULL && factors != NULL && t <= COUNT_OF(far_positions));
    if (has_factors) {
        inputs[1] = op_program_add_weight(c.program, "factors", QN_FORMAT_F32, attrs->n_rot / 2, 0);
    }
    op_program_add_op(c.program, QN_OP_ROPE, QN_NO_LAYER, has_factors ? 2 : 1, inputs, y_at, attrs, sizeof *attrs);
    for (uint32_t i = 0; i < t; i++) {
        positions[i] = far_positions[t == 1 ? 4 : i];
    }
    for (uint32_t i = 0; i < attrs->n_rot / 2; i++) {
        factors[i] = 1 + (float)(i % 8);
    }
    op_fill(&random, false, false, (uint64_t)t * n, x);
    oracle_rope(x, has_factors ? factors : NULL, positions, t, attrs, c.want, c.bound);
    op_case_set(&c, x_at, x, (uint64_t)t * n * sizeof *x);
    if (has_factors) {
        op_case_set(&c, inputs[1], factors, attrs->n_rot / 2 * sizeof *factors);
    }
    c.n_tokens = t;
    c.positions = positions;
    c.output = y_at;
    harness_check(h, &c);
    op_case_free(&c);
    free(x);
    free(factors);
}

static qn_rope_attrs plain_rope(uint32_t n_head, uint32_t head_dim, uint32_t n_rot, uint32_t pairing) {
    return (qn_rope_attrs){.size = sizeof(qn_rope_attrs), .n_head = n_head, .head_dim = head_dim, .n_rot = n_rot,
                           .pairing = pairing, .base = 10000, .freq_scale = 1, .attn_factor = 1};
}

static void rope_keeps_the_bound_in_both_pairings(harness *h) {
    static const uint32_t dims[] = {2, 4, 6, 8, 14, 16, 18, 32, 34, 64, 80, 96, 128, 256};
    for (size_t i = 0; i < COUNT_OF(dims); i++) {
        const qn_rope_attrs adjacent = plain_rope(1 + (uint32_t)i % 4, dims[i], dims[i], QN_ROPE_ADJACENT);
        const qn_rope_attrs half = plain_rope(1 + (uint32_t)i % 3, dims[i], dims[i], QN_ROPE_HALF);
        check_rope(h, &adjacent, "adjacent", 8, false);
        check_rope(h, &half, "half", 8, false);
        check_rope(h, &half, "half", 1, true);
    }
}

static void rope_copies_what_lies_beyond_n_rot(harness *h) {
    static const uint32_t pairings[] = {QN_ROPE_ADJACENT, QN_ROPE_HALF};
    for (size_t i = 0; i < COUNT_OF(pairings); i++) {
        const qn_rope_attrs some = plain_rope(3, 64, 16, pairings[i]), most = plain_rope(2, 80, 78, pairings[i]);
        check_rope(h, &some, "partial", 5, false);
        check_rope(h, &most, "partial", 5, true);
    }
}

static void rope_keeps_the_bound_with_every_scaling(harness *h) {
    for (uint32_t pairing = QN_ROPE_ADJACENT; pairing <= QN_ROPE_HALF; pairing++) {
        qn_rope_attrs linear = plain_rope(2, 64, 64, pairing), yarn = linear, factors = linear, magnitude = linear;
        linear.freq_scale = 0.125f;
        linear.base = 1000000;
        yarn.freq_scale = 0.25f;
        yarn.ext_factor = 1;
        yarn.n_ctx_orig = 4096;
        yarn.beta_fast = 32;
        yarn.beta_slow = 1;
        factors.base = 500000;
        magnitude.attn_factor = 1.19f;
        check_rope(h, &linear, "linear", 8, false);
        check_rope(h, &yarn, "yarn", 8, false);
        check_rope(h, &factors, "factors", 8, true);
        check_rope(h, &magnitude, "magnitude", 8, true);
        yarn.ext_factor = 0.5f;
        yarn.attn_factor = 0.8f;
        check_rope(h, &yarn, "half yarn", 8, true);
    }
}

static const op_test tests[] = {
    OP_TEST(rope_keeps_the_bound_in_both_pairings),
    OP_TEST(rope_copies_what_lies_beyond_n_rot),
    OP_TEST(rope_keeps_the_bound_with_every_scaling),
};
OP_SUITE(suite_rope, QN_OP_ROPE, tests);
