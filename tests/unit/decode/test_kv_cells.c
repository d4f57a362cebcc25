/* test_kv_cells.c — placement of one sequence in full and windowed cell groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "decode/kv_cells.h"

#define WINDOW 8u
#define CHUNK 4u
#define CTX 64u

static kv_cells make_cells(uint32_t windowed_cells) {
    const qn_limits limits = {.size = sizeof limits,
                              .max_tokens = CHUNK,
                              .max_outputs = 1,
                              .max_sequences = 1,
                              .n_groups = 2,
                              .cells = {CTX, windowed_cells}};
    const uint32_t windows[2] = {0, WINDOW};
    kv_cells kv;
    assert_int_equal(kv_cells_init(&kv, &limits, windows, NULL), QN_OK);
    return kv;
}

/* Which position a cell holds according to the spans of a placement, or -1. */
static int32_t find_position(const qn_placement *placement, uint32_t cell) {
    for (uint32_t i = 0; i < placement->n_spans; i++) {
        const qn_span *span = &placement->spans[i];
        if (cell - span->first_cell < span->n_cells) {
            return span->first_position + (int32_t)(cell - span->first_cell);
        }
    }
    return -1;
}

/* Keeps a model of what was written where, and compares it with what the spans claim. */
static void walk_and_compare(uint32_t windowed_cells, uint32_t chunk) {
    kv_cells kv = make_cells(windowed_cells);
    int32_t holds[2][CTX];
    memset(holds, 0xFF, sizeof holds);
    while (kv.length + chunk <= CTX) {
        kv_cells_place(&kv, chunk);
        for (uint32_t g = 0; g < 2; g++) {
            for (uint32_t t = 0; t < chunk; t++) {
                holds[g][kv.placements[g].cells[t]] = (int32_t)(kv.length + t);
            }
            const uint32_t first_query = kv.length;
            const int32_t oldest = g == 0 || first_query + 1 < WINDOW ? 0 : (int32_t)(first_query + 1 - WINDOW);
            uint32_t n_seen = 0;
            for (uint32_t cell = 0; cell < kv.groups[g].cells; cell++) {
                const int32_t position = find_position(&kv.placements[g], cell);
                if (position >= 0) {
                    assert_int_equal(position, holds[g][cell]);
                    n_seen += position >= oldest;
                }
            }
            assert_int_equal(n_seen, kv.length + chunk - (uint32_t)oldest);
        }
        kv_cells_commit(&kv, chunk);
    }
    kv_cells_deinit(&kv);
}

static void spans_tell_what_the_cells_hold_for_every_chunk_size(void **state) {
    (void)state;
    for (uint32_t chunk = 1; chunk <= CHUNK; chunk++) {
        walk_and_compare(WINDOW + CHUNK, chunk);
        walk_and_compare(WINDOW + CHUNK + 3, chunk);
    }
}

static void a_step_that_was_not_committed_changes_nothing(void **state) {
    (void)state;
    kv_cells kv = make_cells(WINDOW + CHUNK);
    kv_cells_place(&kv, 3);
    assert_int_equal(kv.length, 0);
    kv_cells_place(&kv, 2);
    assert_int_equal(kv.placements[0].cells[0], 0);
    kv_cells_deinit(&kv);
}

static void truncation_keeps_what_the_window_still_has(void **state) {
    (void)state;
    kv_cells kv = make_cells(WINDOW + CHUNK);
    kv_cells_commit(&kv, 30);
    assert_int_equal(kv_cells_truncate(&kv, 28), 28);
    kv_cells_deinit(&kv);
}

static void truncation_beyond_the_window_starts_again(void **state) {
    (void)state;
    kv_cells kv = make_cells(WINDOW + CHUNK);
    kv_cells_commit(&kv, 30);
    assert_int_equal(kv_cells_truncate(&kv, 20), 0);
    assert_int_equal(kv.length, 0);
    kv_cells_deinit(&kv);
}

static void a_second_truncation_remembers_what_the_first_gave_up(void **state) {
    (void)state;
    kv_cells kv = make_cells(WINDOW + CHUNK);
    kv_cells_commit(&kv, 30);
    assert_int_equal(kv_cells_truncate(&kv, 27), 27);
    /* Position 24 would need to see 17, whose cell position 29 has taken. */
    assert_int_equal(kv_cells_truncate(&kv, 24), 0);
    kv_cells_deinit(&kv);
}

static void a_cancelled_step_counts_as_overwriting(void **state) {
    (void)state;
    kv_cells kv = make_cells(WINDOW + CHUNK);
    kv_cells_commit(&kv, 30);
    kv_cells_place(&kv, CHUNK);
    assert_int_equal(kv_cells_truncate(&kv, 28), 0); /* without the step 28 could be kept */
    kv_cells_place(&kv, CHUNK);
    kv_cells_commit(&kv, CHUNK);
    assert_int_equal(kv_cells_truncate(&kv, 2), 2); /* and from the start everything is as new */
    kv_cells_deinit(&kv);
}

static void truncation_to_more_than_there_is_changes_nothing(void **state) {
    (void)state;
    kv_cells kv = make_cells(CTX);
    kv_cells_commit(&kv, 5);
    assert_int_equal(kv_cells_truncate(&kv, 9), 5);
    kv_cells_deinit(&kv);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_tell_what_the_cells_hold_for_every_chunk_size),
        cmocka_unit_test(a_step_that_was_not_committed_changes_nothing),
        cmocka_unit_test(truncation_keeps_what_the_window_still_has),
        cmocka_unit_test(truncation_beyond_the_window_starts_again),
        cmocka_unit_test(a_second_truncation_remembers_what_the_first_gave_up),
        cmocka_unit_test(a_cancelled_step_counts_as_overwriting),
        cmocka_unit_test(truncation_to_more_than_there_is_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
