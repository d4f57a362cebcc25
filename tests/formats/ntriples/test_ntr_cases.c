/* test_ntr_cases.c — every generated N-Triples case through the parser: read with the statements named here, or refused
 * by the rule and at the column named here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"
#include "nt_fixture.h"

static const struct {
    const char *id, *rule, *quotes;
    uint64_t column;
} refused[] = {
    {"nbad-01", "byte-order-mark", "byte order mark", 1},
    {"nbad-02", "utf-16", "UTF-8", 1},
    {"nbad-04", "iri-relative", "\"<>\"", 1},
    {"nbad-05", "iri-character", "\" \"", 62},
    {"nbad-07-iri-char-22", "iri-character", "\"\\\"\"", 61},
    {"nbad-07-iri-char-5e", "iri-character", "\"^\"", 61},
    {"nbad-07-iri-char-60", "iri-character", "\"`\"", 61},
    {"nbad-07-iri-char-7b", "iri-character", "\"{\"", 61},
    {"nbad-07-iri-char-7c", "iri-character", "\"|\"", 61},
    {"nbad-07-iri-char-7d", "iri-character", "\"}\"", 61},
    {"nbad-08", "literal-end", "line ends", 45},
    {"nbad-10", "escape", "\\u12", 44},
    {"nbad-11", "code-point", "\\uD83D", 44},
    {"nbad-13", "code-point", "\\U00110000", 44},
    {"nbad-14-utf8-cut", "utf-8", "\\xe2", 44},
    {"nbad-14-utf8-f5", "utf-8", "\\xf5", 44},
    {"nbad-14-utf8-lone-80", "utf-8", "\\x80", 44},
    {"nbad-14-utf8-overlong", "utf-8", "\\xc0", 44},
    {"nbad-14-utf8-surrogate", "utf-8", "\\xed", 44},
    {"nbad-16", "full-stop", "line ends", 46},
    {"nbad-17", "line-end", "\"<\"", 49},
    {"nbad-19", "predicate", "\"_:p\"", 22},
    {"nbad-20", "object", "\"'abc'\"", 43},
    {"nbad-22", "object", "\"42\"", 43},
    {"nbad-23", "directive", "\"@prefix\"", 1},
    {"nbad-25", "language-tag", "\" \"", 47},
    {"nbad-26", "language-tag", "\" \"", 50},
    {"nbad-28", "iri-relative", "\"<int>\"", 48},
    {"nbad-29", "label", "\":\"", 45},
    {"nbad-31", "predicate", "stands here", 21},
    {"nbad-32", "predicate", "\\x00", 21},
    {"nbad-34", "full-stop", "\"<\"", 68},
    {"nbad-35", "graph", "\"\\\"g\\\"\"", 47},
    {"nbad-37", "term-too-long", "65536 bytes", 43},
};

#define S "<http://e.example/s> <http://e.example/p> "

static const struct {
    const char *id;
    size_t n_statements;
    const char *text; /* null: not compared */
} accepted[] = {
    {"nok-01", 2, S "\"a\" .\n" S "\"b\" .\n"},
    {"nok-02", 2, S "\"a\" .\n" S "\"b\" .\n"},
    {"nok-04", 1, S "<http://e.example/o> .\n"},
    {"nok-05", 2, S "\"a\" .\n" S "\"b\" .\n"},
    {"nok-07", 1, S "\"\t\b\\n\\r\f\\\"'\\\\\" .\n"},
    {"nok-08", 2, S "\"caf\303\251 \360\237\230\200\" .\n" S "\"caf\303\251 \360\237\230\200\" .\n"},
    {"nok-10", 2, S "\"a\" .\n" S "\"a\" .\n"},
    {"nok-11", 2, S "\"\303\251\" .\n" S "\"e\314\201\" .\n"},
    {"nok-13", 6, NULL},
    {"nok-14", 1, S "_:o .\n"},
    {"nok-16", 1, NULL},
    {"nok-17", 3, S "\"a\" .\n" S "\"a\" .\n" S "\"a\" .\n"},
    {"nok-19", 1, NULL},
};

static bool is_case(const test_case *item, const char *id) {
    return strncmp(item->id, id, strlen(id)) == 0;
}

static void check_refused(const test_case *item, const nt_result *result) {
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (is_case(item, refused[i].id)) {
            assert_string_equal(result->diag.rule, refused[i].rule);
            assert_non_null(strstr(result->diag.text, refused[i].quotes));
            assert_int_equal(result->fault.column, refused[i].column);
            assert_int_equal(result->fault.line, 1);
            assert_null(strchr(result->diag.text, '\n'));
            return;
        }
    }
    fail_msg("%s: no rule is expected here; the parser said %s", item->id, result->diag.rule);
}

static void check_accepted(const test_case *item, const nt_result *result) {
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        if (is_case(item, accepted[i].id)) {
            const char *wanted = accepted[i].text;
            assert_int_equal(result->status, FMT_NOT_FOUND);
            assert_int_equal(result->n_statements, accepted[i].n_statements);
            assert_true(wanted == NULL || (result->size == strlen(wanted) && memcmp(result->text, wanted, result->size) == 0));
            return;
        }
    }
    fail_msg("%s: nothing is expected here", item->id);
}

static void every_generated_case_is_read_or_refused_by_its_rule_line_and_column(void **state) {
    (void)state;
    test_cases cases;
    size_t n_refused = 0, n_folders = 0;
    cases_make("ntriples", &cases);
    for (size_t i = 0; i < cases.count; i++) {
        const test_case *item = &cases.items[i];
        if (is_case(item, "nok-20")) { /* a folder: about labels of several inputs, not about parsing */
            n_folders++;
            continue;
        }
        nt_result result = nt_parse_file(item->path);
        print_message("%s: %s\n", item->id, result.status == FMT_NOT_FOUND ? "read" : result.diag.text);
        if (strcmp(item->expect, "reject") == 0) {
            assert_int_not_equal(result.status, FMT_NOT_FOUND);
            check_refused(item, &result);
            n_refused++;
        } else {
            check_accepted(item, &result);
        }
        nt_free(&result);
    }
    assert_int_equal(n_folders, 1);
    assert_int_equal(n_refused, sizeof refused / sizeof refused[0]);
    assert_int_equal(cases.count - n_refused - n_folders, sizeof accepted / sizeof accepted[0]);
    cases_free(&cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_generated_case_is_read_or_refused_by_its_rule_line_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
