/* test_cursor.c — the sticky-error reader. */
#include "common/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint8_t bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 0x80, 0x3F};
static const fmt_span span = {bytes, sizeof bytes};

static void numbers_are_read_in_turn_little_endian(void **state) {
    (void)state;
    cursor c = cursor_make(span, 0);
    assert_int_equal(cursor_u8(&c), 1);
    assert_int_equal(cursor_u16(&c), 0x0302);
    assert_true(cursor_u32(&c) == 0x07060504u);
    assert_int_equal(cursor_left(&c), 9);
    assert_true(cursor_uint(&c, 5) == UINT64_C(0x0C0B0A0908));
    assert_true(cursor_f32(&c) == 1.0f + 13 * 0x1p-23f);
    assert_true(cursor_ok(&c));
    assert_int_equal(cursor_left(&c), 0);
}

static void read_past_the_end_gives_zero_and_remembers_the_first_offset(void **state) {
    (void)state;
    cursor c = cursor_make(span, 10);
    assert_true(cursor_u64(&c) == 0);
    assert_false(cursor_ok(&c));
    assert_int_equal(c.failed_at, 10);
    assert_int_equal(c.at, 10);
    assert_int_equal(cursor_u8(&c), 0); /* would fit, but the error sticks */
    assert_int_equal(c.failed_at, 10);
    assert_null(cursor_bytes(&c, 0));
}

static void huge_length_does_not_wrap(void **state) {
    (void)state;
    cursor c = cursor_make(span, 8);
    assert_null(cursor_bytes(&c, UINT64_MAX - 7));
    assert_int_equal(c.failed_at, 8);
}

static void last_byte_and_the_empty_rest_can_be_read(void **state) {
    (void)state;
    cursor c = cursor_make(span, 15);
    assert_int_equal(cursor_u8(&c), 0x3F);
    assert_ptr_equal(cursor_bytes(&c, 0), bytes + 16);
    assert_true(cursor_ok(&c));
}

static void start_beyond_the_span_is_an_error_there(void **state) {
    (void)state;
    cursor c = cursor_make(span, 17);
    assert_false(cursor_ok(&c));
    assert_int_equal(c.failed_at, 17);
    assert_int_equal(cursor_u8(&c), 0);
    cursor at_end = cursor_make(span, 16);
    assert_true(cursor_ok(&at_end));
}

static void empty_span_without_data_is_legal(void **state) {
    (void)state;
    cursor c = cursor_make((fmt_span){NULL, 0}, 0);
    assert_true(cursor_ok(&c));
    assert_int_equal(cursor_u32(&c), 0);
    assert_int_equal(c.failed_at, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_in_turn_little_endian),
        cmocka_unit_test(read_past_the_end_gives_zero_and_remembers_the_first_offset),
        cmocka_unit_test(huge_length_does_not_wrap),
        cmocka_unit_test(last_byte_and_the_empty_rest_can_be_read),
        cmocka_unit_test(start_beyond_the_span_is_an_error_there),
        cmocka_unit_test(empty_span_without_data_is_legal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
