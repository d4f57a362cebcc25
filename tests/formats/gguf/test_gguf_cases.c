/* test_gguf_cases.c — every generated GGUF case through the reader. `reject` must be refused by the rule named here;
 * `refuse-run` is a matter of loading, so these open; gsize-01 is well formed and refused by conversion only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"
#include "gguf_builder.h"

/* Case id (or its beginning) and the rule that must refuse it. */
static const struct {
    const char *id, *rule, *quotes;
} expected[] = {
    {"gbad-02", "header-size", "3 bytes"},
    {"gbad-03", "magic", "\"GGUE\""},
    {"gbad-05", "lfs-pointer", "Git LFS"},
    {"gbad-06", "version", "the version is "},
    {"gbad-08", "tensor-count", "tensors"},
    {"gbad-09", "key-count", "keys"},
    {"gbad-11", "key-length", "9 bytes long with 8 left"},
    {"gbad-12", "key-length", "0 bytes long"},
    {"gbad-14", "key-text", "\\xff\\xfe"},
    {"gbad-15", "string-length", "9223372036854775808"},
    {"gbad-17", "key-duplicate", "\"llama.block_count\""},
    {"gbad-18", "value-type", "\"a.b\" has value type "},
    {"gbad-20", "array-length", "2305843009213693953"},
    {"gbad-21", "array-length", "1000000000"},
    {"gbad-23", "array-type", "77"},
    {"gbad-24", "alignment", "\"general.alignment\" is "},
    {"gbad-26", "alignment-type", "string"},
    {"gbad-27", "tensor-rank", "0 dimensions"},
    {"gbad-29", "tensor-rank", "4294967295"},
    {"gbad-30", "tensor-dim", "dimension 1 of tensor \"t\" is 0"},
    {"gbad-32", "tensor-size", "4294967296 x 4294967296"},
    {"gbad-33", "tensor-dim", "18446744073709551615"},
    {"gbad-35", "tensor-row", "128 elements, no multiple of 256"},
    {"gbad-36", "tensor-alignment", "offset 4, the alignment is 32"},
    {"gbad-38", "tensor-bounds", "18446744073709551584"},
    {"gbad-39", "tensor-overlap", "\"token_embd.weight\""},
    {"gbad-41", "tensor-bounds", "30000"},
    {"gbad-42", "tensor-duplicate", "\"blk.0.attn_q.weight\""},
};

static void check_refused(const test_case *item, fmt_status status, const fmt_diag *diag, uint64_t size) {
    assert_int_equal(status, FMT_BAD_FILE);
    assert_true(diag->offset <= size);
    assert_null(strchr(diag->text, '\n'));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (strncmp(item->id, expected[i].id, strlen(expected[i].id)) == 0) {
            assert_string_equal(diag->rule, expected[i].rule);
            assert_non_null(strstr(diag->text, expected[i].quotes));
            return;
        }
    }
    fail_msg("%s: no rule is expected here; the reader said %s", item->id, diag->rule);
}

static void check_case(const test_case *item) {
    const fmt_span span = test_map_file(item->path);
    gguf_file file;
    fmt_diag diag;
    void *scratch = NULL;
    const fmt_status status = open_with_scratch(span, &file, &scratch, &diag);
    const bool is_for_converter = strcmp(item->id, "gsize-01-sparse-5gib") == 0;
    print_message("%s: %s\n", item->id, status == FMT_OK ? "opened" : diag.text);
    if (strcmp(item->expect, "reject") == 0 && !is_for_converter) {
        check_refused(item, status, &diag, span.size);
    } else {
        assert_int_equal(status, FMT_OK);
        assert_true(file.n_kv > 0);
        free(scratch);
    }
    test_unmap_file(span);
}

static void every_generated_case_opens_or_is_refused_by_its_rule(void **state) {
    (void)state;
    test_cases cases;
    cases_make("gguf", &cases);
    for (size_t i = 0; i < cases.count; i++) {
        check_case(&cases.items[i]);
    }
    cases_free(&cases);
}

static void five_gib_tensor_is_placed_with_64_bits(void **state) {
    (void)state;
    test_cases cases;
    cases_make("gguf", &cases);
    for (size_t i = 0; i < cases.count; i++) {
        if (strcmp(cases.items[i].id, "gsize-01-sparse-5gib") != 0) {
            continue;
        }
        const fmt_span span = test_map_file(cases.items[i].path);
        gguf_file file;
        fmt_diag diag;
        void *scratch = NULL;
        assert_int_equal(open_with_scratch(span, &file, &scratch, &diag), FMT_OK);
        const gguf_tensor *big = gguf_find_tensor(&file, "big");
        assert_non_null(big);
        assert_true(big->size == UINT64_C(5) << 30);
        assert_true(big->at + big->size == span.size);
        free(scratch);
        test_unmap_file(span);
    }
    cases_free(&cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_generated_case_opens_or_is_refused_by_its_rule),
        cmocka_unit_test(five_gib_tensor_is_placed_with_64_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
