/* test_gguf_rules.c — for every rule of the reader a file that breaks it and nothing else: refused by that rule, at the
 * byte where the fault stands, by gguf_scratch_size when the fault is in one entry and by gguf_open when it takes two
 * to see it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gguf_builder.h"

/* Where a diagnosis must point. */
typedef enum place { AT_BYTE, AT_KV, AT_VALUE, AT_TENSOR, AT_RANK, AT_DATA } place;

typedef void break_fn(model *m);

typedef struct broken {
    const char *name, *rule;
    break_fn *apply;
    place place;
    unsigned index;
    uint64_t plus;
    bool takes_two; /* seen by gguf_open only */
} broken;

static void cut_into_header(model *m) {
    memset(m, 0, sizeof *m);
    memcpy(m->magic, "GGUF", 4);
    m->alignment = 1;
    m->cut = 1;
}

static void cut_to_nothing(model *m) {
    cut_into_header(m);
    m->cut = 24;
}

static void say_ggml(model *m) {
    memcpy(m->magic, "lmgg", 4);
}

static void say_version_1(model *m) {
    m->version = 1;
}

static void say_big_endian_3(model *m) {
    m->version = 50331648;
}

static void say_big_endian_2(model *m) {
    m->version = 33554432;
}

static void count_one_key_too_many_for_the_file(model *m) {
    m->n_kv_said = MODEL_BYTES / 14;
}

static void count_tensors_that_keys_leave_no_room_for(model *m) {
    m->n_tensors_said = 15;
    m->data_size = 200;
}

static void count_a_key_more(model *m) {
    m->n_kv_said = m->n_kv + 1;
}

static void end_after_keys_but_promise_one_more(model *m) {
    m->n_tensors = 0;
    m->data_size = 0;
    m->alignment = 1;
    m->n_kv_said = m->n_kv + 1;
}

static void end_inside_the_type_of_a_key(model *m) {
    m->n_tensors = 0;
    m->data_size = 0;
    m->alignment = 1;
    m->cut = 6;
}

static void end_inside_a_u32(model *m) {
    m->n_tensors = 0;
    m->data_size = 0;
    m->alignment = 1;
    m->cut = 3;
}

static void end_inside_an_array_head(model *m) {
    m->n_tensors = 0;
    m->data_size = 0;
    m->alignment = 1;
    payload_u32(model_add_kv(m, "x", GGUF_ARRAY, NULL, 0), GGUF_U8);
}

static void end_inside_dims(model *m) {
    m->data_size = 0;
    m->alignment = 1;
    m->cut = 17;
}

static void end_inside_rank(model *m) {
    m->data_size = 0;
    m->alignment = 1;
    m->cut = 8 + 4 + 16 + 1;
}

static void end_inside_offset(model *m) {
    m->data_size = 0;
    m->alignment = 1;
    m->cut = 1;
}

static void empty_a_key(model *m) {
    m->kvs[1].key = "";
    m->kvs[1].key_size = 0;
}

static void make_key_length_huge(model *m) {
    m->kvs[1].key_size = UINT64_MAX;
}

static void make_key_length_65536(model *m) {
    m->kvs[1].key_size = 65536;
}

static void put_zero_into_key(model *m) {
    m->kvs[1].key = "llama";
    m->kvs[1].key_size = 6; /* takes the first byte of the type, 4, then */
    m->kvs[1].type = 0x04040400;
    m->kvs[1].payload_size = 0;
    m->n_kv = 2;
}

static void put_surrogate_into_key(model *m) {
    m->kvs[1].key = "ab\xED\xA0\x80";
    m->kvs[1].key_size = 5;
}

static void use_value_type_13(model *m) {
    m->kvs[1].type = 13;
}

static void make_bool_2(model *m) {
    const uint8_t two = 2;
    model_add_kv(m, "b", GGUF_BOOL, &two, 1);
}

static void make_array_bool_255(model *m) {
    model_kv *kv = model_add_kv(m, "b", GGUF_ARRAY, NULL, 0);
    const uint8_t bools[3] = {0, 1, 255};
    payload_u32(kv, GGUF_BOOL);
    payload_u64(kv, 3);
    memcpy(kv->payload + kv->payload_size, bools, 3);
    kv->payload_size += 3;
}

static void make_string_length_wrap(model *m) {
    payload_u64(model_add_kv(m, "s", GGUF_STRING, NULL, 0), UINT64_MAX - 7);
}

static void make_second_array_string_too_long(model *m) {
    model_kv *kv = model_add_kv(m, "s", GGUF_ARRAY, NULL, 0);
    payload_u32(kv, GGUF_STRING);
    payload_u64(kv, 2);
    payload_text(kv, "one");
    payload_u64(kv, 100000);
}

static void end_between_array_strings(model *m) {
    model_kv *kv = model_add_kv(m, "s", GGUF_ARRAY, NULL, 0);
    m->n_tensors = 0;
    m->data_size = 0;
    m->alignment = 1;
    payload_u32(kv, GGUF_STRING);
    payload_u64(kv, 2);
    payload_text(kv, "eleven byte"); /* 19 bytes follow the head: room for two empty strings, not for these */
}

static void use_element_type_13(model *m) {
    model_kv *kv = model_add_kv(m, "x", GGUF_ARRAY, NULL, 0);
    payload_u32(kv, 13);
    payload_u64(kv, 0);
}

static void make_array_count_wrap(model *m) {
    model_kv *kv = model_add_kv(m, "x", GGUF_ARRAY, NULL, 0);
    payload_u32(kv, GGUF_F64);
    payload_u64(kv, (UINT64_C(1) << 61) + 1);
    payload_u64(kv, 0);
}

static void make_string_count_too_large(model *m) {
    model_kv *kv = model_add_kv(m, "x", GGUF_ARRAY, NULL, 0);
    payload_u32(kv, GGUF_STRING);
    payload_u64(kv, UINT64_MAX);
}

static void make_nested_count_too_large(model *m) {
    model_kv *kv = model_add_kv(m, "x", GGUF_ARRAY, NULL, 0);
    payload_u32(kv, GGUF_ARRAY);
    payload_u64(kv, 1000);
}

static void nest_five_deep(model *m) {
    model_kv *kv = model_add_kv(m, "x", GGUF_ARRAY, NULL, 0);
    for (int level = 1; level < 5; level++) {
        payload_u32(kv, GGUF_ARRAY);
        payload_u64(kv, 1);
    }
    payload_u32(kv, GGUF_U8);
    payload_u64(kv, 0);
}

static void repeat_a_key(model *m) {
    model_add_u32(m, "llama.block_count", 2);
}

static void make_alignment_u64(model *m) {
    m->kvs[2].type = GGUF_U64;
    payload_u32(&m->kvs[2], 0);
}

static void make_alignment_0(model *m) {
    m->kvs[2].payload[0] = 0;
}

static void make_alignment_24(model *m) {
    m->kvs[2].payload[0] = 24;
}

static void empty_a_tensor_name(model *m) {
    m->tensors[1].name = "";
    m->tensors[1].name_size = 0;
}

static void make_tensor_name_huge(model *m) {
    m->tensors[1].name_size = UINT64_C(1) << 63;
}

static void break_tensor_name_text(model *m) {
    m->tensors[1].name = "b\xFF";
    m->tensors[1].name_size = 2;
}

static void make_rank_0(model *m) {
    m->tensors[1].rank = 0;
}

static void make_rank_5(model *m) {
    m->tensors[1].rank = 5;
}

static void make_dim_0(model *m) {
    m->tensors[1].dims[1] = 0;
}

static void make_dim_2_63(model *m) {
    m->tensors[1].dims[0] = UINT64_C(1) << 63;
}

static void use_tensor_type_4(model *m) {
    m->tensors[1].type = 4;
}

static void use_tensor_type_of_p64(model *m) {
    m->tensors[1].type = BLK_TERNARY;
}

static void make_row_33(model *m) {
    m->tensors[1].dims[0] = 33;
}

static void make_elements_2_63(model *m) {
    m->tensors[1].type = BLK_Q4_K; /* 2^63 elements of 4.5 bits are less than 2^63 bytes */
    m->tensors[1].dims[0] = UINT64_C(1) << 62;
    m->tensors[1].dims[1] = 2;
}

static void make_bytes_2_63(model *m) {
    m->tensors[1].type = BLK_F32;
    m->tensors[1].dims[0] = UINT64_C(1) << 61;
    m->tensors[1].dims[1] = 1;
}

static void repeat_a_tensor(model *m) {
    m->tensors[1].name = "a";
}

static void shift_offset_by_4(model *m) {
    m->tensors[1].offset = 132;
}

static void miss_one_byte(model *m) {
    m->cut = 1;
}

static void make_offset_wrap(model *m) {
    m->tensors[1].offset = UINT64_MAX - 31;
}

static void make_end_wrap(model *m) {
    m->tensors[1].offset = UINT64_MAX - 1023;
}

static void overlap_by_half(model *m) {
    m->tensors[1].offset = 96;
}

static void put_one_inside_the_other(model *m) {
    m->tensors[0].dims[0] = 66; /* a: bytes 0..263; b: 128..263 */
    m->tensors[0].dims[1] = 1;
}

static const broken table[] = {
    {"header cut", "header-size", cut_into_header, AT_BYTE, 0, 23, false},
    {"empty file", "header-size", cut_to_nothing, AT_BYTE, 0, 0, false},
    {"ggml magic", "magic", say_ggml, AT_BYTE, 0, 0, false},
    {"version 1", "version", say_version_1, AT_BYTE, 0, 4, false},
    {"big-endian 3", "byte-order", say_big_endian_3, AT_BYTE, 0, 4, false},
    {"big-endian 2", "byte-order", say_big_endian_2, AT_BYTE, 0, 4, false},
    {"key count", "key-count", count_one_key_too_many_for_the_file, AT_BYTE, 0, 16, false},
    {"tensor count", "tensor-count", count_tensors_that_keys_leave_no_room_for, AT_BYTE, 0, 8, false},
    /* the first tensor is read as a key of type 2 (its rank), so the next name begins inside its dimensions */
    {"key count one more", "tensor-name", count_a_key_more, AT_TENSOR, 0, 8 + 1 + 4 + 2, false},
    {"ends before a promised key", "truncated", end_after_keys_but_promise_one_more, AT_VALUE, 2, 4, false},
    {"ends inside a key's type", "truncated", end_inside_the_type_of_a_key, AT_VALUE, 2, (uint64_t)-4, false},
    {"ends inside a value", "truncated", end_inside_a_u32, AT_VALUE, 2, 0, false},
    {"ends inside an array head", "truncated", end_inside_an_array_head, AT_VALUE, 3, 4, false},
    {"ends inside a rank", "truncated", end_inside_rank, AT_RANK, 1, 0, false},
    {"ends inside dimensions", "truncated", end_inside_dims, AT_RANK, 1, 4 + 8, false},
    {"ends inside an offset", "truncated", end_inside_offset, AT_RANK, 1, 4 + 16 + 4, false},
    {"ends between strings", "truncated", end_between_array_strings, AT_VALUE, 3, 12 + 19, false},
    {"empty key", "key-length", empty_a_key, AT_KV, 1, 0, false},
    {"key length wraps", "key-length", make_key_length_huge, AT_KV, 1, 0, false},
    {"key length 65536", "key-length", make_key_length_65536, AT_KV, 1, 0, false},
    {"zero in key", "key-text", put_zero_into_key, AT_KV, 1, 8 + 5, false},
    {"surrogate in key", "key-text", put_surrogate_into_key, AT_KV, 1, 8 + 2, false},
    {"value type", "value-type", use_value_type_13, AT_VALUE, 1, (uint64_t)-4, false},
    {"bool 2", "bool-value", make_bool_2, AT_VALUE, 3, 0, false},
    {"bool 255 in array", "bool-value", make_array_bool_255, AT_VALUE, 3, 12 + 2, false},
    {"string length wraps", "string-length", make_string_length_wrap, AT_VALUE, 3, 0, false},
    {"second string too long", "string-length", make_second_array_string_too_long, AT_VALUE, 3, 12 + 11, false},
    {"element type", "array-type", use_element_type_13, AT_VALUE, 3, 0, false},
    {"array bytes wrap", "array-length", make_array_count_wrap, AT_VALUE, 3, 4, false},
    {"string count", "array-length", make_string_count_too_large, AT_VALUE, 3, 4, false},
    {"nested count", "array-length", make_nested_count_too_large, AT_VALUE, 3, 4, false},
    {"five levels", "array-depth", nest_five_deep, AT_VALUE, 3, 3 * 12, false},
    {"key twice", "key-duplicate", repeat_a_key, AT_KV, 3, 0, true},
    {"alignment is u64", "alignment-type", make_alignment_u64, AT_VALUE, 2, 0, true},
    {"alignment 0", "alignment", make_alignment_0, AT_VALUE, 2, 0, true},
    {"alignment 24", "alignment", make_alignment_24, AT_VALUE, 2, 0, true},
    {"empty tensor name", "tensor-name", empty_a_tensor_name, AT_TENSOR, 1, 0, false},
    {"tensor name length", "tensor-name", make_tensor_name_huge, AT_TENSOR, 1, 0, false},
    {"tensor name text", "tensor-name-text", break_tensor_name_text, AT_TENSOR, 1, 8 + 1, false},
    {"rank 0", "tensor-rank", make_rank_0, AT_RANK, 1, 0, false},
    {"rank 5", "tensor-rank", make_rank_5, AT_RANK, 1, 0, false},
    {"dimension 0", "tensor-dim", make_dim_0, AT_RANK, 1, 4 + 8, false},
    {"dimension 2^63", "tensor-dim", make_dim_2_63, AT_RANK, 1, 4, false},
    {"type 4", "tensor-type", use_tensor_type_4, AT_RANK, 1, 4 + 16, false},
    {"type 1158", "tensor-type", use_tensor_type_of_p64, AT_RANK, 1, 4 + 16, false},
    {"row of 33", "tensor-row", make_row_33, AT_RANK, 1, 4, false},
    {"2^63 elements", "tensor-size", make_elements_2_63, AT_RANK, 1, 4, false},
    {"2^63 bytes", "tensor-size", make_bytes_2_63, AT_RANK, 1, 4, false},
    {"tensor twice", "tensor-duplicate", repeat_a_tensor, AT_TENSOR, 1, 0, true},
    {"offset 132", "tensor-alignment", shift_offset_by_4, AT_TENSOR, 1, 0, true},
    {"last byte missing", "tensor-bounds", miss_one_byte, AT_TENSOR, 1, 0, true},
    {"offset wraps", "tensor-bounds", make_offset_wrap, AT_TENSOR, 1, 0, true},
    {"end wraps", "tensor-bounds", make_end_wrap, AT_TENSOR, 1, 0, true},
    {"overlap", "tensor-overlap", overlap_by_half, AT_DATA, 0, 96, true},
    {"overlap inside", "tensor-overlap", put_one_inside_the_other, AT_DATA, 0, 128, true},
};

#define TABLE_SIZE (sizeof table / sizeof table[0])

static uint64_t expected_offset(const broken *row, const built_model *built) {
    switch (row->place) {
    case AT_KV: return built->kv_at[row->index] + row->plus;
    case AT_VALUE: return built->value_at[row->index] + row->plus;
    case AT_TENSOR: return built->tensor_at[row->index] + row->plus;
    case AT_RANK: return built->rank_at[row->index] + row->plus;
    case AT_DATA: return built->data_at + row->plus;
    default: return row->plus;
    }
}

static void check_row(const broken *row) {
    static built_model built;
    model m = model_make();
    fmt_diag diag;
    gguf_file file;
    void *scratch = NULL;
    uint64_t need = 0;
    row->apply(&m);
    model_build(&m, &built);
    print_message("%s: ", row->name);
    assert_int_equal(gguf_scratch_size(built.span, &need, &diag), row->takes_two ? FMT_OK : FMT_BAD_FILE);
    assert_int_equal(open_with_scratch(built.span, &file, &scratch, &diag), FMT_BAD_FILE);
    print_message("%s\n", diag.text);
    assert_string_equal(diag.rule, row->rule);
    assert_int_equal(diag.offset, expected_offset(row, &built));
    assert_null(scratch);
}

static void each_broken_file_is_refused_by_its_rule_and_place(void **state) {
    (void)state;
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        check_row(&table[i]);
    }
}

/* Rules that the table cannot break: they are not about a file's bytes, or another test has them. */
static const char *const elsewhere[] = {"lfs-pointer", "key-missing", "key-type", "key-range", "scratch"};

static bool is_covered(const char *rule) {
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        if (strcmp(table[i].rule, rule) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
        if (strcmp(elsewhere[i], rule) == 0) {
            return true;
        }
    }
    return false;
}

static void no_rule_is_without_a_file_that_breaks_it(void **state) {
    (void)state;
    uint64_t n = 0;
    const fmt_rule *rules = gguf_rules(&n);
    assert_true(n > 20);
    for (uint64_t i = 0; i < n; i++) {
        if (!is_covered(rules[i].id)) {
            fail_msg("rule %s has no broken file", rules[i].id);
        }
    }
}

static void the_unbroken_file_opens(void **state) {
    (void)state;
    static built_model built;
    const model m = model_make();
    fmt_diag diag;
    gguf_file file;
    void *scratch = NULL;
    model_build(&m, &built);
    assert_int_equal(open_with_scratch(built.span, &file, &scratch, &diag), FMT_OK);
    assert_int_equal(file.n_kv, 3);
    assert_int_equal(file.n_tensors, 2);
    assert_int_equal(file.data_at, built.data_at);
    assert_int_equal(file.tensors[1].at, built.data_at + 128);
    assert_int_equal(file.tensors[1].size, 136);
    assert_int_equal(file.tensors[1].entry_at, built.tensor_at[1]);
    assert_int_equal(gguf_tensor_data(&file, &file.tensors[1]).data[0], 128);
    free(scratch);
}

/* No prefix of a right file is right, and none is read past its end (an exact copy lets the sanitizer see it). */
static void every_prefix_is_refused(void **state) {
    (void)state;
    static built_model built;
    const model m = model_make();
    fmt_diag diag;
    gguf_file file;
    model_build(&m, &built);
    for (uint64_t size = 0; size < built.span.size; size++) {
        uint8_t *copy = malloc(size + (size == 0));
        void *scratch = NULL;
        assert_non_null(copy);
        memcpy(copy, built.bytes, size);
        const fmt_span span = {copy, size};
        assert_int_equal(open_with_scratch(span, &file, &scratch, &diag), FMT_BAD_FILE);
        assert_true(diag.offset <= size);
        free(copy);
    }
}

/* Every single-byte change either opens or is refused with a diagnosis inside the file; nothing else may happen. */
static void no_changed_byte_leads_outside_the_file(void **state) {
    (void)state;
    static built_model built;
    const model m = model_make();
    fmt_diag diag;
    gguf_file file;
    model_build(&m, &built);
    uint8_t *copy = malloc(built.span.size);
    assert_non_null(copy);
    const fmt_span span = {copy, built.span.size};
    for (uint64_t at = 0; at < built.data_at; at++) {
        for (unsigned value = 0; value < 256; value++) {
            void *scratch = NULL;
            memcpy(copy, built.bytes, built.span.size);
            copy[at] = (uint8_t)value;
            if (open_with_scratch(span, &file, &scratch, &diag) == FMT_OK) {
                free(scratch);
            } else {
                assert_true(diag.offset <= span.size);
            }
        }
    }
    free(copy);
}

static void scratch_too_small_tells_the_need(void **state) {
    (void)state;
    static built_model built;
    static uint64_t scratch[512];
    const model m = model_make();
    fmt_diag diag;
    gguf_file file;
    uint64_t need = 0;
    model_build(&m, &built);
    assert_int_equal(gguf_scratch_size(built.span, &need, &diag), FMT_OK);
    assert_true(need <= sizeof scratch);
    assert_int_equal(gguf_open(built.span, scratch, need - 1, &file, &diag), FMT_NO_SPACE);
    assert_string_equal(diag.rule, "scratch");
    assert_int_equal(diag.expected, need);
    assert_int_equal(diag.got, need - 1);
    assert_int_equal(gguf_open(built.span, (uint8_t *)scratch + 1, need, &file, &diag), FMT_BAD_ARG);
    assert_int_equal(gguf_open(built.span, scratch, need, &file, &diag), FMT_OK);
}

static void scratch_is_not_written_past_what_was_asked(void **state) {
    (void)state;
    static built_model built;
    const model m = model_make();
    fmt_diag diag;
    gguf_file file;
    uint64_t need = 0;
    model_build(&m, &built);
    assert_int_equal(gguf_scratch_size(built.span, &need, &diag), FMT_OK);
    uint8_t *scratch = malloc(need + 64);
    assert_non_null(scratch);
    memset(scratch, 0xA5, need + 64);
    assert_int_equal(gguf_open(built.span, scratch, need, &file, &diag), FMT_OK);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(scratch[need + i], 0xA5);
    }
    free(scratch);
}

static void a_refused_file_leaves_the_out_parameter_alone(void **state) {
    (void)state;
    static built_model built;
    static uint64_t scratch[512];
    model m = model_make();
    fmt_diag diag;
    gguf_file file, before;
    memset(&file, 0x5A, sizeof file);
    before = file;
    overlap_by_half(&m);
    model_build(&m, &built);
    assert_int_equal(gguf_open(built.span, scratch, sizeof scratch, &file, &diag), FMT_BAD_FILE);
    assert_memory_equal(&file, &before, sizeof file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unbroken_file_opens),
        cmocka_unit_test(each_broken_file_is_refused_by_its_rule_and_place),
        cmocka_unit_test(no_rule_is_without_a_file_that_breaks_it),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(no_changed_byte_leads_outside_the_file),
        cmocka_unit_test(scratch_too_small_tells_the_need),
        cmocka_unit_test(scratch_is_not_written_past_what_was_asked),
        cmocka_unit_test(a_refused_file_leaves_the_out_parameter_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
