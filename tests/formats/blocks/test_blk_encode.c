/* test_blk_encode.c — encoders: F16, BF16, Q8_0, Q4_0, Q4_K_SOA and ternary bit for bit against golden/encode.bin,
 * Q4_1, Q4_K and Q6_K by their error against golden/encode_error.bin.
 *
 * make_golden.py made both files: F16 with numpy, BF16 and Q8_0 with PyPI gguf (Q8_0 equal to ggml's C code), Q4_0,
 * Q4_K_SOA and ternary with the encoder of the P64 standard's test vectors. The errors are those of ggml's own
 * quantiser without importance matrix, called through PyPI llama-cpp-python. An error is the sum of w * (x -
 * decoded)^2 with w = 1 for Q4_1, w = |x| + rms of the sub-block of 32 for Q4_K, w = x^2 for Q6_K: what ggml's own
 * search minimises.
 */
#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void exact_types_encode_to_the_golden_bytes(void **state) {
    (void)state;
    golden_file file = golden_open("encode.bin");
    golden_record record;
    unsigned n_records = 0;
    for (; golden_next(&file, &record); n_records++) {
        uint8_t *bytes = malloc(record.n_bytes);
        assert_non_null(bytes);
        memset(bytes, 0xA5, record.n_bytes);
        assert_int_equal(blk_encode(record.type, record.elems, record.n_elems, bytes, NULL), FMT_OK);
        for (uint32_t i = 0; i < record.n_bytes; i++) {
            if (bytes[i] != record.bytes[i]) {
                fail_msg("%s byte %u is %02x, not %02x", golden_type_name(record.type), (unsigned)i, bytes[i],
                         record.bytes[i]);
            }
        }
        free(bytes);
    }
    assert_int_equal(n_records, 11);
    golden_close(&file);
}

/* P64 section 20, V4. */
static void the_vectors_q4_0_block_is_written(void **state) {
    (void)state;
    static const uint8_t expected[18] = {0x00, 0x34, 0x80, 0x91, 0x91, 0xa2, 0xa2, 0xb3, 0xb3,
                                         0xc4, 0xc4, 0xd5, 0xd5, 0xe6, 0xe6, 0xf7, 0xf7, 0xf8};
    float weights[32];
    uint8_t block[18];
    for (int i = 0; i < 32; i++) {
        weights[i] = (float)(i - 16) / 8.0f;
    }
    assert_int_equal(blk_encode(BLK_Q4_0, weights, 32, block, NULL), FMT_OK);
    assert_memory_equal(block, expected, 18);
}

static double find_rms(const float *sub) {
    double sum = 0.0;
    for (int i = 0; i < 32; i++) {
        sum += (double)sub[i] * (double)sub[i];
    }
    return sqrt(sum / 32);
}

static double weigh(blk_type type, const float *elems, uint32_t i) {
    const double x = (double)elems[i];
    return type == BLK_Q4_K ? find_rms(elems + i / 32 * 32) + fabs(x) : type == BLK_Q6_K ? x * x : 1.0;
}

/* Encodes, decodes, sums up. */
static double measure_error(const golden_record *record, bool is_weighted) {
    uint8_t bytes[1024];
    float decoded[1024];
    assert_true(record->n_elems <= 1024);
    assert_int_equal(blk_encode(record->type, record->elems, record->n_elems, bytes, NULL), FMT_OK);
    assert_int_equal(blk_decode(record->type, bytes, 0, record->n_elems, decoded), FMT_OK);
    double error = 0.0;
    for (uint32_t i = 0; i < record->n_elems; i++) {
        const double miss = (double)record->elems[i] - (double)decoded[i];
        error += (is_weighted ? weigh(record->type, record->elems, i) : 1.0) * miss * miss;
    }
    return error;
}

static void searched_types_err_at_most_2_percent_more_than_ggml(void **state) {
    (void)state;
    golden_file file = golden_open("encode_error.bin");
    golden_record record;
    unsigned n_records = 0;
    for (; golden_next(&file, &record); n_records++) {
        const double ratio = measure_error(&record, true) / record.weighted_error;
        print_message("           %-5s input %u: weighted error %.4f of ggml's, plain error %.4f\n",
                      golden_type_name(record.type), n_records / 3, ratio,
                      measure_error(&record, false) / record.plain_error);
        assert_true(ratio <= 1.02);
    }
    assert_int_equal(n_records, 18);
    golden_close(&file);
}

static const blk_type encodable[] = {BLK_F16, BLK_BF16, BLK_Q8_0, BLK_Q4_0, BLK_Q4_1, BLK_Q4_K, BLK_Q6_K, BLK_Q4_K_SOA,
                                     BLK_TERNARY};
#define N_ENCODABLE (sizeof encodable / sizeof encodable[0])

static void value_that_is_not_finite_is_refused_with_its_element_or_block(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t t = 0; t < N_ENCODABLE; t++) {
        for (size_t k = 0; k < 3; k++) {
            float values[768] = {0};
            uint8_t out[4096];
            values[530] = bad[k];
            uint64_t index = 7;
            const blk_info *info = blk_get_info(encodable[t]);
            const uint32_t unit = encodable[t] == BLK_TERNARY ? 1 : info->block_elems;
            assert_int_equal(blk_encode(encodable[t], values, 768, out, &index), FMT_LIMIT);
            assert_int_equal(index, 530 / unit * unit);
            assert_int_equal(blk_encode(encodable[t], values, 768, out, NULL), FMT_LIMIT);
            values[530] = 1.0f;
            assert_int_equal(blk_encode(encodable[t], values, 768, out, &index), FMT_OK);
        }
    }
}

static void scale_beyond_a_half_is_refused_and_the_largest_below_is_not(void **state) {
    (void)state;
    static const struct {
        blk_type type;
        float fits, exceeds; /* one such element among zeros */
    } rows[] = {
        {BLK_F16, 65519.996f, 65520.0f},
        {BLK_BF16, 0x1.FEFFFEp127f, 0x1.FFp127f},
        {BLK_Q8_0, 65519.0f * 127, 65520.0f * 127},
        {BLK_Q4_0, -65519.0f * 8, -65520.0f * 8},
        {BLK_Q4_1, 65519.0f * 15, 65521.0f * 15},
        {BLK_Q4_K_SOA, 65519.0f * 15, 65521.0f * 15},
        {BLK_Q4_K_SOA, -65519.0f, -65520.0f},
        {BLK_Q4_K, 6.1e7f, 6.4e7f},
        {BLK_Q6_K, 2.5e8f, 2.8e8f},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float values[512] = {0};
        uint8_t out[2048];
        uint64_t index = 7;
        values[300] = rows[i].fits;
        assert_int_equal(blk_encode(rows[i].type, values, 512, out, &index), FMT_OK);
        assert_int_equal(index, 7);
        values[300] = rows[i].exceeds;
        assert_int_equal(blk_encode(rows[i].type, values, 512, out, &index), FMT_LIMIT);
        const uint32_t elems = blk_get_info(rows[i].type)->block_elems;
        assert_int_equal(index, 300 / elems * elems);
    }
}

/* The smallest floats have no finite inverse; every digit must still be defined, and decode to zero. */
static void values_too_small_for_any_scale_become_zero(void **state) {
    (void)state;
    for (size_t t = 0; t < N_ENCODABLE; t++) {
        float values[256];
        float decoded[256];
        uint8_t out[1024];
        for (int i = 0; i < 256; i++) {
            values[i] = (float)(i % 7 - 3) * 0x1p-149f;
        }
        if (encodable[t] == BLK_BF16 || encodable[t] == BLK_TERNARY) {
            continue; /* these can hold them */
        }
        assert_int_equal(blk_encode(encodable[t], values, 256, out, NULL), FMT_OK);
        assert_int_equal(blk_decode(encodable[t], out, 0, 256, decoded), FMT_OK);
        for (int i = 0; i < 256; i++) {
            assert_true(fabsf(decoded[i]) == 0.0f);
        }
    }
}

static void constant_blocks_come_back_nearly_exact(void **state) {
    (void)state;
    static const float constants[] = {0.0f, 1.0f, -1.0f, 0.0371f, -250.0f};
    for (size_t t = 0; t < N_ENCODABLE; t++) {
        for (size_t k = 0; k < sizeof constants / sizeof constants[0]; k++) {
            float values[256];
            float decoded[256];
            uint8_t out[1024];
            for (int i = 0; i < 256; i++) {
                values[i] = constants[k];
            }
            assert_int_equal(blk_encode(encodable[t], values, 256, out, NULL), FMT_OK);
            assert_int_equal(blk_decode(encodable[t], out, 0, 256, decoded), FMT_OK);
            for (int i = 0; i < 256; i++) {
                assert_true(fabsf(decoded[i] - values[i]) <= 0.004f * fabsf(values[i]));
            }
        }
    }
}

static void count_that_ends_inside_a_block_is_refused(void **state) {
    (void)state;
    const float values[256] = {0};
    uint8_t out[1024];
    for (size_t t = 0; t < N_ENCODABLE; t++) {
        const uint32_t unit = encodable[t] == BLK_TERNARY ? 1 : blk_get_info(encodable[t])->block_elems;
        if (unit > 1) {
            assert_int_equal(blk_encode(encodable[t], values, unit - 1, out, NULL), FMT_BAD_ARG);
        }
        assert_int_equal(blk_encode(encodable[t], values, 0, out, NULL), FMT_OK);
    }
}

static void encodable_types_are_those_the_table_says(void **state) {
    (void)state;
    const float values[256] = {0};
    uint8_t out[4096];
    unsigned n_encodable = 0;
    for (uint32_t i = 0; blk_info_at(i) != NULL; i++) {
        const blk_info *info = blk_info_at(i);
        const fmt_status expected = info->can_encode ? FMT_OK : FMT_UNSUPPORTED;
        assert_int_equal(blk_encode(info->type, values, 256, out, NULL), expected);
        n_encodable += info->can_encode;
    }
    assert_int_equal(n_encodable, N_ENCODABLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_types_encode_to_the_golden_bytes),
        cmocka_unit_test(the_vectors_q4_0_block_is_written),
        cmocka_unit_test(searched_types_err_at_most_2_percent_more_than_ggml),
        cmocka_unit_test(value_that_is_not_finite_is_refused_with_its_element_or_block),
        cmocka_unit_test(scale_beyond_a_half_is_refused_and_the_largest_below_is_not),
        cmocka_unit_test(values_too_small_for_any_scale_become_zero),
        cmocka_unit_test(constant_blocks_come_back_nearly_exact),
        cmocka_unit_test(count_that_ends_inside_a_block_is_refused),
        cmocka_unit_test(encodable_types_are_those_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
