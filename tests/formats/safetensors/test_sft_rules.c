/* test_sft_rules.c — one header text for every rule, and what an opened file tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <quoin/safetensors.h>

#include "cases.h"

#define T(dtype, shape, begin, end) \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

/* A file of this header and `data_size` bytes of data, in an allocation of exactly its size. */
static fmt_span make_file(const char *header, size_t data_size) {
    const size_t length = strlen(header);
    uint8_t *bytes = calloc(1, 8 + length + data_size);
    assert_non_null(bytes);
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)((uint64_t)length >> (8 * i));
    }
    memcpy(bytes + 8, header, length);
    const fmt_span span = {bytes, 8 + length + data_size};
    return span;
}

static void free_file(fmt_span span) {
    union {
        const uint8_t *read_only;
        void *any;
    } address = {span.data};
    free(address.any);
}

typedef struct broken {
    const char *rule, *header;
    size_t data_size;
    uint64_t offset;
} broken;

static const broken table[] = {
    {"header-start", " {}", 0, 8},
    {"header-text", "{\"\xC0\x80\":1}", 0, 8 + 2},
    {"duplicate-key", "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, 8 + 28},
    {"number-range", "{\"a\":1e999}", 0, 8 + 10},
    {"header-json", "{\"a\":1", 0, 8 + 6},
    {"header-json", "{\"a\":{}} x", 0, 8 + 10},
    {"header-json", "{\"a\":NaN}", 0, 8 + 8},
    {"header-json", "{\"a\\u0000b\":1}", 0, 8 + 11},
    {"metadata", "{\"__metadata__\":[]}", 0, 8 + 1},
    {"metadata", "{\"w\":" T("U8", "[1]", 0, 1) ",\"__metadata__\":{\"a\":null}}", 1, 8 + 53},
    {"tensor-entry", "{\"w\":[]}", 0, 8 + 1},
    {"tensor-entry", "{\"w\":{\"shape\":[],\"data_offsets\":[0,4]}}", 4, 8 + 1},
    {"tensor-entry", "{\"w\":{\"dtype\":1,\"shape\":[],\"data_offsets\":[0,4]}}", 4, 8 + 1},
    {"tensor-entry", "{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, 8 + 1},
    {"tensor-entry", "{\"w\":{\"dtype\":\"F32\",\"shape\":4,\"data_offsets\":[0,4]}}", 4, 8 + 1},
    {"tensor-entry", "{\"w\":{\"dtype\":\"F32\",\"shape\":[]}}", 4, 8 + 1},
    {"tensor-entry", "{\"w\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":{}}}", 4, 8 + 1},
    {"dtype", "{\"w\":" T("f32", "[]", 0, 4) "}", 4, 8 + 1},
    {"shape", "{\"w\":" T("F32", "[-1]", 0, 4) "}", 4, 8 + 1},
    {"shape", "{\"w\":" T("F32", "[1.0]", 0, 4) "}", 4, 8 + 1},
    {"shape", "{\"w\":" T("F32", "[\"1\"]", 0, 4) "}", 4, 8 + 1},
    {"shape-size", "{\"w\":" T("F32", "[4294967296,4294967296]", 0, 0) "}", 0, 8 + 1},
    {"shape-size", "{\"w\":" T("F64", "[288230376151711744]", 0, 0) "}", 0, 8 + 1},
    {"offsets", "{\"w\":" T("F32", "[]", 4, 0) "}", 4, 8 + 1},
    {"offsets", "{\"w\":" T("F32", "[]", -4, 0) "}", 4, 8 + 1},
    {"offsets", "{\"w\":" T("F32", "[]", 0, 4.0) "}", 4, 8 + 1},
    {"offsets", "{\"w\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0]}}", 4, 8 + 1},
    {"offsets-bounds", "{\"w\":" T("F32", "[]", 0, 4) "}", 3, 8 + 1},
    {"offsets-bounds", "{\"w\":" T("F32", "[]", 9223372036854775804, 9223372036854775807) "}", 4, 8 + 1},
    {"offsets-size", "{\"w\":" T("F32", "[2]", 0, 4) "}", 4, 8 + 1},
    {"offsets-size", "{\"a\":" T("F32", "[0]", 0, 4) "}", 4, 8 + 1},
    {"offsets-size", "{\"w\":" T("F4", "[3]", 0, 1) "}", 1, 8 + 1},
    {"overlap", "{\"b\":" T("U8", "[4]", 2, 6) ",\"a\":" T("U8", "[4]", 0, 4) "}", 6, 8 + 105 + 2},
    {"hole", "{\"a\":" T("U8", "[4]", 4, 8) "}", 8, 8 + 53},
    {"tail", "{}", 1, 8 + 2},
};

#define TABLE_SIZE (sizeof table / sizeof table[0])

static void each_broken_header_is_refused_by_its_rule_and_place(void **state) {
    (void)state;
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        const fmt_span span = make_file(table[i].header, table[i].data_size);
        sft_file file, before;
        fmt_diag diag;
        memset(&file, 0x5A, sizeof file);
        before = file;
        print_message("%s\n", table[i].header);
        assert_int_equal(sft_open(span, &file, &diag), FMT_BAD_FILE);
        print_message("    %s: %s\n", diag.rule, diag.text);
        assert_string_equal(diag.rule, table[i].rule);
        assert_int_equal(diag.offset, table[i].offset);
        assert_memory_equal(&file, &before, sizeof file);
        free_file(span);
    }
}

typedef struct raw_broken {
    const char *rule, *bytes;
    size_t size;
} raw_broken;

static const raw_broken raw_table[] = {
    {"header-size", "", 0},
    {"header-length", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10},
    {"header-length", "\3\0\0\0\0\0\0\0{}", 10},
    {"lfs-pointer", "version https://git-lfs.github.com/spec/v1\n", 43},
    {"other-kind", "GGUF\3\0\0\0\0\0\0\0", 12},
    {"other-kind", "PK\x03\x04\0\0\0\0\0\0", 10},
    {"other-kind", "<!DOCTYPE html>", 15},
};

static void files_of_another_kind_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof raw_table / sizeof raw_table[0]; i++) {
        const fmt_span span = {(const uint8_t *)raw_table[i].bytes, raw_table[i].size};
        sft_file file;
        fmt_diag diag;
        assert_int_equal(sft_open(span, &file, &diag), FMT_BAD_FILE);
        print_message("%s\n", diag.text);
        assert_string_equal(diag.rule, raw_table[i].rule);
    }
}

static const char *const elsewhere[] = {"memory",        "index-map",    "index-size", "shard-name",
                                        "shard-missing", "shard-tensor", NULL};

static bool is_covered(const char *rule) {
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        if (strcmp(table[i].rule, rule) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof raw_table / sizeof raw_table[0]; i++) {
        if (strcmp(raw_table[i].rule, rule) == 0) {
            return true;
        }
    }
    for (size_t i = 0; elsewhere[i] != NULL; i++) {
        if (strcmp(elsewhere[i], rule) == 0) {
            return true;
        }
    }
    return false;
}

static void no_rule_is_without_a_file_that_breaks_it(void **state) {
    (void)state;
    uint64_t n = 0;
    const fmt_rule *rules = sft_rules(&n);
    for (uint64_t i = 0; i < n; i++) {
        if (!is_covered(rules[i].id)) {
            fail_msg("rule %s has no broken file", rules[i].id);
        }
    }
}

static const char good_header[] =
    "{ \"z\" : " T("F32", "[2,3]", 4, 28) ","
    "\"__metadata__\":{\"format\":\"pt\",\"k{\\\"\":\"v\"},"
    "\"caf\\u00e9\":" T("BF16", "[2]", 0, 4) ", \"e\":" T("I64", "[0,7]", 28, 28) ","
    "\"s\":" T("U8", "[]", 28, 29) "}  ";

static void an_opened_file_tells_its_tensors_in_data_order(void **state) {
    (void)state;
    const fmt_span span = make_file(good_header, 29);
    sft_file file;
    fmt_diag diag;
    if (sft_open(span, &file, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
    assert_int_equal(file.n_tensors, 4);
    assert_int_equal(file.data_at, 8 + strlen(good_header));
    assert_string_equal(file.tensors[0].name.data, "caf\xC3\xA9");
    assert_string_equal(file.tensors[1].name.data, "z");
    assert_string_equal(file.tensors[2].name.data, "e");
    assert_string_equal(file.tensors[3].name.data, "s");
    const sft_tensor *z = sft_find(&file, "z");
    assert_ptr_equal(z, &file.tensors[1]);
    assert_int_equal(z->rank, 2);
    assert_int_equal(z->shape[1], 3);
    assert_int_equal(z->n_elements, 6);
    assert_int_equal(z->at, file.data_at + 4);
    assert_int_equal(z->size, 24);
    assert_memory_equal(span.data + z->entry_at, "\"z\"", 3);
    assert_memory_equal(span.data + file.tensors[0].entry_at, "\"caf\\u00e9\"", 11);
    assert_memory_equal(span.data + file.tensors[3].entry_at, "\"s\"", 3);
    assert_int_equal(file.tensors[3].n_elements, 1);
    assert_int_equal(file.tensors[2].n_elements, 0);
    assert_null(sft_find(&file, "y"));
    sft_close(&file);
    free_file(span);
}

static void metadata_is_kept_aside(void **state) {
    (void)state;
    const fmt_span span = make_file(good_header, 29);
    sft_file file;
    fmt_diag diag;
    assert_int_equal(sft_open(span, &file, &diag), FMT_OK);
    assert_int_equal(file.n_metadata, 2);
    assert_string_equal(sft_find_metadata(&file, "format")->data, "pt");
    assert_string_equal(sft_find_metadata(&file, "k{\"")->data, "v");
    assert_null(sft_find_metadata(&file, "none"));
    assert_null(sft_find(&file, "__metadata__"));
    sft_close(&file);
    free_file(span);
}

static void element_types_have_names_widths_and_blocks(void **state) {
    (void)state;
    blk_type type = 0;
    for (sft_dtype dtype = 0; dtype < SFT_N_DTYPES; dtype++) {
        assert_string_not_equal(sft_dtype_name(dtype), "unknown");
        assert_true(sft_dtype_bits(dtype) >= 4);
        if (sft_dtype_to_block(dtype, &type)) {
            assert_int_equal(blk_get_info(type)->block_bytes * 8, sft_dtype_bits(dtype));
            assert_string_equal(blk_get_info(type)->name, sft_dtype_name(dtype));
        }
    }
    assert_true(sft_dtype_to_block(SFT_BF16, &type));
    assert_int_equal(type, BLK_BF16);
    assert_false(sft_dtype_to_block(SFT_BOOL, &type));
    assert_string_equal(sft_dtype_name(SFT_N_DTYPES), "unknown");
}

static void many_tensors_are_found_by_name(void **state) {
    (void)state;
    enum { N = 20000 };
    const size_t room = 100 * N;
    char *header = malloc(room), name[16];
    assert_non_null(header);
    size_t used = (size_t)snprintf(header, room, "{");
    for (unsigned i = 0; i < N; i++) {
        used += (size_t)snprintf(header + used, room - used,
                                 "%s\"t%u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%u,%u]}",
                                 i == 0 ? "" : ",", i, N - 1 - i, N - i);
    }
    snprintf(header + used, room - used, "}");
    const fmt_span span = make_file(header, N);
    sft_file file;
    fmt_diag diag;
    assert_int_equal(sft_open(span, &file, &diag), FMT_OK);
    for (unsigned i = 0; i < N; i++) {
        snprintf(name, sizeof name, "t%u", i);
        const sft_tensor *tensor = sft_find(&file, name);
        assert_non_null(tensor);
        assert_int_equal(tensor->begin, N - 1 - i);
    }
    sft_close(&file);
    free_file(span);
    free(header);
}

/* jansson refuses deep nesting itself; what counts is that neither its parser nor our scan runs out of stack. */
static void deep_nesting_is_refused(void **state) {
    (void)state;
    enum { N = 200000 };
    char *header = malloc(N + 8);
    assert_non_null(header);
    memset(header, '[', N);
    memcpy(header, "{\"a\":", 5);
    header[N] = '\0';
    const fmt_span span = make_file(header, 0);
    sft_file file;
    fmt_diag diag;
    assert_int_equal(sft_open(span, &file, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "header-json");
    free_file(span);
    free(header);
}

/* ---------------------------------------------------------------- memory */

static long live_blocks, allocations_left;

static void *limited_malloc(size_t size) {
    if (allocations_left == 0) {
        return NULL;
    }
    allocations_left--;
    live_blocks++;
    return malloc(size);
}

static void counted_free(void *memory) {
    if (memory != NULL) {
        live_blocks--;
        free(memory);
    }
}

static void every_failing_allocation_is_refused_and_leaks_nothing(void **state) {
    (void)state;
    const fmt_span span = make_file(good_header, 29);
    fmt_status status = FMT_NO_SPACE;
    long limit = 0, n_told = 0;
    json_set_alloc_funcs(limited_malloc, counted_free);
    for (; status != FMT_OK && limit < 1000; limit++) {
        sft_file file;
        fmt_diag diag;
        allocations_left = limit;
        live_blocks = 0;
        status = sft_open(span, &file, &diag);
        if (status == FMT_OK) {
            sft_close(&file);
        } else {
            n_told += status == FMT_NO_SPACE && strcmp(diag.rule, "memory") == 0;
        }
        assert_int_equal(live_blocks, 0);
    }
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(status, FMT_OK);
    assert_true(limit > 20);
    assert_true(n_told > limit / 2); /* the others failed inside a JSON string, which jansson calls broken JSON */
    free_file(span);
}

static void every_prefix_is_refused(void **state) {
    (void)state;
    const fmt_span whole = make_file(good_header, 29);
    for (uint64_t size = 0; size < whole.size; size++) {
        uint8_t *copy = malloc(size + (size == 0));
        sft_file file;
        fmt_diag diag;
        assert_non_null(copy);
        memcpy(copy, whole.data, size);
        const fmt_span span = {copy, size};
        assert_int_equal(sft_open(span, &file, &diag), FMT_BAD_FILE);
        assert_true(diag.offset <= size);
        free(copy);
    }
    free_file(whole);
}

/* ---------------------------------------------------------------- index */

static fmt_status open_index(const char *text, sft_index *out_index, fmt_diag *diag) {
    const fmt_span span = {(const uint8_t *)text, strlen(text)};
    return sft_index_open(span, out_index, diag);
}

static const char good_index[] =
    "{\"metadata\":{\"total_size\":8},\"weight_map\":"
    "{\"c\":\"two.safetensors\",\"a\":\"one.safetensors\",\"b\":\"two.safetensors\"}}";

static void an_index_gathers_its_files(void **state) {
    (void)state;
    sft_index index;
    fmt_diag diag;
    assert_int_equal(open_index(good_index, &index, &diag), FMT_OK);
    assert_int_equal(index.n_entries, 3);
    assert_int_equal(index.n_shards, 2);
    assert_string_equal(index.shards[0].name.data, "one.safetensors");
    assert_string_equal(index.shards[1].name.data, "two.safetensors");
    assert_int_equal(index.shards[1].n_entries, 2);
    assert_int_equal(index.entries[index.shards[1].first].shard, 1);
    assert_string_equal(index.entries[0].tensor.data, "c");
    assert_int_equal(index.entries[1].shard, 0);
    assert_memory_equal(good_index + index.entries[2].entry_at, "\"b\"", 3);
    sft_index_close(&index);
}

static void a_tensor_that_its_file_lacks_is_named(void **state) {
    (void)state;
    const fmt_span span = make_file("{\"c\":" T("U8", "[1]", 0, 1) "}", 1);
    sft_file file;
    sft_index index;
    fmt_diag diag;
    assert_int_equal(sft_open(span, &file, &diag), FMT_OK);
    assert_int_equal(open_index(good_index, &index, &diag), FMT_OK);
    assert_int_equal(sft_index_check_shard(&index, 1, &file, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "shard-tensor");
    assert_non_null(strstr(diag.text, "tensor \"b\" is not in file \"two.safetensors\""));
    assert_int_equal(sft_index_refuse_missing(&index, 1, &diag), FMT_BAD_FILE);
    assert_non_null(strstr(diag.text, "tensor \"c\" and 1 more"));
    sft_index_close(&index);
    sft_close(&file);
    free_file(span);
}

static void broken_indexes_are_refused(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"header-json", "[]"},
        {"header-json", "{"},
        {"duplicate-key", "{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}}"},
        {"index-map", "{}"},
        {"index-map", "{\"weight_map\":[]}"},
        {"index-map", "{\"weight_map\":{\"a\":1}}"},
        {"shard-name", "{\"weight_map\":{\"a\":\"../x\"}}"},
        {"shard-name", "{\"weight_map\":{\"a\":\"/etc/passwd\"}}"},
        {"shard-name", "{\"weight_map\":{\"a\":\"..\"}}"},
        {"shard-name", "{\"weight_map\":{\"a\":\"\"}}"},
        {"shard-name", "{\"weight_map\":{\"a\":\"c:x\"}}"},
        {"shard-name", "{\"weight_map\":{\"a\":\"d\\\\x\"}}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sft_index index;
        fmt_diag diag;
        print_message("%s\n", rows[i][1]);
        assert_int_equal(open_index(rows[i][1], &index, &diag), FMT_BAD_FILE);
        assert_string_equal(diag.rule, rows[i][0]);
    }
}

static void an_index_larger_than_the_limit_is_refused_unread(void **state) {
    (void)state;
    const fmt_span span = {(const uint8_t *)good_index, SFT_MAX_HEADER + 1};
    sft_index index;
    fmt_diag diag;
    assert_int_equal(sft_index_open(span, &index, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "index-size");
}

/* ---------------------------------------------------------------- real files */

static void real_files_open(void **state) {
    (void)state;
    static const struct {
        const char *path;
        uint64_t n_tensors;
    } rows[] = {
        {"data/stories260k/stories260k-hf.safetensors", 47},
        {"spec/vectors/p64/hf_names.safetensors", 7},
        {"spec/vectors/p64/raw_matrix.safetensors", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[CORPUS_PATH_SIZE];
        sft_file file;
        fmt_diag diag;
        corpus_require(rows[i].path, path);
        const fmt_span span = test_map_file(path);
        if (sft_open(span, &file, &diag) != FMT_OK) {
            fail_msg("%s: %s", path, diag.text);
        }
        assert_int_equal(file.n_tensors, rows[i].n_tensors);
        sft_close(&file);
        test_unmap_file(span);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_header_is_refused_by_its_rule_and_place),
        cmocka_unit_test(files_of_another_kind_are_named),
        cmocka_unit_test(no_rule_is_without_a_file_that_breaks_it),
        cmocka_unit_test(an_opened_file_tells_its_tensors_in_data_order),
        cmocka_unit_test(metadata_is_kept_aside),
        cmocka_unit_test(element_types_have_names_widths_and_blocks),
        cmocka_unit_test(many_tensors_are_found_by_name),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(every_failing_allocation_is_refused_and_leaks_nothing),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(an_index_gathers_its_files),
        cmocka_unit_test(a_tensor_that_its_file_lacks_is_named),
        cmocka_unit_test(broken_indexes_are_refused),
        cmocka_unit_test(an_index_larger_than_the_limit_is_refused_unread),
        cmocka_unit_test(real_files_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
