/* cases_elementwise.c — ADD, SCALE, GATED and SOFTCAP: element by element, at lengths around every vector width. */
#include "cases.h"

typedef struct element_case {
    uint32_t op;
    const char *name;
    const void *attrs;
    uint32_t attrs_bytes;
    uint32_t n, t;
    bool is_weight;     /* the second input is a weight [n] */
    float size;         /* of the inputs */
} element_case;

static void want_elements(const element_case *e, const float *a, const float *b, op_case *c) {
    switch (e->op) {
    case QN_OP_ADD: oracle_add(a, b, c->n, e->is_weight ? e->n : 0, c->want, c->bound); break;
    case QN_OP_SCALE: oracle_scale(a, c->n, ((const qn_scale_attrs *)e->attrs)->factor, c->want); break;
    case QN_OP_GATED: oracle_gated(a, b, c->n, ((const qn_gated_attrs *)e->attrs)->kind, c->want, c->bound); break;
    default: oracle_softcap(a, c->n, ((const qn_softcap_attrs *)e->attrs)->cap, c->want, c->bound); break;
    }
}

static void check_elements(harness *h, const element_case *e) {
    const bool has_two = e->op == QN_OP_ADD || e->op == QN_OP_GATED;
    op_random random = harness_random(h, ((uint64_t)e->op << 32) ^ ((uint64_t)e->n << 8) ^ e->t);
    op_case c = op_case_make((uint64_t)e->n * e->t, "%s n %u t %u size %g", e->name, e->n, e->t, (double)e->size);
    float *a = malloc(c.n * sizeof *a), *b = malloc(c.n * sizeof *b);
    uint32_t inputs[2];
    assert_true(a != NULL && b != NULL);
    inputs[0] = op_program_add_rows(c.program, "a", QN_ROLE_INPUT, QN_FORMAT_F32, e->n, QN_DIM_TOKENS);
    inputs[1] = inputs[0];
    if (has_two && e->is_weight) {
        inputs[1] = op_program_add_weight(c.program, "b", QN_FORMAT_F32, e->n, 0);
    } else if (has_two) {
        inputs[1] = op_program_add_rows(c.program, "b", QN_ROLE_INPUT, QN_FORMAT_F32, e->n, QN_DIM_TOKENS);
    }
    c.output = op_program_add_rows(c.program, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, e->n, QN_DIM_TOKENS);
    op_program_add_op(c.program, e->op, QN_NO_LAYER, has_two ? 2 : 1, inputs, c.output, e->attrs, e->attrs_bytes);
    for (uint64_t i = 0; i < c.n; i++) {
        a[i] = op_random_signed(&random) * e->size;
        b[i] = op_random_signed(&random) * e->size;
    }
    want_elements(e, a, b, &c);
    op_case_set(&c, inputs[0], a, c.n * sizeof *a);
    if (has_two) {
        op_case_set(&c, inputs[1], b, (e->is_weight ? e->n : c.n) * sizeof *b);
    }
    c.n_tokens = e->t;
    c.is_exact = e->op == QN_OP_SCALE;
    harness_check(h, &c);
    op_case_free(&c);
    free(a);
    free(b);
}

static void check_lengths(harness *h, element_case e) {
    static const uint32_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 257, 1536};
    static const float sizes[] = {1, 1e-4f, 12, 90};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        e.n = lengths[i];
        e.t = 1 + (uint32_t)i % 5;
        e.size = sizes[i % COUNT_OF(sizes)];
        check_elements(h, &e);
    }
}

static void add_of_rows_keeps_the_bound(harness *h) {
    check_lengths(h, (element_case){.op = QN_OP_ADD, .name = "add"});
}

static void add_of_a_weight_reaches_every_row(harness *h) {
    check_lengths(h, (element_case){.op = QN_OP_ADD, .name = "add weight", .is_weight = true});
}

static void scale_is_one_rounded_product(harness *h) {
    static const float factors[] = {0.7071067f, -3, 0, 22.627417f};
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        const qn_scale_attrs attrs = {.size = sizeof attrs, .factor = factors[i]};
        check_lengths(h, (element_case){.op = QN_OP_SCALE, .name = "scale", .attrs = &attrs, .attrs_bytes = sizeof attrs});
    }
}

static void gated_keeps_the_bound_for_both_kinds(harness *h) {
    for (uint32_t kind = QN_GATED_SILU; kind <= QN_GATED_GELU_TANH; kind++) {
        const qn_gated_attrs attrs = {.size = sizeof attrs, .kind = kind};
        check_lengths(h, (element_case){.op = QN_OP_GATED, .name = kind == QN_GATED_SILU ? "silu" : "gelu_tanh", .attrs = &attrs,
                                        .attrs_bytes = sizeof attrs});
    }
}

static void softcap_keeps_the_bound(harness *h) {
    static const float caps[] = {30, 50, 1};
    for (size_t i = 0; i < COUNT_OF(caps); i++) {
        const qn_softcap_attrs attrs = {.size = sizeof attrs, .cap = caps[i]};
        check_lengths(h, (element_case){.op = QN_OP_SOFTCAP, .name = "softcap", .attrs = &attrs, .attrs_bytes = sizeof attrs});
    }
}

static const op_test add_tests[] = {OP_TEST(add_of_rows_keeps_the_bound), OP_TEST(add_of_a_weight_reaches_every_row)};
OP_SUITE(suite_add, QN_OP_ADD, add_tests);
static const op_test scale_tests[] = {OP_TEST(scale_is_one_rounded_product)};
OP_SUITE(suite_scale, QN_OP_SCALE, scale_tests);
static const op_test gated_tests[] = {OP_TEST(gated_keeps_the_bound_for_both_kinds)};
OP_SUITE(suite_gated, QN_OP_GATED, gated_tests);
static const op_test softcap_tests[] = {OP_TEST(softcap_keeps_the_bound)};
OP_SUITE(suite_softcap, QN_OP_SOFTCAP, softcap_tests);
