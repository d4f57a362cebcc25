/* cases_rope.c — ROPE: both pairings, partial rotation, every scaling, positions far out. */
#include "cases.h"

static void check_rope(harness *h, const qn_rope_attrs *attrs, const char *what, uint32_t t, bool has_factors) {
    static const int32_t far_positions[] = {0, 1, 7, 100, 4095, 8192, 131071, 1048575}, middle[] = {4095};
    const uint32_t n = attrs->n_head * attrs->head_dim;
    float factors[256];
    if (!cf_case(h->ctx, "%s n_head %u head_dim %u n_rot %u t %u%s", what, attrs->n_head, attrs->head_dim, attrs->n_rot,
                 t, has_factors ? " factors" : "")) {
        return;
    }
    op_model m;
    op_model_init(&m, h->ctx, DATA_REAL, ((uint64_t)n << 32) ^ ((uint64_t)attrs->n_rot << 8) ^ t);
    const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, n, QN_DIM_TOKENS);
    uint32_t inputs[2] = {x, 0};
    for (uint32_t i = 0; i < attrs->n_rot / 2; i++) {
        factors[i] = 1 + (float)(i % 8);
    }
    if (has_factors) {
        inputs[1] = op_model_vector(&m, "factors", factors, attrs->n_rot / 2);
    }
    op_program_add_op(m.builder, QN_OP_ROPE, QN_NO_LAYER, has_factors ? 2 : 1, inputs,
                      op_model_rows(&m, "y", QN_ROLE_OUTPUT, n, QN_DIM_TOKENS), attrs, sizeof *attrs);
    op_model_finish(&m);
    op_step step = case_step(t);
    step.positions = t == 1 ? middle : far_positions;
    step.inputs[x] = op_model_values(&m, false, (uint64_t)t * n);
    harness_rows(h, &m, &step, false, QN_WEIGHT_BORROW);
    op_model_free(&m);
}

static qn_rope_attrs plain_rope(uint32_t n_head, uint32_t head_dim, uint32_t n_rot, uint32_t pairing) {
    return (qn_rope_attrs){.size = sizeof(qn_rope_attrs), .n_head = n_head, .head_dim = head_dim, .n_rot = n_rot,
                           .pairing = pairing, .base = 10000, .freq_scale = 1, .attn_factor = 1};
}

static void check_pairing(cf_context *ctx, uint32_t pairing, const char *name) {
    static const uint32_t dims[] = {2, 4, 6, 8, 14, 16, 18, 32, 34, 64, 80, 96, 128, 256};
    harness h;
    harness_open(&h, ctx);
    for (size_t i = 0; i < CF_COUNT_OF(dims); i += ctx->is_quick ? 3 : 1) {
        const qn_rope_attrs attrs = plain_rope(1 + (uint32_t)i % 4, dims[i], dims[i], pairing);
        check_rope(&h, &attrs, name, 8, false);
        check_rope(&h, &attrs, name, 1, true);
    }
    harness_close(&h);
}

static void rope_keeps_the_bound_with_adjacent_pairs(cf_context *ctx) {
    check_pairing(ctx, QN_ROPE_ADJACENT, "adjacent");
}

static void rope_keeps_the_bound_with_half_pairs(cf_context *ctx) {
    check_pairing(ctx, QN_ROPE_HALF, "half");
}

static void rope_copies_what_lies_beyond_n_rot(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    for (uint32_t pairing = QN_ROPE_ADJACENT; pairing <= QN_ROPE_HALF; pairing++) {
        const qn_rope_attrs some = plain_rope(3, 64, 16, pairing), most = plain_rope(2, 80, 78, pairing);
        check_rope(&h, &some, "partial", 5, false);
        check_rope(&h, &most, "partial", 5, true);
    }
    harness_close(&h);
}

static void check_scalings(harness *h, uint32_t pairing) {
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

static void rope_keeps_the_bound_with_every_scaling(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    check_scalings(&h, QN_ROPE_ADJACENT);
    check_scalings(&h, QN_ROPE_HALF);
    harness_close(&h);
}

static const cf_test tests[] = {
    CASES_TEST(rope_keeps_the_bound_with_adjacent_pairs, "R1 R2 R3", CF_MUST_DECODE),
    CASES_TEST(rope_keeps_the_bound_with_half_pairs, "R1 R2 R3", CF_MUST_DECODE),
    CASES_TEST(rope_copies_what_lies_beyond_n_rot, "R1", CF_MUST_DECODE),
    CASES_TEST(rope_keeps_the_bound_with_every_scaling, "R1", CF_MUST_DECODE),
};
const cf_suite cf_suite_rope = CF_SUITE(2, "rope", tests);
