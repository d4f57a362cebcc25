/* test_gbnf.c — grammars: which texts they have, and what is refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "constrain/gbnf.h"
#include "texts.h"

static grammar parse(const char *text) {
    grammar g = {.n_nodes = 0};
    error_context err = {0};
    if (gbnf_parse((fmt_str){text, strlen(text)}, "g", &g, &err) < 0) {
        fail_msg("%s\n%s", text, error_text(&err));
    }
    return g;
}

/* Texts are divided by ~; those in `has` are in the language, those in `lacks` are not. */
static const struct {
    const char *name, *grammar, *has, *lacks;
} languages[] = {
    {"a text", "root ::= \"yes\"", "yes", "~ye~yess~no"},
    {"alternatives", "root ::= \"a\" | \"b\" | \"cc\"", "a~b~cc", "~c~ab"},
    {"an empty alternative", "root ::= \"a\" |", "~a", "aa"},
    {"a sequence over rules", "root ::= x y x\nx ::= \"1\"\ny ::= \"2\"", "121", "12~112"},
    {"a star", "root ::= \"a\"*", "~a~aaaaaaa", "b~ab"},
    {"a plus", "root ::= \"ab\"+", "ab~abab", "~aba"},
    {"a question mark", "root ::= \"a\"? \"b\"", "b~ab", "aab~a"},
    {"a number of times", "root ::= \"a\"{3}", "aaa", "aa~aaaa"},
    {"at least", "root ::= \"a\"{2,}", "aa~aaaaaa", "~a"},
    {"between", "root ::= \"a\"{1,3}", "a~aa~aaa", "~aaaa"},
    {"at most", "root ::= \"a\"{,2}", "~a~aa", "aaa"},
    {"no times", "root ::= \"a\"{0} \"b\"", "b", "ab"},
    {"a repeated group", "root ::= (\"a\" | \"b\"){2,3} \".\"", "ab.~bbb.", "a.~abab."},
    {"groups over lines", "root ::= (\n \"a\" | # one\n \"b\"\n)+", "a~ba", "~c"},
    {"an alternative on the next line", "root ::= \"a\" |\n  \"b\"", "a~b", "ab"},
    {"a class", "root ::= [a-cx]+", "a~bcx", "d~"},
    {"a negated class", "root ::= [^a-c]", "d~\xc3\xa9~\xe2\x82\xac~\xf0\x9f\x98\x80", "a~~dd"},
    {"a class of characters above ASCII", "root ::= [\xc3\xa0-\xc3\xbe\xe2\x82\xac]+", "\xc3\xa9~\xe2\x82\xac\xc3\xa0", "e~\xc3~\xc3\xbf"},
    {"a range over all sizes", "root ::= [\\u0041-\\U0001F600]", "A~\xc3\xa9~\xe2\x82\xac~\xf0\x9f\x98\x80", "@~\xf0\x9f\x98\x81~\xed\xa0\x80"},
    {"a dot", "root ::= .", "a~\n~\xc3\xa9", "~aa~\xc3~\xed\xa0\x80~\xc0\x80"},
    {"escapes", "root ::= \"\\\"\\n\\x41\\u00e9\" [\\]\\-\\\\]", "\"\nA\xc3\xa9]~\"\nA\xc3\xa9-~\"\nA\xc3\xa9\\", "\"\nA\xc3\xa9[~"},
    {"a class with a dash at its end", "root ::= [a-]", "a~-", "b"},
    {"right recursion", "root ::= \"a\" root | \"b\"", "b~aaaaaaaab", "a~ba"},
    {"nesting", "root ::= \"(\" root \")\" | \"x\"", "x~((x))", "((x)~(x))"},
    {"two nestings at once", "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"\"", "~ab~aabc~aacb", "a~aab"},
    {"loops of what may be empty", "root ::= (\"a\"? \"b\"*)* \"c\"", "c~aabbc~babac", "~ab"},
    {"empty rules in a loop", "root ::= e* \"x\" e*\ne ::= \"y\"?", "x~yyxy", "~y"},
    {"a comment at the end", "root ::= \"a\" # that is all", "a", "~#"},
};

static void a_language_has_the_texts_that_it_should(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof languages / sizeof languages[0]; i++) {
        grammar g = parse(languages[i].grammar);
        for (int should = 0; should < 2; should++) {
            const char *at = should ? languages[i].has : languages[i].lacks;
            for (;; at++) {
                const size_t size = strcspn(at, "~");
                if (texts_accept(&g, at, size) != (bool)should) {
                    fail_msg("%s: \"%.*s\" %s", languages[i].name, (int)size, at, should ? "is missing" : "is too much");
                }
                at += size;
                if (*at == '\0') {
                    break;
                }
            }
        }
        grammar_free(&g);
    }
}

static const struct {
    const char *name, *grammar, *words;
} refused[] = {
    {"nothing", "", "no rule root"},
    {"no root", "a ::= \"a\"", "no rule root"},
    {"an unknown rule", "root ::= \"a\"\n  other\n", "line 2, column 8: behind a rule's name stands ::=, found is the line's end"},
    {"an undefined rule", "root ::= \"a\" other", "line 1, column 14: rule other is used here and defined nowhere"},
    {"an unused rule", "root ::= \"a\"\nother ::= \"b\"", "line 2, column 1: rule other is never used"},
    {"two definitions", "root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: rule root is defined a second time"},
    {"left recursion", "root ::= root \"a\" | \"b\"", "rule root begins with itself"},
    {"left recursion over two rules", "root ::= x\nx ::= y \"1\" | \"2\"\ny ::= x \"3\"", "begins with itself"},
    {"left recursion behind what may be empty", "root ::= e root | \"a\"\ne ::= \"x\"?", "rule root begins with itself"},
    {"left recursion in a repetition", "root ::= (root \"a\"){2} | \"b\"", "rule root begins with itself"},
    {"a rule without end", "root ::= \"a\" root", "line 1, column 1: rule root never ends"},
    {"an open text", "root ::= \"abc\n", "line 1, column 10: what opens here is not closed with \""},
    {"an open class", "root ::= [abc", "line 1, column 10: what opens here is not closed with ]"},
    {"an open group", "root ::= (\"a\" | \"b\"", "a group ends with ), found is the end"},
    {"an empty class", "root ::= []", "a class of characters that no character is in"},
    {"a turned range", "root ::= [z-a]", "column 11: the range ends before it begins"},
    {"a turned repetition", "root ::= \"a\"{3,2}", "at least 3 and at most 2"},
    {"a large repetition", "root ::= \"a\"{0,999999999}", "line 1, column 16: a repetition's bound is 999999999; the limit is 4096"},
    {"a repetition that no word holds", "root ::= \"a\"{99999999999999999999999}", "the limit is 4096"},
    {"an unknown escape", "root ::= \"\\q\"", "column 11: no escape begins with a backslash and 'q'"},
    {"a surrogate", "root ::= \"\\uD800\"", "U+D800 is no character"},
    {"a sign without a meaning", "root ::= \"a\" $", "column 14: '$' has no meaning here"},
    {"bytes that are no UTF-8", "root ::= \"\xff\"", "a character of UTF-8 belongs here, found is byte 0xff"},
};

static void what_is_no_grammar_is_refused_with_its_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        grammar g = {.n_nodes = 0};
        error_context err = {0};
        const qn_status status = gbnf_parse((fmt_str){refused[i].grammar, strlen(refused[i].grammar)}, "g", &g, &err);
        if (status >= 0 || strstr(error_text(&err), refused[i].words) == NULL || strncmp(error_text(&err), "g: ", 3) != 0) {
            fail_msg("%s: %d %s", refused[i].name, status, error_text(&err));
        }
    }
}

static void many(char *out, size_t size, const char *begin, const char *each, unsigned n, const char *end) {
    size_t at = (size_t)snprintf(out, size, "%s", begin);
    for (unsigned i = 0; i < n; i++) {
        at += (size_t)snprintf(out + at, size - at, each, i);
    }
    snprintf(out + at, size - at, "%s", end);
}

static void expect_limit(const char *text, size_t size, const char *words) {
    grammar g;
    error_context err = {0};
    assert_int_equal(gbnf_parse((fmt_str){text, size}, "g", &g, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), words));
}

static void groups_rules_alternatives_and_bytes_have_a_limit(void **state) {
    (void)state;
    char *text = malloc(GBNF_MAX_BYTES + 16);
    many(text, GBNF_MAX_BYTES, "root ::= ", "(", 65, "");
    expect_limit(text, strlen(text), "more than 64 deep");
    many(text, GBNF_MAX_BYTES, "root ::= \"a\"", " | \"b\"", 4096, "");
    expect_limit(text, strlen(text), "more than 4096 alternatives");
    many(text, GBNF_MAX_BYTES, "root ::= \"a\"", " r%u", 4097, "");
    expect_limit(text, strlen(text), "4096, which is the limit");
    memset(text, ' ', GBNF_MAX_BYTES + 1);
    expect_limit(text, GBNF_MAX_BYTES + 1, "a grammar has at most 1048576");
    free(text);
}

static void thousands_of_alternatives_are_one_state(void **state) {
    (void)state;
    char *text = malloc(GBNF_MAX_BYTES);
    many(text, GBNF_MAX_BYTES, "root ::= \"w0\"", " | \"w%u.\"", 4095, "");
    grammar g = parse(text);
    assert_true(texts_accept(&g, "w4094.", 6) && texts_accept(&g, "w0", 2) && texts_accept(&g, "w17.", 4));
    assert_false(texts_accept(&g, "w4095.", 6) || texts_accept(&g, "w1", 2));
    grammar_free(&g);
    free(text);
}

static void a_text_with_too_many_ways_at_once_is_an_error_and_not_a_yes(void **state) {
    (void)state;
    grammar g = parse("root ::= (\"a\"? \"b\"? \"c\"? \"d\"? \"e\"?){0,4096}");
    text_states s;
    error_context err = {0};
    assert_int_equal(text_states_create(&g, &s, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), "ways at once"));
    grammar_free(&g);
}

static void too_many_states_are_refused_with_the_place(void **state) {
    (void)state;
    char text[4096];
    many(text, sizeof text, "root ::= \"x\"", " \"a\"{4096}", 70, "");
    expect_limit(text, strlen(text), "more than 262144 states");
    assert_true(strlen(text) < sizeof text - 1);
}

static void nesting_beyond_the_stack_is_an_error_and_not_a_yes(void **state) {
    (void)state;
    grammar g = parse("root ::= \"(\" root \")\" | \"x\"");
    text_states s;
    error_context err = {0};
    assert_int_equal(text_states_create(&g, &s, NULL), QN_OK);
    uint32_t at = s.start, depth = 0;
    qn_status status = QN_OK;
    while (status == QN_OK && depth <= TEXT_STATES_MAX_DEPTH + 1) {
        status = text_states_step(&s, at, '(', &at, &err);
        depth++;
    }
    assert_int_equal(status, QN_LIMIT);
    assert_int_equal(depth, TEXT_STATES_MAX_DEPTH + 1);
    assert_non_null(strstr(error_text(&err), "deeper than 1024"));
    text_states_destroy(&s);
    grammar_free(&g);
}

static void right_recursion_needs_no_stack(void **state) {
    (void)state;
    grammar g = parse("root ::= \"a\" root | \"b\"");
    text_states s;
    bool is_complete;
    static char text[20001];
    memset(text, 'a', 20000);
    text[20000] = 'b';
    assert_int_equal(text_states_create(&g, &s, NULL), QN_OK);
    assert_true(texts_begin_so(&s, text, sizeof text, &is_complete));
    assert_true(is_complete);
    assert_true(s.n_states < 8);
    text_states_destroy(&s);
    grammar_free(&g);
}

static void forgetting_keeps_where_the_text_stands(void **state) {
    (void)state;
    grammar g = parse("root ::= \"(\" root \")\" | \"[\" root \"]\" | \"x\"");
    text_states s;
    const char *text = "([([(x)])])";
    uint32_t at;
    assert_int_equal(text_states_create(&g, &s, NULL), QN_OK);
    at = s.start;
    for (const char *c = text; *c != '\0'; c++) {
        assert_int_equal(text_states_step(&s, at, (uint8_t)*c, &at, NULL), QN_OK);
        assert_int_not_equal(at, TEXT_STATE_DEAD);
        at = text_states_compact(&s, at);
        assert_int_equal(s.n_states, 2);
    }
    assert_true(s.states[at].is_accepting && text_states_is_final(&s, at));
    text_states_destroy(&s);
    grammar_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_language_has_the_texts_that_it_should),
        cmocka_unit_test(what_is_no_grammar_is_refused_with_its_place),
        cmocka_unit_test(groups_rules_alternatives_and_bytes_have_a_limit),
        cmocka_unit_test(thousands_of_alternatives_are_one_state),
        cmocka_unit_test(a_text_with_too_many_ways_at_once_is_an_error_and_not_a_yes),
        cmocka_unit_test(too_many_states_are_refused_with_the_place),
        cmocka_unit_test(nesting_beyond_the_stack_is_an_error_and_not_a_yes),
        cmocka_unit_test(right_recursion_needs_no_stack),
        cmocka_unit_test(forgetting_keeps_where_the_text_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
