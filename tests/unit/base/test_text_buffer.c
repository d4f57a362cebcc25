/* test_text_buffer.c — appending, and what nothing is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/text_buffer.h"

static void nothing_is_appended_without_memory_being_touched(void **state) {
    (void)state;
    text_buffer b = {0};
    assert_true(text_buffer_append(&b, NULL, 0));
    assert_null(b.text);
    assert_int_equal(b.size, 0);
    text_buffer_free(&b);
}

static void pieces_stand_one_behind_the_other(void **state) {
    (void)state;
    text_buffer b = {0};
    for (int i = 0; i < 1000; i++) {
        assert_true(text_buffer_append(&b, "abc\0", 4));
    }
    assert_int_equal(b.size, 4000);
    for (size_t i = 0; i < b.size; i++) {
        assert_int_equal(b.text[i], "abc\0"[i % 4]);
    }
    text_buffer_free(&b);
    assert_null(b.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_appended_without_memory_being_touched),
        cmocka_unit_test(pieces_stand_one_behind_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
