/* cases_elementwise.c — ADD, SCALE, GATED and SOFTCAP: element by element, at lengths around every vector width, and at
 * the edges of f32. */
#include "cases.h"

typedef struct element_case {
    uint32_t op;
    const void *attrs;
    uint32_t attrs_bytes;
    uint32_t n, t;
    bool is_weight;     /* the second input is a weight [n] */
    bool is_twice;      /* the second input is the first */
    uint32_t kind;      /* DATA_EXACT, or DATA_REAL times size */
    float size;         /* of the inputs */
    const float *edges; /* values to draw from instead */
    uint32_t n_edges;
} element_case;

static void fill_elements(op_model *m, const element_case *e, uint64_t n, float *values) {
    op_fill(&m->random, e->kind, false, n, values);
    for (uint64_t i = 0; i < n; i++) {
        values[i] = e->edges != NULL ? e->edges[cf_random_below(&m->random, e->n_edges)]
                                     : e->kind == DATA_EXACT ? values[i] : op_random_signed(&m->random) * e->size;
    }
}

static void check_elements(harness *h, const element_case *e) {
    const bool has_two = e->op == QN_OP_ADD || e->op == QN_OP_GATED;
    if (!cf_case(h->ctx, "%s n %u t %u%s%s size %g%s", qn_op_name(e->op), e->n, e->t, e->is_weight ? " weight" : "",
                 e->is_twice ? " of itself" : "", (double)e->size,
                 e->edges != NULL        ? " edges"
                 : e->kind == DATA_EXACT ? " integers"
                                         : "")) {
        return;
    }
    op_model m;
    op_model_init(&m, h->ctx, e->kind, ((uint64_t)e->op << 32) ^ ((uint64_t)e->n << 8) ^ e->t);
    op_step step = case_step(e->t);
    const uint64_t n = (uint64_t)e->n * e->t;
    float *const a = op_model_take(&m, n, sizeof *a), *const b = op_model_take(&m, n, sizeof *b);
    uint32_t inputs[2];
    fill_elements(&m, e, n, a);
    fill_elements(&m, e, n, b);
    inputs[0] = op_model_rows(&m, "a", QN_ROLE_INPUT, e->n, QN_DIM_TOKENS);
    inputs[1] = inputs[0];
    step.inputs[inputs[0]] = a;
    if (has_two && e->is_weight) {
        inputs[1] = op_model_vector(&m, "b", b, e->n);
    } else if (has_two && !e->is_twice) {
        inputs[1] = op_model_rows(&m, "b", QN_ROLE_INPUT, e->n, QN_DIM_TOKENS);
        step.inputs[inputs[1]] = b;
    }
    op_program_add_op(m.builder, e->op, QN_NO_LAYER, has_two ? 2 : 1, inputs,
                      op_model_rows(&m, "y", QN_ROLE_OUTPUT, e->n, QN_DIM_TOKENS), e->attrs, e->attrs_bytes);
    op_model_finish(&m);
    harness_rows(h, &m, &step, e->kind == DATA_EXACT, QN_WEIGHT_BORROW);
    op_model_free(&m);
}

static void check_lengths(harness *h, element_case e) {
    static const uint32_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 257, 1536};
    static const float sizes[] = {1, 1e-4f, 12, 90};
    for (size_t i = 0; i < CF_COUNT_OF(lengths); i += h->ctx->is_quick ? 4 : 1) {
        e.n = lengths[i];
        e.t = 1 + (uint32_t)i % 5;
        e.size = sizes[i % CF_COUNT_OF(sizes)];
        check_elements(h, &e);
    }
}

/* Zeros of both signs, ones, subnormals, the largest whose sum is finite. */
static const float edges[] = {
    0.0f, -0.0f, 1, -1, 0x1p-149f, -0x1p-127f, 0x1p-126f, 0x1.fffffep126f, -0x1.fffffep126f, 0x1p-60f, 1.5f, -2};

static void check_edges(harness *h, element_case e, uint32_t n_edges) {
    e.edges = edges;
    e.n_edges = n_edges;
    e.n = 67;
    e.t = 5;
    check_elements(h, &e);
}

/* NaN and infinities spoil the elements that they stand in and no other. */
static void check_nan(harness *h, element_case e) {
    static const float some[] = {1, NAN, 0.5f, INFINITY, -INFINITY, -1, 2, 0, -3};
    e.edges = some;
    e.n_edges = CF_COUNT_OF(some);
    e.n = 33;
    e.t = 4;
    check_elements(h, &e);
}

static void add_of_rows_keeps_the_bound(cf_context *ctx) {
    const element_case add = {.op = QN_OP_ADD, .kind = DATA_REAL};
    element_case exact = add, twice = add;
    harness h;
    harness_open(&h, ctx);
    check_lengths(&h, add);
    exact.kind = DATA_EXACT;
    check_lengths(&h, exact);
    twice.is_twice = true;
    twice.kind = DATA_EXACT;
    check_lengths(&h, twice);
    check_edges(&h, add, CF_COUNT_OF(edges));
    check_nan(&h, add);
    harness_close(&h);
}

static void add_of_a_weight_reaches_every_row(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    check_lengths(&h, (element_case){.op = QN_OP_ADD, .kind = DATA_REAL, .is_weight = true});
    check_lengths(&h, (element_case){.op = QN_OP_ADD, .kind = DATA_EXACT, .is_weight = true});
    harness_close(&h);
}

static void scale_is_one_rounded_product(cf_context *ctx) {
    static const float factors[] = {0.7071067f, -3, 0, 22.627417f};
    harness h;
    harness_open(&h, ctx);
    for (size_t i = 0; i < CF_COUNT_OF(factors); i++) {
        const qn_scale_attrs attrs = {.size = sizeof attrs, .factor = factors[i]};
        const element_case scale = {.op = QN_OP_SCALE, .kind = DATA_REAL, .attrs = &attrs, .attrs_bytes = sizeof attrs};
        check_lengths(&h, scale);
        if (factors[i] > 0 && factors[i] < 2) {
            check_edges(&h, scale, CF_COUNT_OF(edges));
            check_nan(&h, scale);
        }
    }
    harness_close(&h);
}

static void check_gated(cf_context *ctx, uint32_t kind) {
    const qn_gated_attrs attrs = {.size = sizeof attrs, .kind = kind};
    element_case gated = {.op = QN_OP_GATED, .kind = DATA_REAL, .attrs = &attrs, .attrs_bytes = sizeof attrs};
    harness h;
    harness_open(&h, ctx);
    check_lengths(&h, gated);
    check_edges(&h, gated, 7); /* products of the large ones overflow */
    check_nan(&h, gated);
    gated.is_twice = true;
    check_lengths(&h, gated);
    harness_close(&h);
}

static void gated_silu_keeps_the_bound(cf_context *ctx) {
    check_gated(ctx, QN_GATED_SILU);
}

static void gated_gelu_keeps_the_bound(cf_context *ctx) {
    check_gated(ctx, QN_GATED_GELU_TANH);
}

static void softcap_keeps_the_bound(cf_context *ctx) {
    static const float caps[] = {30, 50, 1};
    harness h;
    harness_open(&h, ctx);
    for (size_t i = 0; i < CF_COUNT_OF(caps); i++) {
        const qn_softcap_attrs attrs = {.size = sizeof attrs, .cap = caps[i]};
        const element_case softcap = {
            .op = QN_OP_SOFTCAP, .kind = DATA_REAL, .attrs = &attrs, .attrs_bytes = sizeof attrs};
        check_lengths(&h, softcap);
        check_edges(&h, softcap, CF_COUNT_OF(edges));
    }
    harness_close(&h);
}

static const cf_test add_tests[] = {
    CASES_TEST(add_of_rows_keeps_the_bound, "R1 R2 R3", CF_MUST_DECODE),
    CASES_TEST(add_of_a_weight_reaches_every_row, "R1 R2 R3", CF_MUST_DECODE),
};
const cf_suite cf_suite_add = CF_SUITE(2, "add", add_tests);
static const cf_test scale_tests[] = {CASES_TEST(scale_is_one_rounded_product, "R1 R2 R3", CF_MUST_DECODE)};
const cf_suite cf_suite_scale = CF_SUITE(2, "scale", scale_tests);
static const cf_test gated_tests[] = {
    CASES_TEST(gated_silu_keeps_the_bound, "R1 R2 R3", CF_MUST_DECODE),
    CASES_TEST(gated_gelu_keeps_the_bound, "R1 R2 R3", CF_MUST_DECODE),
};
const cf_suite cf_suite_gated = CF_SUITE(2, "gated", gated_tests);
static const cf_test softcap_tests[] = {CASES_TEST(softcap_keeps_the_bound, "R1 R2 R3", CF_MUST_DECODE)};
const cf_suite cf_suite_softcap = CF_SUITE(2, "softcap", softcap_tests);
