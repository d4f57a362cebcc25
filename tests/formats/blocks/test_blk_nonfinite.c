/* test_blk_nonfinite.c — NaN and infinity are found wherever a type can hold one, and nowhere else. */
#include <quoin/blocks.h>

#include "common/endian.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define N_BLOCKS 1500 /* more than one run of plain elements */

/* Where the scales of a block stand: halves at the first n of these bytes. */
static const struct {
    blk_type type;
    unsigned n;
    unsigned halves[16];
} rows[] = {
    {BLK_F16, 1, {0}},       {BLK_Q4_0, 1, {0}},      {BLK_Q4_1, 2, {0, 2}},    {BLK_Q5_0, 1, {0}},
    {BLK_Q5_1, 2, {0, 2}},   {BLK_Q8_0, 1, {0}},      {BLK_Q8_1, 2, {0, 2}},    {BLK_Q2_K, 2, {80, 82}},
    {BLK_Q3_K, 1, {108}},    {BLK_Q4_K, 2, {0, 2}},   {BLK_Q5_K, 2, {0, 2}},    {BLK_Q6_K, 1, {208}},
    {BLK_IQ2_XXS, 1, {0}},   {BLK_IQ2_XS, 1, {0}},    {BLK_IQ3_XXS, 1, {0}},    {BLK_IQ1_S, 1, {0}},
    {BLK_IQ4_NL, 1, {0}},    {BLK_IQ3_S, 1, {0}},     {BLK_IQ2_S, 1, {0}},      {BLK_IQ4_XS, 1, {0}},
    {BLK_TQ1_0, 1, {52}},    {BLK_TQ2_0, 1, {64}},
    {BLK_Q4_K_SOA, 16, {128, 130, 132, 134, 136, 138, 140, 142, 144, 146, 148, 150, 152, 154, 156, 158}},
};
#define N_ROWS (sizeof rows / sizeof rows[0])

/* A tensor whose every byte is 0xFF except the halves, which are the largest finite one: whatever stands beside the
 * scales must not be taken for one. */
static uint8_t *make_tensor(size_t row) {
    const uint32_t size = blk_get_info(rows[row].type)->block_bytes;
    uint8_t *tensor = malloc((size_t)N_BLOCKS * size);
    assert_non_null(tensor);
    memset(tensor, 0xFF, (size_t)N_BLOCKS * size);
    for (size_t b = 0; b < N_BLOCKS; b++) {
        for (unsigned k = 0; k < rows[row].n; k++) {
            store_u16(tensor + b * size + rows[row].halves[k], 0xFBFF);
        }
    }
    return tensor;
}

static void each_half_of_a_block_is_looked_at_and_nothing_else(void **state) {
    (void)state;
    static const uint16_t bad[] = {0x7C00, 0xFC00, 0x7C01, 0xFFFF};
    for (size_t row = 0; row < N_ROWS; row++) {
        uint8_t *tensor = make_tensor(row);
        const blk_info *info = blk_get_info(rows[row].type);
        const uint64_t count = (uint64_t)N_BLOCKS * info->block_elems;
        uint64_t index = 7;
        assert_false(blk_find_nonfinite(info->type, tensor, 0, count, &index));
        assert_int_equal(index, 7);
        for (unsigned k = 0; k < rows[row].n; k++) {
            const size_t b = k % 2 == 0 ? N_BLOCKS - 1 : 1;
            uint8_t *at = tensor + b * info->block_bytes + rows[row].halves[k];
            store_u16(at, bad[k % 4]);
            assert_true(blk_find_nonfinite(info->type, tensor, 0, count, &index));
            assert_int_equal(index, b * info->block_elems);
            assert_false(blk_find_nonfinite(info->type, tensor, 0, b * info->block_elems, &index));
            assert_true(blk_find_nonfinite(info->type, tensor, b * info->block_elems, 1, &index));
            assert_int_equal(index, b * info->block_elems);
            store_u16(at, 0xFBFF);
        }
        free(tensor);
    }
}

static void first_of_several_is_reported(void **state) {
    (void)state;
    float values[2000];
    uint64_t index;
    for (size_t i = 0; i < 2000; i++) {
        values[i] = 3e38f;
    }
    memset(&values[1999], 0xFF, 4);
    memset(&values[700], 0xFF, 4);
    memset(&values[701], 0xFF, 4);
    assert_true(blk_find_nonfinite(BLK_F32, values, 0, 2000, &index));
    assert_int_equal(index, 700);
    assert_true(blk_find_nonfinite(BLK_F32, values, 702, 2000 - 702, &index));
    assert_int_equal(index, 1999);
    assert_false(blk_find_nonfinite(BLK_F32, values, 702, 1999 - 702, &index));
}

static void plain_float_types_are_judged_by_their_exponent(void **state) {
    (void)state;
    static const struct {
        blk_type type;
        uint64_t finite, bad;
    } cases[] = {
        {BLK_F16, 0xFBFF, 0x7C00},
        {BLK_BF16, 0x7F7F, 0xFF80},
        {BLK_F32, 0xFF7FFFFF, 0x7F800000},
        {BLK_F64, UINT64_C(0x7FEFFFFFFFFFFFFF), UINT64_C(0xFFF0000000000001)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[8];
        uint64_t index = 7;
        store_u64(bytes, cases[i].finite);
        assert_false(blk_find_nonfinite(cases[i].type, bytes, 0, 1, &index));
        store_u64(bytes, cases[i].bad);
        assert_true(blk_find_nonfinite(cases[i].type, bytes, 0, 1, &index));
        assert_int_equal(index, 0);
        assert_false(blk_find_nonfinite(cases[i].type, bytes, 0, 0, &index));
    }
}

static void types_with_odd_scales_are_judged_by_them(void **state) {
    (void)state;
    uint8_t block[292];
    uint64_t index;
    memset(block, 0xFF, sizeof block);
    store_u32(block, 0x7F7FFFFFu);
    assert_false(blk_find_nonfinite(BLK_Q8_K, block, 0, 256, &index));
    store_u32(block, 0xFFC00000u);
    assert_true(blk_find_nonfinite(BLK_Q8_K, block, 0, 256, &index));

    block[0] = 0xFE;
    assert_false(blk_find_nonfinite(BLK_MXFP4, block, 0, 32, &index));
    block[0] = 0xFF;
    assert_true(blk_find_nonfinite(BLK_MXFP4, block, 0, 32, &index));

    /* The half 0x7BFF in the top four bits of four words, lowest digit first; then 0x7C00. */
    store_u64(block + 48, UINT64_C(0x7FFFBFFFFFFFFFFF));
    assert_false(blk_find_nonfinite(BLK_IQ1_M, block, 0, 256, &index));
    store_u64(block + 48, UINT64_C(0x7FFFCFFF0FFF0FFF));
    assert_true(blk_find_nonfinite(BLK_IQ1_M, block, 0, 256, &index));

    store_u32(block, 0x7F800000u);
    assert_true(blk_find_nonfinite(BLK_TERNARY, block, 0, 100, &index));
    assert_int_equal(index, 0);
    store_u32(block, 0x3F800000u);
    assert_false(blk_find_nonfinite(BLK_TERNARY, block, 0, 100, &index));
}

static void integers_and_unknown_types_are_never_bad(void **state) {
    (void)state;
    static const blk_type types[] = {BLK_I8, BLK_I16, BLK_I32, BLK_I64, 4, 5, 31, 9999};
    uint8_t bytes[80];
    memset(bytes, 0xFF, sizeof bytes);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        uint64_t index;
        assert_false(blk_find_nonfinite(types[i], bytes, 0, 10, &index));
    }
}

/* What a conversion writes is finite, so what it read must have been: no decoded element is bad when the search is
 * silent. */
static void silence_means_that_every_element_of_an_ordinary_block_is_finite(void **state) {
    (void)state;
    for (uint32_t i = 0; blk_info_at(i) != NULL; i++) {
        const blk_info *info = blk_info_at(i);
        /* The others can overflow f32, or have a test of their own. */
        const bool has_halves = info->block_elems > 1 && info->type != BLK_MXFP4 && info->type != BLK_Q8_K &&
                                info->type != BLK_TERNARY;
        if (!info->can_decode || !has_halves) {
            continue;
        }
        uint8_t block[292];
        float values[256];
        uint64_t index;
        for (unsigned round = 0; round < 2000; round++) {
            for (unsigned k = 0; k < sizeof block; k++) {
                block[k] = (uint8_t)((k * 2654435761u + round * 40503u * (k + 7)) >> 11);
            }
            const bool is_bad = blk_find_nonfinite(info->type, block, 0, info->block_elems, &index);
            assert_int_equal(blk_decode(info->type, block, 0, info->block_elems, values), FMT_OK);
            uint64_t bad_value;
            if (!is_bad && blk_find_nonfinite(BLK_F32, values, 0, info->block_elems, &bad_value)) {
                fail_msg("%s element %u", info->name, (unsigned)bad_value);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_half_of_a_block_is_looked_at_and_nothing_else),
        cmocka_unit_test(first_of_several_is_reported),
        cmocka_unit_test(plain_float_types_are_judged_by_their_exponent),
        cmocka_unit_test(types_with_odd_scales_are_judged_by_them),
        cmocka_unit_test(integers_and_unknown_types_are_never_bad),
        cmocka_unit_test(silence_means_that_every_element_of_an_ordinary_block_is_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
