/* test_gguf_write.c — what the writer writes opens, byte for byte the same each time, and broken
 * promises are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gguf_builder.h"

typedef struct memory_sink {
    uint8_t bytes[8192];
    uint64_t size, limit;
} memory_sink;

static bool take_bytes(void *ctx, const void *bytes, uint64_t size) {
    memory_sink *sink = ctx;
    if (size > sink->limit - sink->size) {
        return false;
    }
    memcpy(sink->bytes + sink->size, bytes, size);
    sink->size += size;
    return true;
}

static const gguf_tensor_spec specs[] = {
    {"first", BLK_F32, 1, {3}},
    {"second", BLK_Q8_0, 2, {32, 3}},
    {"third", BLK_F16, 3, {2, 2, 2}},
};

static const fmt_str words[] = {{"to", 2}, {"", 0}, {"be", 2}};

static void write_keys(gguf_writer *writer) {
    gguf_write_string(writer, "general.architecture", "llama");
    gguf_write_uint(writer, "u8", GGUF_U8, 255);
    gguf_write_uint(writer, "u64", GGUF_U64, UINT64_MAX);
    gguf_write_int(writer, "i8", GGUF_I8, -128);
    gguf_write_int(writer, "i64", GGUF_I64, INT64_MIN);
    gguf_write_float(writer, "f32", GGUF_F32, 0.5);
    gguf_write_float(writer, "f64", GGUF_F64, 0.1);
    gguf_write_bool(writer, "flag", true);
    gguf_write_array_begin(writer, "words", GGUF_STRING, 3);
    for (size_t i = 0; i < 3; i++) {
        gguf_write_element_string(writer, words[i]);
    }
    gguf_write_array_begin(writer, "numbers", GGUF_U16, 3);
    gguf_write_elements(writer, "\1\0", 1);
    gguf_write_elements(writer, "\2\0\3\0", 2);
}

#define N_KEYS 10

static fmt_status write_file(memory_sink *sink, uint32_t alignment) {
    gguf_writer writer;
    uint8_t data[102];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)i;
    }
    memset(sink, 0, sizeof *sink);
    sink->limit = sizeof sink->bytes;
    gguf_write_begin(&writer, take_bytes, sink, alignment, N_KEYS, specs, 3);
    write_keys(&writer);
    gguf_write_data(&writer, data, 12);
    gguf_write_data(&writer, data, 100); /* the second tensor in two pieces */
    gguf_write_data(&writer, data + 100, 2);
    gguf_write_data(&writer, data, 16);
    return gguf_write_end(&writer);
}

static void check_keys(const gguf_file *file) {
    uint64_t u64 = 0;
    int64_t i64 = 0;
    double f64 = 0;
    bool flag = false;
    gguf_array list;
    fmt_str text;
    assert_int_equal(gguf_get_u64(file, "u8", &u64, NULL), FMT_OK);
    assert_true(u64 == 255);
    assert_int_equal(gguf_get_u64(file, "u64", &u64, NULL), FMT_OK);
    assert_true(u64 == UINT64_MAX);
    assert_int_equal(gguf_get_i64(file, "i8", &i64, NULL), FMT_OK);
    assert_true(i64 == -128);
    assert_int_equal(gguf_get_i64(file, "i64", &i64, NULL), FMT_OK);
    assert_true(i64 == INT64_MIN);
    assert_int_equal(gguf_get_f64(file, "f32", &f64, NULL), FMT_OK);
    assert_true(f64 == 0.5);
    assert_int_equal(gguf_get_f64(file, "f64", &f64, NULL), FMT_OK);
    assert_true(f64 == 0.1);
    assert_int_equal(gguf_get_bool(file, "flag", &flag, NULL), FMT_OK);
    assert_true(flag);
    assert_int_equal(gguf_get_array(file, "numbers", GGUF_INTEGERS, &list, NULL), FMT_OK);
    assert_true(gguf_array_u64(&list, 2, &u64) && u64 == 3);
    assert_int_equal(gguf_get_array(file, "words", GGUF_STRINGS, &list, NULL), FMT_OK);
    gguf_iter iter = gguf_iterate(&list);
    for (size_t i = 0; i < 3; i++) {
        assert_true(gguf_next_string(&iter, &text));
        assert_int_equal(text.size, words[i].size);
        assert_memory_equal(text.data, words[i].data, words[i].size);
    }
}

static void check_written(uint32_t alignment) {
    static memory_sink sink;
    gguf_file file;
    fmt_diag diag;
    void *scratch = NULL;
    assert_int_equal(write_file(&sink, alignment), FMT_OK);
    const fmt_span span = {sink.bytes, sink.size};
    if (open_with_scratch(span, &file, &scratch, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(file.alignment, alignment);
    assert_int_equal(file.n_kv, N_KEYS + (alignment != 32));
    check_keys(&file);
    assert_int_equal(file.n_tensors, 3);
    const gguf_tensor *second = gguf_find_tensor(&file, "second");
    assert_non_null(second);
    assert_int_equal(second->size, 102);
    assert_int_equal(gguf_tensor_data(&file, second).data[101], 101);
    const gguf_tensor *third = gguf_find_tensor(&file, "third");
    assert_int_equal(gguf_tensor_data(&file, third).data[15], 15);
    assert_int_equal(sink.size % alignment, 0);
    free(scratch);
}

static void what_is_written_opens_with_every_value(void **state) {
    (void)state;
    static const uint32_t alignments[] = {1, 8, 32, 64, 256};
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++) {
        check_written(alignments[i]);
    }
}

static void writing_twice_gives_the_same_bytes(void **state) {
    (void)state;
    static memory_sink one, two;
    assert_int_equal(write_file(&one, 32), FMT_OK);
    assert_int_equal(write_file(&two, 32), FMT_OK);
    assert_int_equal(one.size, two.size);
    assert_memory_equal(one.bytes, two.bytes, one.size);
}

static void keys_of_an_opened_file_are_copied_byte_for_byte(void **state) {
    (void)state;
    static memory_sink source, copy;
    gguf_file file, again;
    fmt_diag diag;
    void *scratch = NULL, *scratch_again = NULL;
    gguf_writer writer;
    assert_int_equal(write_file(&source, 64), FMT_OK);
    const fmt_span span = {source.bytes, source.size};
    assert_int_equal(open_with_scratch(span, &file, &scratch, &diag), FMT_OK);
    memset(&copy, 0, sizeof copy);
    copy.limit = sizeof copy.bytes;
    gguf_write_begin(&writer, take_bytes, &copy, 64, file.n_kv - 1, NULL, 0);
    for (uint64_t i = 0; i < file.n_kv; i++) {
        gguf_write_kv(&writer, &file.kvs[i]);
    }
    assert_int_equal(gguf_write_end(&writer), FMT_OK);
    const fmt_span copied = {copy.bytes, copy.size};
    assert_int_equal(open_with_scratch(copied, &again, &scratch_again, &diag), FMT_OK);
    assert_int_equal(again.n_kv, file.n_kv);
    check_keys(&again);
    free(scratch);
    free(scratch_again);
}

static void a_full_disk_sticks(void **state) {
    (void)state;
    static memory_sink sink;
    gguf_writer writer;
    memset(&sink, 0, sizeof sink);
    sink.limit = 30;
    gguf_write_begin(&writer, take_bytes, &sink, 32, 1, NULL, 0);
    assert_int_equal(gguf_write_string(&writer, "key", "value"), FMT_IO);
    sink.limit = sizeof sink.bytes;
    assert_int_equal(gguf_write_end(&writer), FMT_IO);
    assert_true(sink.size <= 30);
}

typedef void broken_promise(gguf_writer *writer);

static void write_a_key_too_many(gguf_writer *writer) {
    gguf_write_bool(writer, "one", true);
    gguf_write_bool(writer, "two", true);
}

static void write_no_key(gguf_writer *writer) {
    gguf_write_data(writer, "", 0);
}

static void write_an_empty_key(gguf_writer *writer) {
    gguf_write_bool(writer, "", true);
}

static void write_a_key_that_is_no_utf8(gguf_writer *writer) {
    gguf_write_bool(writer, "\xFF", true);
}

static void write_alignment_by_hand(gguf_writer *writer) {
    gguf_write_uint(writer, "general.alignment", GGUF_U32, 32);
}

static void write_256_as_u8(gguf_writer *writer) {
    gguf_write_uint(writer, "k", GGUF_U8, 256);
}

static void write_128_as_i8(gguf_writer *writer) {
    gguf_write_int(writer, "k", GGUF_I8, 128);
}

static void write_minus_129_as_i8(gguf_writer *writer) {
    gguf_write_int(writer, "k", GGUF_I8, -129);
}

static void write_minus_1_as_u8(gguf_writer *writer) {
    gguf_write_int(writer, "k", GGUF_U8, -1);
}

static void write_an_integer_as_float(gguf_writer *writer) {
    gguf_write_uint(writer, "k", GGUF_F32, 1);
}

static void leave_an_array_open(gguf_writer *writer) {
    gguf_write_array_begin(writer, "k", GGUF_U8, 2);
    gguf_write_elements(writer, "\1", 1);
}

static void write_an_element_too_many(gguf_writer *writer) {
    gguf_write_array_begin(writer, "k", GGUF_U8, 1);
    gguf_write_elements(writer, "\1\2", 2);
}

static void write_a_string_into_numbers(gguf_writer *writer) {
    gguf_write_array_begin(writer, "k", GGUF_U8, 1);
    gguf_write_element_string(writer, words[0]);
}

static void write_too_little_data(gguf_writer *writer) {
    gguf_write_bool(writer, "k", true);
    gguf_write_data(writer, "1234567", 7);
}

static void write_past_a_tensor(gguf_writer *writer) {
    gguf_write_bool(writer, "k", true);
    gguf_write_data(writer, "12345678901234567", 17);
}

static broken_promise *const promises[] = {
    write_a_key_too_many, write_no_key, write_an_empty_key, write_a_key_that_is_no_utf8, write_alignment_by_hand,
    write_256_as_u8, write_128_as_i8, write_minus_129_as_i8, write_minus_1_as_u8, write_an_integer_as_float,
    leave_an_array_open, write_an_element_too_many, write_a_string_into_numbers, write_too_little_data,
    write_past_a_tensor,
};

static void broken_promises_are_refused_at_the_latest_at_the_end(void **state) {
    (void)state;
    static memory_sink sink;
    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; i++) {
        gguf_writer writer;
        memset(&sink, 0, sizeof sink);
        sink.limit = sizeof sink.bytes;
        print_message("promise %u\n", (unsigned)i);
        assert_int_equal(gguf_write_begin(&writer, take_bytes, &sink, 32, 1, &specs[2], 1), FMT_OK);
        promises[i](&writer);
        assert_int_equal(gguf_write_end(&writer), FMT_BAD_ARG);
    }
}

static void specs_that_could_not_be_read_are_refused_at_once(void **state) {
    (void)state;
    static const gguf_tensor_spec bad[] = {
        {"", BLK_F32, 1, {1}}, {"t", BLK_F32, 0, {1}},    {"t", BLK_F32, 5, {1, 1, 1, 1}}, {"t", BLK_Q8_0, 1, {33}},
        {"t", 4, 1, {1}},      {"t", BLK_TERNARY, 1, {5}},
    };
    static memory_sink sink;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gguf_writer writer;
        assert_int_equal(gguf_write_begin(&writer, take_bytes, &sink, 32, 0, &bad[i], 1), FMT_BAD_ARG);
    }
    gguf_writer writer;
    assert_int_equal(gguf_write_begin(&writer, take_bytes, &sink, 24, 0, NULL, 0), FMT_BAD_ARG);
    assert_int_equal(sink.size, 0);
}

static void a_stdio_stream_is_a_sink(void **state) {
    (void)state;
    static memory_sink sink;
    gguf_writer writer;
    uint8_t bytes[64];
    FILE *stream = tmpfile();
    assert_non_null(stream);
    gguf_write_begin(&writer, gguf_write_to_file, stream, 32, 1, NULL, 0);
    gguf_write_bool(&writer, "k", true);
    assert_int_equal(gguf_write_end(&writer), FMT_OK);
    rewind(stream);
    const size_t size = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    memset(&sink, 0, sizeof sink);
    sink.limit = sizeof sink.bytes;
    gguf_write_begin(&writer, take_bytes, &sink, 32, 1, NULL, 0);
    gguf_write_bool(&writer, "k", true);
    gguf_write_end(&writer);
    assert_int_equal(size, sink.size);
    assert_memory_equal(bytes, sink.bytes, size);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_opens_with_every_value),
        cmocka_unit_test(writing_twice_gives_the_same_bytes),
        cmocka_unit_test(keys_of_an_opened_file_are_copied_byte_for_byte),
        cmocka_unit_test(a_full_disk_sticks),
        cmocka_unit_test(broken_promises_are_refused_at_the_latest_at_the_end),
        cmocka_unit_test(specs_that_could_not_be_read_are_refused_at_once),
        cmocka_unit_test(a_stdio_stream_is_a_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
