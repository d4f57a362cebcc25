/* test_id_sorter.c — ids come out once each and ascending, from memory and from the temporary file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/id_sorter.h"

#define SMALL 1u /* bytes: lanes then have their smallest size, 4,096 ids */

/* A permutation of 1..n scattered over 60 bits; its inverse is not needed. */
static uint64_t scatter(uint64_t i) {
    return (i * UINT64_C(0x9E3779B97F4A7C15) & UINT64_C(0x0FFFFFFFFFFFFFFF)) | 1;
}

static int compare_ids(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds scatter(1..n) `times` times over the lanes and compares what comes out with qsort. */
static void check(uint64_t memory, uint32_t n_lanes, uint64_t n, uint32_t times) {
    id_sorter *sorter;
    uint64_t *wanted = malloc((n + 1) * sizeof *wanted);
    uint64_t id = 0, n_wanted = 0, n_got = 0;
    assert_non_null(wanted);
    assert_int_equal(id_sorter_create(memory, n_lanes, &sorter, NULL), QN_OK);
    for (uint32_t round = 0; round < times; round++) {
        for (uint64_t i = 1; i <= n; i++) {
            id_sorter_add(sorter, (uint32_t)((i + round) % n_lanes), scatter(i));
        }
    }
    for (uint64_t i = 1; i <= n; i++) {
        wanted[i - 1] = scatter(i);
    }
    qsort(wanted, n, sizeof *wanted, compare_ids);
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 || wanted[i] != wanted[i - 1]) {
            wanted[n_wanted++] = wanted[i];
        }
    }
    assert_int_equal(id_sorter_sort(sorter, NULL), QN_OK);
    while (id_sorter_next(sorter, &id)) {
        assert_true(n_got < n_wanted);
        assert_int_equal(id, wanted[n_got]);
        n_got++;
    }
    assert_int_equal(n_got, n_wanted);
    assert_int_equal(id_sorter_status(sorter, NULL), QN_OK);
    assert_false(id_sorter_next(sorter, &id));
    id_sorter_destroy(sorter);
    free(wanted);
}

static void nothing_in_gives_nothing_out(void **state) {
    (void)state;
    check(SMALL, 3, 0, 1);
}

static void ids_of_all_lanes_come_out_once_and_ascending(void **state) {
    (void)state;
    check(1 << 20, 1, 1000, 3);
    check(1 << 20, 4, 1000, 5);
}

static void more_ids_than_fit_go_through_the_file(void **state) {
    (void)state;
    check(SMALL, 1, 100000, 2);
    check(SMALL, 3, 200001, 3);
}

static void the_largest_and_the_smallest_id_are_kept(void **state) {
    id_sorter *sorter;
    uint64_t id = 0;
    (void)state;
    assert_int_equal(id_sorter_create(SMALL, 2, &sorter, NULL), QN_OK);
    id_sorter_add(sorter, 0, UINT64_MAX);
    id_sorter_add(sorter, 1, 1);
    id_sorter_add(sorter, 1, UINT64_MAX);
    assert_int_equal(id_sorter_sort(sorter, NULL), QN_OK);
    assert_true(id_sorter_next(sorter, &id));
    assert_int_equal(id, 1);
    assert_true(id_sorter_next(sorter, &id));
    assert_true(id == UINT64_MAX);
    assert_false(id_sorter_next(sorter, &id));
    id_sorter_destroy(sorter);
}

static void a_folder_that_is_not_there_is_an_error_and_not_a_short_answer(void **state) {
    id_sorter *sorter;
    error_context err = {0};
    (void)state;
    const char *before = getenv("TMPDIR");
    char *kept = before != NULL ? strdup(before) : NULL;
    setenv("TMPDIR", "/nonexistent/folder", 1);
    assert_int_equal(id_sorter_create(SMALL, 1, &sorter, NULL), QN_OK);
    for (uint64_t i = 1; i < 100000; i++) {
        id_sorter_add(sorter, 0, scatter(i));
    }
    assert_int_not_equal(id_sorter_sort(sorter, &err), QN_OK);
    assert_non_null(strstr(error_text(&err), "temporary file"));
    id_sorter_destroy(sorter);
    if (kept != NULL) {
        setenv("TMPDIR", kept, 1);
    } else {
        unsetenv("TMPDIR");
    }
    free(kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_gives_nothing_out),
        cmocka_unit_test(ids_of_all_lanes_come_out_once_and_ascending),
        cmocka_unit_test(more_ids_than_fit_go_through_the_file),
        cmocka_unit_test(the_largest_and_the_smallest_id_are_kept),
        cmocka_unit_test(a_folder_that_is_not_there_is_an_error_and_not_a_short_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
