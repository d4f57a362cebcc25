/* test_n3.c — Notation3: terms, rules, what is refused and where, limits, hostile texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/ntriples.h>

#include "rules/n3.h"

#define XSD "http://www.w3.org/2001/XMLSchema#"
#define EX "@prefix ex: <http://e/> .\n"

static const n3_options usual = {.name = "text"};

static qn_status read_text(const char *text, n3_document *out, error_context *err) {
    return n3_read(text_of(text), &usual, out, err);
}

static void must_read(const char *text, n3_document *out) {
    error_context err = {.code = QN_OK};
    if (read_text(text, out, &err) < 0) {
        print_error("%s\n%s\n", text, error_text(&err));
        fail();
    }
}

/* `text` repeated, between two others; the caller frees. */
static char *repeat(const char *before, const char *text, size_t n, const char *after) {
    const size_t size = strlen(text);
    char *whole = malloc(strlen(before) + n * size + strlen(after) + 1), *at = whole;
    assert_non_null(whole);
    memcpy(at, before, strlen(before));
    at += strlen(before);
    for (size_t i = 0; i < n; i++, at += size) {
        memcpy(at, text, size);
    }
    memcpy(at, after, strlen(after) + 1);
    return whole;
}

static bool is_text(fmt_str got, const char *wanted) {
    return texts_equal(got, text_of(wanted));
}

/* ---------------------------------------------------------------- terms */

static void terms_become_canonical_n_triples(void **state) {
    static const struct {
        const char *object, *wanted;
    } rows[] = {
        {"<http://e/x#y>", "<http://e/x#y>"}, {"<http://e/\\u00E9>", "<http://e/\xC3\xA9>"}, {"ex:a", "<http://e/a>"}, {"ex:", "<http://e/>"},
        {":x", "<http://d/x>"}, {"ex:a.b", "<http://e/a.b>"}, {"ex:a:b", "<http://e/a:b>"}, {"ex:%41\\,", "<http://e/%41,>"}, {"ex:1", "<http://e/1>"},
        {"ex:a-b", "<http://e/a-b>"}, {"_:b1", "_:b1"}, {"\"t\"", "\"t\""}, {"\"t\"@en-GB", "\"t\"@en-GB"}, {"\"5\"^^ex:d", "\"5\"^^<http://e/d>"},
        {"\"5\"^^<http://e/d>", "\"5\"^^<http://e/d>"}, {"\"s\"^^<" XSD "string>", "\"s\""}, {"'it \"is\"'", "\"it \\\"is\\\"\""},
        {"\"\"\"two\nlines \"\" x\"\"\"", "\"two\\nlines \\\"\\\" x\""}, {"'''a'b'''", "\"a'b\""}, {"\"\\t\\b\\f\\n\\r\\\\\\'\\u00e9\\U0001F600\"", "\"\t\b\f\\n\\r\\\\'\xC3\xA9\xF0\x9F\x98\x80\""},
        {"\"# no comment\"", "\"# no comment\""}, {"42", "\"42\"^^<" XSD "integer>"}, {"-0.50", "\"-0.50\"^^<" XSD "decimal>"}, {".5", "\".5\"^^<" XSD "decimal>"},
        {"+1e-3", "\"+1e-3\"^^<" XSD "double>"}, {"true", "\"true\"^^<" XSD "boolean>"}, {"false", "\"false\"^^<" XSD "boolean>"},
        {"\"\"", "\"\""}, {"\"x\" @en", "\"x\"@en"},
        {"\"5\" ^^ ex:d", "\"5\"^^<http://e/d>"}, {"true:x", "<http://t/x>"}, {"<b/../c#d>", "<http://d/c#d>"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[400];
        n3_document d;
        print_message("%s\n", rows[i].object);
        snprintf(text, sizeof text, EX "PREFIX : <http://d/>\nbase <http://d/a>\n@prefix true: <http://t/> .\nex:s ex:p %s .", rows[i].object);
        must_read(text, &d);
        assert_int_equal(d.n_assertions, 1);
        assert_true(is_text(d.assertions[0].terms[FACT_OBJECT].text, rows[i].wanted));
        assert_true(ntriples_is_canonical(d.assertions[0].terms[FACT_OBJECT].text, NULL));
        n3_free(&d);
    }
}

static void lists_of_predicates_and_objects_share_their_subject(void **state) {
    n3_document d;
    (void)state;
    must_read(EX "ex:s a ex:C ; ex:p 1 , 2 ;; ex:q \"x\" ; . # end\nex:t ex:p 5.", &d);
    assert_int_equal(d.n_assertions, 5);
    assert_true(is_text(d.assertions[0].terms[FACT_PREDICATE].text, "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"));
    assert_true(is_text(d.assertions[2].terms[FACT_PREDICATE].text, "<http://e/p>"));
    assert_true(is_text(d.assertions[3].terms[FACT_SUBJECT].text, "<http://e/s>"));
    assert_int_equal(d.assertions[4].line, 3);
    assert_int_equal(d.assertions[4].column, 11);
    n3_free(&d);
}

static void a_prefix_may_be_declared_anew(void **state) {
    n3_document d;
    (void)state;
    must_read(EX "ex:a ex:p 1 . @prefix ex: <http://f/> . ex:a ex:p 1 .", &d);
    assert_true(is_text(d.assertions[0].terms[FACT_SUBJECT].text, "<http://e/a>"));
    assert_true(is_text(d.assertions[1].terms[FACT_SUBJECT].text, "<http://f/a>"));
    n3_free(&d);
}

static void labels_of_blank_nodes_get_the_prefix_that_is_asked_for(void **state) {
    const n3_options options = {.name = "text", .blank_prefix = "s2_"};
    n3_document d;
    (void)state;
    assert_int_equal(n3_read(text_of("_:a <http://e/p> _:b."), &options, &d, NULL), QN_OK);
    assert_true(is_text(d.assertions[0].terms[FACT_SUBJECT].text, "_:s2_a"));
    assert_true(is_text(d.assertions[0].terms[FACT_OBJECT].text, "_:s2_b"));
    n3_free(&d);
}

static void an_empty_text_says_nothing(void **state) {
    static const char *const texts[] = {"", " \n", "# only a comment", "\xEF\xBB\xBF# with a mark\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        n3_document d;
        must_read(texts[i], &d);
        assert_int_equal(d.n_assertions + d.n_rules, 0);
        n3_free(&d);
    }
}

/* ---------------------------------------------------------------- rules */

static void each_arrow_makes_its_rule(void **state) {
    (void)state;
    for (n3_arrow arrow = N3_STRICT; arrow <= N3_LINEAR; arrow++) {
        char text[200];
        n3_document d;
        snprintf(text, sizeof text, EX "[r-1] (0.8) { ?x ex:p ?y ; ex:q 1 . } %s {?y ex:r ?x} .", n3_arrow_text(arrow));
        must_read(text, &d);
        assert_int_equal(d.n_rules, 1);
        assert_int_equal(d.n_assertions, 0);
        const n3_rule *rule = &d.rules[0];
        assert_int_equal(rule->arrow, arrow);
        assert_true(is_text(rule->id, "r-1") && is_text(rule->weight, "0.8"));
        assert_int_equal(rule->premise.n_triples, 2);
        assert_int_equal(rule->conclusion.n_triples, 1);
        assert_int_equal(d.formula_triples[rule->conclusion.first].terms[FACT_OBJECT].kind, N3_VARIABLE);
        assert_true(is_text(d.formula_triples[rule->conclusion.first].terms[FACT_OBJECT].text, "x"));
        assert_int_equal(rule->line, 2);
        n3_free(&d);
    }
}

static void a_rule_may_conclude_false_and_may_have_no_premises(void **state) {
    n3_document d;
    (void)state;
    must_read(EX "{ ?x ex:p 1 } => false . {} => { ex:a ex:p 2 } .", &d);
    assert_int_equal(d.n_rules, 2);
    assert_true(d.rules[0].conclusion.is_false);
    assert_int_equal(d.rules[1].premise.n_triples, 0);
    n3_free(&d);
}

static void a_formula_inside_a_formula_is_its_text(void **state) {
    n3_document d;
    (void)state;
    must_read(EX "{ ?x ex:says { ex:a\n\t ex:b   ex:c } } => { ?x ex:p 1 } .", &d);
    const n3_term *object = &d.formula_triples[0].terms[FACT_OBJECT];
    assert_int_equal(object->kind, N3_FORMULA);
    assert_true(is_text(object->text, "{ ex:a ex:b ex:c }"));
    assert_int_equal(d.rules[0].premise.n_triples, 1);
    n3_free(&d);
}

/* ---------------------------------------------------------------- refusals */

static void a_fault_is_told_with_its_line_and_column(void **state) {
    static const struct {
        const char *text, *place, *words;
    } rows[] = {
        {"ex:a ex:p ex:b", "line 2, column 15", "no full stop"}, {"ex:a ex:p ex:b ex:c .", "column 16", "left over"},
        {"ex:a ex:p .", "column 11", "no term"}, {"ex:a .", "column 6", "no term"}, {"un:a ex:p 1 .", "column 1", "\"un:\" is not declared"},
        {"ex:a ex:p word .", "column 11", "no term"}, {"ex:a ex:p <rel> .", "column 11", "no @base"}, {"ex:a ex:p <http://e/a b> .", "column 22", "IRI"},
        {"ex:a ex:p <http://e/a", "column 11", "no end"}, {"ex:a ex:p \"x .", "column 11", "no end"}, {"ex:a ex:p \"x\n\" .", "column 13", "line ends"},
        {"ex:a ex:p \"\\x\" .", "column 12", "no escape"}, {"ex:a ex:p \"\\u12\" .", "column 12", "4 hexadecimal"},
        {"ex:a ex:p \"\\uD800\" .", "column 12", "no character"}, {"ex:a ex:p \"x\"@ .", "column 15", "language"}, {"ex:a ex:p \"x\"@9 .", "column 11", "language"},
        {"\"x\" ex:p 1 .", "column 1", "no subject"}, {"ex:a \"p\" 1 .", "column 6", "predicate"}, {"ex:a _:b 1 .", "column 6", "predicate"},
        {"ex:a ex:p ?x .", "column 11", "outside of a rule"}, {"ex:a ex:p [ ex:q 1 ] .", "column 11", "[ ... ]"}, {"ex:a ex:p ( 1 ) .", "column 11", "lists"},
        {"ex:a ex:p { ex:b ex:q 1 } .", "column 11", "no part of a statement"}, {"@forAll ex:x .", "column 1", "no directives"},
        {"@prefix a: ex:b .", "column 12", "IRI in < >"}, {"@prefix ex <http://e/> .", "column 9", "no term"}, {"@prefix x: <http://e/> ex:a .", "column 24", "left over"},
        {"{ ?x ex:p 1 } .", "column 15", "=>, ~>, ^> or -o"}, {"{ ?x ex:p 1 } => .", "column 18", "conclusions"}, {"{ ?x ex:p 1 } => {} .", "column 18", "concludes nothing"},
        {"{ ?x ex:p 1 } => falsehood .", "column 18", "conclusions"}, {"{ ?x ex:p 1 => false .", "column 13", "ends with . or }"}, {"{ ?x ex:p 1", "column 1", "not closed"},
        {"{ ?x ex:p 1 } => { ?x ex:q 1 }", "column 31", "no full stop"}, {"[] { } => false .", "column 1", "names a rule"}, {"[a b] { } => false .", "column 1", "names a rule"},
        {"(x) { } => false .", "column 1", "weight"}, {"(1.2.3) { } => false .", "column 1", "weight"}, {"[a] ex:b ex:c 1 .", "column 5", "premises"},
        {"[a] {} => false . [a] {} => false .", "column 19", "in line 2 already"}, {"ex:a ex:p 1 => 2 .", "column 13", "between formulas"},
        {"ex:a ex:p 1e .", "column 12", "exponent"}, {"ex:a ex:p 1 . ? .", "column 15", "variable"}, {"ex:a ex:p <http://e/\\u0020> .", "column 11", ""},
        {"ex:\xC3\xA9 ex:p ? .", "column 11", "variable"}, {"ex:a ex:p \"\xFF\" .", "column 12", "0xFF"}, {"PREFIX x: <http://e/> .", "column 23", "no term"},
        {"ex:a ex:p \"x\"^^5 .", "column 16", "no term"}, {"ex:a ex:p 5 } .", "column 13", "left over"}, {"ex:a.ex:p 1 .", "column 1", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[300];
        n3_document d;
        error_context err = {.code = QN_OK};
        snprintf(text, sizeof text, EX "%s", rows[i].text);
        print_message("%s\n", rows[i].text);
        assert_int_equal(read_text(text, &d, &err), QN_BAD_INPUT);
        print_message("    %s\n", error_text(&err));
        assert_non_null(strstr(error_text(&err), "text: line 2, "));
        assert_non_null(strstr(error_text(&err), rows[i].place));
        assert_non_null(strstr(error_text(&err), rows[i].words));
        assert_null(d.assertions);
    }
}

static void a_zero_byte_is_refused(void **state) {
    n3_document d;
    error_context err = {.code = QN_OK};
    (void)state;
    assert_int_equal(n3_read((fmt_str){"# \0\n", 4}, &usual, &d, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "column 3: a zero byte"));
}

/* ---------------------------------------------------------------- limits */

static void must_meet_limit(const char *text, const n3_options *options, const char *words) {
    n3_document d;
    error_context err = {.code = QN_OK};
    assert_int_equal(n3_read(text_of(text), options, &d, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), words));
    assert_non_null(strstr(error_text(&err), "text: line "));
}

static void sixty_four_candidates_are_read_and_no_more(void **state) {
    char *most = repeat(EX, "ex:a ex:p 1 .\n", N3_MAX_CANDIDATES, ""), *more = repeat(EX, "ex:a ex:p 1 .\n", N3_MAX_CANDIDATES + 1, "");
    n3_document d;
    (void)state;
    must_read(most, &d);
    assert_int_equal(d.n_assertions, N3_MAX_CANDIDATES);
    n3_free(&d);
    must_meet_limit(more, &usual, "line 66, column 11: more than 64 statements outside");
    free(most);
    free(more);
}

static void statements_of_all_kinds_are_counted(void **state) {
    const n3_options many = {.name = "text", .max_assertions = UINT32_MAX};
    char *text = repeat(EX, "ex:a ex:p 1 .\n", N3_MAX_STATEMENTS + 1, ""), *rules = repeat("", "{}=>false.", N3_MAX_RULES + 1, "");
    (void)state;
    must_meet_limit(text, &many, "more than 65536 statements");
    must_meet_limit(rules, &usual, "more than 4096 rules");
    free(text);
    free(rules);
}

static void a_formula_has_eight_statements(void **state) {
    char *most = repeat(EX "{", "ex:a ex:p 1 .", 8, "} => false ."), *more = repeat(EX "{", "ex:a ex:p 1 .", 9, "} => false .");
    n3_document d;
    (void)state;
    must_read(most, &d);
    assert_int_equal(d.rules[0].premise.n_triples, 8);
    n3_free(&d);
    must_meet_limit(more, &usual, "more than 8 statements in one formula");
    free(most);
    free(more);
}

static void braces_nest_sixteen_deep(void **state) {
    char *opening = repeat(EX, "{ ex:a ex:p ", 16, "1"), *most = repeat(opening, "}", 16, " => false .");
    char *more = repeat(EX, "{ ex:a ex:p ", 17, "1"), *most_braces = repeat(EX, "{", 1000000, "");
    n3_document d;
    (void)state;
    must_read(most, &d);
    n3_free(&d);
    must_meet_limit(more, &usual, "more than 16 open braces");
    must_meet_limit(most_braces, &usual, "more than 16 open braces");
    free(opening);
    free(most);
    free(more);
    free(most_braces);
}

/* Statements that are short as written and long written out. */
static void a_long_prefix_cannot_fill_the_memory(void **state) {
    const n3_options many = {.name = "text", .max_assertions = UINT32_MAX};
    char *prefix = repeat("@prefix x: <http://e/", "a", 60000, "> .\n"), *huge = repeat("@prefix x: <http://e/", "a", 1000000, "> .\n");
    char *text = malloc(strlen(prefix) + 40 * 2000);
    n3_document d;
    (void)state;
    assert_non_null(text);
    size_t at = strlen(prefix);
    memcpy(text, prefix, at);
    for (int i = 0; i < 2000; i++) {
        at += (size_t)snprintf(text + at, 40, "x:s%d x:p x:o%d .\n", i, i);
    }
    must_meet_limit(text, &many, "64 MiB");
    assert_int_equal(n3_read(text_of(huge), &usual, &d, NULL), QN_BAD_INPUT);
    free(prefix);
    free(huge);
    free(text);
}

static void a_long_line_is_read_in_one_pass(void **state) {
    const n3_options many = {.name = "text", .max_assertions = UINT32_MAX};
    char *text = repeat("<http://e/s> <http://e/p> 0", " , 1", 60000, " .");
    n3_document d;
    (void)state;
    assert_int_equal(n3_read(text_of(text), &many, &d, NULL), QN_OK);
    assert_int_equal(d.n_assertions, 60001);
    assert_int_equal(d.assertions[60000].column, 27 + 4 * 60000);
    n3_free(&d);
    free(text);
}

static void prefixes_and_names_have_limits(void **state) {
    char *text = malloc(257 * 40), *id = repeat("[", "a", N3_MAX_ID + 1, "] {} => false ."), *variable = repeat(EX "{ ?", "v", 200, " ex:p 1 } => false .");
    size_t at = 0;
    n3_document d;
    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 257; i++) {
        at += (size_t)snprintf(text + at, 40, "@prefix p%d: <http://e/%d> .\n", i, i);
    }
    must_meet_limit(text, &usual, "more than 256 prefixes");
    assert_int_equal(read_text(id, &d, NULL), QN_BAD_INPUT);
    assert_int_equal(read_text(variable, &d, NULL), QN_BAD_INPUT);
    free(text);
    free(id);
    free(variable);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_become_canonical_n_triples),
        cmocka_unit_test(lists_of_predicates_and_objects_share_their_subject),
        cmocka_unit_test(a_prefix_may_be_declared_anew),
        cmocka_unit_test(labels_of_blank_nodes_get_the_prefix_that_is_asked_for),
        cmocka_unit_test(an_empty_text_says_nothing),
        cmocka_unit_test(each_arrow_makes_its_rule),
        cmocka_unit_test(a_rule_may_conclude_false_and_may_have_no_premises),
        cmocka_unit_test(a_formula_inside_a_formula_is_its_text),
        cmocka_unit_test(a_fault_is_told_with_its_line_and_column),
        cmocka_unit_test(a_zero_byte_is_refused),
        cmocka_unit_test(sixty_four_candidates_are_read_and_no_more),
        cmocka_unit_test(statements_of_all_kinds_are_counted),
        cmocka_unit_test(a_formula_has_eight_statements),
        cmocka_unit_test(braces_nest_sixteen_deep),
        cmocka_unit_test(a_long_prefix_cannot_fill_the_memory),
        cmocka_unit_test(a_long_line_is_read_in_one_pass),
        cmocka_unit_test(prefixes_and_names_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
