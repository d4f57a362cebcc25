/* cases_matmul.c — MATMUL in every weight format: exact integers, real numbers, shapes around every vector width. */
#include <quoin/glue.h>

#include "cases.h"

typedef struct matmul_shape {
    uint32_t n, k, t;
    bool has_bias;
    uint32_t first_rows;   /* rows of the tensor before the weight begins */
    uint32_t weight_flags;
} matmul_shape;

static void check_matmul(harness *h, qn_format format, const matmul_shape *shape, bool is_exact) {
    op_random random = harness_random(h, ((uint64_t)format << 40) ^ ((uint64_t)shape->k << 20) ^ (shape->n << 8) ^ shape->t);
    const uint64_t first = (uint64_t)shape->first_rows * shape->k;
    op_case c = op_case_make((uint64_t)shape->t * shape->n, "matmul %s n %u k %u t %u%s%s%s", qn_format_name(format), shape->n,
                             shape->k, shape->t, shape->has_bias ? " bias" : "", first > 0 ? " fused" : "",
                             is_exact ? " exact" : "");
    op_weight weight = op_weight_make(&random, format, is_exact, first, (uint64_t)shape->n * shape->k);
    float *x = malloc((size_t)shape->t * shape->k * sizeof *x), *bias = malloc(shape->n * sizeof *bias);
    const uint32_t w_at = op_program_add_weight(c.program, "w", format, shape->k, shape->n);
    const uint32_t x_at = op_program_add_rows(c.program, "x", QN_ROLE_INPUT, QN_FORMAT_F32, shape->k, QN_DIM_TOKENS);
    const uint32_t y_at = op_program_add_rows(c.program, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, shape->n, QN_DIM_TOKENS);
    uint32_t inputs[3] = {w_at, x_at, 0};
    assert_true(x != NULL && bias != NULL);
    if (shape->has_bias) {
        inputs[2] = op_program_add_weight(c.program, "bias", QN_FORMAT_F32, shape->n, 0);
    }
    op_program_add_op(c.program, QN_OP_MATMUL, QN_NO_LAYER, shape->has_bias ? 3 : 2, inputs, y_at, NULL, 0);
    /* Each row of x has its own blocks of 32. */
    for (uint32_t t = 0; t < shape->t; t++) {
        op_fill(&random, is_exact, h->numeric == QN_NUMERIC_ACT8, shape->k, x + (size_t)t * shape->k);
    }
    op_fill(&random, is_exact, false, shape->n, bias);
    oracle_matmul(weight.values, x, shape->has_bias ? bias : NULL, shape->t, shape->n, shape->k,
                  h->numeric == QN_NUMERIC_ACT8, c.want, c.bound);
    op_case_set(&c, w_at, weight.bytes, weight.n_bytes);
    c.first_element[w_at] = first;
    op_case_set(&c, x_at, x, (uint64_t)shape->t * shape->k * sizeof *x);
    if (shape->has_bias) {
        op_case_set(&c, inputs[2], bias, shape->n * sizeof *bias);
    }
    c.n_tokens = shape->t;
    c.output = y_at;
    c.is_exact = is_exact;
    c.weight_flags = shape->weight_flags;
    harness_check(h, &c);
    op_case_free(&c);
    op_weight_free(&weight);
    free(x);
    free(bias);
}

/* Row lengths that a format can have, around every vector width; 0 ends. */
static const uint32_t lengths_any[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257, 0};
static const uint32_t lengths_32[] = {32, 64, 96, 128, 160, 288, 480, 0};
static const uint32_t lengths_256[] = {256, 512, 0};

static const uint32_t *find_lengths(qn_format format) {
    const uint32_t block = qn_format_find(format)->block_elems;
    return block == 32 ? lengths_32 : block == 256 ? lengths_256 : lengths_any;
}

/* Every length with a handful of row and token counts, which wander so that all pairs turn up over the formats. */
static void check_shapes(harness *h, bool is_exact) {
    static const uint32_t rows[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64};
    static const uint32_t tokens[] = {1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17};
    uint32_t turn = 0;
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        const uint32_t *lengths = find_lengths(op_weight_formats[f]);
        const uint32_t repeats = lengths == lengths_256 ? 12 : 4;
        for (uint32_t i = 0; lengths[i] != 0; i++) {
            for (uint32_t r = 0; r < repeats; r++, turn++) {
                if (h->is_quick && turn % 7 != 0) {
                    continue;
                }
                const matmul_shape shape = {.n = rows[turn % COUNT_OF(rows)], .k = lengths[i],
                                            .t = tokens[turn % COUNT_OF(tokens)], .has_bias = turn % 3 == 0,
                                            .first_rows = turn % 5 == 1 ? 1 + turn % 3 : 0,
                                            .weight_flags = turn % 4 == 2 ? QN_WEIGHT_COPY : QN_WEIGHT_BORROW};
                check_matmul(h, op_weight_formats[f], &shape, is_exact);
            }
        }
    }
}

static void matmul_of_integers_is_exact_in_every_format(harness *h) {
    check_shapes(h, true);
}

static void matmul_of_real_numbers_keeps_the_bound_in_every_format(harness *h) {
    check_shapes(h, false);
}

static void matmul_keeps_the_bound_at_the_sizes_of_models(harness *h) {
    static const matmul_shape shapes[] = {
        {.n = 192, .k = 1536, .t = 1}, {.n = 1536, .k = 256, .t = 1, .has_bias = true}, {.n = 96, .k = 1536, .t = 33}};
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        for (size_t i = 0; i < (h->is_quick ? 1 : COUNT_OF(shapes)); i++) {
            check_matmul(h, op_weight_formats[f], &shapes[i], false);
        }
    }
}

static const op_test tests[] = {
    OP_TEST(matmul_of_integers_is_exact_in_every_format),
    OP_TEST(matmul_of_real_numbers_keeps_the_bound_in_every_format),
    OP_TEST(matmul_keeps_the_bound_at_the_sizes_of_models),
};
OP_SUITE(suite_matmul, QN_OP_MATMUL, tests);
