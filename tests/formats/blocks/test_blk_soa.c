/* test_blk_soa.c — Q4_K and Q4_K_SOA against the superblock of P64 section 20, V7. */
#include <quoin/blocks.h>

#include "common/endian.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* d, dmin and the packed scales 1 2 3 4 33 50 62 63 and minima 0 1 2 3 20 40 60 63. */
static const uint8_t q4_k_head[16] = {0x66, 0x2e, 0x66, 0x2a, 0x81, 0xc2, 0xc3, 0xc4,
                                      0x40, 0x81, 0xc2, 0xc3, 0x41, 0x82, 0xce, 0xff};
static const uint8_t soa_scales[32] = {0x66, 0x2e, 0x66, 0x32, 0xcc, 0x34, 0x66, 0x36, 0x99, 0x42, 0x00,
                                       0x45, 0x33, 0x46, 0x4c, 0x46, 0x00, 0x00, 0x66, 0x2a, 0x66, 0x2e,
                                       0xcc, 0x30, 0x00, 0x3c, 0x00, 0x40, 0x00, 0x42, 0x4c, 0x42};

static void build_q4_k(uint8_t block[144]) {
    memcpy(block, q4_k_head, sizeof q4_k_head);
    for (unsigned i = 0; i < 128; i++) {
        block[16 + i] = (uint8_t)(7 * i + 3);
    }
}

static void build_soa(uint8_t block[160]) {
    uint8_t q4_k[144];
    build_q4_k(q4_k);
    memcpy(block, q4_k + 16, 128);
    memcpy(block + 128, soa_scales, sizeof soa_scales);
}

static void superblock_is_rearranged_to_the_vectors_bytes(void **state) {
    (void)state;
    uint8_t q4_k[2 * 144];
    uint8_t soa[2 * 160];
    uint8_t expected[160];
    build_q4_k(q4_k);
    build_q4_k(q4_k + 144);
    build_soa(expected);
    assert_int_equal(blk_q4_k_to_soa(q4_k, 512, soa, NULL), FMT_OK);
    assert_memory_equal(soa, expected, 160);
    assert_memory_equal(soa + 160, expected, 160);
}

static void elements_have_the_vectors_values_in_both_forms(void **state) {
    (void)state;
    static const struct {
        unsigned element;
        uint32_t stock, soa;
    } rows[] = {
        {0, 0x3E999000u, 0x3E999000u}, {1, 0x3F7FF000u, 0x3F7FF000u}, {32, 0xBD4CC000u, 0xBD4CC000u},
        {64, 0x3F4CC000u, 0x3F4CA800u}, {128, 0x410E5D80u, 0x410E5800u}, {255, 0x4223C290u, 0x4223B800u},
    };
    uint8_t q4_k[144];
    uint8_t soa[160];
    float stock[256];
    float rearranged[256];
    build_q4_k(q4_k);
    build_soa(soa);
    assert_int_equal(blk_decode(BLK_Q4_K, q4_k, 0, 256, stock), FMT_OK);
    assert_int_equal(blk_decode(BLK_Q4_K_SOA, soa, 0, 256, rearranged), FMT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t bytes[4];
        memcpy(bytes, &stock[rows[i].element], 4);
        assert_true(load_u32(bytes) == rows[i].stock);
        memcpy(bytes, &rearranged[rows[i].element], 4);
        assert_true(load_u32(bytes) == rows[i].soa);
    }
    float largest = 0.0f;
    for (int i = 0; i < 256; i++) {
        largest = fmaxf(largest, fabsf(stock[i] - rearranged[i]));
    }
    assert_true(largest == 0.02301025390625f);
}

static void product_beyond_a_half_leaves_the_tensor_as_it_is(void **state) {
    (void)state;
    uint8_t q4_k[2 * 144];
    uint8_t soa[2 * 160];
    uint64_t index = 7;
    build_q4_k(q4_k);
    build_q4_k(q4_k + 144);
    store_u16(q4_k + 144, 0x640F); /* 1039 * 63 = 65457 */
    assert_int_equal(blk_q4_k_to_soa(q4_k, 512, soa, &index), FMT_OK);
    assert_int_equal(index, 7);
    store_u16(q4_k + 144, 0x6410); /* 1040 * 63 = 65520 */
    assert_int_equal(blk_q4_k_to_soa(q4_k, 512, soa, &index), FMT_LIMIT);
    assert_int_equal(index, 256);
    store_u16(q4_k, 0x7E00);
    assert_int_equal(blk_q4_k_to_soa(q4_k, 512, soa, &index), FMT_LIMIT);
    assert_int_equal(index, 0);
}

static void direct_quantiser_gives_the_vectors_block(void **state) {
    (void)state;
    static const uint8_t first_16[16] = {0xb0, 0x16, 0x7b, 0xd1, 0x37, 0x8d, 0xe3, 0x49,
                                         0xae, 0x04, 0x6a, 0xb0, 0x26, 0x7c, 0xd2, 0x37};
    static const uint8_t scales[32] = {0xab, 0x2e, 0x77, 0x2e, 0x77, 0x2e, 0x77, 0x2e, 0x89, 0x2e, 0x89,
                                       0x2e, 0x77, 0x2e, 0x89, 0x2e, 0x00, 0x3a, 0xc0, 0x39, 0xe0, 0x39,
                                       0x00, 0x3a, 0xc0, 0x39, 0xe0, 0x39, 0x00, 0x3a, 0xc0, 0x39};
    float weights[256];
    uint8_t soa[160];
    for (int i = 0; i < 256; i++) {
        weights[i] = (float)(37 * i % 101) / 64.0f - 0.75f;
    }
    assert_int_equal(blk_encode(BLK_Q4_K_SOA, weights, 256, soa, NULL), FMT_OK);
    assert_memory_equal(soa, first_16, 16);
    assert_memory_equal(soa + 128, scales, 32);
}

static void count_that_ends_inside_a_superblock_is_refused(void **state) {
    (void)state;
    uint8_t q4_k[144];
    uint8_t soa[160];
    build_q4_k(q4_k);
    assert_int_equal(blk_q4_k_to_soa(q4_k, 255, soa, NULL), FMT_BAD_ARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(superblock_is_rearranged_to_the_vectors_bytes),
        cmocka_unit_test(elements_have_the_vectors_values_in_both_forms),
        cmocka_unit_test(product_beyond_a_half_leaves_the_tensor_as_it_is),
        cmocka_unit_test(direct_quantiser_gives_the_vectors_block),
        cmocka_unit_test(count_that_ends_inside_a_superblock_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
