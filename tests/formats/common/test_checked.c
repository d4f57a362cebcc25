/* test_checked.c — sums, products and ranges at the edge of 64 bits. */
#include "common/checked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void sum_is_exact_up_to_the_largest_number(void **state) {
    (void)state;
    uint64_t sum;
    assert_true(checked_add(UINT64_MAX - 5, 5, &sum));
    assert_true(sum == UINT64_MAX);
    assert_false(checked_add(UINT64_MAX - 5, 6, &sum));
    assert_false(checked_add(UINT64_MAX, UINT64_MAX, &sum));
}

static void product_is_exact_up_to_the_largest_number(void **state) {
    (void)state;
    uint64_t product;
    assert_true(checked_mul(UINT64_C(0xFFFFFFFF), UINT64_C(0x100000001), &product));
    assert_true(product == UINT64_MAX);
    assert_false(checked_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &product));
    assert_true(checked_mul(0, UINT64_MAX, &product));
    assert_true(product == 0);
}

static void alignment_rounds_up_and_refuses_to_wrap(void **state) {
    (void)state;
    static const struct {
        uint64_t value, alignment, aligned;
        bool fits;
    } rows[] = {
        {0, 64, 0, true},
        {1, 64, 64, true},
        {64, 64, 64, true},
        {65, 64, 128, true},
        {77, 1, 77, true},
        {UINT64_MAX - 63, 64, UINT64_MAX - 63, true},
        {UINT64_MAX - 62, 64, 0, false},
        {UINT64_MAX, 2, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t aligned = 0;
        assert_int_equal(checked_align(rows[i].value, rows[i].alignment, &aligned), rows[i].fits);
        if (rows[i].fits) {
            assert_true(aligned == rows[i].aligned);
        }
    }
}

static void range_must_lie_inside_even_when_its_end_would_wrap(void **state) {
    (void)state;
    assert_true(checked_range(0, 0, 0));
    assert_true(checked_range(10, 0, 10));
    assert_true(checked_range(4, 6, 10));
    assert_false(checked_range(4, 7, 10));
    assert_false(checked_range(11, 0, 10));
    assert_false(checked_range(UINT64_MAX, 2, 10));
    assert_false(checked_range(2, UINT64_MAX, 10));
    assert_true(checked_range(1, UINT64_MAX - 1, UINT64_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_is_exact_up_to_the_largest_number),
        cmocka_unit_test(product_is_exact_up_to_the_largest_number),
        cmocka_unit_test(alignment_rounds_up_and_refuses_to_wrap),
        cmocka_unit_test(range_must_lie_inside_even_when_its_end_would_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
