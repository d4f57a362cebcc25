/* test_ntr_terms.c — one surface text: read, recognised as canonical, taken apart, decoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "nt_fixture.h"

static char scratch[NTRIPLES_TERM_ROOM];

static void assert_str(fmt_str got, const char *wanted) {
    assert_int_equal(got.size, strlen(wanted));
    assert_true(got.size == 0 || memcmp(got.data, wanted, got.size) == 0);
}

static const struct {
    const char *text, *canonical; /* canonical null: the text itself */
    ntriples_kind kind;
    const char *value, *language, *datatype;
} terms[] = {
    {"<http://e/a>", NULL, NTRIPLES_IRI, "http://e/a", "", ""},
    {"<http://e/\\u0061>", "<http://e/a>", NTRIPLES_IRI, "http://e/a", "", ""},
    {"_:b.0", NULL, NTRIPLES_BLANK, "b.0", "", ""},
    {"\"\"", NULL, NTRIPLES_LITERAL, "", "", ""},
    {"\"a\"", NULL, NTRIPLES_LITERAL, "a", "", ""},
    {"\"@en\"", NULL, NTRIPLES_LITERAL, "@en", "", ""},
    {"\"a\\\"^^<b:c>\"", NULL, NTRIPLES_LITERAL, "a\"^^<b:c>", "", ""},
    {"\"\\n\\r\\\\\\\"\"@x-1", NULL, NTRIPLES_LITERAL, "\n\r\\\"", "x-1", ""},
    {"\"\\\\n\"", NULL, NTRIPLES_LITERAL, "\\n", "", ""},
    {"\"1\"^^<a:b>", NULL, NTRIPLES_LITERAL, "1", "", "a:b"},
    {"\"\\t\"^^<a:b>", "\"\t\"^^<a:b>", NTRIPLES_LITERAL, "\t", "", "a:b"},
    {"\"1\" ^^ <a:b>", "\"1\"^^<a:b>", NTRIPLES_LITERAL, "1", "", "a:b"},
    {"\"1\"^^<http://www.w3.org/2001/XMLSchema#string>", "\"1\"", NTRIPLES_LITERAL, "1", "", ""},
};

static void a_term_is_read_and_taken_apart(void **state) {
    char value[NTRIPLES_TERM_ROOM];
    (void)state;
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        ntriples_term term;
        fmt_diag diag;
        assert_int_equal(ntriples_read_term(nt_str(terms[i].text), scratch, &term, NULL, &diag), FMT_OK);
        assert_int_equal(term.kind, terms[i].kind);
        assert_str((fmt_str){term.text, term.size}, terms[i].canonical == NULL ? terms[i].text : terms[i].canonical);
        assert_str((fmt_str){value, ntriples_decode(&term, value)}, terms[i].value);
        if (term.kind == NTRIPLES_LITERAL) {
            assert_int_equal(term.text[term.close], '"');
            assert_str(ntriples_language(&term), terms[i].language);
            assert_str(ntriples_datatype(&term), terms[i].datatype);
        }
    }
}

static void only_complete_canonical_texts_are_canonical(void **state) {
    static const char *const others[] = {
        "", "http://e/a", "<a>", "<a:b> ", " <a:b>", "<a:b", "_:", "_:a.", "_:a b", "a", "\"", "\"a", "a\"", "\"a\"@",
        "\"a\" ", "\"a\"@en ", "\"a\" @en", "\"\\t\"", "\"\\u0041\"", "\"a\nb\"", "\"a\"^^<b>", "\"a\"^^", "<<a:b>>",
        "\"a\"@en--ltr", "\"\377\"", "quoin:terms=surface:1", "caf\303\251",
    };
    (void)state;
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        ntriples_term term = {.text = NULL};
        assert_int_equal(ntriples_is_canonical(nt_str(terms[i].text), &term), terms[i].canonical == NULL);
        assert_true(terms[i].canonical != NULL || term.text == terms[i].text);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (ntriples_is_canonical(nt_str(others[i]), NULL)) {
            fail_msg("%s is not canonical", others[i]);
        }
    }
}

static void a_term_in_front_of_other_text_tells_how_far_it_goes(void **state) {
    static const struct {
        const char *text;
        uint64_t used;
    } rows[] = {
        {"<a:b> <c:d>", 5}, {"\"x\"@en-GB.", 9}, {"\"x\"^^<a:b>,", 10}, {"_:a.b. ", 5}, {"\"x\" .", 3}, {"\"x\" ?y", 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ntriples_term term;
        fmt_diag diag;
        uint64_t used = 0;
        assert_int_equal(ntriples_read_term(nt_str(rows[i].text), scratch, &term, &used, &diag), FMT_OK);
        assert_int_equal(used, rows[i].used);
        assert_int_equal(ntriples_read_term(nt_str(rows[i].text), scratch, &term, NULL, &diag), FMT_BAD_FILE);
        assert_string_equal(diag.rule, "term-tail");
        assert_int_equal(diag.offset, rows[i].used);
    }
}

static void a_wrong_term_is_refused_with_the_column_and_nothing_is_touched(void **state) {
    static const struct {
        const char *text, *rule;
        fmt_status status;
    } rows[] = {
        {"", "term", FMT_BAD_FILE},          {"42", "term", FMT_BAD_FILE},          {"?x", "term", FMT_BAD_FILE},
        {"<a>", "iri-relative", FMT_BAD_FILE}, {"\"a", "literal-end", FMT_BAD_FILE}, {"_:", "label", FMT_BAD_FILE},
        {"<<a:b>>", "rdf12-triple-term", FMT_UNSUPPORTED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ntriples_term term = {.size = 77};
        fmt_diag diag;
        uint64_t used = 88;
        assert_int_equal(ntriples_read_term(nt_str(rows[i].text), scratch, &term, &used, &diag), rows[i].status);
        assert_string_equal(diag.rule, rows[i].rule);
        assert_int_equal(strncmp(diag.text, "line 1, column ", 15), 0);
        assert_int_equal(term.size, 77);
        assert_int_equal(used, 88);
    }
}

static void a_statement_is_written_with_single_spaces(void **state) {
    char line[NTRIPLES_LINE_SIZE];
    const fmt_str quad[4] = {nt_str("<a:s>"), nt_str("<a:p>"), nt_str("\"o\""), nt_str("_:g")};
    (void)state;
    assert_str((fmt_str){line, ntriples_write_statement(quad, 3, line)}, "<a:s> <a:p> \"o\" .\n");
    assert_str((fmt_str){line, ntriples_write_statement(quad, 4, line)}, "<a:s> <a:p> \"o\" _:g .\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_term_is_read_and_taken_apart),
        cmocka_unit_test(only_complete_canonical_texts_are_canonical),
        cmocka_unit_test(a_term_in_front_of_other_text_tells_how_far_it_goes),
        cmocka_unit_test(a_wrong_term_is_refused_with_the_column_and_nothing_is_touched),
        cmocka_unit_test(a_statement_is_written_with_single_spaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
