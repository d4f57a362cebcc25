/* test_endian.c — little-endian loads and stores at odd addresses. */
#include "common/endian.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void loads_take_the_low_byte_first_at_any_address(void **state) {
    (void)state;
    static const uint8_t bytes[9] = {0xEE, 0x81, 0x92, 0xA3, 0xB4, 0xC5, 0xD6, 0xE7, 0xF8};
    assert_int_equal(load_u16(bytes + 1), 0x9281);
    assert_true(load_u32(bytes + 1) == 0xB4A39281u);
    assert_true(load_u64(bytes + 1) == UINT64_C(0xF8E7D6C5B4A39281));
}

static void stores_undo_loads_and_touch_nothing_else(void **state) {
    (void)state;
    for (unsigned shift = 0; shift < 3; shift++) {
        uint8_t bytes[16];
        memset(bytes, 0x55, sizeof bytes);
        store_u64(bytes + 1 + shift, UINT64_C(0xF8E7D6C5B4A39281));
        assert_true(load_u64(bytes + 1 + shift) == UINT64_C(0xF8E7D6C5B4A39281));
        store_u32(bytes + 1 + shift, 0x01020304u);
        store_u16(bytes + 1 + shift, 0xABCD);
        assert_true(load_u64(bytes + 1 + shift) == UINT64_C(0xF8E7D6C50102ABCD));
        assert_int_equal(bytes[shift], 0x55);
        assert_int_equal(bytes[9 + shift], 0x55);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_take_the_low_byte_first_at_any_address),
        cmocka_unit_test(stores_undo_loads_and_touch_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
