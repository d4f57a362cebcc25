/* test_sft_cases.c — every generated Safetensors case through the reader: accepted, or refused by the rule
 * named here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <quoin/safetensors.h>

#include "cases.h"

static const struct {
    const char *id, *rule, *quotes;
    uint64_t offset;
} expected[] = {
    {"sbad-02", "header-size", "7 bytes", 7},
    {"sbad-03-hlen-0", "header-length", "length is 0", 0},
    {"sbad-03-hlen-1", "header-length", "length is 1", 0},
    {"sbad-05", "header-start", "\"hello wo\"", 8},
    {"sbad-06", "header-start", "\"[1,2,3]", 8},
    {"sbad-08", "header-start", "\\xef\\xbb\\xbf", 8},
    {"sbad-09", "header-text", "0xff", 8 + 2},
    {"sbad-11", "duplicate-key", "duplicate object key near '\\\"w\\\"'", 8 + 60},
    {"sbad-12", "duplicate-key", "duplicate object key near '\\\"shape\\\"'", 8 + 41},
    {"sbad-14", "hole", "bytes 4 to 7", 120 + 4},
    {"sbad-15", "tail", "8 bytes", 72 + 16},
    {"sbad-17", "offsets", "16 and 0", 8 + 1},
    {"sbad-18", "offsets", "-16 and 0", 8 + 1},
    {"sbad-20", "shape-size", "\"w\"", 8 + 1},
    {"sbad-21", "offsets", "3 data_offsets", 8 + 1},
    {"sbad-23", "number-range", "18446744073709551632", 8 + 72},
    {"sbad-24", "offsets-bounds", "1099511627792", 8 + 1},
    {"sbad-26", "tensor-entry", "has no shape", 8 + 1},
    {"sbad-27", "metadata", "\"n\"", 8 + 1},
    {"sbad-29", "other-kind", "pickle", 0},
};

static void check_refused(const test_case *item, fmt_status status, const fmt_diag *diag) {
    assert_int_equal(status, FMT_BAD_FILE);
    assert_null(strchr(diag->text, '\n'));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (strncmp(item->id, expected[i].id, strlen(expected[i].id)) == 0) {
            assert_string_equal(diag->rule, expected[i].rule);
            assert_non_null(strstr(diag->text, expected[i].quotes));
            assert_int_equal(diag->offset, expected[i].offset);
            return;
        }
    }
    fail_msg("%s: no rule is expected here; the reader said %s", item->id, diag->rule);
}

static void check_file_case(const test_case *item) {
    const fmt_span span = test_map_file(item->path);
    sft_file file;
    fmt_diag diag;
    memset(&diag, 0, sizeof diag);
    const fmt_status status = sft_open(span, &file, &diag);
    print_message("%s: %s (byte %llu)\n", item->id, status == FMT_OK ? "opened" : diag.text,
                  (unsigned long long)diag.offset);
    if (strcmp(item->expect, "reject") == 0) {
        check_refused(item, status, &diag);
    } else {
        assert_int_equal(status, FMT_OK);
        assert_true(file.n_tensors > 0);
        sft_close(&file);
    }
    test_unmap_file(span);
}

/* A folder with an index and shards: reads them as a loader would. */
static fmt_status open_folder(const char *folder, fmt_diag *diag) {
    char path[CORPUS_PATH_SIZE + 300];
    sft_index index;
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    const fmt_span text = test_map_file(path);
    fmt_status status = sft_index_open(text, &index, diag);
    assert_int_equal(status, FMT_OK);
    assert_int_equal(index.n_shards, 2);
    for (uint64_t i = 0; i < index.n_shards && status == FMT_OK; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, index.shards[i].name.data);
        if (access(path, R_OK) != 0) {
            status = sft_index_refuse_missing(&index, i, diag);
            continue;
        }
        sft_file file;
        const fmt_span span = test_map_file(path);
        assert_int_equal(sft_open(span, &file, diag), FMT_OK);
        status = sft_index_check_shard(&index, i, &file, diag);
        sft_close(&file);
        test_unmap_file(span);
    }
    sft_index_close(&index);
    test_unmap_file(text);
    return status;
}

static void check_folder_case(const test_case *item) {
    fmt_diag diag;
    assert_int_equal(open_folder(item->path, &diag), FMT_BAD_FILE);
    print_message("%s: %s (byte %llu)\n", item->id, diag.text, (unsigned long long)diag.offset);
    assert_string_equal(diag.rule, "shard-missing");
    assert_non_null(strstr(diag.text, "\"model-00002-of-00002.safetensors\""));
    assert_non_null(strstr(diag.text, "\"v\""));
}

static void every_generated_case_opens_or_is_refused_by_its_rule(void **state) {
    (void)state;
    test_cases cases;
    size_t n_folders = 0;
    cases_make("safetensors", &cases);
    for (size_t i = 0; i < cases.count; i++) {
        const bool is_folder = strcmp(cases.items[i].id, "sidx-01-missing-shard") == 0;
        n_folders += is_folder;
        if (is_folder) {
            check_folder_case(&cases.items[i]);
        } else {
            check_file_case(&cases.items[i]);
        }
    }
    assert_int_equal(n_folders, 1);
    cases_free(&cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_generated_case_opens_or_is_refused_by_its_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
