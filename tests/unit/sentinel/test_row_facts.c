/* test_row_facts.c — the two greatest, odd values and the entropy, against sums in double precision. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sentinel/row_facts.h"

static uint64_t seed = 1;

static float draw(float spread) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return ((float)(seed >> 40) / 16777216.0f - 0.5f) * 2.0f * spread;
}

static double entropy_of(const float *row, uint32_t n) {
    double best = -DBL_MAX, sum = 0, moment = 0;
    for (uint32_t i = 0; i < n; i++) {
        best = isfinite(row[i]) && (double)row[i] > best ? (double)row[i] : best;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(row[i])) {
            const double weight = exp((double)row[i] - best);
            sum += weight;
            moment += weight * ((double)row[i] - best);
        }
    }
    return log(sum) - moment / sum;
}

static void facts_are_those_of_a_plain_loop(void **state) {
    (void)state;
    static const uint32_t lengths[] = {1, 2, 15, 16, 17, 33, 1024, 1025, 4097, 49152};
    static const float spreads[] = {0.0f, 0.01f, 3.0f, 30.0f, 400.0f};
    float *row = malloc(49152 * sizeof *row);
    assert_non_null(row);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t j = 0; j < sizeof spreads / sizeof spreads[0]; j++) {
            const uint32_t n = lengths[i];
            float best = -FLT_MAX, second = -FLT_MAX;
            for (uint32_t k = 0; k < n; k++) {
                row[k] = draw(spreads[j]);
                second = row[k] > best ? best : row[k] > second ? row[k] : second;
                best = row[k] > best ? row[k] : best;
            }
            const row_facts facts = row_facts_of(row, n, true);
            assert_true(facts.best == best && facts.second == second);
            assert_int_equal(facts.n_odd, 0);
            if (fabs((double)facts.entropy - entropy_of(row, n)) > 1e-4) {
                fail_msg("%u logits within %g: entropy %.6f, not %.6f", n, (double)spreads[j], (double)facts.entropy, entropy_of(row, n));
            }
        }
    }
    free(row);
}

static void equal_logits_have_no_margin_and_the_logarithm_as_entropy(void **state) {
    (void)state;
    const float row[4] = {2.0f, 2.0f, 2.0f, 2.0f};
    const row_facts facts = row_facts_of(row, 4, true);
    assert_true(facts.best == 2.0f && facts.second == 2.0f);
    assert_true(fabsf(facts.entropy - logf(4.0f)) < 1e-6f);
}

static void what_is_no_number_is_counted_and_passed_over(void **state) {
    (void)state;
    float row[40];
    for (uint32_t i = 0; i < 40; i++) {
        row[i] = i < 20 ? (float)i : i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
    }
    const row_facts facts = row_facts_of(row, 40, true);
    assert_int_equal(facts.n_odd, 20);
    assert_true(facts.best == 19.0f && facts.second == 18.0f);
    assert_true(fabs((double)facts.entropy - entropy_of(row, 40)) < 1e-5);
}

static void a_row_without_a_number_has_no_entropy(void **state) {
    (void)state;
    const float row[2] = {NAN, -INFINITY};
    const row_facts facts = row_facts_of(row, 2, true);
    assert_int_equal(facts.n_odd, 2);
    assert_true(facts.entropy == 0.0f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_those_of_a_plain_loop),
        cmocka_unit_test(equal_logits_have_no_margin_and_the_logarithm_as_entropy),
        cmocka_unit_test(what_is_no_number_is_counted_and_passed_over),
        cmocka_unit_test(a_row_without_a_number_has_no_entropy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
