/* test_ntr_make.c — surface texts made from parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nt_fixture.h"

static char out[NTRIPLES_TERM_ROOM];

/* Makes a literal when `value` is given, otherwise an IRI or, with language "_", a blank node from `datatype`. */
typedef struct parts {
    const char *value, *language, *datatype;
} parts;

static fmt_status make(parts p, ntriples_term *term, fmt_diag *diag) {
    if (p.value != NULL) {
        return ntriples_make_literal(nt_str(p.value), nt_str(p.language), nt_str(p.datatype), out, term, diag);
    }
    return p.language[0] == '_' ? ntriples_make_blank(nt_str(p.datatype), out, term, diag)
                                : ntriples_make_iri(nt_str(p.datatype), out, term, diag);
}

static void parts_become_canonical_text(void **state) {
    static const struct {
        parts parts;
        const char *text;
    } rows[] = {
        {{NULL, "", "http://e/\303\251"}, "<http://e/\303\251>"},
        {{NULL, "_", "a.b"}, "_:a.b"},
        {{"", "", ""}, "\"\""},
        {{"a\"b\\c\nd\re\tf", "", ""}, "\"a\\\"b\\\\c\\nd\\re\tf\""},
        {{"\\u0041", "", ""}, "\"\\\\u0041\""},
        {{"x", "en-GB", ""}, "\"x\"@en-GB"},
        {{"x", "", "a:b"}, "\"x\"^^<a:b>"},
        {{"x", "", "http://www.w3.org/2001/XMLSchema#string"}, "\"x\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ntriples_term term, again;
        fmt_diag diag;
        assert_int_equal(make(rows[i].parts, &term, &diag), FMT_OK);
        assert_int_equal(term.size, strlen(rows[i].text));
        assert_memory_equal(term.text, rows[i].text, term.size);
        assert_true(ntriples_is_canonical((fmt_str){term.text, term.size}, &again));
        assert_int_equal(again.kind, term.kind);
        assert_int_equal(again.close, term.close);
    }
}

static void a_wrong_part_is_refused_at_its_place(void **state) {
    static const struct {
        parts parts;
        const char *rule;
        uint64_t offset;
    } rows[] = {
        {{NULL, "", ""}, "iri-relative", 0},
        {{NULL, "", "a"}, "iri-relative", 0},
        {{NULL, "", "a:b c"}, "iri-character", 3},
        {{NULL, "", "a:b>c"}, "iri-character", 3},
        {{NULL, "", "a:>"}, "iri-character", 2},
        {{NULL, "", "a:\\u0041"}, "iri-character", 2},
        {{NULL, "", "a:\\"}, "iri-character", 2},
        {{NULL, "", "a:\nb"}, "iri-end", 2},
        {{NULL, "", "a:\377"}, "utf-8", 2},
        {{NULL, "_", ""}, "label", 0},
        {{NULL, "_", "a."}, "label", 1},
        {{NULL, "_", "a b"}, "label", 1},
        {{"\377", "", ""}, "utf-8", 0},
        {{"x", "en_GB", ""}, "language-tag", 2},
        {{"x", "-", ""}, "language-tag", 0},
        {{"x", "en--ltr", ""}, "rdf12-direction", 3},
        {{"x", "", "t"}, "iri-relative", 0},
        {{"x", "en", "a:b"}, "literal-parts", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ntriples_term term = {.size = 77};
        fmt_diag diag;
        assert_int_not_equal(make(rows[i].parts, &term, &diag), FMT_OK);
        assert_string_equal(diag.rule, rows[i].rule);
        assert_int_equal(diag.offset, rows[i].offset);
        assert_int_equal(term.size, 77);
    }
}

static void a_text_that_would_be_too_long_is_refused_with_its_length(void **state) {
    static const struct {
        size_t n; /* quotation marks in the value: two bytes each */
        const char *language, *datatype;
        uint64_t length; /* 0: fits */
    } rows[] = {
        {32766, "", "", 0},
        {32767, "", "", 65536},
        {32766, "", "http://www.w3.org/2001/XMLSchema#string", 0},
        {32765, "en", "", 65535 + 0},
        {32766, "en", "", 65537},
        {32766, "", "a:b", 65541},
        {40000, "", "a:b", 80002},
    };
    char *value = malloc(40000);
    (void)state;
    assert_non_null(value);
    memset(value, '"', 40000);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ntriples_term term;
        fmt_diag diag;
        const bool fits = rows[i].length <= NTRIPLES_MAX_TERM;
        const fmt_status status = ntriples_make_literal((fmt_str){value, rows[i].n}, nt_str(rows[i].language),
                                                        nt_str(rows[i].datatype), out, &term, &diag);
        assert_int_equal(status, fits ? FMT_OK : FMT_LIMIT);
        if (!fits) {
            assert_string_equal(diag.rule, "term-too-long");
            assert_int_equal(diag.got, rows[i].length);
        }
    }
    free(value);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_become_canonical_text),
        cmocka_unit_test(a_wrong_part_is_refused_at_its_place),
        cmocka_unit_test(a_text_that_would_be_too_long_is_refused_with_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
