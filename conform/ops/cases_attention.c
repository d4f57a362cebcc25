/* cases_attention.c — ATTENTION behind STATE_WRITE: grouped heads, windows, caps, scattered cells, several sequences, chunks. */
#include <quoin/blocks.h>
#include <quoin/glue.h>

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

/* Rows of all sequences: [n_sequences][n_positions][...]. */
typedef struct attention_data {
    const attention_case *c;
    qn_attention_attrs attrs;
    uint32_t n_q, n_k, n_v, n_y;      /* columns */
    float *q, *k, *v;
    float *stored_k, *stored_v;       /* as the state holds them */
    cell_map map;
    uint32_t buffers[6];              /* q k v state_k state_v y */
    op_program *program;
} attention_data;

enum { AT_Q, AT_K, AT_V, AT_STATE_K, AT_STATE_V, AT_Y };

static size_t row_of(const attention_data *d, uint32_t sequence, uint32_t position) {
    return (size_t)sequence * d->c->n_positions + position;
}

static bool is_poisoned(const attention_case *c, uint32_t sequence, uint32_t position) {
    return c->has_poison && (sequence == c->n_sequences - 1 || position == c->n_positions - 1);
}

static float *make_rows(const attention_data *d, op_random *random, uint32_t columns, float size) {
    const size_t n_rows = (size_t)d->c->n_sequences * d->c->n_positions;
    float *rows = malloc(n_rows * columns * sizeof *rows);
    assert_non_null(rows);
    for (size_t i = 0; i < n_rows * columns; i++) {
        rows[i] = op_random_signed(random) * size;
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

static float *make_stored(const attention_data *d, const float *rows, uint32_t columns) {
    const size_t n = (size_t)d->c->n_sequences * d->c->n_positions * columns;
    float *stored = malloc(n * sizeof *stored);
    assert_non_null(stored);
    for (size_t i = 0; i < n; i++) {
        switch (d->c->format) {
        case QN_FORMAT_F16: stored[i] = blk_f16_to_f32(blk_f32_to_f16(rows[i])); break;
        case QN_FORMAT_BF16: stored[i] = blk_bf16_to_f32(blk_f32_to_bf16(rows[i])); break;
        default: stored[i] = rows[i]; break;
        }
    }
    return stored;
}

static double format_rounding(qn_format format) {
    return format == QN_FORMAT_F16 ? 0x1p-11 : format == QN_FORMAT_BF16 ? 0x1p-8 : 0;
}

static void build_program(attention_data *d) {
    op_program *p = d->program = op_program_create();
    uint32_t *b = d->buffers;
    const uint32_t group = op_program_add_group(p, d->c->window);
    b[AT_Q] = op_program_add_rows(p, "q", QN_ROLE_INPUT, QN_FORMAT_F32, d->n_q, QN_DIM_TOKENS);
    b[AT_K] = op_program_add_rows(p, "k", QN_ROLE_INPUT, QN_FORMAT_F32, d->n_k, QN_DIM_TOKENS);
    b[AT_V] = op_program_add_rows(p, "v", QN_ROLE_INPUT, QN_FORMAT_F32, d->n_v, QN_DIM_TOKENS);
    b[AT_STATE_K] = op_program_add_state(p, "state_k", d->c->format, d->n_k, group);
    b[AT_STATE_V] = op_program_add_state(p, "state_v", d->c->format, d->n_v, group);
    b[AT_Y] = op_program_add_rows(p, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, d->n_y, QN_DIM_TOKENS);
    op_program_add_op(p, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){b[AT_K], b[AT_STATE_K]}, OP_NO_OUTPUT, NULL, 0);
    op_program_add_op(p, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){b[AT_V], b[AT_STATE_V]}, OP_NO_OUTPUT, NULL, 0);
    op_program_add_op(p, QN_OP_ATTENTION, 0, 3, (const uint32_t[]){b[AT_Q], b[AT_STATE_K], b[AT_STATE_V]}, b[AT_Y], &d->attrs,
                      sizeof d->attrs);
}

static void make_data(attention_data *d, const attention_case *c, op_random *random) {
    *d = (attention_data){.c = c, .n_q = c->n_head * c->head_dim, .n_k = c->n_kv_head * c->head_dim,
                          .n_v = c->n_kv_head * c->value_dim, .n_y = c->n_head * c->value_dim};
    d->attrs = (qn_attention_attrs){.size = sizeof d->attrs, .n_head = c->n_head, .n_kv_head = c->n_kv_head,
                                    .head_dim = c->head_dim, .value_dim = c->value_dim, .window = c->window,
                                    .scale = 1 / sqrtf((float)c->head_dim), .softcap = c->softcap};
    d->q = make_rows(d, random, d->n_q, c->size == 0 ? 2 : 2 * c->size);
    d->k = make_rows(d, random, d->n_k, 2);
    d->v = make_rows(d, random, d->n_v, 1);
    d->stored_k = make_stored(d, d->k, d->n_k);
    d->stored_v = make_stored(d, d->v, d->n_v);
    const uint32_t n_cells = c->n_sequences * c->n_positions + 3;
    cell_map_init(&d->map, n_cells, c->n_sequences, c->n_positions);
    cell_map_scatter(&d->map, c->order, random);
    if (c->n_shared > 0) {
        cell_map_share(&d->map, 0, 1, c->n_shared);
    }
    build_program(d);
}

static void free_data(attention_data *d) {
    free(d->q);
    free(d->k);
    free(d->v);
    free(d->stored_k);
    free(d->stored_v);
    cell_map_deinit(&d->map);
    op_program_destroy(d->program);
}

/* Compares one token's row with the oracle over the cells that it should see. */
static void compare_token(const harness *h, const attention_data *d, const char *label, uint32_t sequence, uint32_t position,
                          const float *got) {
    const attention_case *c = d->c;
    const uint32_t first = c->window > 0 && position + 1 > c->window ? position + 1 - c->window : 0;
    const size_t begin = row_of(d, sequence, first);
    double *want = malloc(2 * d->n_y * sizeof *want);
    assert_non_null(want);
    oracle_attention(d->q + row_of(d, sequence, position) * d->n_q, d->stored_k + begin * d->n_k, d->stored_v + begin * d->n_v,
                     position + 1 - first, &d->attrs, format_rounding(c->format), want, want + d->n_y);
    harness_compare(h, label, got, want, want + d->n_y, false, d->n_y);
    free(want);
}

/* The tokens of step number `turn`: the next chunk of each sequence, sequences interleaved. */
static uint32_t gather_tokens(const attention_data *d, uint32_t turn, int32_t *positions, uint32_t *sequences) {
    const attention_case *c = d->c;
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

static void set_rows(rig *r, const attention_data *d, uint32_t which, const float *rows, uint32_t columns, uint32_t n_tokens,
                     const int32_t *positions, const uint32_t *sequences) {
    float *gathered = malloc((size_t)n_tokens * columns * sizeof *gathered);
    assert_non_null(gathered);
    for (uint32_t t = 0; t < n_tokens; t++) {
        memcpy(gathered + (size_t)t * columns, rows + row_of(d, sequences[t], (uint32_t)positions[t]) * columns,
               columns * sizeof *gathered);
    }
    rig_set(r, d->buffers[which], gathered, (uint64_t)n_tokens * columns * sizeof *gathered);
    free(gathered);
}

/* Runs all steps on one backend. results: [n_sequences][n_positions][n_y], filled or, when is_first is false, compared. */
static void run_steps(const harness *h, const backend *on, attention_data *d, const char *label, op_random random,
                      float *results, bool is_first) {
    const attention_case *c = d->c;
    const uint32_t most = c->n_sequences * c->chunk;
    const qn_limits limits = rig_limits(most, 1, c->n_sequences, 1, d->map.n_cells);
    int32_t *positions = malloc(most * sizeof *positions);
    uint32_t *sequences = malloc(most * sizeof *sequences), n_tokens;
    rig r;
    assert_true(positions != NULL && sequences != NULL);
    rig_init(&r, on, op_program_finish(d->program), &limits);
    rig_compile(&r, QN_COMPILE_DETERMINISTIC, h->numeric);
    for (uint32_t turn = 0; (n_tokens = gather_tokens(d, turn, positions, sequences)) > 0; turn++) {
        set_rows(&r, d, AT_Q, d->q, d->n_q, n_tokens, positions, sequences);
        set_rows(&r, d, AT_K, d->k, d->n_k, n_tokens, positions, sequences);
        set_rows(&r, d, AT_V, d->v, d->n_v, n_tokens, positions, sequences);
        cell_map_place(&d->map, n_tokens, positions, sequences, turn % 2 == 0 ? NULL : &random);
        qn_step step = {.n_tokens = n_tokens, .n_sequences = c->n_sequences, .positions = positions,
                        .sequences = c->n_sequences == 1 && turn % 2 == 1 ? NULL : sequences,
                        .placements = &d->map.placement};
        rig_step(&r, &step);
        const float *y = rig_output(&r, d->buffers[AT_Y]);
        for (uint32_t t = 0; t < n_tokens; t++) {
            float *kept = results + row_of(d, sequences[t], (uint32_t)positions[t]) * d->n_y;
            if (is_poisoned(c, sequences[t], (uint32_t)positions[t])) {
                continue;
            }
            if (is_first) {
                memcpy(kept, y + (size_t)t * d->n_y, d->n_y * sizeof *y);
                compare_token(h, d, label, sequences[t], (uint32_t)positions[t], kept);
            } else if (memcmp(kept, y + (size_t)t * d->n_y, d->n_y * sizeof *y) != 0) {
                fail_msg("%s: other bits with three workers than with one", label);
            }
        }
    }
    rig_deinit(&r);
    free(positions);
    free(sequences);
}

static void check_attention(harness *h, const attention_case *c) {
    char label[160];
    attention_data data;
    op_random random = harness_random(h, ((uint64_t)c->n_head << 32) ^ ((uint64_t)c->head_dim << 16) ^ c->n_positions ^ c->order);
    snprintf(label, sizeof label, "attention heads %u/%u dims %u/%u window %u cap %g %s sequences %u positions %u chunk %u order %u",
             c->n_head, c->n_kv_head, c->head_dim, c->value_dim, c->window, (double)c->softcap, qn_format_name(c->format),
             c->n_sequences, c->n_positions, c->chunk, c->order);
    make_data(&data, c, &random);
    float *results = calloc((size_t)c->n_sequences * c->n_positions * data.n_y, sizeof *results);
    assert_non_null(results);
    run_steps(h, &h->one, &data, label, random, results, true);
    run_steps(h, &h->many, &data, label, random, results, false);
    h->n_cases++;
    free(results);
    free_data(&data);
}

static void attention_keeps_the_bound_for_heads_of_any_shape(harness *h) {
    static const uint32_t heads[][2] = {{1, 1}, {4, 4}, {4, 2}, {6, 2}, {9, 3}, {8, 1}, {14, 2}};
    static const uint32_t dims[][2] = {{1, 1}, {2, 3}, {8, 8}, {15, 17}, {16, 16}, {33, 31}, {64, 64}, {80, 80}, {128, 96},
                                       {256, 256}};
    static const qn_format formats[] = {QN_FORMAT_F32, QN_FORMAT_F16, QN_FORMAT_BF16};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        for (size_t j = h->is_quick ? i % 3 : 0; j < COUNT_OF(dims); j += h->is_quick ? 3 : 1) {
            const attention_case c = {.n_head = heads[i][0], .n_kv_head = heads[i][1], .head_dim = dims[j][0],
                                      .value_dim = dims[j][1], .format = formats[(i + j) % 3], .n_sequences = 1,
                                      .n_positions = 1 + (uint32_t)(i * 7 + j * 5) % 23, .chunk = 1 + (uint32_t)(i + j) % 4,
                                      .order = (uint32_t)(i + j) % CELLS_ORDERS};
            check_attention(h, &c);
        }
    }
}

static const attention_case base_case = {.n_head = 4, .n_kv_head = 2, .head_dim = 32, .value_dim = 32, .format = QN_FORMAT_F16,
                                         .n_sequences = 1, .n_positions = 70, .chunk = 16, .order = CELLS_IN_ORDER};

static void attention_sees_only_its_window(harness *h) {
    static const uint32_t windows[] = {1, 2, 5, 16, 17, 63, 70, 500};
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        attention_case c = base_case;
        c.window = windows[i];
        c.order = (uint32_t)i % CELLS_ORDERS;
        c.chunk = i % 2 == 0 ? 16 : 1;
        check_attention(h, &c);
    }
}

static void attention_finds_cells_wherever_they_lie(harness *h) {
    for (uint32_t order = 0; order < CELLS_ORDERS; order++) {
        for (uint32_t chunk = 1; chunk <= 70; chunk += 23) {
            attention_case c = base_case;
            c.order = order;
            c.chunk = chunk;
            c.format = order % 2 == 0 ? QN_FORMAT_F32 : QN_FORMAT_BF16;
            check_attention(h, &c);
        }
    }
}

static void attention_keeps_sequences_apart(harness *h) {
    for (uint32_t order = 0; order < CELLS_ORDERS; order++) {
        attention_case c = base_case;
        c.n_sequences = 2 + order;
        c.n_positions = 19;
        c.chunk = 1 + 3 * order;
        c.order = order;
        c.window = order == 2 ? 7 : 0;
        check_attention(h, &c);
    }
}

static void attention_follows_a_shared_prefix(harness *h) {
    attention_case c = base_case;
    c.n_sequences = 3;
    c.n_positions = 30;
    c.chunk = 8;
    c.n_shared = 8;
    c.order = CELLS_SHUFFLED;
    check_attention(h, &c);
    c.window = 5;
    check_attention(h, &c);
}

static void attention_is_not_touched_by_nan_that_it_does_not_see(harness *h) {
    for (uint32_t order = 0; order < CELLS_ORDERS; order++) {
        attention_case c = base_case;
        c.n_sequences = 3;
        c.n_positions = 21;
        c.chunk = order == 1 ? 1 : 21;
        c.order = order;
        c.format = order % 2 == 0 ? QN_FORMAT_F16 : QN_FORMAT_F32;
        c.has_poison = true;
        check_attention(h, &c);
    }
}

static void attention_keeps_the_bound_with_caps_and_sharp_scores(harness *h) {
    static const float sizes[] = {0.01f, 1, 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        attention_case c = base_case;
        c.format = QN_FORMAT_F32;
        c.size = sizes[i];
        check_attention(h, &c);
        c.softcap = 50;
        check_attention(h, &c);
        c.softcap = 1;
        check_attention(h, &c);
    }
}

static void attention_keeps_the_bound_over_a_thousand_cells(harness *h) {
    attention_case c = base_case;
    c.n_positions = h->is_quick ? 103 : 1030;
    c.chunk = h->is_quick ? 52 : 515;
    c.order = CELLS_IN_PIECES;
    check_attention(h, &c);
    c.window = 512;
    check_attention(h, &c);
}

static const op_test tests[] = {
    OP_TEST(attention_keeps_the_bound_for_heads_of_any_shape),
    OP_TEST(attention_sees_only_its_window),
    OP_TEST(attention_finds_cells_wherever_they_lie),
    OP_TEST(attention_keeps_sequences_apart),
    OP_TEST(attention_follows_a_shared_prefix),
    OP_TEST(attention_is_not_touched_by_nan_that_it_does_not_see),
    OP_TEST(attention_keeps_the_bound_with_caps_and_sharp_scores),
    OP_TEST(attention_keeps_the_bound_over_a_thousand_cells),
};
OP_SUITE(suite_attention, QN_OP_ATTENTION, tests);
