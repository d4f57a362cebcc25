/* test_number.c — numbers are compared exactly, and ranges of objects hold just the numbers that were asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/number.h"

static exact_number read(const char *text) {
    exact_number number;
    assert_int_equal(exact_number_read(text, strlen(text), &number), strlen(text));
    return number;
}

static uint64_t integer_object(int64_t value) {
    return (uint64_t)Q42_TAG_INTEGER << 60 | ((uint64_t)value & ((UINT64_C(1) << 60) - 1));
}

static uint64_t decimal_object(int64_t millionths) {
    return (uint64_t)Q42_TAG_DECIMAL << 60 | ((uint64_t)millionths & ((UINT64_C(1) << 60) - 1));
}

static uint64_t float_object(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint64_t)Q42_TAG_FLOAT << 60 | bits;
}

static void typed_numbers_are_ordered_as_written(void **state) {
    (void)state;
    static const char *const ascending[] = {"-1e40", "-99999999999999999999", "-9223372036854775807", "-10.5", "-10.4999999999999999999",
                                            "-10", "-0.000000000000000001", "-1e-30", "0", "1e-30", "0.000000000000000001", "0.5", "1",
                                            "1.0000000000000000001", "12e0", "120.5e-1", "9223372036854775806", "1e30", "1e31"};
    for (size_t i = 0; i < sizeof ascending / sizeof ascending[0]; i++) {
        for (size_t j = 0; j < sizeof ascending / sizeof ascending[0]; j++) {
            const exact_number a = read(ascending[i]), b = read(ascending[j]);
            const int order = exact_number_compare(&a, &b);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}

static void reading_a_number_stops_where_it_ends(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t size;
    } rows[] = {{"10 ", 2}, {"1.", 1}, {"1.5.2", 3}, {".5", 2}, {"-.5x", 3}, {"1e", 1}, {"1e+", 1}, {"1e+2e", 4}, {"", 0}, {"-", 0}, {"e5", 0}, {"+-1", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        exact_number number;
        assert_int_equal(exact_number_read(rows[i].text, strlen(rows[i].text), &number), rows[i].size);
    }
}

static void objects_compare_across_their_types(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t tag;
        int64_t value;
    } rows[] = {{"10", Q42_TAG_INTEGER, 10}, {"-7", Q42_TAG_INTEGER, -7}, {"10.0", Q42_TAG_DECIMAL, 10000000}, {"-0.5", Q42_TAG_DECIMAL, -500000},
                {"-1.000001", Q42_TAG_DECIMAL, -1000001}, {"576460752303423487", Q42_TAG_INTEGER, (INT64_C(1) << 59) - 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        exact_number number, wanted = read(rows[i].text);
        assert_true(exact_number_of_object(rows[i].tag == Q42_TAG_INTEGER ? integer_object(rows[i].value) : decimal_object(rows[i].value), &number));
        assert_int_equal(exact_number_compare(&number, &wanted), 0);
    }
}

static void floats_compare_by_their_exact_value(void **state) {
    (void)state;
    exact_number tenth, typed = read("0.1"), below = read("0.100000001490116119"), above = read("0.10000000149011612"), huge, limit = read("1e25");
    assert_true(exact_number_of_object(float_object(0.1f), &tenth));
    assert_true(exact_number_compare(&tenth, &typed) > 0); /* the float nearest to 0.1 is a little more */
    assert_true(exact_number_compare(&tenth, &below) > 0);
    assert_true(exact_number_compare(&tenth, &above) < 0);
    assert_true(exact_number_of_object(float_object(1e30f), &huge));
    assert_true(exact_number_compare(&huge, &limit) > 0);
    assert_false(exact_number_of_object(float_object(0.0f / 0.0f), &tenth));
}

static void hashes_and_pointers_are_no_numbers(void **state) {
    (void)state;
    exact_number number;
    assert_false(exact_number_of_object(UINT64_C(0x0123456789abcdef), &number));
    assert_false(exact_number_of_object(integer_object(5) | Q42_POINTER_BIT, &number));
    assert_false(exact_number_of_object((uint64_t)Q42_TAG_BOOLEAN << 60 | 1, &number));
}

static bool is_inside(const q42_range *ranges, uint32_t n, uint64_t object) {
    for (uint32_t i = 0; i < n; i++) {
        if (object >= ranges[i].least && object <= ranges[i].most) {
            return true;
        }
    }
    return false;
}

static void ranges_hold_just_what_is_between_the_bounds(void **state) {
    (void)state;
    static const char *const limits[] = {"-3", "-2.5", "-0.0000001", "0", "0.0000001", "1.999999", "2", "1e30", "-1e30", "576460752303.423487"};
    static const int64_t integers[] = {-(INT64_C(1) << 59), -4, -3, -2, -1, 0, 1, 2, 3, (INT64_C(1) << 59) - 1};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        for (unsigned way = 0; way < 4; way++) { /* below or above, with or without the limit itself */
            const exact_number limit = read(limits[i]);
            number_bounds bounds = number_bounds_all();
            q42_range ranges[NUMBER_MAX_RANGES];
            if (way < 2) {
                number_bounds_keep_below(&bounds, &limit, way == 1);
            } else {
                number_bounds_keep_above(&bounds, &limit, way == 3);
            }
            const uint32_t n = number_bounds_ranges(&bounds, ranges);
            for (size_t j = 0; j < 2 * sizeof integers / sizeof integers[0]; j++) {
                const uint64_t object = j % 2 == 0 ? integer_object(integers[j / 2]) : decimal_object(integers[j / 2]);
                exact_number number;
                assert_true(exact_number_of_object(object, &number));
                const int order = exact_number_compare(&number, &limit);
                assert_int_equal(is_inside(ranges, n, object), way < 2 ? order < 0 || (way == 1 && order == 0) : order > 0 || (way == 3 && order == 0));
            }
            for (uint32_t j = 1; j < n; j++) {
                assert_true(ranges[j - 1].most < ranges[j].least);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typed_numbers_are_ordered_as_written),
        cmocka_unit_test(reading_a_number_stops_where_it_ends),
        cmocka_unit_test(objects_compare_across_their_types),
        cmocka_unit_test(floats_compare_by_their_exact_value),
        cmocka_unit_test(hashes_and_pointers_are_no_numbers),
        cmocka_unit_test(ranges_hold_just_what_is_between_the_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
