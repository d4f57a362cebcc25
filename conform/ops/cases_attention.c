/* cases_attention.c — ATTENTION behind STATE_WRITE: grouped heads, windows, caps, scattered cells, several sequences,
 * chunks. */
#include "cases.h"
#include "cells.h"

typedef struct attention_case {
    uint32_t n_head, n_kv_head, head_dim, value_dim;
    uint32_t window;
    float softcap;
    qn_format format;      /* of the states */
    uint32_t n_sequences, n_positions;
    uint32_t chunk;        /* tokens of each sequence per step */
    uint32_t order;        /* CELLS_* */
    uint32_t n_shared;     /* positions of sequence 0 that sequence 1 sees as its own */
    bool has_poison;       /* the last sequence, and the last position of each, hold NaN */
    float size;            /* of the scores, 0: 1 */
} attention_case;

enum { AT_Q, AT_K, AT_V, AT_INPUTS };

/* Rows of all sequences: [n_sequences][n_positions][columns]. */
typedef struct attention_data {
    const attention_case *c;
    op_model m;
    uint32_t columns[AT_INPUTS];
    uint32_t buffers[AT_INPUTS];
    float *rows[AT_INPUTS];
    cell_map map;
} attention_data;

static size_t row_of(const attention_data *d, uint32_t sequence, uint32_t position) {
    return (size_t)sequence * d->c->n_positions + position;
}

static bool is_poisoned(const attention_case *c, uint32_t sequence, uint32_t position) {
    return c->has_poison && (sequence == c->n_sequences - 1 || position == c->n_positions - 1);
}

static float *make_rows(attention_data *d, uint32_t columns, float size) {
    const size_t n_rows = (size_t)d->c->n_sequences * d->c->n_positions;
    float *const rows = op_model_take(&d->m, n_rows * columns, sizeof *rows);
    for (size_t i = 0; i < n_rows * columns; i++) {
        rows[i] = op_random_signed(&d->m.random) * size;
    }
    for (uint32_t s = 0; s < d->c->n_sequences; s++) {
        for (uint32_t p = 0; p < d->c->n_positions; p++) {
            for (uint32_t i = 0; is_poisoned(d->c, s, p) && i < columns; i++) {
                rows[row_of(d, s, p) * columns + i] = NAN;
            }
        }
    }
    if (d->c->n_shared > 0) {
        memcpy(rows + row_of(d, 1, 0) * columns, rows, (size_t)d->c->n_shared * columns * sizeof *rows);
    }
    return rows;
}

static void build_program(attention_data *d) {
    static const char *const names[AT_INPUTS] = {"q", "k", "v"};
    const attention_case *const c = d->c;
    const qn_attention_attrs attrs = {.size = sizeof attrs,
                                      .n_head = c->n_head,
                                      .n_kv_head = c->n_kv_head,
                                      .head_dim = c->head_dim,
                                      .value_dim = c->value_dim,
                                      .window = c->window,
                                      .scale = 1 / sqrtf((float)c->head_dim),
                                      .softcap = c->softcap};
    op_program *const p = d->m.builder;
    const uint32_t group = op_program_add_group(p, c->window);
    for (uint32_t i = 0; i < AT_INPUTS; i++) {
        d->buffers[i] = op_model_rows(&d->m, names[i], QN_ROLE_INPUT, d->columns[i], QN_DIM_TOKENS);
    }
    const uint32_t k = op_program_add_state(p, "state_k", c->format, d->columns[AT_K], group);
    const uint32_t v = op_program_add_state(p, "state_v", c->format, d->columns[AT_V], group);
    const uint32_t y = op_model_rows(&d->m, "y", QN_ROLE_OUTPUT, (uint64_t)c->n_head * c->value_dim, QN_DIM_TOKENS);
    op_program_add_op(p, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){d->buffers[AT_K], k}, OP_NO_OUTPUT, NULL, 0);
    op_program_add_op(p, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){d->buffers[AT_V], v}, OP_NO_OUTPUT, NULL, 0);
    op_program_add_op(p, QN_OP_ATTENTION, 0, 3, (const uint32_t[]){d->buffers[AT_Q], k, v}, y, &attrs, sizeof attrs);
    op_model_finish(&d->m);
}

static void make_data(attention_data *d, cf_context *ctx, const attention_case *c) {
    memset(d, 0, sizeof *d);
    d->c = c;
    op_model_init(&d->m, ctx, DATA_REAL,
                  ((uint64_t)c->n_head << 32) ^ ((uint64_t)c->head_dim << 16) ^ c->n_positions ^ c->order);
    d->columns[AT_Q] = c->n_head * c->head_dim;
    d->columns[AT_K] = c->n_kv_head * c->head_dim;
    d->columns[AT_V] = c->n_kv_head * c->value_dim;
    d->rows[AT_Q] = make_rows(d, d->columns[AT_Q], c->size == 0 ? 2 : 2 * c->size);
    d->rows[AT_K] = make_rows(d, d->columns[AT_K], 2);
    d->rows[AT_V] = make_rows(d, d->columns[AT_V], 1);
    cell_map_init(&d->map, &d->m, c->n_sequences * c->n_positions + 3, c->n_sequences, c->n_positions);
    cell_map_scatter(&d->map, c->order);
    if (c->n_shared > 0) {
        cell_map_share(&d->map, 0, 1, c->n_shared);
    }
    build_program(d);
}

/* The tokens of step number `turn`: the next chunk of each sequence, sequences interleaved. */
static uint32_t gather_tokens(const attention_case *c, uint32_t turn, int32_t *positions, uint32_t *sequences) {
    uint32_t n_tokens = 0;
    for (uint32_t i = 0; i < c->chunk; i++) {
        for (uint32_t s = 0; s < c->n_sequences; s++) {
            const uint32_t position = (s == 1 ? c->n_shared : 0) + turn * c->chunk + i;
            if (position < c->n_positions) {
                positions[n_tokens] = (int32_t)position;
                sequences[n_tokens++] = s;
            }
        }
    }
    return n_tokens;
}

static float *gather_rows(attention_data *d, uint32_t which, uint32_t n_tokens, const int32_t *positions,
                          const uint32_t *sequences) {
    const size_t row = d->columns[which];
    float *const gathered = op_model_take(&d->m, n_tokens * row, sizeof *gathered);
    for (uint32_t t = 0; t < n_tokens; t++) {
        memcpy(gathered + t * row, d->rows[which] + row_of(d, sequences[t], (uint32_t)positions[t]) * row,
               row * sizeof *gathered);
    }
    return gathered;
}

/* False behind the last step. */
static bool make_step(attention_data *d, uint32_t turn, op_step *step) {
    const attention_case *const c = d->c;
    const uint32_t most = c->n_sequences * c->chunk;
    int32_t *const positions = op_model_take(&d->m, most, sizeof *positions);
    uint32_t *const sequences = op_model_take(&d->m, most, sizeof *sequences);
    qn_placement *const placement = op_model_take(&d->m, 1, sizeof *placement);
    *step = case_step(gather_tokens(c, turn, positions, sequences));
    if (step->n_tokens == 0) {
        return false;
    }
    *placement = cell_map_place(&d->map, step->n_tokens, positions, sequences, turn % 2 == 1);
    step->n_sequences = c->n_sequences;
    step->positions = positions;
    step->sequences = c->n_sequences == 1 && turn % 2 == 1 ? NULL : sequences;
    step->placements = placement;
    for (uint32_t i = 0; i < AT_INPUTS; i++) {
        step->inputs[d->buffers[i]] = gather_rows(d, i, step->n_tokens, positions, sequences);
    }
    return true;
}

static void check_attention(harness *h, const attention_case *c) {
    attention_data d;
    if (c->n_shared > 0 && cell_maps_most_spans() == 1) {
        return; /* a shared prefix is a span of its own */
    }
    if (!cf_case(h->ctx, "heads %u/%u dims %u/%u window %u cap %g %s sequences %u positions %u chunk %u order %u%s",
                 c->n_head, c->n_kv_head, c->head_dim, c->value_dim, c->window, (double)c->softcap,
                 qn_format_name(c->format), c->n_sequences, c->n_positions, c->chunk, c->order,
                 c->has_poison ? " nan" : "")) {
        return;
    }
    make_data(&d, h->ctx, c);
    harness_step *const steps = op_model_take(&d.m, c->n_positions + 2, sizeof *steps);
    uint32_t n = 0;
    for (; n < c->n_positions + 1 && make_step(&d, n, &steps[n].step); n++) {
        steps[n].repeats = HARNESS_NEW;
    }
    const qn_limits limits = op_model_limits(&d.m, c->n_sequences * c->chunk, 1, c->n_sequences, d.map.n_cells);
    if (n > 0) {
        /* The last step again writes the same cells and sees the same. */
        steps[n] = steps[n - 1];
        steps[n].repeats = c->has_poison ? HARNESS_NEW : n - 1;
        harness_run(h, &d.m, &limits, steps, n + 1, false, QN_WEIGHT_BORROW);
    }
    op_model_free(&d.m);
}

static void check_heads(cf_context *ctx, const qn_format *formats, uint32_t n_formats) {
    static const uint32_t heads[][2] = {{1, 1}, {4, 4}, {4, 2}, {6, 2}, {9, 3}, {8, 1}, {14, 2}};
    static const uint32_t dims[][2] = {{1, 1},   {2, 3},   {8, 8},   {15, 17},  {16, 16},
                                       {33, 31}, {64, 64}, {80, 80}, {128, 96}, {256, 256}};
    harness h;
    harness_open(&h, ctx);
    for (uint32_t i = 0; i < CF_COUNT_OF(heads); i++) {
        for (uint32_t j = ctx->is_quick ? i % 5 : 0; j < CF_COUNT_OF(dims); j += ctx->is_quick ? 5 : 1) {
            const attention_case c = {.n_head = heads[i][0],
                                      .n_kv_head = heads[i][1],
                                      .head_dim = dims[j][0],
                                      .value_dim = dims[j][1],
                                      .format = formats[(i + j) % n_formats],
                                      .n_sequences = 1,
                                      .n_positions = 1 + (i * 7 + j * 5) % 23,
                                      .chunk = 1 + (i + j) % 4,
                                      .order = (i + j) % CELLS_ORDERS};
            check_attention(&h, &c);
        }
    }
    harness_close(&h);
}

static void attention_keeps_the_bound_for_heads_of_any_shape(cf_context *ctx) {
    static const qn_format formats[] = {QN_FORMAT_F32, QN_FORMAT_F16};
    check_heads(ctx, formats, 2);
}

static void attention_keeps_the_bound_with_bf16_state(cf_context *ctx) {
    static const qn_format formats[] = {QN_FORMAT_BF16};
    check_heads(ctx, formats, 1);
}

static const attention_case base_case = {.n_head = 4,
                                         .n_kv_head = 2,
                                         .head_dim = 32,
                                         .value_dim = 32,
                                         .format = QN_FORMAT_F16,
                                         .n_sequences = 1,
                                         .n_positions = 70,
                                         .chunk = 16,
                                         .order = CELLS_IN_ORDER};

/* Heads of whole blocks of 32: few tokens and many, a chunk of cells and several, windows, cells here and there. */
static void attention_keeps_the_bound_with_q8_0_state(cf_context *ctx) {
    static const uint32_t heads[][2] = {{1, 1}, {4, 4}, {6, 2}, {9, 3}, {8, 1}, {14, 2}};
    static const uint32_t dims[][2] = {{32, 32}, {64, 64}, {96, 128}, {128, 32}, {256, 256}};
    harness h;
    harness_open(&h, ctx);
    for (uint32_t i = 0; i < CF_COUNT_OF(heads); i++) {
        for (uint32_t j = ctx->is_quick ? i % 5 : 0; j < CF_COUNT_OF(dims); j += ctx->is_quick ? 5 : 1) {
            attention_case c = base_case;
            c.n_head = heads[i][0];
            c.n_kv_head = heads[i][1];
            c.head_dim = dims[j][0];
            c.value_dim = dims[j][1];
            c.format = QN_FORMAT_Q8_0;
            c.n_positions = 1 + (i * 29 + j * 17) % 70;
            c.chunk = (i + j) % 2 == 0 ? 1 + j : 8 + i;
            c.order = (i + j) % CELLS_ORDERS;
            c.window = (i + j) % 3 == 2 ? 13 : 0;
            check_attention(&h, &c);
        }
    }
    harness_close(&h);
}

static void attention_keeps_the_bound_over_many_cells_of_q8_0(cf_context *ctx) {
    attention_case c = base_case;
    harness h;
    harness_open(&h, ctx);
    c.format = QN_FORMAT_Q8_0;
    c.n_head = 9;
    c.n_kv_head = 3;
    c.head_dim = c.value_dim = 64;
    c.n_positions = ctx->is_quick ? 270 : 530;
    c.chunk = ctx->is_quick ? 89 : 176; /* the last step is short: few tokens over several parts */
    c.order = CELLS_IN_PIECES;
    check_attention(&h, &c);
    c.n_sequences = 2;
    c.n_positions = 40;
    c.chunk = 2;
    c.softcap = 30;
    check_attention(&h, &c);
    harness_close(&h);
}

static void attention_sees_only_its_window(cf_context *ctx) {
    static const uint32_t windows[] = {1, 2, 5, 16, 17, 63, 70, 500};
    harness h;
    harness_open(&h, ctx);
    for (uint32_t i = 0; i < CF_COUNT_OF(windows); i++) {
        attention_case c = base_case;
        c.window = windows[i];
        c.order = i % CELLS_ORDERS;
        c.chunk = i % 2 == 0 ? 16 : 1;
        check_attention(&h, &c);
    }
    harness_close(&h);
}

static void attention_finds_cells_wherever_they_lie(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    for (uint32_t order = 0; order < CELLS_ORDERS; order++) {
        for (uint32_t chunk = 1; chunk <= 70; chunk += 23) {
            attention_case c = base_case;
            c.order = order;
            c.chunk = chunk;
            c.format = order % 2 == 0 ? QN_FORMAT_F32 : QN_FORMAT_F16;
            check_attention(&h, &c);
        }
    }
    harness_close(&h);
}

static void attention_keeps_sequences_apart(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    for (uint32_t order = 0; order < CELLS_ORDERS; order++) {
        attention_case c = base_case;
        c.n_sequences = 2 + order;
        c.n_positions = 19;
        c.chunk = 1 + 3 * order;
        c.order = order;
        c.window = order == 2 ? 7 : 0;
        check_attention(&h, &c);
    }
    harness_close(&h);
}

static void attention_follows_a_shared_prefix(cf_context *ctx) {
    attention_case c = base_case;
    harness h;
    harness_open(&h, ctx);
    c.n_sequences = 3;
    c.n_positions = 30;
    c.chunk = 8;
    c.n_shared = 8;
    c.order = CELLS_SHUFFLED;
    check_attention(&h, &c);
    c.window = 5;
    check_attention(&h, &c);
    harness_close(&h);
}

static void attention_is_not_touched_by_nan_that_it_does_not_see(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    for (uint32_t order = 0; order < CELLS_ORDERS; order++) {
        attention_case c = base_case;
        c.n_sequences = 3;
        c.n_positions = 21;
        c.chunk = order == 1 ? 1 : 21;
        c.order = order;
        c.format = order % 2 == 0 ? QN_FORMAT_F16 : QN_FORMAT_F32;
        c.has_poison = true;
        check_attention(&h, &c);
    }
    harness_close(&h);
}

static void attention_keeps_the_bound_with_caps_and_sharp_scores(cf_context *ctx) {
    static const float sizes[] = {0.01f, 1, 20};
    harness h;
    harness_open(&h, ctx);
    for (size_t i = 0; i < CF_COUNT_OF(sizes); i++) {
        attention_case c = base_case;
        c.format = QN_FORMAT_F32;
        c.size = sizes[i];
        check_attention(&h, &c);
        c.softcap = 50;
        check_attention(&h, &c);
        c.softcap = 1;
        check_attention(&h, &c);
    }
    harness_close(&h);
}

static void attention_keeps_the_bound_over_a_thousand_cells(cf_context *ctx) {
    attention_case c = base_case;
    harness h;
    harness_open(&h, ctx);
    c.n_positions = ctx->is_quick ? 103 : 1030;
    c.chunk = ctx->is_quick ? 52 : 515;
    c.order = CELLS_IN_PIECES;
    check_attention(&h, &c);
    c.window = 512;
    check_attention(&h, &c);
    harness_close(&h);
}

/* The last step has three tokens: the way of decoding, over so many cells that a plugin may cut them differently. */
static void attention_keeps_the_bound_for_few_tokens_over_many_cells(cf_context *ctx) {
    attention_case c = base_case;
    harness h;
    harness_open(&h, ctx);
    c.head_dim = c.value_dim = 16;
    c.n_positions = ctx->is_quick ? 515 : 4253;
    c.chunk = ctx->is_quick ? 256 : 850;
    c.order = CELLS_IN_PIECES;
    check_attention(&h, &c);
    c.n_head = 10; /* more than a kernel may have in registers */
    c.n_kv_head = 1;
    c.n_positions = ctx->is_quick ? 131 : 515;
    c.chunk = ctx->is_quick ? 64 : 256;
    check_attention(&h, &c);
    harness_close(&h);
}

static const cf_test tests[] = {
    CASES_TEST(attention_keeps_the_bound_for_heads_of_any_shape, "R1 R2 R3", CF_MUST_DECODE),
    CASES_TEST(attention_keeps_the_bound_with_bf16_state, "R1 R2 R3", 0),
    CASES_TEST(attention_keeps_the_bound_with_q8_0_state, "R1 R2 R3", 0),
    CASES_TEST(attention_keeps_the_bound_over_many_cells_of_q8_0, "R1", 0),
    CASES_TEST(attention_sees_only_its_window, "R1", CF_MUST_DECODE),
    CASES_TEST(attention_finds_cells_wherever_they_lie, "K1", CF_MUST_DECODE),
    CASES_TEST(attention_keeps_sequences_apart, "K2", CF_MUST_DECODE),
    CASES_TEST(attention_follows_a_shared_prefix, "K1 K2", CF_MUST_DECODE),
    CASES_TEST(attention_is_not_touched_by_nan_that_it_does_not_see, "R5", CF_MUST_DECODE),
    CASES_TEST(attention_keeps_the_bound_with_caps_and_sharp_scores, "R1", CF_MUST_DECODE),
    CASES_TEST(attention_keeps_the_bound_over_a_thousand_cells, "R1", CF_MUST_DECODE),
    CASES_TEST(attention_keeps_the_bound_for_few_tokens_over_many_cells, "R1", CF_MUST_DECODE),
};
const cf_suite cf_suite_attention = CF_SUITE(2, "attention", tests);
