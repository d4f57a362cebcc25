/* test_gguf_get.c — typed access: what widens, what does not, and what the refusals say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gguf_builder.h"

static built_model built;

static void open_model(const model *m, gguf_file *out_file, void **out_scratch) {
    fmt_diag diag;
    model_build(m, &built);
    if (open_with_scratch(built.span, out_file, out_scratch, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
}

/* One key "k" of the given type and bytes, in a file of its own. */
static void *open_one(uint32_t type, const void *payload, size_t size, gguf_file *out_file) {
    void *scratch = NULL;
    model m = model_make();
    model_add_kv(&m, "k", type, payload, size);
    open_model(&m, out_file, &scratch);
    return scratch;
}

typedef struct int_row {
    uint32_t type;
    uint8_t bytes[8];
    size_t size;
    bool has_u64, has_i64, has_u32;
    uint64_t as_u64;
    int64_t as_i64;
} int_row;

static const int_row int_rows[] = {
    {GGUF_U8, {0xFF}, 1, true, true, true, 255, 255},
    {GGUF_I8, {0x7F}, 1, true, true, true, 127, 127},
    {GGUF_I8, {0x80}, 1, false, true, false, 0, -128},
    {GGUF_U16, {0xFF, 0xFF}, 2, true, true, true, 65535, 65535},
    {GGUF_I16, {0xFF, 0xFF}, 2, false, true, false, 0, -1},
    {GGUF_U32, {0, 0, 0, 0x80}, 4, true, true, true, 0x80000000u, 0x80000000},
    {GGUF_I32, {0, 0, 0, 0x80}, 4, false, true, false, 0, INT32_MIN},
    {GGUF_U64, {0, 0, 0, 0, 1}, 8, true, true, false, 0x100000000u, 0x100000000},
    {GGUF_U64, {0, 0, 0, 0, 0, 0, 0, 0x80}, 8, true, false, false, UINT64_C(1) << 63, 0},
    {GGUF_I64, {0, 0, 0, 0, 0, 0, 0, 0x80}, 8, false, true, false, 0, INT64_MIN},
    {GGUF_F32, {0, 0, 0x80, 0x3F}, 4, false, false, false, 0, 0},
    {GGUF_BOOL, {1}, 1, false, false, false, 0, 0},
};

static void integers_of_every_width_widen_when_in_range(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof int_rows / sizeof int_rows[0]; i++) {
        const int_row *row = &int_rows[i];
        gguf_file file;
        uint64_t u64 = 7;
        int64_t i64 = 7;
        uint32_t u32 = 7;
        void *scratch = open_one(row->type, row->bytes, row->size, &file);
        print_message("row %u: %s\n", (unsigned)i, gguf_type_name(row->type));
        assert_int_equal(gguf_get_u64(&file, "k", &u64, NULL), row->has_u64 ? FMT_OK : FMT_BAD_FILE);
        assert_int_equal(gguf_get_i64(&file, "k", &i64, NULL), row->has_i64 ? FMT_OK : FMT_BAD_FILE);
        assert_int_equal(gguf_get_u32(&file, "k", &u32, NULL), row->has_u32 ? FMT_OK : FMT_BAD_FILE);
        assert_true(u64 == (row->has_u64 ? row->as_u64 : 7));
        assert_true(i64 == (row->has_i64 ? row->as_i64 : 7));
        assert_true(u32 == (row->has_u32 ? row->as_u64 : 7));
        free(scratch);
    }
}

static void floats_of_both_widths_become_doubles(void **state) {
    (void)state;
    gguf_file file;
    double value = 0;
    const float single = 1e-5f;
    const double wide = 0.1;
    const uint32_t integer = 3;
    void *scratch = open_one(GGUF_F32, &single, sizeof single, &file);
    assert_int_equal(gguf_get_f64(&file, "k", &value, NULL), FMT_OK);
    assert_true(value == (double)single);
    free(scratch);
    scratch = open_one(GGUF_F64, &wide, sizeof wide, &file);
    assert_int_equal(gguf_get_f64(&file, "k", &value, NULL), FMT_OK);
    assert_true(value == wide);
    free(scratch);
    scratch = open_one(GGUF_U32, &integer, sizeof integer, &file);
    assert_int_equal(gguf_get_f64(&file, "k", &value, NULL), FMT_BAD_FILE);
    assert_true(value == wide);
    free(scratch);
}

static void strings_and_bools_are_given_as_they_stand(void **state) {
    (void)state;
    gguf_file file;
    fmt_str text = {NULL, 0};
    bool flag = false;
    const uint8_t one = 1;
    void *scratch = open_one(GGUF_BOOL, &one, 1, &file);
    assert_int_equal(gguf_get_bool(&file, "k", &flag, NULL), FMT_OK);
    assert_true(flag);
    assert_int_equal(gguf_get_string(&file, "general.architecture", &text, NULL), FMT_OK);
    assert_int_equal(text.size, 5);
    assert_memory_equal(text.data, "llama", 5);
    assert_int_equal(gguf_get_string(&file, "k", &text, NULL), FMT_BAD_FILE);
    assert_int_equal(gguf_get_bool(&file, "general.architecture", &flag, NULL), FMT_BAD_FILE);
    free(scratch);
}

static void a_missing_key_is_named(void **state) {
    (void)state;
    gguf_file file;
    fmt_diag diag;
    uint64_t value = 7;
    void *scratch = open_one(GGUF_U32, "\1\0\0\0", 4, &file);
    assert_int_equal(gguf_get_u64(&file, "llama.nothing", &value, &diag), FMT_NOT_FOUND);
    assert_string_equal(diag.rule, "key-missing");
    assert_non_null(strstr(diag.text, "\"llama.nothing\""));
    assert_int_equal(value, 7);
    free(scratch);
}

static void a_wrong_type_names_key_and_both_types(void **state) {
    (void)state;
    gguf_file file;
    fmt_diag diag;
    uint64_t value = 7;
    void *scratch = open_one(GGUF_F32, "\0\0\0\0", 4, &file);
    assert_int_equal(gguf_get_u64(&file, "k", &value, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "key-type");
    assert_non_null(strstr(diag.text, "key \"k\" is of type float32 where an integer"));
    assert_int_equal(diag.offset, built.value_at[3]);
    assert_int_equal(diag.index, 3);
    free(scratch);
}

static void a_value_out_of_range_is_shown_with_its_sign(void **state) {
    (void)state;
    gguf_file file;
    fmt_diag diag;
    uint32_t u32 = 7;
    void *scratch = open_one(GGUF_I32, "\xFE\xFF\xFF\xFF", 4, &file);
    assert_int_equal(gguf_get_u32(&file, "k", &u32, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "key-range");
    assert_non_null(strstr(diag.text, "is -2 where"));
    free(scratch);
}

static void *open_array(uint32_t type, uint64_t count, const void *bytes, size_t size, gguf_file *out_file) {
    void *scratch = NULL;
    model m = model_make();
    model_kv *kv = model_add_kv(&m, "list", GGUF_ARRAY, NULL, 0);
    payload_u32(kv, type);
    payload_u64(kv, count);
    memcpy(kv->payload + kv->payload_size, bytes, size);
    kv->payload_size += size;
    open_model(&m, out_file, &scratch);
    return scratch;
}

static void array_elements_are_reached_by_index(void **state) {
    (void)state;
    gguf_file file;
    gguf_array list;
    int64_t value = 0;
    uint64_t positive = 7;
    double real = 0;
    void *scratch = open_array(GGUF_I16, 3, "\1\0\xFF\xFF\0\x80", 6, &file);
    assert_int_equal(gguf_get_array(&file, "list", GGUF_INTEGERS, &list, NULL), FMT_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.elements.size, 6);
    assert_true(gguf_array_i64(&list, 2, &value));
    assert_int_equal(value, -32768);
    assert_true(gguf_array_u64(&list, 0, &positive));
    assert_int_equal(positive, 1);
    assert_false(gguf_array_u64(&list, 1, &positive));
    assert_false(gguf_array_i64(&list, 3, &value));
    assert_false(gguf_array_f64(&list, 0, &real));
    free(scratch);
}

static void float_and_bool_arrays_are_read_as_such_only(void **state) {
    (void)state;
    gguf_file file;
    gguf_array list;
    fmt_diag diag;
    double real = 0;
    bool flag = true;
    void *scratch = open_array(GGUF_F32, 2, "\0\0\x80\x3F\0\0\0\xC0", 8, &file);
    assert_int_equal(gguf_get_array(&file, "list", GGUF_FLOATS, &list, NULL), FMT_OK);
    assert_true(gguf_array_f64(&list, 1, &real));
    assert_true(real == -2.0);
    assert_int_equal(gguf_get_array(&file, "list", GGUF_INTEGERS, &list, &diag), FMT_BAD_FILE);
    assert_non_null(strstr(diag.text, "array of float32 where integers are wanted"));
    assert_int_equal(gguf_get_array(&file, "general.architecture", GGUF_ANY, &list, &diag), FMT_BAD_FILE);
    assert_non_null(strstr(diag.text, "of type string where an array"));
    free(scratch);
    scratch = open_array(GGUF_BOOL, 2, "\1\0", 2, &file);
    assert_int_equal(gguf_get_array(&file, "list", GGUF_BOOLS, &list, NULL), FMT_OK);
    assert_true(gguf_array_bool(&list, 1, &flag));
    assert_false(flag);
    free(scratch);
}

static void strings_of_an_array_come_one_by_one(void **state) {
    (void)state;
    void *scratch = NULL;
    gguf_file file;
    gguf_array list;
    fmt_str text;
    model m = model_make();
    model_kv *kv = model_add_kv(&m, "list", GGUF_ARRAY, NULL, 0);
    payload_u32(kv, GGUF_STRING);
    payload_u64(kv, 3);
    payload_text(kv, "one");
    payload_text(kv, "");
    payload_text(kv, "three");
    open_model(&m, &file, &scratch);
    assert_int_equal(gguf_get_array(&file, "list", GGUF_STRINGS, &list, NULL), FMT_OK);
    gguf_iter iter = gguf_iterate(&list);
    assert_true(gguf_next_string(&iter, &text));
    assert_memory_equal(text.data, "one", 3);
    assert_true(gguf_next_string(&iter, &text));
    assert_int_equal(text.size, 0);
    assert_true(gguf_next_string(&iter, &text));
    assert_int_equal(text.size, 5);
    assert_memory_equal(text.data, "three", 5);
    assert_int_equal(iter.index, 3);
    assert_false(gguf_next_string(&iter, &text));
    assert_int_equal(iter.at, list.elements.size);
    free(scratch);
}

static void arrays_of_arrays_are_walked_four_deep(void **state) {
    (void)state;
    void *scratch = NULL;
    gguf_file file;
    gguf_array outer, inner, innermost;
    uint64_t value = 0;
    model m = model_make();
    model_kv *kv = model_add_kv(&m, "list", GGUF_ARRAY, NULL, 0);
    payload_u32(kv, GGUF_ARRAY); /* level 1: [ [[ [5, 6] ]], [] ] */
    payload_u64(kv, 2);
    payload_u32(kv, GGUF_ARRAY);
    payload_u64(kv, 1);
    payload_u32(kv, GGUF_ARRAY);
    payload_u64(kv, 1);
    payload_u32(kv, GGUF_U32);
    payload_u64(kv, 2);
    payload_u32(kv, 5);
    payload_u32(kv, 6);
    payload_u32(kv, GGUF_STRING);
    payload_u64(kv, 0);
    open_model(&m, &file, &scratch);
    assert_int_equal(gguf_get_array(&file, "list", GGUF_ARRAYS, &outer, NULL), FMT_OK);
    gguf_iter top = gguf_iterate(&outer);
    assert_true(gguf_next_array(&top, &inner));
    gguf_iter second = gguf_iterate(&inner);
    assert_true(gguf_next_array(&second, &inner));
    gguf_iter third = gguf_iterate(&inner);
    assert_true(gguf_next_array(&third, &innermost));
    assert_int_equal(innermost.count, 2);
    assert_true(gguf_array_u64(&innermost, 1, &value));
    assert_int_equal(value, 6);
    assert_false(gguf_next_array(&third, &innermost));
    assert_true(gguf_next_array(&top, &inner));
    assert_int_equal(inner.type, GGUF_STRING);
    assert_int_equal(inner.count, 0);
    assert_false(gguf_next_array(&top, &inner));
    free(scratch);
}

static void tensors_are_found_by_name_and_listed_by_offset(void **state) {
    (void)state;
    void *scratch = NULL;
    gguf_file file;
    model m = model_make();
    m.tensors[0].offset = 160; /* the list is not in the order of the data */
    m.tensors[1].offset = 0;
    m.data_size = 160 + 128;
    open_model(&m, &file, &scratch);
    const gguf_tensor *a = gguf_find_tensor(&file, "a"), *b = gguf_find_tensor(&file, "b");
    assert_ptr_equal(a, &file.tensors[0]);
    assert_ptr_equal(b, &file.tensors[1]);
    assert_null(gguf_find_tensor(&file, "c"));
    assert_null(gguf_find_tensor(&file, ""));
    assert_null(gguf_find_tensor(&file, "aa"));
    assert_int_equal(file.tensors_by_offset[0], 1);
    assert_int_equal(file.tensors_by_offset[1], 0);
    assert_int_equal(a->at, file.data_at + 160);
    assert_int_equal(a->rank, 2);
    assert_int_equal(a->dims[2], 1);
    assert_true(a->hash == UINT64_C(0xAF63DC4C8601EC8C)); /* FNV-1a-64 of "a", from its published table */
    free(scratch);
}

static void files_without_tensors_need_no_padding(void **state) {
    (void)state;
    void *scratch = NULL;
    gguf_file file;
    model m = model_make();
    m.n_tensors = 0;
    m.data_size = 0;
    m.alignment = 1;
    open_model(&m, &file, &scratch);
    assert_int_equal(file.n_tensors, 0);
    assert_null(gguf_find_tensor(&file, "a"));
    assert_int_equal(file.data_at % 32, 0);
    free(scratch);
}

static void version_2_reads_like_version_3(void **state) {
    (void)state;
    void *scratch = NULL;
    gguf_file file;
    model m = model_make();
    m.version = 2;
    open_model(&m, &file, &scratch);
    assert_int_equal(file.version, 2);
    assert_int_equal(file.n_tensors, 2);
    free(scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_every_width_widen_when_in_range),
        cmocka_unit_test(floats_of_both_widths_become_doubles),
        cmocka_unit_test(strings_and_bools_are_given_as_they_stand),
        cmocka_unit_test(a_missing_key_is_named),
        cmocka_unit_test(a_wrong_type_names_key_and_both_types),
        cmocka_unit_test(a_value_out_of_range_is_shown_with_its_sign),
        cmocka_unit_test(array_elements_are_reached_by_index),
        cmocka_unit_test(float_and_bool_arrays_are_read_as_such_only),
        cmocka_unit_test(strings_of_an_array_come_one_by_one),
        cmocka_unit_test(arrays_of_arrays_are_walked_four_deep),
        cmocka_unit_test(tensors_are_found_by_name_and_listed_by_offset),
        cmocka_unit_test(files_without_tensors_need_no_padding),
        cmocka_unit_test(version_2_reads_like_version_3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
