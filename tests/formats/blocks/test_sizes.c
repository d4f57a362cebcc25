/* test_sizes.c — the table of types against P64 section 13, and the sizes of tensors. */
#include <quoin/blocks.h>

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    blk_type type;
    const char *name;
    uint32_t elems, bytes;
} table[] = {
    {0, "F32", 1, 4},          {1, "F16", 1, 2},        {2, "Q4_0", 32, 18},     {6, "Q5_0", 32, 22},
    {8, "Q8_0", 32, 34},       {12, "Q4_K", 256, 144},  {14, "Q6_K", 256, 210},  {30, "BF16", 1, 2},
    {112, "Q4_K_SOA", 256, 160}, {1158, "ternary", 5, 1}, {3, "Q4_1", 32, 20},   {7, "Q5_1", 32, 24},
    {9, "Q8_1", 32, 36},       {10, "Q2_K", 256, 84},   {11, "Q3_K", 256, 110},  {13, "Q5_K", 256, 176},
    {15, "Q8_K", 256, 292},    {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74}, {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},    {20, "IQ4_NL", 32, 18},  {21, "IQ3_S", 256, 110}, {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},  {29, "IQ1_M", 256, 56},  {24, "I8", 1, 1},        {25, "I16", 1, 2},
    {26, "I32", 1, 4},         {27, "I64", 1, 8},       {28, "F64", 1, 8},       {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},    {39, "MXFP4", 32, 17},
};
#define N_ROWS (sizeof table / sizeof table[0])

static void every_type_has_the_standards_number_name_and_block(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        const blk_info *info = blk_get_info(table[i].type);
        assert_non_null(info);
        assert_int_equal(info->type, table[i].type);
        assert_string_equal(info->name, table[i].name);
        assert_int_equal(info->block_elems, table[i].elems);
        assert_int_equal(info->block_bytes, table[i].bytes);
        assert_ptr_equal(blk_find_name(table[i].name), info);
        const bool is_size_only = strncmp(info->name, "IQ1", 3) == 0 || strncmp(info->name, "IQ2", 3) == 0 ||
                                  strncmp(info->name, "IQ3", 3) == 0;
        assert_int_equal(info->can_decode, !is_size_only);
    }
}

static void types_are_listed_once_in_ascending_order(void **state) {
    (void)state;
    uint32_t n = 0;
    for (; blk_info_at(n) != NULL; n++) {
        assert_true(n == 0 || blk_info_at(n)->type > blk_info_at(n - 1)->type);
    }
    assert_int_equal(n, N_ROWS);
}

static void names_are_found_in_any_case_but_only_whole(void **state) {
    (void)state;
    assert_int_equal(blk_find_name("q4_k")->type, BLK_Q4_K);
    assert_int_equal(blk_find_name("Q4_k_soa")->type, BLK_Q4_K_SOA);
    assert_int_equal(blk_find_name("TERNARY")->type, BLK_TERNARY);
    assert_null(blk_find_name("Q4"));
    assert_null(blk_find_name("Q4_K_"));
    assert_null(blk_find_name(""));
}

static void unknown_numbers_have_no_facts_and_no_size(void **state) {
    (void)state;
    static const blk_type unknown[] = {4, 5, 31, 33, 36, 38, 40, 111, 113, 1157, 1159, UINT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        uint64_t bytes = 42;
        assert_null(blk_get_info(unknown[i]));
        assert_int_equal(blk_tensor_bytes(unknown[i], 1, (const uint64_t[]){256}, &bytes), FMT_NOT_FOUND);
        assert_int_equal(blk_tensor_bytes_padded(unknown[i], 1, (const uint64_t[]){256}, &bytes), FMT_NOT_FOUND);
        assert_int_equal(bytes, 42);
    }
}

static const struct {
    blk_type type;
    uint32_t rank;
    uint64_t dims[4];
    fmt_status exact;
    fmt_status padded;
    uint64_t bytes;
} sizes[] = {
    {BLK_F32, 1, {1}, FMT_OK, FMT_OK, 4},
    {BLK_Q8_0, 2, {576, 1536}, FMT_OK, FMT_OK, UINT64_C(576) * 1536 / 32 * 34},
    {BLK_Q4_K, 3, {256, 3, 5}, FMT_OK, FMT_OK, 144 * 15},
    {BLK_Q4_0, 2, {33, 2}, FMT_BAD_ARG, FMT_OK, 2 * 2 * 18},
    {BLK_Q4_K, 2, {1, 7}, FMT_BAD_ARG, FMT_OK, 144 * 7},
    {BLK_TERNARY, 2, {3, 3}, FMT_OK, FMT_OK, 4 + 2},
    {BLK_TERNARY, 1, {5}, FMT_OK, FMT_OK, 4 + 1},
    {BLK_I8, 4, {2, 3, 5, 7}, FMT_OK, FMT_OK, 210},
    {BLK_F32, 0, {1}, FMT_BAD_ARG, FMT_BAD_ARG, 0},
    {BLK_F32, 5, {1}, FMT_BAD_ARG, FMT_BAD_ARG, 0},
    {BLK_F32, 2, {4, 0}, FMT_BAD_ARG, FMT_BAD_ARG, 0},
    {BLK_F32, 1, {UINT64_MAX / 4}, FMT_OK, FMT_OK, UINT64_MAX - 3},
    {BLK_F32, 1, {UINT64_MAX / 4 + 1}, FMT_LIMIT, FMT_LIMIT, 0},
    {BLK_I8, 2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, FMT_LIMIT, FMT_LIMIT, 0},
    {BLK_I8, 4, {1, UINT64_C(1) << 32, UINT64_C(1) << 31, 2}, FMT_LIMIT, FMT_LIMIT, 0},
    {BLK_Q4_0, 1, {UINT64_MAX}, FMT_BAD_ARG, FMT_OK, UINT64_C(576460752303423488) * 18},
    {BLK_TERNARY, 2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, FMT_LIMIT, FMT_LIMIT, 0},
};

static void tensors_have_their_size_or_a_reason(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t exact = 42;
        uint64_t padded = 42;
        const uint64_t *dims = sizes[i].dims;
        assert_int_equal(blk_tensor_bytes(sizes[i].type, sizes[i].rank, dims, &exact), sizes[i].exact);
        assert_int_equal(blk_tensor_bytes_padded(sizes[i].type, sizes[i].rank, dims, &padded), sizes[i].padded);
        assert_true(exact == (sizes[i].exact == FMT_OK ? sizes[i].bytes : 42));
        assert_true(padded == (sizes[i].padded == FMT_OK ? sizes[i].bytes : 42));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_the_standards_number_name_and_block),
        cmocka_unit_test(types_are_listed_once_in_ascending_order),
        cmocka_unit_test(names_are_found_in_any_case_but_only_whole),
        cmocka_unit_test(unknown_numbers_have_no_facts_and_no_size),
        cmocka_unit_test(tensors_have_their_size_or_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
