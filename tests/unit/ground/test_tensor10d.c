/* test_tensor10d.c — each way of measuring distances, and which points are nearest. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ground/tensor10d.h"

static void check_distance(tensor10d a, tensor10d b, double wanted) {
    const float got = tensor10d_distance(&a, &b);
    if (fabs((double)got - wanted) > 1e-6 * (1 + fabs(wanted))) {
        fail_msg("distance %.9g, wanted %.9g", (double)got, wanted);
    }
}

static void mode_0_is_euclid_over_seven_numbers_and_not_over_q_v_w(void **state) {
    (void)state;
    check_distance((tensor10d){.x = 1, .y = 2, .z = 3}, (tensor10d){.x = 4, .y = 6, .z = 3}, 5);
    check_distance((tensor10d){.t = 1}, (tensor10d){.t = -1}, 2);
    check_distance((tensor10d){.alpha = 1, .mu = 2, .sigma = 2}, (tensor10d){.q = 0}, 3);
    check_distance((tensor10d){.q = 9, .w = 9}, (tensor10d){.v = 7}, 0);
}

static void mode_1_goes_round_the_unit_torus_the_shorter_way(void **state) {
    (void)state;
    check_distance((tensor10d){.v = 1, .x = 0.9f}, (tensor10d){.x = 0.1f}, 0.2);
    check_distance((tensor10d){.v = 1, .x = 0.25f}, (tensor10d){.x = 7.25f}, 0);
    check_distance((tensor10d){.v = 1, .x = 0.5f, .y = 0.5f, .z = 0.5f}, (tensor10d){.t = 9}, sqrt(0.75));
}

static void mode_2_is_the_log_of_the_sum_of_powers(void **state) {
    (void)state;
    check_distance((tensor10d){.v = 2}, (tensor10d){.t = 5}, log(3));
    check_distance((tensor10d){.v = 2, .x = 1, .y = -2}, (tensor10d){.z = 3}, log(exp(1) + exp(2) + exp(3)));
}

static void mode_2_does_not_overflow(void **state) {
    (void)state;
    check_distance((tensor10d){.v = 2, .x = 1e30f}, (tensor10d){.x = -1e30f}, 2e30);
}

static void any_other_mode_asks_only_whether_the_modes_are_equal(void **state) {
    (void)state;
    check_distance((tensor10d){.v = 3, .x = 5}, (tensor10d){.v = 3}, 0);
    check_distance((tensor10d){.v = 3}, (tensor10d){.v = 3.5f}, 1);
    check_distance((tensor10d){.v = -1}, (tensor10d){.v = 0}, 1);
}

static void the_mode_is_the_querys(void **state) {
    (void)state;
    check_distance((tensor10d){.x = 0.9f}, (tensor10d){.v = 1, .x = 0.1f}, 0.8);
}

static void hits_are_sorted_and_the_lower_index_wins(void **state) {
    (void)state;
    const tensor10d nodes[] = {{.x = 3}, {.x = 1}, {.x = -1}, {.x = 2}, {.x = 1}};
    const uint32_t wanted[] = {1, 2, 4, 3, 0};
    tensor10d_hit hits[5];
    uint32_t n = 0;
    assert_int_equal(tensor10d_nearest(&(tensor10d){.x = 0}, nodes, 5, INFINITY, hits, 5, &n, NULL), QN_OK);
    assert_int_equal(n, 5);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(hits[i].index, wanted[i]);
    }
}

static void the_best_stay_when_there_is_room_for_few(void **state) {
    (void)state;
    const tensor10d nodes[] = {{.x = 3}, {.x = 1}, {.x = 2}, {.x = 0.5f}};
    tensor10d_hit hits[2];
    uint32_t n = 0;
    assert_int_equal(tensor10d_nearest(&(tensor10d){.x = 0}, nodes, 4, INFINITY, hits, 2, &n, NULL), QN_OK);
    assert_int_equal(n, 2);
    assert_int_equal(hits[0].index, 3);
    assert_int_equal(hits[1].index, 1);
}

static void the_limit_counts_as_near(void **state) {
    (void)state;
    const tensor10d nodes[] = {{.x = 3}, {.x = 3.5f}};
    tensor10d_hit hits[2];
    uint32_t n = 9;
    assert_int_equal(tensor10d_nearest(&(tensor10d){.x = 0}, nodes, 2, 3.0f, hits, 2, &n, NULL), QN_OK);
    assert_int_equal(n, 1);
    assert_int_equal(tensor10d_nearest(&(tensor10d){.x = 0}, nodes, 0, 3.0f, hits, 2, &n, NULL), QN_OK);
    assert_int_equal(n, 0);
}

static void more_than_the_limits_is_refused_and_changes_nothing(void **state) {
    (void)state;
    static tensor10d nodes[TENSOR10D_MAX_NODES + 1];
    tensor10d_hit hits[TENSOR10D_MAX_HITS];
    uint32_t n = 77;
    assert_int_equal(tensor10d_nearest(nodes, nodes, TENSOR10D_MAX_NODES + 1, 1, hits, 1, &n, NULL), QN_LIMIT);
    assert_int_equal(tensor10d_nearest(nodes, nodes, 1, 1, hits, TENSOR10D_MAX_HITS + 1, &n, NULL), QN_LIMIT);
    assert_int_equal(n, 77);
    assert_int_equal(tensor10d_nearest(nodes, nodes, TENSOR10D_MAX_NODES, 1, hits, TENSOR10D_MAX_HITS, &n, NULL), QN_OK);
    assert_int_equal(n, TENSOR10D_MAX_HITS);
}

static void what_is_not_finite_is_refused(void **state) {
    (void)state;
    tensor10d_hit hits[1];
    uint32_t n;
    assert_int_equal(tensor10d_nearest(&(tensor10d){.sigma = NAN}, NULL, 0, 1, hits, 1, &n, NULL), QN_BAD_INPUT);
    assert_int_equal(tensor10d_nearest(&(tensor10d){.x = 0}, &(tensor10d){.q = INFINITY}, 1, 1, hits, 1, &n, NULL), QN_BAD_INPUT);
}

static void ten_numbers_are_read_in_their_order(void **state) {
    (void)state;
    static const char text[] = " 1 -2,0.5\t+.25 1e2 2E-2 3.e1 0 0\n-1e-3 ";
    tensor10d p;
    assert_int_equal(tensor10d_read(text, sizeof text - 1, &p, NULL), QN_OK);
    const tensor10d wanted = {1, -2, 0.5f, 0.25f, 100, 0.02f, 30, 0, 0, -0.001f};
    assert_memory_equal(&p, &wanted, sizeof p);
}

static void what_is_no_point_is_refused_with_the_column(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {{"", "column 1: number 1"},          {"1 2 3", "column 6: number 4"},
                {"0 0 0 0 0 0 0 0 0 x", "column 19"}, {"0 0 0 0 0 0 0 0 0 0 0", "column 21"},
                {"1e 0 0 0 0 0 0 0 0 0", "column 1"}, {"1e99 0 0 0 0 0 0 0 0 0", "column 1"},
                {"nan 0 0 0 0 0 0 0 0 0", "column 1"}, {"0x1 0 0 0 0 0 0 0 0 0", "column 1"},
                {". 0 0 0 0 0 0 0 0 0", "column 1"},  {"1e999999999999 0 0 0 0 0 0 0 0 0", "column 1"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        error_context err = {0};
        tensor10d p;
        if (tensor10d_read(rows[i].text, strlen(rows[i].text), &p, &err) != QN_BAD_INPUT ||
            strstr(error_text(&err), rows[i].words) == NULL) {
            fail_msg("\"%s\": %s", rows[i].text, error_text(&err));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_0_is_euclid_over_seven_numbers_and_not_over_q_v_w),
        cmocka_unit_test(mode_1_goes_round_the_unit_torus_the_shorter_way),
        cmocka_unit_test(mode_2_is_the_log_of_the_sum_of_powers),
        cmocka_unit_test(mode_2_does_not_overflow),
        cmocka_unit_test(any_other_mode_asks_only_whether_the_modes_are_equal),
        cmocka_unit_test(the_mode_is_the_querys),
        cmocka_unit_test(hits_are_sorted_and_the_lower_index_wins),
        cmocka_unit_test(the_best_stay_when_there_is_room_for_few),
        cmocka_unit_test(the_limit_counts_as_near),
        cmocka_unit_test(more_than_the_limits_is_refused_and_changes_nothing),
        cmocka_unit_test(what_is_not_finite_is_refused),
        cmocka_unit_test(ten_numbers_are_read_in_their_order),
        cmocka_unit_test(what_is_no_point_is_refused_with_the_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
