/* test_p64_cases.c — every generated P64 case through the reader and its blobs: refused by the rule named here, or
 * open, in the default mode; and the generated GGUF cases through the planner, where only the oversized one is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"
#include "convert/convert.h"
#include "p64_fixture.h"

/* Case id (or its beginning), the rule, and what the message must quote. */
static const struct {
    const char *id, *rule, *quotes;
} refused[] = {
    {"pbad-01", "magic", "50 36 34 00"},
    {"pbad-03", "endian-flag", "0x0000"},
    {"pbad-04", "reserved-flags", "0x8001"},
    {"pbad-06-page-2147483648", "blob-alignment", "2147483648"},
    {"pbad-06", "page-size", "page size is "},
    {"pbad-07", "metadata-crc", "checksum"},
    {"pbad-10", "tensor-table-bounds", "67108864"},
    {"pbad-12", "section-order", "10000"},
    {"pbad-13", "hparams-offset", "byte 0"},
    {"pbad-15", "dimensions", "dimension 3 is 7"},
    {"pbad-16", "dimensions", "dimension 0 is 0"},
    {"pbad-18", "blob-size", "65536, 65536, 65536, 65536"},
    {"pbad-19", "manifold-index", "manifold_idx 2"},
    {"pbad-21", "manifold-finite", "not a number"},
    {"pbad-22", "name-bounds", "60000"},
    {"pbad-24", "name-duplicate", "\"token_embd.weight\""},
    {"pbad-25", "blob-alignment", "4100"},
    {"pbad-27", "blob-order", "4096"},
    {"pbad-28", "blob-order", "4096"},
    {"pbad-30", "blob-bounds", "8192"},
    {"ptok-01", "tokenizer-magic", "51 34 32 58"},
    {"ptok-03", "tokenizer-string", "4294967299"},
    {"ptok-04", "tokenizer-limit", "4294967295 merges"},
    {"ptok-07", "tokenizer-merge", "right side of merge 0"},
    {"ptern-01", "dtype-flag", "dtype 1158"},
};

static const struct {
    const char *id, *note;
} noted[] = {{"pbad-09", "padding"}, {"ptok-06", "tokenizer-utf8"}, {"ptok-09", "tokenizer-repeat"}};

static void check_note(const fixture *f, const test_case *item) {
    for (size_t i = 0; i < sizeof noted / sizeof noted[0]; i++) {
        if (strncmp(item->id, noted[i].id, strlen(noted[i].id)) == 0) {
            assert_true(fixture_has_note(f, noted[i].note));
            return;
        }
    }
    assert_int_equal(f->n_notes, 0);
}

static void check_refusal(const fixture *f, const test_case *item) {
    assert_int_equal(f->status, FMT_BAD_FILE);
    assert_null(strchr(f->diag.text, '\n'));
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (strncmp(item->id, refused[i].id, strlen(refused[i].id)) == 0) {
            assert_string_equal(f->diag.rule, refused[i].rule);
            assert_non_null(strstr(f->diag.text, refused[i].quotes));
            return;
        }
    }
    fail_msg("%s: no rule is expected here; the reader said %s", item->id, f->diag.rule);
}

static bool is_only_noted(const char *id) {
    for (size_t i = 0; i < sizeof noted / sizeof noted[0]; i++) {
        if (strncmp(id, noted[i].id, strlen(noted[i].id)) == 0) {
            return true;
        }
    }
    return false;
}

static void check_case(const test_case *item) {
    fixture f = {0};
    size_t size;
    uint8_t *bytes = test_read_file(item->path, &size);
    fixture_take(&f, bytes, size);
    fixture_open(&f, FMT_MODE_DEFAULT);
    if (f.status == FMT_OK) {
        f.status = p64_check_blobs(&f.file, P64_CHECK_ALL, &f.diag);
    }
    print_message("  %s: %s\n", item->id, f.status == FMT_OK ? "opened" : f.diag.text);
    if (strcmp(item->expect, "accept") == 0 || is_only_noted(item->id)) {
        fixture_assert_open(&f);
        check_note(&f, item);
    } else {
        check_refusal(&f, item);
    }
    free(bytes);
    fixture_free(&f);
}

static void every_generated_case_opens_or_is_refused_by_its_rule(void **state) {
    test_cases cases;
    (void)state;
    cases_make("p64", &cases);
    for (size_t i = 0; i < cases.count; i++) {
        check_case(&cases.items[i]);
    }
    cases_free(&cases);
}

static void what_is_only_noted_is_refused_in_strict_mode(void **state) {
    test_cases cases;
    (void)state;
    cases_make("p64", &cases);
    for (size_t i = 0; i < cases.count; i++) {
        const char *id = cases.items[i].id;
        const bool is_strict = strncmp(id, "pbad-09", 7) == 0 || strncmp(id, "ptok-06", 7) == 0;
        fixture f = {0};
        size_t size;
        uint8_t *bytes = test_read_file(cases.items[i].path, &size);
        fixture_take(&f, bytes, size);
        fixture_open(&f, FMT_MODE_STRICT);
        assert_true(!is_strict || f.status == FMT_BAD_FILE);
        free(bytes);
        fixture_free(&f);
    }
    cases_free(&cases);
}

/* Plans a container of an opened GGUF and answers as the planner does. */
static fmt_status plan_case(const gguf_file *gguf, fmt_diag *diag) {
    const p64_write_options options = {0};
    gguf_source source;
    p64_plan plan;
    uint64_t need = 0;
    fmt_status status = gguf_source_init(&source, gguf, diag);
    if (status == FMT_OK) {
        status = p64_plan_memory(&source.source, &options, &need, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    void *memory = malloc(need);
    assert_non_null(memory);
    status = p64_plan_make(&source.source, &options, memory, need, &plan, NULL, NULL, NULL, NULL, diag);
    free(memory);
    return status;
}

static void check_gguf_case(const test_case *item) {
    const fmt_span span = test_map_file(item->path);
    uint64_t need = 0;
    gguf_file gguf;
    fmt_diag diag;
    if (gguf_scratch_size(span, &need, &diag) == FMT_OK) {
        void *scratch = malloc(need + 8);
        assert_non_null(scratch);
        if (gguf_open(span, scratch, need, &gguf, &diag) == FMT_OK) {
            const fmt_status status = plan_case(&gguf, &diag);
            print_message("  %s: %s\n", item->id, status == FMT_OK ? "planned" : diag.text);
            if (strcmp(item->expect, "reject") == 0) {
                assert_int_equal(status, FMT_LIMIT);
                assert_non_null(strstr(diag.text, "4 GiB"));
            } else if (strcmp(item->expect, "accept") == 0) {
                assert_int_equal(status, FMT_OK);
            }
        }
        free(scratch);
    }
    test_unmap_file(span);
}

static void of_the_gguf_cases_that_open_only_the_oversized_one_cannot_be_planned(void **state) {
    test_cases cases;
    (void)state;
    cases_make("gguf", &cases);
    for (size_t i = 0; i < cases.count; i++) {
        check_gguf_case(&cases.items[i]);
    }
    cases_free(&cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_generated_case_opens_or_is_refused_by_its_rule),
        cmocka_unit_test(what_is_only_noted_is_refused_in_strict_mode),
        cmocka_unit_test(of_the_gguf_cases_that_open_only_the_oversized_one_cannot_be_planned),
    };
    return cmocka_run_group_tests_name("p64 cases", tests, NULL, NULL);
}
