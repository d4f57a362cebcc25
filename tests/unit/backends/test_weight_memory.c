/* test_weight_memory.c — blocks are zero, apart from each other, and go with the last of their region. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/weight_memory.h"

#define N_BLOCKS 40
#define BLOCK_BYTES ((UINT64_C(11) << 20) + 33)

static bool is_zero(const uint8_t *bytes, uint64_t size) {
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static void blocks_are_aligned_zero_and_apart(void **state) {
    weight_memory memory;
    uint8_t *blocks[N_BLOCKS];
    struct weight_region *regions[N_BLOCKS];
    (void)state;
    weight_memory_init(&memory);
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        blocks[i] = weight_memory_take(&memory, BLOCK_BYTES, &regions[i]);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 4096, 0);
        assert_true(is_zero(blocks[i], BLOCK_BYTES));
        memset(blocks[i], (int)i + 1, BLOCK_BYTES);
    }
    assert_ptr_equal(regions[0], regions[1]);
    assert_ptr_not_equal(regions[0], regions[N_BLOCKS - 1]);
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        assert_int_equal(blocks[i][0], i + 1);
        assert_int_equal(blocks[i][BLOCK_BYTES - 1], i + 1);
        weight_memory_give(&memory, regions[i]);
    }
}

static void memory_is_to_be_had_again_when_all_of_it_was_given_back(void **state) {
    weight_memory memory;
    struct weight_region *region;
    (void)state;
    weight_memory_init(&memory);
    for (uint32_t i = 0; i < 3; i++) {
        uint8_t *block = weight_memory_take(&memory, BLOCK_BYTES, &region);
        assert_non_null(block);
        assert_true(is_zero(block, BLOCK_BYTES));
        memset(block, 0xEE, BLOCK_BYTES);
        weight_memory_give(&memory, region);
    }
}

static void a_block_larger_than_a_region_has_one_of_its_own(void **state) {
    weight_memory memory;
    struct weight_region *small, *large;
    (void)state;
    weight_memory_init(&memory);
    assert_non_null(weight_memory_take(&memory, 1, &small));
    uint8_t *block = weight_memory_take(&memory, UINT64_C(600) << 20, &large);
    assert_non_null(block);
    assert_ptr_not_equal(small, large);
    block[(UINT64_C(600) << 20) - 1] = 1;
    assert_null(weight_memory_take(&memory, UINT64_MAX - 1, &small));
    weight_memory_give(&memory, small);
    weight_memory_give(&memory, large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zero_and_apart),
        cmocka_unit_test(memory_is_to_be_had_again_when_all_of_it_was_given_back),
        cmocka_unit_test(a_block_larger_than_a_region_has_one_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
