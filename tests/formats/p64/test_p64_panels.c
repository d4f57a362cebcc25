/* test_p64_panels.c — containers in panels: the frozen vectors both ways, and every change that a reader must refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "corpus.h"
#include "p64_fixture.h"

static void load(fixture *f, const char *name) {
    char relative[64];
    snprintf(relative, sizeof relative, "../panels/%s", name);
    fixture_load(f, relative);
    fixture_open(f, FMT_MODE_STRICT);
}

static void the_vectors_are_whole_containers(void **state) {
    fixture f = {0};
    (void)state;
    load(&f, "standard.p64");
    fixture_assert_open(&f);
    assert_int_equal(p64_check_blobs(&f.file, P64_CHECK_ALL, &f.diag), FMT_OK);
    load(&f, "panels.p64");
    fixture_assert_open(&f);
    assert_int_equal(p64_check_blobs(&f.file, P64_CHECK_ALL, &f.diag), FMT_OK);
    fixture_free(&f);
}

static void each_tensor_turns_into_the_panels_of_the_vectors_and_back(void **state) {
    fixture standard = {0}, panels = {0};
    uint32_t n_in_panels = 0;
    (void)state;
    load(&standard, "standard.p64");
    load(&panels, "panels.p64");
    for (uint32_t i = 0; i < panels.file.header.tensor_count; i++) {
        const p64_tensor t = p64_get_tensor(&panels.file, i), from = p64_get_tensor(&standard.file, i);
        blk_panels p;
        if (!p64_tensor_panels(&t, &p)) {
            assert_int_equal(t.dtype, from.dtype);
            continue;
        }
        assert_int_equal(t.dtype, BLK_PANEL_DTYPE + from.dtype);
        assert_int_equal(blk_panels_bytes(&p), t.blob.size);
        uint8_t *made = calloc(1, (size_t)t.blob.size), *back = malloc((size_t)from.blob.size);
        memcpy(made, t.blob.data, (size_t)blk_panels_head(&p));
        blk_panels_pack(&p, made + blk_panels_head(&p), 0, p.n_panels, from.blob.data, 0);
        assert_memory_equal(made, t.blob.data, (size_t)t.blob.size);
        blk_panels_unpack(&p, 0, p.n_panels, back);
        assert_memory_equal(back, from.blob.data, (size_t)from.blob.size);
        free(made);
        free(back);
        n_in_panels++;
    }
    assert_int_equal(n_in_panels, BLK_N_PANEL_TYPES);
    fixture_free(&standard);
    fixture_free(&panels);
}

static void apply_patches(fixture *f, const json_t *patches) {
    size_t i;
    json_t *patch;
    json_array_foreach((json_t *)(uintptr_t)patches, i, patch) {
        const size_t at = (size_t)json_integer_value(json_array_get(patch, 0));
        const char *hex = json_string_value(json_array_get(patch, 1));
        for (size_t k = 0; hex[2 * k] != '\0'; k++) {
            unsigned byte;
            assert_int_equal(sscanf(hex + 2 * k, "%2x", &byte), 1);
            f->bytes[at + k] = (uint8_t)byte;
        }
    }
}

static void every_broken_file_is_refused_by_its_rule_at_its_byte(void **state) {
    json_error_t error;
    char path[CORPUS_PATH_SIZE];
    size_t i;
    json_t *item;
    (void)state;
    source_require("tests/vectors/panels/manifest.json", path);
    json_t *manifest = json_load_file(path, 0, &error);
    assert_non_null(manifest);
    json_array_foreach(json_object_get(manifest, "broken"), i, item) {
        fixture f = {0};
        print_message("  %s\n", json_string_value(json_object_get(item, "name")));
        load(&f, "panels.p64");
        apply_patches(&f, json_object_get(item, "patches"));
        fixture_open(&f, FMT_MODE_DEFAULT);
        if (f.status == FMT_OK) {
            f.status = p64_check_blobs(&f.file, P64_CHECK_CRC, &f.diag);
        }
        fixture_assert_refused(&f, json_string_value(json_object_get(item, "rule")),
                               (uint64_t)json_integer_value(json_object_get(item, "offset")));
        fixture_free(&f);
    }
    assert_int_equal(i, 14);
    json_decref(manifest);
}

static void expect_stray(const fixture *f, const p64_tensor *t, uint64_t wanted_at) {
    for (uint64_t wanted = 1; wanted < 4096; wanted *= 3) {
        const uint64_t step = p64_piece_size(&f->file, t->index, wanted);
        p64_piece whole = p64_piece_empty();
        for (uint64_t at = 0; at < t->blob.size; at += step) {
            p64_piece piece;
            p64_check_piece(&f->file, t->index, at, t->blob.size - at < step ? t->blob.size - at : step, P64_CHECK_ALL, &piece);
            p64_join_piece(&whole, &piece);
        }
        assert_int_equal(whole.stray_at, wanted_at);
        assert_int_equal(whole.nonfinite, FMT_NO_INDEX);
    }
}

/* Pieces of any size must find what the whole finds: panels are looked at where they begin. */
static void a_fault_is_found_whatever_the_pieces(void **state) {
    fixture f = {0};
    p64_tensor t;
    (void)state;
    load(&f, "panels.p64");
    assert_true(p64_find_name(&f.file, "blk.0.attn_v.weight", 19, &t));
    f.bytes[t.blob_offset + t.blob.size - 1] ^= 0x80;
    expect_stray(&f, &t, t.blob.size - 1);
    assert_true(p64_find_name(&f.file, "extra.ternary.weight", 20, &t));
    f.bytes[t.blob_offset + 63] = 1; /* behind the scale */
    expect_stray(&f, &t, 63);
    fixture_free(&f);
}

static void a_scale_that_is_nan_is_found_with_its_element(void **state) {
    fixture f = {0};
    p64_tensor t;
    (void)state;
    load(&f, "panels.p64");
    assert_true(p64_find_name(&f.file, "blk.0.ffn_down.weight", 21, &t));
    const uint64_t panel = 64 + 256 + 8 * 256 + 8 * 128;
    f.bytes[t.blob_offset + panel + 1] = 0x7e; /* d of row 16 */
    p64_piece whole;
    p64_check_piece(&f.file, t.index, 0, t.blob.size, P64_CHECK_WEIGHTS, &whole);
    assert_int_equal(whole.nonfinite, 16 * 256);
    whole.crc = t.crc;
    assert_int_equal(p64_judge_tensor(&f.file, t.index, &whole, &f.diag), FMT_BAD_FILE);
    assert_string_equal(f.diag.rule, "weight-finite");
    assert_int_equal(f.diag.offset, t.blob_offset + panel);
    fixture_free(&f);
}

static void dtypes_have_names(void **state) {
    (void)state;
    assert_string_equal(p64_dtype_name(2), "Q4_0");
    assert_string_equal(p64_dtype_name(4098), "Q4_0 panels");
    assert_string_equal(p64_dtype_name(4096), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_are_whole_containers),
        cmocka_unit_test(each_tensor_turns_into_the_panels_of_the_vectors_and_back),
        cmocka_unit_test(every_broken_file_is_refused_by_its_rule_at_its_byte),
        cmocka_unit_test(a_fault_is_found_whatever_the_pieces),
        cmocka_unit_test(a_scale_that_is_nan_is_found_with_its_element),
        cmocka_unit_test(dtypes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
