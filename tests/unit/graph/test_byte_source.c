/* test_byte_source.c — the same bytes plain and compressed; streams that are cut or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/byte_source.h"
#include "rdf_fixture.h"

static const char *const extensions[] = {".gz", ".zst", ".lz4"};
#define N_KINDS 3

static rdf_folder folder;
static error_context err;

static int make_folder(void **state) {
    (void)state;
    test_make_folder(folder.path);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(folder.path);
    return 0;
}

/* Bytes that compress somewhat, `size` of them; the caller frees. */
static uint8_t *make_bytes(size_t size) {
    uint8_t *bytes = malloc(size + 1);
    uint32_t random = 7;
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)("abcdefgh"[random >> 29] + (i % 1000 == 0));
    }
    return bytes;
}

/* Reads all in steps of `step` bytes; a negative status, or the number of bytes in *out_size. */
static qn_status read_all(byte_source *source, size_t step, uint8_t *out, size_t room, size_t *out_size) {
    uint64_t got = 1;
    *out_size = 0;
    while (got > 0) {
        assert_true(*out_size + step <= room);
        const qn_status status = byte_source_read(source, out + *out_size, step, &got, &err);
        if (status != QN_OK) {
            return status;
        }
        *out_size += got;
    }
    return QN_OK;
}

static qn_status read_file(const char *path, size_t step, uint8_t *out, size_t room, size_t *out_size) {
    byte_source *source;
    error_clear(&err);
    qn_status status = byte_source_open(path, &source, &err);
    if (status == QN_OK) {
        status = read_all(source, step, out, room, out_size);
        byte_source_close(source);
    }
    return status;
}

static void assert_reads(const void *stored, size_t stored_size, const uint8_t *wanted, size_t size) {
    static const size_t steps[] = {1 << 20, 70001, 4096};
    uint8_t *out = malloc(size + (2 << 20));
    assert_non_null(out);
    const char *path = rdf_write(&folder, "input", stored, stored_size);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        size_t got;
        assert_int_equal(read_file(path, steps[i], out, size + (2 << 20), &got), QN_OK);
        assert_int_equal(got, size);
        assert_memory_equal(out, wanted, size);
    }
    free(out);
}

static void a_text_in_memory_is_read_like_a_file_and_once(void **state) {
    uint8_t *bytes = make_bytes(700000), *out = malloc(710000);
    size_t size;
    byte_source *source;
    (void)state;
    for (size_t n = 0; n <= 700000; n += n < 12 ? 1 : 699988) {
        assert_int_equal(byte_source_open_text((fmt_str){(const char *)bytes, n}, "a text", &source, &err), QN_OK);
        assert_string_equal(byte_source_name(source), "a text");
        assert_int_equal(read_all(source, 4096, out, 710000, &size), QN_OK);
        assert_int_equal(size, n);
        assert_memory_equal(out, bytes, n);
        assert_false(byte_source_rewind(source));
        byte_source_close(source);
    }
    free(bytes);
    free(out);
}

static void plain_files_of_every_small_size_are_read(void **state) {
    uint8_t *bytes = make_bytes(700000);
    (void)state;
    for (size_t size = 0; size < 12; size++) {
        assert_reads(bytes, size, bytes, size);
    }
    assert_reads(bytes, 700000, bytes, 700000);
    free(bytes);
}

static void compression_is_told_by_content_not_by_name(void **state) {
    uint8_t *bytes = make_bytes(700000);
    (void)state;
    for (size_t i = 0; i < N_KINDS; i++) {
        for (size_t size = 0; size <= 700000; size = size * 9 + 1) {
            size_t stored_size;
            uint8_t *stored = rdf_compress(extensions[i], bytes, size, &stored_size);
            assert_reads(stored, stored_size, bytes, size);
            free(stored);
        }
    }
    free(bytes);
}

static void members_that_follow_each_other_are_one_stream(void **state) {
    uint8_t *bytes = make_bytes(300000);
    (void)state;
    for (size_t i = 0; i < N_KINDS; i++) {
        size_t first_size, second_size;
        uint8_t *first = rdf_compress(extensions[i], bytes, 100000, &first_size);
        uint8_t *second = rdf_compress(extensions[i], bytes + 100000, 200000, &second_size);
        first = realloc(first, first_size + second_size);
        assert_non_null(first);
        memcpy(first + first_size, second, second_size);
        assert_reads(first, first_size + second_size, bytes, 300000);
        free(first);
        free(second);
    }
    free(bytes);
}

static void a_stream_that_is_cut_anywhere_is_refused(void **state) {
    uint8_t *bytes = make_bytes(3000), *out = malloc(1 << 20);
    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i < N_KINDS; i++) {
        size_t stored_size, got;
        uint8_t *stored = rdf_compress(extensions[i], bytes, 3000, &stored_size);
        for (size_t size = 4; size < stored_size; size += size < 40 || size + 20 > stored_size ? 1 : 37) {
            const char *path = rdf_write(&folder, "cut", stored, size);
            assert_int_equal(read_file(path, 4096, out, 1 << 20, &got), QN_BAD_FILE);
            assert_non_null(strstr(error_text(&err), "cut short"));
            assert_non_null(strstr(error_text(&err), path));
        }
        free(stored);
    }
    free(bytes);
    free(out);
}

static void a_damaged_stream_is_refused_with_its_kind(void **state) {
    static const char *const kinds[] = {"gzip", "zstd", "LZ4"};
    uint8_t *bytes = make_bytes(3000), *out = malloc(1 << 20);
    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i < N_KINDS; i++) {
        size_t stored_size, got, n_refused = 0;
        uint8_t *stored = rdf_compress(extensions[i], bytes, 3000, &stored_size);
        if (i == 1) { /* frames of zstd have no checksum by default: what follows one is what is damaged */
            stored = realloc(stored, stored_size + 8);
            memcpy(stored + stored_size, "garbage!", 8);
            stored_size += 8;
        }
        stored[stored_size - 6] ^= 0x5A;
        const char *path = rdf_write(&folder, "damaged", stored, stored_size);
        n_refused += read_file(path, 4096, out, 1 << 20, &got) == QN_BAD_FILE;
        assert_int_equal(n_refused, 1);
        assert_non_null(strstr(error_text(&err), kinds[i]));
        assert_non_null(strstr(error_text(&err), "byte"));
        free(stored);
    }
    free(bytes);
    free(out);
}

static void rewinding_reads_the_same_again(void **state) {
    uint8_t *bytes = make_bytes(400000), *out = malloc(2 << 20);
    (void)state;
    assert_non_null(out);
    for (size_t i = 0; i <= N_KINDS; i++) {
        size_t stored_size = 400000, got;
        uint8_t *stored = i < N_KINDS ? rdf_compress(extensions[i], bytes, 400000, &stored_size) : make_bytes(400000);
        byte_source *source;
        uint64_t n_read, n_all, some;
        assert_int_equal(byte_source_open(rdf_write(&folder, "again", stored, stored_size), &source, &err), QN_OK);
        assert_int_equal(byte_source_read(source, out, 1000, &some, &err), QN_OK);
        assert_true(byte_source_rewind(source));
        assert_int_equal(read_all(source, 65536, out, 2 << 20, &got), QN_OK);
        assert_int_equal(got, 400000);
        assert_memory_equal(out, bytes, got);
        byte_source_progress(source, &n_read, &n_all);
        assert_int_equal(n_read, stored_size);
        assert_int_equal(n_all, stored_size);
        byte_source_close(source);
        free(stored);
    }
    free(bytes);
    free(out);
}

static void standard_input_is_read_from_a_pipe_once(void **state) {
    int ends[2];
    uint8_t out[5000];
    size_t stored_size, got;
    uint8_t *bytes = make_bytes(3000), *stored = rdf_compress(".zst", bytes, 3000, &stored_size);
    const int kept = dup(STDIN_FILENO);
    byte_source *source;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], stored, stored_size), stored_size);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    assert_int_equal(byte_source_open("-", &source, &err), QN_OK);
    assert_string_equal(byte_source_name(source), "standard input");
    assert_false(byte_source_rewind(source));
    assert_int_equal(read_all(source, 1000, out, sizeof out, &got), QN_OK);
    assert_int_equal(got, 3000);
    assert_memory_equal(out, bytes, 3000);
    byte_source_close(source);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
    free(bytes);
    free(stored);
}

static void what_is_no_readable_file_is_refused_by_name(void **state) {
    byte_source *source = NULL;
    (void)state;
    error_clear(&err);
    assert_int_equal(byte_source_open("/no/such/file.nt", &source, &err), QN_NOT_FOUND);
    assert_non_null(strstr(error_text(&err), "/no/such/file.nt"));
    error_clear(&err);
    assert_int_equal(byte_source_open(folder.path, &source, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "folder"));
    error_clear(&err);
    assert_int_equal(byte_source_open(rdf_write(&folder, "old", "\x02\x21\x4C\x18xxxx", 8), &source, &err), QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "LZ4"));
    assert_null(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_in_memory_is_read_like_a_file_and_once),
        cmocka_unit_test(plain_files_of_every_small_size_are_read),
        cmocka_unit_test(compression_is_told_by_content_not_by_name),
        cmocka_unit_test(members_that_follow_each_other_are_one_stream),
        cmocka_unit_test(a_stream_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(a_damaged_stream_is_refused_with_its_kind),
        cmocka_unit_test(rewinding_reads_the_same_again),
        cmocka_unit_test(standard_input_is_read_from_a_pipe_once),
        cmocka_unit_test(what_is_no_readable_file_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
