/* test_huge_memory.c — large memory is zeroed, begins at a huge page, ends where it was asked to, and goes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/huge_memory.h"

static void memory_is_zeroed_aligned_and_writable_to_its_last_byte(void **state) {
    static const size_t sizes[] = {1, 4096, (2 << 20) - 1, (2 << 20) + 1, 5 << 20};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t *memory = huge_memory_take(sizes[i]);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % (2 << 20), 0);
        for (size_t k = 0; k < sizes[i]; k += 4096) {
            assert_int_equal(memory[k], 0);
        }
        assert_int_equal(memory[sizes[i] - 1], 0);
        memset(memory, 0xA5, sizes[i]);
        huge_memory_free(memory, sizes[i]);
    }
}

static void sizes_that_cannot_be_had_give_null(void **state) {
    (void)state;
    assert_null(huge_memory_take(0));
    assert_null(huge_memory_take(SIZE_MAX));
    assert_null(huge_memory_take(SIZE_MAX / 2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_writable_to_its_last_byte),
        cmocka_unit_test(sizes_that_cannot_be_had_give_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
