/* test_ere.c — regular expressions: what they find, what is refused, and that no pattern takes long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "rules/ere.h"

static fmt_str text(const char *string) {
    return (fmt_str){string, strlen(string)};
}

static bool finds(const char *pattern, const char *in, bool ignores_case) {
    ere_program *program;
    error_context err = {.code = QN_OK};
    if (ere_compile(text(pattern), ignores_case, &program, &err) < 0) {
        print_error("%s: %s\n", pattern, error_text(&err));
        fail();
    }
    const bool is_found = ere_search(program, text(in));
    ere_free(program);
    return is_found;
}

static void a_pattern_fits_what_it_says(void **state) {
    static const struct {
        const char *pattern, *in;
        bool is_found;
    } rows[] = {
        {"", "", true}, {"b", "abc", true}, {"^b", "abc", false}, {"c$", "abc", true}, {"^abc$", "abcd", false}, {"^$", "", true}, {"^$", "a", false},
        {"a.c", "a\xC3\xA9""c", true}, {"^.$", "\xF0\x9F\x98\x80", true}, {"a.c", "a\nc", false}, {"^a*$", "aaaa", true}, {"^a+$", "", false},
        {"^a?$", "aa", false}, {"^(ab)+$", "ababab", true}, {"^(ab)+$", "aba", false}, {"^a{2,3}$", "a", false}, {"^a{2,3}$", "aaa", true},
        {"^a{2,3}$", "aaaa", false}, {"^a{2}$", "aa", true}, {"^a{2,}$", "a", false}, {"^a{2,}$", "aaaaaaa", true}, {"^a{0,2}$", "", true},
        {"^a{0,2}$", "aaa", false}, {"^xa{0}y$", "xy", true}, {"^(cat|dog|)$", "dog", true}, {"^(cat|dog|)$", "", true}, {"^cat|dog$", "hotdog", true},
        {"^(a|b)*c$", "abbac", true}, {"^[a-c]+$", "abcd", false}, {"^[^a-c]$", "d", true}, {"^[^a-c]$", "b", false}, {"^[^a]$", "\xC3\xA9", true},
        {"^[\xC3\xA0-\xC3\xBC]$", "\xC3\xA9", true}, {"^[]a]+$", "]a", true}, {"^[a-]+$", "a-", true}, {"^[[:alpha:]_]+$", "aZ_", true},
        {"^[[:digit:]]+$", "1a", false}, {"^\\d{4}-\\d{2}$", "2026-11", true}, {"^\\w+$", "a_1", true}, {"^\\W$", "-", true}, {"\\s", "a b", true},
        {"^\\S+$", "a b", false}, {"^[\\d.]+$", "1.2", true}, {"^a\\.b$", "axb", false}, {"^a\\.b$", "a.b", true}, {"^\\n$", "\n", true},
        {"^((a|b)(c|d)){2}$", "acbd", true}, {"^((a|b)(c|d)){2}$", "acb", false}, {"(a*)*b", "aaab", true}, {"^(a|ab)(c|bcd)$", "abcd", true},
        {"^}a$", "}a", true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("%s in %s\n", rows[i].pattern, rows[i].in);
        assert_int_equal(finds(rows[i].pattern, rows[i].in, false), rows[i].is_found);
    }
}

static void the_flag_i_ignores_case_of_ascii(void **state) {
    (void)state;
    assert_true(finds("^HeLLo$", "hEllO", true));
    assert_true(finds("^[a-z]+$", "ABC", true));
    assert_false(finds("^[^a-z]+$", "ABC", true));
    assert_false(finds("^[a-z]+$", "ABC", false));
}

static void what_is_not_offered_is_refused_with_its_column(void **state) {
    static const struct {
        const char *pattern, *words;
    } rows[] = {{"a\\1", "column 2"}, {"(?:a)", "(?"}, {"a*?", "column 3"}, {"a**", "two signs"}, {"\\p{L}", "escape"}, {"\\bx", "escape"},
                {"[a", "not closed"}, {"(a", "not closed"}, {"a)", "closes nothing"}, {"*a", "repeats nothing"}, {"a{2", "count"}, {"a{3,2}", "count"},
                {"a{256}", "count"}, {"[z-a]", "ends before"}, {"[[:word:]]", "name of a class"}, {"[[.a.]]", "collating"}, {"a\\", "escape"},
                {"\xC3\xA9*+", "column 3"}, {"a{,3}", "count"}, {"\xFF", "UTF-8"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ere_program *program;
        error_context err = {.code = QN_OK};
        print_message("%s\n", rows[i].pattern);
        assert_int_equal(ere_compile(text(rows[i].pattern), false, &program, &err), QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), rows[i].words));
    }
}

static void a_pattern_beyond_a_limit_is_refused(void **state) {
    char deep[64], *longest = malloc(2 * ERE_MAX_PATTERN);
    ere_program *program;
    (void)state;
    assert_non_null(longest);
    memset(longest, 'a', 2 * ERE_MAX_PATTERN);
    assert_int_equal(ere_compile((fmt_str){longest, ERE_MAX_PATTERN + 1}, false, &program, NULL), QN_LIMIT);
    assert_int_equal(ere_compile((fmt_str){longest, ERE_MAX_PATTERN}, false, &program, NULL), QN_OK);
    ere_free(program);
    assert_int_equal(ere_compile(text("((a{255}){255}){255}"), false, &program, NULL), QN_LIMIT);
    memset(deep, '(', 17);
    memset(deep + 17, ')', 17);
    deep[34] = '\0';
    assert_int_equal(ere_compile(text(deep), false, &program, NULL), QN_LIMIT);
    free(longest);
}

/* A matcher that goes back and tries again would need longer than the universe has. */
static void no_pattern_takes_long(void **state) {
    static const char *const patterns[] = {"^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*(a*)*(a*)*b", "^(a{0,30}){0,15}$"};
    const size_t size = 60000;
    char *as = malloc(size + 1);
    (void)state;
    assert_non_null(as);
    memset(as, 'a', size);
    as[size] = '!';
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        ere_program *program;
        const clock_t begin = clock();
        assert_int_equal(ere_compile(text(patterns[i]), false, &program, NULL), QN_OK);
        assert_false(ere_search(program, (fmt_str){as, size + 1}));
        ere_free(program);
        assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 20); /* sanitizers are slow; usually a tenth of a second */
    }
    free(as);
}

static void bytes_that_are_no_text_are_one_character_each(void **state) {
    (void)state;
    assert_true(finds("^a.b$", "a\xFF""b", false));
    assert_false(finds("^a[^x]b$", "a\xFF""b", false));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_fits_what_it_says),
        cmocka_unit_test(the_flag_i_ignores_case_of_ascii),
        cmocka_unit_test(what_is_not_offered_is_refused_with_its_column),
        cmocka_unit_test(a_pattern_beyond_a_limit_is_refused),
        cmocka_unit_test(no_pattern_takes_long),
        cmocka_unit_test(bytes_that_are_no_text_are_one_character_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
