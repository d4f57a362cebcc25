/* cases_matmul.c — MATMUL in every weight format: exact integers, real numbers, corner values, shapes around every
 * vector width. */
#include "cases.h"

typedef struct matmul_shape {
    uint32_t n, k, t;
    bool has_bias;
    uint32_t first_rows;   /* rows of the tensor before the weight begins */
    uint32_t weight_flags;
} matmul_shape;

static void check_matmul(harness *h, qn_format format, const matmul_shape *shape, uint32_t kind) {
    cf_context *const ctx = h->ctx;
    if (!cf_case(ctx, "%s n %u k %u t %u%s%s, %s", qn_format_name(format), shape->n, shape->k, shape->t,
                 shape->has_bias ? " bias" : "", shape->first_rows > 0 ? " behind other rows" : "",
                 op_data_name(kind))) {
        return;
    }
    op_model m;
    op_model_init(&m, ctx, kind, ((uint64_t)format << 40) ^ ((uint64_t)shape->k << 20) ^ (shape->n << 8) ^ shape->t);
    const uint32_t w = op_model_weight_behind(&m, "w", format, shape->k, shape->n, shape->first_rows);
    const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, shape->k, QN_DIM_TOKENS);
    const uint32_t y = op_model_rows(&m, "y", QN_ROLE_OUTPUT, shape->n, QN_DIM_TOKENS);
    uint32_t inputs[3] = {w, x, 0};
    if (shape->has_bias) {
        inputs[2] = op_model_vector(&m, "bias", op_model_values(&m, false, shape->n), shape->n);
    }
    op_program_add_op(m.builder, QN_OP_MATMUL, QN_NO_LAYER, shape->has_bias ? 3 : 2, inputs, y, NULL, 0);
    op_model_finish(&m);
    op_step step = case_step(shape->t);
    float *const values = op_model_take(&m, (uint64_t)shape->t * shape->k, sizeof *values);
    /* Each row of x has its own blocks of 32. */
    for (uint32_t t = 0; t < shape->t; t++) {
        op_fill(&m.random, kind, ctx->numeric == QN_NUMERIC_ACT8, shape->k, values + (size_t)t * shape->k);
    }
    step.inputs[x] = values;
    harness_rows(h, &m, &step, kind == DATA_EXACT, shape->weight_flags);
    op_model_free(&m);
}

/* Row lengths that a format can have, around every vector width; 0 ends. */
static const uint32_t lengths_any[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257, 0};
static const uint32_t lengths_32[] = {32, 64, 96, 128, 160, 288, 480, 0};
static const uint32_t lengths_256[] = {256, 512, 768, 0};

static const uint32_t *find_lengths(qn_format format) {
    const uint32_t unit = op_format_unit(format);
    return unit == 32 ? lengths_32 : unit == 256 ? lengths_256 : lengths_any;
}

/* Every length with a handful of row and token counts, which wander so that many pairs turn up over the formats. */
static void check_shapes(harness *h, qn_format format, uint32_t kind) {
    static const uint32_t rows[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64};
    static const uint32_t tokens[] = {1, 3, 2, 17, 4, 5, 7, 8, 9, 16, 33};
    const uint32_t *const lengths = find_lengths(format);
    const uint32_t repeats = h->ctx->is_quick ? 1 : lengths == lengths_256 ? 6 : 2;
    uint32_t turn = format * 5;
    for (uint32_t i = 0; lengths[i] != 0; i++) {
        for (uint32_t r = 0; r < (h->ctx->is_quick && i % 3 != 0 ? 0 : repeats); r++, turn++) {
            const matmul_shape shape = {.n = rows[turn % CF_COUNT_OF(rows)],
                                        .k = lengths[i],
                                        .t = tokens[turn % CF_COUNT_OF(tokens)],
                                        .has_bias = turn % 3 == 0,
                                        .first_rows = turn % 5 == 1 ? 1 + turn % 3 : 0,
                                        .weight_flags = turn % 4 == 2 ? QN_WEIGHT_COPY : QN_WEIGHT_BORROW};
            check_matmul(h, format, &shape, kind);
        }
    }
}

static void check_model_sizes(harness *h, qn_format format) {
    static const matmul_shape shapes[] = {
        {.n = 192, .k = 1536, .t = 1, .weight_flags = QN_WEIGHT_BORROW},
        {.n = 1536, .k = 256, .t = 1, .has_bias = true, .weight_flags = QN_WEIGHT_BORROW},
        {.n = 96, .k = 1536, .t = 33, .weight_flags = QN_WEIGHT_BORROW}};
    for (size_t i = 0; i < (h->ctx->is_quick ? 1 : CF_COUNT_OF(shapes)); i++) {
        check_matmul(h, format, &shapes[i], DATA_REAL);
    }
}

/* Scales of zero, subnormal and largest, all bits set or clear. Formats of f32's own range would overflow in the sum.
 */
static void check_corners(harness *h, qn_format format) {
    const matmul_shape shape = {
        .n = 12, .k = op_format_unit(format) == 1 ? 48 : 256, .t = 3, .weight_flags = QN_WEIGHT_BORROW};
    if (format != QN_FORMAT_F32 && format != QN_FORMAT_BF16 && format != QN_FORMAT_TERNARY) {
        check_matmul(h, format, &shape, DATA_CORNERS);
    }
}

static void check_format(cf_context *ctx, qn_format format) {
    harness h;
    harness_open(&h, ctx);
    check_shapes(&h, format, DATA_EXACT);
    check_shapes(&h, format, DATA_REAL);
    check_model_sizes(&h, format);
    check_corners(&h, format);
    harness_close(&h);
}

#define MATMUL_OF(NAME)                                                        \
    static void matmul_keeps_its_bound_with_##NAME(cf_context *ctx) {          \
        check_format(ctx, QN_FORMAT_##NAME);                                   \
    }
CASES_WEIGHT_FORMATS(MATMUL_OF)

/* A row of x that holds NaN or infinity spoils its own row of y and no other. */
static void a_row_of_nan_spoils_only_its_own_products(cf_context *ctx) {
    static const uint32_t rows[] = {2, 3, 9, 17};
    static const qn_format formats[] = {QN_FORMAT_F32, QN_FORMAT_F16, QN_FORMAT_Q8_0, QN_FORMAT_Q4_K};
    harness h;
    harness_open(&h, ctx);
    for (size_t i = 0; i < CF_COUNT_OF(rows); i++) {
        for (size_t f = ctx->is_quick ? i : 0; f < (ctx->is_quick ? i + 1 : CF_COUNT_OF(formats)); f++) {
            if (!cf_case(ctx, "%s, %u rows", qn_format_name(formats[f]), rows[i])) {
                continue;
            }
            op_model m;
            op_model_init(&m, ctx, DATA_REAL, rows[i]);
            const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, 256, QN_DIM_TOKENS);
            const uint32_t inputs[2] = {op_model_weight(&m, "w", formats[f], 256, 24), x};
            op_program_add_op(m.builder, QN_OP_MATMUL, QN_NO_LAYER, 2, inputs,
                              op_model_rows(&m, "y", QN_ROLE_OUTPUT, 24, QN_DIM_TOKENS), NULL, 0);
            op_model_finish(&m);
            op_step step = case_step(rows[i]);
            float *const values = op_model_values(&m, false, 256 * rows[i]);
            for (uint32_t k = 0; k < 256; k++) {
                values[256 * (rows[i] / 2) + k] = k % 2 == 0 ? NAN : k % 4 == 1 ? INFINITY : -INFINITY;
            }
            step.inputs[x] = values;
            const harness_step steps[] = {{step, HARNESS_NEW}};
            const qn_limits limits = op_model_limits(&m, rows[i], 0, 1, 0);
            harness_run(&h, &m, &limits, steps, 1, false, QN_WEIGHT_BORROW);
            op_model_free(&m);
        }
    }
    harness_close(&h);
}

#define MATMUL_TEST(NAME) CASES_TEST(matmul_keeps_its_bound_with_##NAME, "R1 R2 R3", MUST_##NAME),
static const cf_test tests[] = {
    CASES_WEIGHT_FORMATS(MATMUL_TEST)
    CASES_TEST(a_row_of_nan_spoils_only_its_own_products, "R5", CF_MUST_DECODE),
};
const cf_suite cf_suite_matmul = CF_SUITE(2, "matmul", tests);
