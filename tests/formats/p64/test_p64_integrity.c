/* test_p64_integrity.c — blobs in pieces give what the whole gives; weights that are no numbers are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/blocks.h>

#include "common/crc32c.h"
#include "common/endian.h"
#include "p64_fixture.h"

/* Checks a tensor in pieces of about `wanted` bytes. */
static fmt_status check_in_pieces(const p64_file *file, uint32_t index, uint64_t wanted, fmt_diag *diag) {
    const uint64_t step = p64_piece_size(file, index, wanted);
    const uint64_t size = p64_get_tensor(file, index).blob.size;
    p64_piece whole = p64_piece_empty(), piece;
    for (uint64_t at = 0; at < size; at += step) {
        p64_check_piece(file, index, at, size - at < step ? size - at : step, P64_CHECK_ALL, &piece);
        p64_join_piece(&whole, &piece);
    }
    assert_int_equal(whole.size, size);
    return p64_judge_tensor(file, index, &whole, diag);
}

static void pieces_of_any_size_give_what_the_whole_gives(void **state) {
    static const char *const files[] = {"two_layer.seed.p64", "two_layer.soa.p64", "two_layer.ternary.p64",
                                        "two_layer.q4_0.p64", "hf_names.seed.p64"};
    static const uint64_t sizes[] = {1, 2, 5, 63, 144, 1000, 1u << 20};
    fixture f = {0};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        fixture_load(&f, files[i]);
        fixture_open(&f, FMT_MODE_STRICT);
        fixture_assert_open(&f);
        for (uint32_t t = 0; t < f.file.header.tensor_count; t++) {
            for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
                assert_int_equal(check_in_pieces(&f.file, t, sizes[k], &f.diag), FMT_OK);
            }
        }
    }
    fixture_free(&f);
}

/* Gives tensor `index` a right checksum again after its blob was changed. */
static void seal_blob(fixture *f, uint32_t index) {
    const p64_tensor t = p64_get_tensor(&f->file, index);
    store_u32(f->bytes + f->file.header.checksum_at + 4 + 4 * (size_t)index, crc32c(t.blob.data, t.blob.size));
}

static uint32_t find_type(const p64_file *file, uint32_t dtype) {
    for (uint32_t i = 0; i < file->header.tensor_count; i++) {
        if (p64_get_tensor(file, i).dtype == dtype) {
            return i;
        }
    }
    fail_msg("no tensor of type %u", dtype);
    return 0;
}

static void a_weight_that_is_no_number_is_found_with_its_element(void **state) {
    static const struct {
        const char *file;
        uint32_t dtype, byte; /* where in the blob a half or float of all ones goes */
        uint32_t element;
    } rows[] = {{"two_layer.seed.p64", BLK_F32, 4, 1},     {"two_layer.seed.p64", BLK_F16, 6, 3},
                {"two_layer.seed.p64", BLK_Q8_0, 34, 32},  {"two_layer.seed.p64", BLK_Q4_K, 144, 256},
                {"two_layer.soa.p64", BLK_Q4_K_SOA, 160 + 128, 256}, {"two_layer.q4_0.p64", BLK_Q4_0, 36, 64}};
    fixture f = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture_load(&f, rows[i].file);
        fixture_open(&f, FMT_MODE_DEFAULT);
        fixture_assert_open(&f);
        const uint32_t index = find_type(&f.file, rows[i].dtype);
        const p64_tensor t = p64_get_tensor(&f.file, index);
        memset(f.bytes + t.blob_offset + rows[i].byte, 0xFF, rows[i].dtype == BLK_F32 ? 4 : 2);
        seal_blob(&f, index);
        assert_int_equal(p64_check_tensor(&f.file, index, P64_CHECK_CRC, &f.diag), FMT_OK);
        assert_int_equal(p64_check_tensor(&f.file, index, P64_CHECK_ALL, &f.diag), FMT_BAD_FILE);
        assert_string_equal(f.diag.rule, "weight-finite");
        assert_int_equal(f.diag.index, index);
        assert_int_equal(f.diag.got, rows[i].element);
        assert_int_equal(check_in_pieces(&f.file, index, 1, &f.diag), FMT_BAD_FILE);
        assert_int_equal(f.diag.got, rows[i].element);
    }
    fixture_free(&f);
}

static void the_first_failure_in_the_order_of_rules_then_tensors_is_told(void **state) {
    fixture f = {0};
    (void)state;
    fixture_load(&f, "two_layer.ternary.p64");
    fixture_open(&f, FMT_MODE_DEFAULT);
    fixture_assert_open(&f);
    const uint32_t ternary = find_type(&f.file, BLK_TERNARY);
    const p64_tensor t = p64_get_tensor(&f.file, ternary);
    const p64_tensor last = p64_get_tensor(&f.file, f.file.header.tensor_count - 1);
    f.bytes[t.blob_offset + 9] = 243;
    seal_blob(&f, ternary);
    assert_int_equal(p64_check_blobs(&f.file, P64_CHECK_CRC, &f.diag), FMT_BAD_FILE);
    assert_string_equal(f.diag.rule, "ternary-byte");
    assert_int_equal(f.diag.offset, t.blob_offset + 9);
    f.bytes[last.blob_offset] ^= 1; /* a checksum comes before what ternary blobs hold, wherever it stands */
    assert_int_equal(p64_check_blobs(&f.file, P64_CHECK_CRC, &f.diag), FMT_BAD_FILE);
    assert_string_equal(f.diag.rule, "tensor-crc");
    assert_int_equal(f.diag.index, last.index);
    fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_give_what_the_whole_gives),
        cmocka_unit_test(a_weight_that_is_no_number_is_found_with_its_element),
        cmocka_unit_test(the_first_failure_in_the_order_of_rules_then_tensors_is_told),
    };
    return cmocka_run_group_tests_name("p64 integrity", tests, NULL, NULL);
}
