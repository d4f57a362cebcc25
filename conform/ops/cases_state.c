/* cases_state.c — STATE_WRITE, state_move and the state's own rows, read back through tap. */
#include <quoin/blocks.h>
#include <quoin/glue.h>

#include "cases.h"
#include "cells.h"

#define N_CELLS 24
#define N_POSITIONS 20

typedef struct state_fixture {
    op_program *program;
    uint32_t x, state;      /* buffers */
    qn_format format;
    uint32_t n;             /* columns */
    uint64_t row_bytes;
    uint64_t state_bytes;
    char *want;             /* [N_CELLS][row_bytes] */
    cell_map map;
    rig rig;
} state_fixture;

static void encode_row(qn_format format, const float *values, uint32_t n, char *out) {
    for (uint32_t i = 0; i < n && format != QN_FORMAT_Q8_0; i++) {
        const uint16_t word = format == QN_FORMAT_BF16 ? blk_f32_to_bf16(values[i]) : blk_f32_to_f16(values[i]);
        if (format == QN_FORMAT_F32) {
            memcpy(out + 4 * (size_t)i, &values[i], 4);
        } else {
            memcpy(out + 2 * (size_t)i, &word, 2);
        }
    }
    if (format == QN_FORMAT_Q8_0) {
        assert_int_equal(blk_encode(format, values, n, out, NULL), 0);
    }
}

/* False when the backend does not offer this state format. */
static bool open_state(state_fixture *f, harness *h, const backend *on, qn_format format, uint32_t n, uint32_t order,
                       op_random *random) {
    const qn_limits limits = rig_limits(N_POSITIONS, 1, 1, 1, N_CELLS);
    *f = (state_fixture){.program = op_program_create(), .format = format, .n = n, .row_bytes = qn_format_bytes(format, n)};
    f->state_bytes = N_CELLS * f->row_bytes;
    f->want = calloc(N_CELLS, f->row_bytes);
    assert_non_null(f->want);
    op_program_add_group(f->program, 0);
    f->x = op_program_add_rows(f->program, "x", QN_ROLE_INPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
    f->state = op_program_add_state(f->program, "state", format, n, 0);
    op_program_add_op(f->program, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){f->x, f->state}, OP_NO_OUTPUT, NULL, 0);
    cell_map_init(&f->map, N_CELLS, 1, N_POSITIONS);
    cell_map_scatter(&f->map, order, random);
    rig_init(&f->rig, on, op_program_finish(f->program), &limits);
    if (!rig_check(&f->rig, h->numeric)) {
        return false;
    }
    rig_compile(&f->rig, QN_COMPILE_MATERIALIZE, h->numeric);
    return true;
}

static void close_state(state_fixture *f) {
    rig_deinit(&f->rig);
    cell_map_deinit(&f->map);
    op_program_destroy(f->program);
    free(f->want);
}

/* Writes positions [first, first + t) and notes what must stand in their cells. */
static void write_rows(state_fixture *f, uint32_t first, uint32_t t, op_random *random) {
    float *x = malloc((size_t)t * f->n * sizeof *x);
    int32_t positions[N_POSITIONS];
    assert_non_null(x);
    op_fill(random, false, false, (uint64_t)t * f->n, x);
    for (uint32_t i = 0; i < t; i++) {
        positions[i] = (int32_t)(first + i);
        encode_row(f->format, x + (size_t)i * f->n, f->n, f->want + f->map.cell[first + i] * f->row_bytes);
    }
    cell_map_place(&f->map, t, positions, NULL, NULL);
    rig_set(&f->rig, f->x, x, (uint64_t)t * f->n * sizeof *x);
    qn_step step = {.n_tokens = t, .n_sequences = 1, .positions = positions, .placements = &f->map.placement};
    rig_step(&f->rig, &step);
    free(x);
}

static void require_state(state_fixture *f, const char *when) {
    char *got = rig_tap(&f->rig, f->state, f->state_bytes);
    for (uint32_t cell = 0; cell < N_CELLS; cell++) {
        if (memcmp(got + cell * f->row_bytes, f->want + cell * f->row_bytes, f->row_bytes) != 0) {
            fail_msg("state %s n %u: cell %u is wrong %s", qn_format_name(f->format), f->n, cell, when);
        }
    }
    free(got);
}

static void check_writes(harness *h, const backend *on, qn_format format, uint32_t n, uint32_t order) {
    op_random random = harness_random(h, ((uint64_t)format << 32) ^ (n << 4) ^ order);
    state_fixture f;
    if (open_state(&f, h, on, format, n, order, &random)) {
        write_rows(&f, 0, 1, &random);
        require_state(&f, "after the first write");
        write_rows(&f, 1, 12, &random);
        require_state(&f, "after the second write");
        write_rows(&f, 5, 15, &random);
        require_state(&f, "after overwriting");
        h->n_cases++;
    } else {
        assert_true(format == QN_FORMAT_Q8_0);
    }
    close_state(&f);
}

static const qn_format formats[] = {QN_FORMAT_F32, QN_FORMAT_F16, QN_FORMAT_BF16, QN_FORMAT_Q8_0};

static void state_write_rounds_to_nearest_even_in_the_cells_of_the_step(harness *h) {
    static const uint32_t lengths[] = {1, 7, 8, 17, 32, 33, 64, 192};
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        for (size_t j = 0; j < COUNT_OF(lengths); j++) {
            if (formats[i] != QN_FORMAT_Q8_0 || lengths[j] % 32 == 0) {
                check_writes(h, &h->one, formats[i], lengths[j], (uint32_t)(i + j) % CELLS_ORDERS);
                check_writes(h, &h->many, formats[i], lengths[j], (uint32_t)(i + j) % CELLS_ORDERS);
            }
        }
    }
}

static void check_moves(harness *h, qn_format format, uint32_t n) {
    static const struct {
        uint32_t kind, from, to, n_cells;
    } moves[] = {{QN_MOVE_COPY, 0, 20, 4},  {QN_MOVE_COPY, 4, 6, 8}, {QN_MOVE_COPY, 9, 3, 10}, {QN_MOVE_ZERO, 0, 11, 3},
                 {QN_MOVE_COPY, 5, 5, 4},   {QN_MOVE_ZERO, 0, 23, 1}, {QN_MOVE_ZERO, 0, 0, 0}, {QN_MOVE_COPY, 0, 0, N_CELLS}};
    op_random random = harness_random(h, ((uint64_t)format << 32) ^ n);
    state_fixture f;
    if (open_state(&f, h, &h->one, format, n, CELLS_SHUFFLED, &random)) {
        write_rows(&f, 0, N_POSITIONS, &random);
        for (size_t i = 0; i < COUNT_OF(moves); i++) {
            char *to = f.want + moves[i].to * f.row_bytes;
            if (moves[i].kind == QN_MOVE_ZERO) {
                memset(to, 0, moves[i].n_cells * f.row_bytes);
            } else {
                memmove(to, f.want + moves[i].from * f.row_bytes, moves[i].n_cells * f.row_bytes);
            }
            rig_move(&f.rig, moves[i].kind, 0, moves[i].from, moves[i].to, moves[i].n_cells);
            require_state(&f, "after a move");
        }
        h->n_cases++;
    }
    close_state(&f);
}

static void state_move_copies_like_memmove_and_zeroes(harness *h) {
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        check_moves(h, formats[i], 64);
    }
    check_moves(h, QN_FORMAT_F16, 7);
}

static void a_new_session_begins_with_zeros(harness *h) {
    op_random random = harness_random(h, 77);
    state_fixture f;
    assert_true(open_state(&f, h, &h->one, QN_FORMAT_F16, 33, CELLS_IN_ORDER, &random));
    write_rows(&f, 0, N_POSITIONS, &random);
    rig_new_session(&f.rig);
    memset(f.want, 0, f.state_bytes);
    write_rows(&f, 3, 1, &random);
    require_state(&f, "in a new session");
    close_state(&f);
    h->n_cases++;
}

static const op_test tests[] = {
    OP_TEST(state_write_rounds_to_nearest_even_in_the_cells_of_the_step),
    OP_TEST(state_move_copies_like_memmove_and_zeroes),
    OP_TEST(a_new_session_begins_with_zeros),
};
OP_SUITE(suite_state_write, QN_OP_STATE_WRITE, tests);
