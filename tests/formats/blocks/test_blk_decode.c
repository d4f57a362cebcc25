/* test_blk_decode.c — every decoder, bit for bit, against golden/decode.bin.
 *
 * make_golden.py made that file. The values of Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL,
 * IQ4_XS, TQ1_0, TQ2_0, MXFP4 and BF16 come from PyPI gguf's dequantize; when they were made, ggml's own C decoders
 * (called through PyPI llama-cpp-python) gave the same bits for all of these but BF16, so no order of roundings is in
 * doubt. The values of F16, F32, F64, the integers, Q8_1, Q8_K (equal to ggml's C too), Q4_K_SOA and ternary come
 * from numpy, written from the layout alone.
 */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GUARD 8

/* Decodes into memory that ends in a guard, and compares bits. */
static void assert_decodes(const golden_record *record, uint64_t first, uint64_t count) {
    float *values = malloc((count + GUARD) * sizeof *values);
    assert_non_null(values);
    memset(values, 0xA5, (count + GUARD) * sizeof *values);
    assert_int_equal(blk_decode(record->type, record->bytes, first, count, values), FMT_OK);
    for (uint64_t i = 0; i < count; i++) {
        if (memcmp(&values[i], &record->elems[first + i], sizeof *values) != 0) {
            fail_msg("%s element %u is %a, not %a", golden_type_name(record->type), (unsigned)(first + i),
                     (double)values[i], (double)record->elems[first + i]);
        }
    }
    uint8_t untouched[GUARD * sizeof *values];
    memset(untouched, 0xA5, sizeof untouched);
    assert_memory_equal(values + count, untouched, sizeof untouched);
    free(values);
}

typedef void check_fn(const golden_record *record, const blk_info *info);

static unsigned for_each_record(check_fn *check) {
    golden_file file = golden_open("decode.bin");
    golden_record record;
    unsigned n_records = 0;
    while (golden_next(&file, &record)) {
        check(&record, blk_get_info(record.type));
        n_records++;
    }
    golden_close(&file);
    return n_records;
}

static void check_whole(const golden_record *record, const blk_info *info) {
    (void)info;
    assert_decodes(record, 0, record->n_elems);
}

static void whole_tensors_decode_to_the_golden_bits(void **state) {
    (void)state;
    assert_int_equal(for_each_record(check_whole), 29);
}

static void check_middle(const golden_record *record, const blk_info *info) {
    const uint64_t step = info->type == BLK_TERNARY ? 1 : info->block_elems;
    for (uint64_t first = step; first < record->n_elems; first += step * 3) {
        assert_decodes(record, first, record->n_elems - first);
    }
}

static void decoding_from_the_middle_gives_the_same_elements(void **state) {
    (void)state;
    for_each_record(check_middle);
}

static void check_tails(const golden_record *record, const blk_info *info) {
    const uint64_t longest = 2 * info->block_elems < record->n_elems ? 2 * info->block_elems : record->n_elems;
    for (uint64_t count = 0; count <= longest; count++) {
        assert_decodes(record, 0, count);
    }
}

static void short_last_block_decodes_as_far_as_asked_and_no_further(void **state) {
    (void)state;
    for_each_record(check_tails);
}

static void check_first_inside_block(const golden_record *record, const blk_info *info) {
    float value = 42.0f;
    if (info->block_elems > 1 && info->type != BLK_TERNARY) {
        assert_int_equal(blk_decode(record->type, record->bytes, 1, 1, &value), FMT_BAD_ARG);
        assert_true(value == 42.0f);
    }
}

static void first_element_inside_a_block_is_refused(void **state) {
    (void)state;
    for_each_record(check_first_inside_block);
}

static bool seen[1159];

static void mark_seen(const golden_record *record, const blk_info *info) {
    (void)info;
    seen[record->type] = true;
}

static void every_type_that_claims_a_decoder_has_a_golden_record_and_the_others_are_unsupported(void **state) {
    (void)state;
    for_each_record(mark_seen);
    const uint8_t block[512] = {0};
    for (uint32_t i = 0; blk_info_at(i) != NULL; i++) {
        const blk_info *info = blk_info_at(i);
        float values[256];
        if (seen[info->type] != info->can_decode) {
            fail_msg("%s", info->name);
        }
        assert_int_equal(blk_decode(info->type, block, 0, 1, values), info->can_decode ? FMT_OK : FMT_UNSUPPORTED);
    }
    float value;
    assert_int_equal(blk_decode(4, block, 0, 1, &value), FMT_UNSUPPORTED);
    assert_int_equal(blk_decode(UINT32_MAX, block, 0, 1, &value), FMT_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_tensors_decode_to_the_golden_bits),
        cmocka_unit_test(decoding_from_the_middle_gives_the_same_elements),
        cmocka_unit_test(short_last_block_decodes_as_far_as_asked_and_no_further),
        cmocka_unit_test(first_element_inside_a_block_is_refused),
        cmocka_unit_test(every_type_that_claims_a_decoder_has_a_golden_record_and_the_others_are_unsupported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
