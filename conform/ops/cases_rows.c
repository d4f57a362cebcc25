/* cases_rows.c — EMBED and SELECT_ROWS: rows are copied bit for bit. */
#include "cases.h"

typedef struct embed_case {
    qn_format format;
    uint32_t n_vocab, n_embd, t;
    uint32_t first_rows;    /* rows of the tensor before the table begins */
    bool is_tied;           /* the table is also the weight of a product: a plugin may keep it in a form of its own */
    uint32_t kind;
} embed_case;

/* A product with the table whose result nobody reads. */
static void tie_to_matmul(op_model *m, uint32_t table, const embed_case *c, op_step *step) {
    const uint32_t x = op_model_rows(m, "x", QN_ROLE_INPUT, c->n_embd, QN_DIM_TOKENS);
    const uint32_t z = op_model_rows(m, "z", QN_ROLE_ACT, c->n_vocab, QN_DIM_TOKENS);
    op_program_add_op(m->builder, QN_OP_MATMUL, QN_NO_LAYER, 2, (const uint32_t[]){table, x}, z, NULL, 0);
    step->inputs[x] = op_model_take(m, (uint64_t)c->t * c->n_embd, sizeof(float));
}

static void check_embed(harness *h, const embed_case *c) {
    if (!cf_case(h->ctx, "n_vocab %u n_embd %u t %u%s%s, %s", c->n_vocab, c->n_embd, c->t,
                 c->first_rows > 0 ? " behind other rows" : "", c->is_tied ? " tied" : "", op_data_name(c->kind))) {
        return;
    }
    op_model m;
    op_model_init(&m, h->ctx, c->kind, ((uint64_t)c->format << 32) ^ ((uint64_t)c->n_embd << 8) ^ c->t);
    op_step step = case_step(c->t);
    const uint32_t table = op_model_weight_behind(&m, "table", c->format, c->n_embd, c->n_vocab, c->first_rows);
    const uint32_t ids = op_model_numbers(&m, "ids", QN_DIM_TOKENS);
    int32_t *const numbers = op_model_take(&m, c->t, sizeof *numbers);
    op_program_add_op(m.builder, QN_OP_EMBED, QN_NO_LAYER, 2, (const uint32_t[]){table, ids},
                      op_model_rows(&m, "y", QN_ROLE_OUTPUT, c->n_embd, QN_DIM_TOKENS), NULL, 0);
    for (uint32_t i = 0; i < c->t; i++) {
        numbers[i] = i == 0 ? (int32_t)c->n_vocab - 1 : (int32_t)cf_random_below(&m.random, c->n_vocab);
    }
    step.inputs[ids] = numbers;
    if (c->is_tied) {
        tie_to_matmul(&m, table, c, &step);
    }
    op_model_finish(&m);
    harness_rows(h, &m, &step, true, c->t % 2 == 0 ? QN_WEIGHT_COPY : QN_WEIGHT_BORROW);
    op_model_free(&m);
}

static void check_embed_format(cf_context *ctx, qn_format format) {
    const uint32_t unit = op_format_unit(format);
    harness h;
    harness_open(&h, ctx);
    for (uint32_t i = 1; i <= (ctx->is_quick ? 2 : 4); i++) {
        embed_case c = {.format = format,
                        .n_vocab = 9 + 4 * i,
                        .n_embd = unit == 1 ? 13 * i : unit * (1 + i / 2),
                        .t = 1 + 3 * i,
                        .first_rows = i - 1,
                        .kind = i % 2 == 1 ? DATA_REAL : DATA_CORNERS};
        check_embed(&h, &c);
        c.is_tied = true;
        c.kind = DATA_REAL; /* corner values would overflow in the product */
        c.n_vocab += 9 * i;
        check_embed(&h, &c);
    }
    harness_close(&h);
}

#define EMBED_OF(NAME)                                                        \
    static void embed_decodes_exactly_##NAME(cf_context *ctx) {               \
        check_embed_format(ctx, QN_FORMAT_##NAME);                            \
    }
CASES_WEIGHT_FORMATS(EMBED_OF)

static void check_select(harness *h, uint32_t n, uint32_t t, const uint32_t *outputs, uint32_t n_steps) {
    if (!cf_case(h->ctx, "n %u t %u outputs %u and others", n, t, outputs[0])) {
        return;
    }
    harness_step steps[4];
    op_model m;
    op_model_init(&m, h->ctx, DATA_REAL, ((uint64_t)n << 16) ^ t);
    const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, n, QN_DIM_TOKENS),
                   rows = op_model_numbers(&m, "rows", QN_DIM_OUTPUTS);
    op_program_add_op(m.builder, QN_OP_SELECT_ROWS, QN_NO_LAYER, 2, (const uint32_t[]){x, rows},
                      op_model_rows(&m, "y", QN_ROLE_OUTPUT, n, QN_DIM_OUTPUTS), NULL, 0);
    op_model_finish(&m);
    for (uint32_t s = 0; s < n_steps; s++) {
        int32_t *const numbers = op_model_take(&m, outputs[s], sizeof *numbers);
        for (uint32_t o = 0; o < outputs[s]; o++) {
            numbers[o] = o == 0 ? (int32_t)t - 1 : (int32_t)cf_random_below(&m.random, t);
        }
        steps[s] = (harness_step){case_step(t), HARNESS_NEW};
        steps[s].step.n_outputs = outputs[s];
        steps[s].step.inputs[rows] = numbers;
        steps[s].step.inputs[x] = op_model_values(&m, false, (uint64_t)t * n);
    }
    const qn_limits limits = op_model_limits(&m, t, t, 1, 0);
    harness_run(h, &m, &limits, steps, n_steps, true, QN_WEIGHT_BORROW);
    op_model_free(&m);
}

static void select_rows_copies_rows_exactly(cf_context *ctx) {
    static const uint32_t lengths[] = {1, 7, 8, 17, 64, 577};
    static const uint32_t some[] = {5, 1, 12, 3}, all[] = {8, 1, 8}, one[] = {1};
    harness h;
    harness_open(&h, ctx);
    for (size_t i = 0; i < CF_COUNT_OF(lengths); i += ctx->is_quick ? 2 : 1) {
        check_select(&h, lengths[i], 1, one, 1);
        check_select(&h, lengths[i], 12, some, 4);
        check_select(&h, lengths[i], 8, all, 3);
    }
    harness_close(&h);
}

static void select_rows_of_no_outputs_writes_nothing(cf_context *ctx) {
    static const uint32_t outputs[] = {0, 3, 0};
    harness h;
    harness_open(&h, ctx);
    check_select(&h, 17, 4, outputs, 3);
    harness_close(&h);
}

#define EMBED_TEST(NAME) CASES_TEST(embed_decodes_exactly_##NAME, "R1 R2 W2 W3", MUST_##NAME),
static const cf_test embed_tests[] = {CASES_WEIGHT_FORMATS(EMBED_TEST)};
const cf_suite cf_suite_embed = CF_SUITE(2, "embed", embed_tests);

static const cf_test select_tests[] = {
    CASES_TEST(select_rows_copies_rows_exactly, "R1 R2", CF_MUST_DECODE),
    CASES_TEST(select_rows_of_no_outputs_writes_nothing, "R2", CF_MUST_DECODE),
};
const cf_suite cf_suite_select_rows = CF_SUITE(2, "select_rows", select_tests);
