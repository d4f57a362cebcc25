/* cases_state.c — STATE_WRITE, state_move and the state's own rows, read back through tap. */
#include "cases.h"
#include "cells.h"

#define N_CELLS 24
#define N_POSITIONS 20

typedef struct state_fixture {
    harness *h;
    op_model m;
    uint32_t x, state;      /* buffers */
    qn_format format;
    uint32_t n;             /* columns */
    cell_map map;
    rig rig;
    oracle_run *oracle;
} state_fixture;

/* False when the backend does not offer this state format. */
static bool open_state(state_fixture *f, harness *h, const cf_backend *on, qn_format format, uint32_t n,
                       uint32_t order) {
    memset(f, 0, sizeof *f);
    f->h = h;
    f->format = format;
    f->n = n;
    op_model_init(&f->m, h->ctx, DATA_REAL, ((uint64_t)format << 32) ^ (n << 4) ^ order);
    op_program_add_group(f->m.builder, 0);
    f->x = op_model_rows(&f->m, "x", QN_ROLE_INPUT, n, QN_DIM_TOKENS);
    f->state = op_program_add_state(f->m.builder, "state", format, n, 0);
    op_program_add_op(f->m.builder, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){f->x, f->state}, OP_NO_OUTPUT, NULL, 0);
    op_model_finish(&f->m);
    cell_map_init(&f->map, &f->m, N_CELLS, 1, N_POSITIONS);
    cell_map_scatter(&f->map, order);
    if (!harness_offers(h, &f->m, QN_COMPILE_MATERIALIZE)) {
        op_model_free(&f->m);
        return false;
    }
    const qn_limits limits = op_model_limits(&f->m, N_POSITIONS, 1, 1, N_CELLS);
    rig_open(&f->rig, h->ctx, on, &f->m, &limits, QN_COMPILE_MATERIALIZE);
    f->oracle = oracle_run_open(&f->m, &limits, h->ctx->numeric);
    return true;
}

static void close_state(state_fixture *f) {
    rig_close(&f->rig);
    oracle_run_close(f->oracle);
    harness_covered(f->h, &f->m);
    op_model_free(&f->m);
}

/* Writes positions [first, first + t) here and there. */
static void write_values(state_fixture *f, uint32_t first, uint32_t t, const float *values) {
    op_step step = case_step(t);
    step.positions += first;
    const qn_placement placement = cell_map_place(&f->map, t, step.positions, NULL, false);
    step.placements = &placement;
    step.inputs[f->x] = values;
    rig_run(&f->rig, &step);
    oracle_run_step(f->oracle, &step);
}

static void write_rows(state_fixture *f, uint32_t first, uint32_t t) {
    write_values(f, first, t, op_model_values(&f->m, false, (uint64_t)t * f->n));
}

static void require_state(state_fixture *f, const char *when) {
    const uint64_t row_bytes = qn_format_bytes(f->format, f->n);
    uint8_t *const got = op_model_take(&f->m, N_CELLS, row_bytes);
    const uint8_t *const want = oracle_run_state(f->oracle, f->state);
    rig_tap(&f->rig, f->state, got, N_CELLS * row_bytes);
    for (uint32_t cell = 0; cell < N_CELLS; cell++) {
        CF_CHECK(f->h->ctx, memcmp(got + cell * row_bytes, want + cell * row_bytes, row_bytes) == 0,
                 "cell %u is wrong %s", cell, when);
    }
}

static void check_writes(harness *h, const cf_backend *on, qn_format format, uint32_t n, uint32_t order) {
    state_fixture f;
    if (cf_case(h->ctx, "%s n %u order %u, %s", qn_format_name(format), n, order,
                on == &h->one ? "one worker" : "three workers")
        && open_state(&f, h, on, format, n, order)) {
        write_rows(&f, 0, 1);
        require_state(&f, "after the first write");
        write_rows(&f, 1, 12);
        require_state(&f, "after the second write");
        write_rows(&f, 5, 15);
        require_state(&f, "after overwriting");
        close_state(&f);
    }
}

static void check_write_format(cf_context *ctx, qn_format format) {
    static const uint32_t lengths[] = {1, 7, 8, 17, 32, 33, 64, 192};
    harness h;
    harness_open(&h, ctx);
    for (uint32_t j = 0; j < CF_COUNT_OF(lengths); j += ctx->is_quick ? 2 : 1) {
        const uint32_t n = format == QN_FORMAT_Q8_0 ? 32 * (1 + j) : lengths[j];
        check_writes(&h, &h.one, format, n, j % CELLS_ORDERS);
        if (h.has_many) {
            check_writes(&h, &h.many, format, n, j % CELLS_ORDERS);
        }
    }
    harness_close(&h);
}

/* Ties, values just beside them, subnormal halves, the largest that does not become infinite. */
static void check_ties(cf_context *ctx, qn_format format) {
    static const float edges[] = {
        1.00048828125f, 1.00146484375f, 1.000488281250119f, 65504,    65519.99f, 6.103515625e-05f,
        5.9604645e-08f, 8.9406967e-08f, 2.9802322e-08f,     3.0e-08f, 0,         -0.0f,
        1.00390625f,    1.01171875f,    1.0039063f,         3.0e38f};
    harness h;
    harness_open(&h, ctx);
    if (cf_case(ctx, "%s ties and subnormals", qn_format_name(format))) {
        state_fixture f;
        float values[64];
        if (open_state(&f, &h, &h.one, format, 64, CELLS_IN_ORDER)) {
            for (uint32_t i = 0; i < 64; i++) {
                const float edge = edges[i % CF_COUNT_OF(edges)];
                values[i] = format == QN_FORMAT_F16 && edge > 65520 ? 1 : i < 32 ? edge : -edge;
            }
            write_values(&f, 3, 1, values);
            require_state(&f, "after writing numbers that are hard to round");
            close_state(&f);
        }
    }
    harness_close(&h);
}

#define STATE_OF(NAME, name)                                                                              \
    static void state_write_rounds_to_nearest_even_in_##name(cf_context *ctx) {                            \
        check_write_format(ctx, QN_FORMAT_##NAME);                                                         \
    }                                                                                                      \
    static void state_write_rounds_ties_and_subnormals_in_##name(cf_context *ctx) {                        \
        check_ties(ctx, QN_FORMAT_##NAME);                                                                 \
    }
STATE_OF(F32, f32)
STATE_OF(F16, f16)
STATE_OF(BF16, bf16)

static void state_write_quantises_blocks_in_q8_0(cf_context *ctx) {
    check_write_format(ctx, QN_FORMAT_Q8_0);
}

/* Two blocks whose largest element is `most`: halves of the digit's step and their neighbours, of both signs, and zeros. */
static void fill_half_digits(float *values, float most) {
    static const float digits[] = {127, 0.5f, 0.49999997f, 0.50000006f, 1.5f, 2.5f, 63.5f, 64.5f, 126.5f, 126.49999f, 0, 1, 8388608};
    for (uint32_t i = 0; i < 64; i++) {
        const float digit = i / 32 * 32 == i ? 127 : digits[i % CF_COUNT_OF(digits)];
        values[i] = (digit > 127 ? -0.0f : i % 2 == 0 ? digit : -digit) * (most / 127);
    }
}

static void state_write_rounds_half_digits_away_from_zero_in_q8_0(cf_context *ctx) {
    static const float sizes[] = {127, 254, 1, 0.1f, 127 * 0x1p-24f, 127 * 0x1p-26f, 1e-30f, 1e-37f, 0x1p-140f, 0, 127 * 65504.0f};
    harness h;
    harness_open(&h, ctx);
    for (uint32_t i = 0; i < CF_COUNT_OF(sizes); i++) {
        state_fixture f;
        float values[64];
        if (cf_case(ctx, "blocks up to %g", (double)sizes[i]) && open_state(&f, &h, &h.one, QN_FORMAT_Q8_0, 64, CELLS_IN_ORDER)) {
            fill_half_digits(values, sizes[i]);
            write_values(&f, 3, 1, values);
            require_state(&f, "after writing numbers that are hard to round");
            close_state(&f);
        }
    }
    harness_close(&h);
}

static void check_moves(harness *h, qn_format format, uint32_t n) {
    static const struct {
        uint32_t kind, from, to, n_cells;
    } moves[] = {{QN_MOVE_COPY, 0, 20, 4}, {QN_MOVE_COPY, 4, 6, 8},      {QN_MOVE_COPY, 9, 3, 10},
                 {QN_MOVE_ZERO, 0, 11, 3}, {QN_MOVE_COPY, 5, 5, 4},      {QN_MOVE_ZERO, 0, 23, 1},
                 {QN_MOVE_ZERO, 0, 0, 0},  {QN_MOVE_COPY, 0, 0, N_CELLS}};
    state_fixture f;
    if (!cf_case(h->ctx, "%s n %u", qn_format_name(format), n)
        || !open_state(&f, h, &h->one, format, n, CELLS_SHUFFLED)) {
        return;
    }
    write_rows(&f, 0, N_POSITIONS);
    for (size_t i = 0; i < CF_COUNT_OF(moves); i++) {
        const qn_state_move move = {.size = sizeof move,
                                    .kind = moves[i].kind,
                                    .from = moves[i].from,
                                    .to = moves[i].to,
                                    .n_cells = moves[i].n_cells};
        char when[96];
        snprintf(when, sizeof when, "after %s of %u cells from %u to %u",
                 move.kind == QN_MOVE_COPY ? "a copy" : "zeroing", move.n_cells, move.from, move.to);
        rig_move(&f.rig, &move);
        oracle_run_move(f.oracle, &move);
        require_state(&f, when);
    }
    close_state(&f);
}

static void state_move_copies_like_memmove_and_zeroes(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    check_moves(&h, QN_FORMAT_F32, 64);
    check_moves(&h, QN_FORMAT_F16, 64);
    check_moves(&h, QN_FORMAT_F16, 7);
    harness_close(&h);
}

static void state_move_copies_and_zeroes_states_in_further_formats(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    check_moves(&h, QN_FORMAT_BF16, 33);
    check_moves(&h, QN_FORMAT_Q8_0, 64);
    harness_close(&h);
}

static void a_new_session_begins_with_zeros(cf_context *ctx) {
    state_fixture f;
    harness h;
    harness_open(&h, ctx);
    if (cf_case(ctx, "F16 n 33") && open_state(&f, &h, &h.one, QN_FORMAT_F16, 33, CELLS_IN_ORDER)) {
        write_rows(&f, 0, N_POSITIONS);
        rig_new_session(&f.rig);
        oracle_run_close(f.oracle);
        f.oracle = oracle_run_open(&f.m, &f.rig.limits, ctx->numeric);
        write_rows(&f, 3, 1);
        require_state(&f, "in a new session");
        close_state(&f);
    }
    harness_close(&h);
}

static const cf_test tests[] = {
    CASES_TEST(state_write_rounds_to_nearest_even_in_f32, "R1", CF_MUST_DECODE),
    CASES_TEST(state_write_rounds_to_nearest_even_in_f16, "R1", CF_MUST_DECODE),
    CASES_TEST(state_write_rounds_to_nearest_even_in_bf16, "R1", 0),
    CASES_TEST(state_write_quantises_blocks_in_q8_0, "R1", 0),
    CASES_TEST(state_write_rounds_half_digits_away_from_zero_in_q8_0, "R1", 0),
    CASES_TEST(state_write_rounds_ties_and_subnormals_in_f32, "R1", CF_MUST_DECODE),
    CASES_TEST(state_write_rounds_ties_and_subnormals_in_f16, "R1", CF_MUST_DECODE),
    CASES_TEST(state_write_rounds_ties_and_subnormals_in_bf16, "R1", 0),
    CASES_TEST(state_move_copies_like_memmove_and_zeroes, "K4", CF_MUST_DECODE),
    CASES_TEST(state_move_copies_and_zeroes_states_in_further_formats, "K4", 0),
    CASES_TEST(a_new_session_begins_with_zeros, "K3", CF_MUST_DECODE),
};
const cf_suite cf_suite_state = CF_SUITE(2, "state", tests);
