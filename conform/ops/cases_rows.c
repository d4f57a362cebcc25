/* cases_rows.c — EMBED and SELECT_ROWS: rows are copied bit for bit. */
#include <quoin/glue.h>

#include "cases.h"

/* The same table as the weight of a product whose result nobody reads: a backend may now keep it in a form of its own. */
static void tie_to_matmul(op_case *c, uint32_t table_at, uint32_t n_vocab, uint32_t n_embd, uint32_t t) {
    const uint32_t x_at = op_program_add_rows(c->program, "x", QN_ROLE_INPUT, QN_FORMAT_F32, n_embd, QN_DIM_TOKENS);
    const uint32_t z_at = op_program_add_rows(c->program, "z", QN_ROLE_ACT, QN_FORMAT_F32, n_vocab, QN_DIM_TOKENS);
    float *const x = calloc((size_t)t * n_embd, sizeof *x);
    assert_non_null(x);
    op_program_add_op(c->program, QN_OP_MATMUL, QN_NO_LAYER, 2, (const uint32_t[]){table_at, x_at}, z_at, NULL, 0);
    op_case_set(c, x_at, x, (uint64_t)t * n_embd * sizeof *x);
    free(x);
}

static void check_embed(harness *h, qn_format format, uint32_t n_vocab, uint32_t n_embd, uint32_t t, uint32_t first_rows, bool is_tied) {
    op_random random = harness_random(h, ((uint64_t)format << 32) ^ ((uint64_t)n_embd << 8) ^ t);
    op_case c = op_case_make((uint64_t)t * n_embd, "embed %s n_vocab %u n_embd %u t %u%s%s", qn_format_name(format), n_vocab, n_embd,
                             t, first_rows > 0 ? " fused" : "", is_tied ? " tied" : "");
    const uint64_t first = (uint64_t)first_rows * n_embd;
    op_weight table = op_weight_make(&random, format, false, first, (uint64_t)n_vocab * n_embd);
    const uint32_t table_at = op_program_add_weight(c.program, "table", format, n_embd, n_vocab);
    const uint32_t ids_at = op_program_add_rows(c.program, "ids", QN_ROLE_INPUT, QN_FORMAT_I32, 0, QN_DIM_TOKENS);
    const uint32_t y_at = op_program_add_rows(c.program, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, n_embd, QN_DIM_TOKENS);
    int32_t ids[16];
    assert_true(t <= COUNT_OF(ids));
    op_program_add_op(c.program, QN_OP_EMBED, QN_NO_LAYER, 2, (const uint32_t[]){table_at, ids_at}, y_at, NULL, 0);
    for (uint32_t i = 0; i < t; i++) {
        ids[i] = i == 0 ? (int32_t)n_vocab - 1 : (int32_t)op_random_below(&random, n_vocab);
        for (uint32_t k = 0; k < n_embd; k++) {
            c.want[(size_t)i * n_embd + k] = table.values[(size_t)ids[i] * n_embd + k];
        }
    }
    if (is_tied) {
        tie_to_matmul(&c, table_at, n_vocab, n_embd, t);
    }
    op_case_set(&c, table_at, table.bytes, table.n_bytes);
    c.first_element[table_at] = first;
    op_case_set(&c, ids_at, ids, t * sizeof ids[0]);
    c.n_tokens = t;
    c.output = y_at;
    c.is_exact = true;
    c.weight_flags = t % 2 == 0 ? QN_WEIGHT_COPY : QN_WEIGHT_BORROW;
    harness_check(h, &c);
    op_case_free(&c);
    op_weight_free(&table);
}

static void embed_decodes_rows_of_every_format_exactly(harness *h) {
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        const uint32_t block = qn_format_find(op_weight_formats[f])->block_elems;
        const uint32_t unit = block == 5 ? 1 : block;
        for (uint32_t i = 1; i <= 3; i++) {
            check_embed(h, op_weight_formats[f], 9 + 4 * i, unit == 1 ? 13 * i : unit * i, 1 + 3 * i, i - 1, false);
        }
    }
}

static void embed_of_a_tied_table_decodes_rows_of_every_format_exactly(harness *h) {
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        const uint32_t block = qn_format_find(op_weight_formats[f])->block_elems;
        const uint32_t unit = block == 5 ? 1 : block;
        for (uint32_t i = 1; i <= 3; i++) {
            check_embed(h, op_weight_formats[f], 9 + 13 * i, unit == 1 ? 13 * i : unit * i, 1 + 3 * i, i - 1, true);
        }
    }
}

static void check_select(harness *h, uint32_t n, uint32_t t, uint32_t n_outputs) {
    op_random random = harness_random(h, ((uint64_t)n << 16) ^ t);
    op_case c = op_case_make((uint64_t)n_outputs * n, "select_rows n %u t %u outputs %u", n, t, n_outputs);
    const uint32_t x_at = op_program_add_rows(c.program, "x", QN_ROLE_INPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
    const uint32_t rows_at = op_program_add_rows(c.program, "rows", QN_ROLE_INPUT, QN_FORMAT_I32, 0, QN_DIM_OUTPUTS);
    const uint32_t y_at = op_program_add_rows(c.program, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, n, QN_DIM_OUTPUTS);
    float *x = malloc((size_t)t * n * sizeof *x);
    int32_t rows[16];
    assert_true(x != NULL && n_outputs <= COUNT_OF(rows));
    op_program_add_op(c.program, QN_OP_SELECT_ROWS, QN_NO_LAYER, 2, (const uint32_t[]){x_at, rows_at}, y_at, NULL, 0);
    op_fill(&random, false, false, (uint64_t)t * n, x);
    for (uint32_t o = 0; o < n_outputs; o++) {
        rows[o] = o == 0 ? (int32_t)t - 1 : (int32_t)op_random_below(&random, t);
        for (uint32_t i = 0; i < n; i++) {
            c.want[(size_t)o * n + i] = x[(size_t)rows[o] * n + i];
        }
    }
    op_case_set(&c, x_at, x, (uint64_t)t * n * sizeof *x);
    op_case_set(&c, rows_at, rows, n_outputs * sizeof rows[0]);
    c.n_tokens = t;
    c.n_outputs = n_outputs;
    c.output = y_at;
    c.is_exact = true;
    harness_check(h, &c);
    op_case_free(&c);
    free(x);
}

static void select_rows_copies_rows_exactly(harness *h) {
    static const uint32_t lengths[] = {1, 7, 8, 17, 64, 577};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        check_select(h, lengths[i], 1, 1);
        check_select(h, lengths[i], 9, 1);
        check_select(h, lengths[i], 12, 5);
        check_select(h, lengths[i], 8, 8);
    }
}

static void select_rows_of_no_outputs_writes_nothing(harness *h) {
    check_select(h, 17, 4, 0);
}

static const op_test embed_tests[] = {
    OP_TEST(embed_decodes_rows_of_every_format_exactly),
    OP_TEST(embed_of_a_tied_table_decodes_rows_of_every_format_exactly),
};
OP_SUITE(suite_embed, QN_OP_EMBED, embed_tests);

static const op_test select_tests[] = {
    OP_TEST(select_rows_copies_rows_exactly),
    OP_TEST(select_rows_of_no_outputs_writes_nothing),
};
OP_SUITE(suite_select_rows, QN_OP_SELECT_ROWS, select_tests);
