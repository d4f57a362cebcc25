/* test_logit_scan.c — the fast ways over a row of logits against the plain ones. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode/best_logits.h"
#include "decode/logit_scan.h"

#define LONGEST 1000u

static const uint32_t lengths[] = {1, 2, 7, 8, 63, 64, 127, 128, 129, 255, 256, 257, 640, 1000};
#define N_LENGTHS (sizeof lengths / sizeof lengths[0])

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Few distinct values, so that there are ties, and among them what does not count. */
static void fill(float *row, uint32_t n, uint32_t seed, bool has_odd_ones) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, -NAN};
    uint32_t state = seed;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t word = next_random(&state);
        row[i] = has_odd_ones && word % 3 == 0 ? odd[word / 3 % 4] : (float)(int32_t)(word % 41u) - 30.0f;
    }
}

static uint32_t find_plainly(const float *row, uint32_t n) {
    uint32_t best = n;
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(row[i]) && (best == n || row[i] > row[best])) {
            best = i;
        }
    }
    return best;
}

static void the_greatest_is_the_lowest_of_equal_ones_at_every_length(void **state) {
    float row[LONGEST];
    (void)state;
    for (uint32_t seed = 0; seed < 40; seed++) {
        for (size_t i = 0; i < N_LENGTHS; i++) {
            const uint32_t n = lengths[i];
            fill(row, n, seed, seed % 2 == 1);
            const uint32_t expected = find_plainly(row, n);
            assert_int_equal(logit_scan_find(row, n), expected);
            if (expected < n) {
                assert_true(logit_scan_greatest(row, n) == row[expected]);
            }
        }
    }
}

static void what_is_not_finite_never_counts_wherever_it_stands(void **state) {
    static const float odd[] = {NAN, -NAN, INFINITY, -INFINITY};
    float row[300];
    (void)state;
    for (size_t o = 0; o < sizeof odd / sizeof odd[0]; o++) {
        for (uint32_t at = 0; at < 300; at++) {
            for (uint32_t i = 0; i < 300; i++) {
                row[i] = -2.0f;
            }
            row[at] = odd[o];
            row[(at + 150) % 300] = -1.0f;
            assert_int_equal(logit_scan_find(row, 300), (at + 150) % 300);
        }
    }
}

static void a_row_without_a_finite_number_has_no_greatest(void **state) {
    float row[200];
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        row[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
    }
    assert_int_equal(logit_scan_find(row, 200), 200);
    assert_true(logit_scan_greatest(row, 200) == -INFINITY);
    assert_int_equal(logit_scan_find(row, 0), 0);
}

static void the_extremes_of_float_are_numbers_like_others(void **state) {
    const float row[] = {-FLT_MAX, -FLT_MAX, FLT_MAX, FLT_MAX, 0.0f};
    (void)state;
    assert_int_equal(logit_scan_find(row, 2), 0);
    assert_int_equal(logit_scan_find(row, 5), 2);
}

static void the_sum_is_that_of_the_exponentials(void **state) {
    static const float temperatures[] = {0.05f, 0.8f, 1.0f, 17.0f, 1e-30f, 1e-45f};
    float row[LONGEST];
    (void)state;
    for (size_t t = 0; t < sizeof temperatures / sizeof temperatures[0]; t++) {
        for (size_t i = 0; i < N_LENGTHS; i++) {
            const uint32_t n = lengths[i];
            double expected = 0.0;
            fill(row, n, (uint32_t)(7 * t + i), i % 2 == 1);
            const float greatest = logit_scan_greatest(row, n);
            for (uint32_t k = 0; k < n; k++) {
                expected += isfinite(row[k]) ? exp(((double)row[k] - (double)greatest) / (double)temperatures[t]) : 0.0;
            }
            const double found = logit_scan_sum(row, n, greatest, temperatures[t]);
            if (!(fabs(found - expected) <= 1e-6 * expected)) {
                fail_msg("temperature %g, %u logits: %.9g was found, %.9g expected", (double)temperatures[t], n, found, expected);
            }
        }
    }
}

/* One at a time, over the whole range and below it, where the exponential is as good as nothing. */
static void each_exponential_is_right(void **state) {
    (void)state;
    for (float z = 0.0f; z > -120.0f; z -= 0.0073f) {
        const float row[2] = {0.0f, z};
        const double found = logit_scan_sum(row + 1, 1, 0.0f, 1.0f), expected = exp((double)z);
        assert_true(fabs(found - expected) <= (z >= -87.0f ? 3e-7 * expected : 2e-38));
    }
}

static int compare_plainly(const void *a, const void *b) {
    const sampler_candidate *left = a, *right = b;
    if (left->value != right->value) {
        return left->value > right->value ? -1 : 1;
    }
    return left->id < right->id ? -1 : 1;
}

static void the_best_are_those_of_a_full_sort(void **state) {
    static const uint32_t counts[] = {0, 1, 2, 3, 40, 64, 511, 1000, 5000};
    static sampler_candidate all[LONGEST], best[5000];
    float row[LONGEST];
    (void)state;
    for (size_t i = 0; i < N_LENGTHS; i++) {
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            uint32_t n_finite = 0;
            fill(row, lengths[i], (uint32_t)(31 * i + k), k % 2 == 0);
            for (uint32_t id = 0; id < lengths[i]; id++) {
                if (isfinite(row[id])) {
                    all[n_finite++] = (sampler_candidate){row[id], id};
                }
            }
            qsort(all, n_finite, sizeof *all, compare_plainly);
            const uint32_t n = best_logits_collect(row, lengths[i], counts[k], best);
            assert_int_equal(n, counts[k] < n_finite ? counts[k] : n_finite);
            assert_memory_equal(best, all, n * sizeof *best);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_greatest_is_the_lowest_of_equal_ones_at_every_length),
        cmocka_unit_test(what_is_not_finite_never_counts_wherever_it_stands),
        cmocka_unit_test(a_row_without_a_finite_number_has_no_greatest),
        cmocka_unit_test(the_extremes_of_float_are_numbers_like_others),
        cmocka_unit_test(the_sum_is_that_of_the_exponentials),
        cmocka_unit_test(each_exponential_is_right),
        cmocka_unit_test(the_best_are_those_of_a_full_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
