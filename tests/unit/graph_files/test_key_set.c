/* test_key_set.c — a set of keys holds what was added and nothing else. */
#include "graph/key_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t nth_key(uint64_t i) {
    return i * UINT64_C(0xBF58476D1CE4E5B9) >> 4;
}

static void many_keys_are_found_and_others_are_not(void **state) {
    (void)state;
    key_set set = {0};
    for (uint64_t i = 0; i < 20000; i++) {
        assert_false(key_set_has(&set, nth_key(i)));
        assert_true(key_set_add(&set, nth_key(i)));
        assert_true(key_set_add(&set, nth_key(i)));
    }
    for (uint64_t i = 0; i < 20000; i++) {
        assert_true(key_set_has(&set, nth_key(i)));
        assert_false(key_set_has(&set, nth_key(i + 20000)));
    }
    assert_int_equal(set.n_keys, 19999); /* zero is kept apart */
    key_set_free(&set);
    assert_false(key_set_has(&set, nth_key(1)));
}

static void zero_is_a_key_like_any_other(void **state) {
    (void)state;
    key_set set = {0};
    assert_false(key_set_has(&set, 0));
    assert_true(key_set_add(&set, 0));
    assert_true(key_set_has(&set, 0));
    key_set_free(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_keys_are_found_and_others_are_not),
        cmocka_unit_test(zero_is_a_key_like_any_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
