/* test_options.c — tables of options: forms, ranges, locales, and what a typing error is answered with. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"

static struct {
    bool quiet, was_given;
    uint32_t threads;
    uint64_t seed;
    double temperature;
    const char *mode;
    option_list biases;
} got;

static const option table[] = {
    {OPTION_FLAG, "quiet", 'q', NULL, "", &got.quiet, 0, 0, NULL, NULL},
    {OPTION_UINT, "threads", 't', "N", "", &got.threads, 0, 256, NULL, NULL},
    {OPTION_UINT64, "seed", 0, "N", "", &got.seed, 0, 0, NULL, &got.was_given},
    {OPTION_FLOAT, "temp", 0, "T", "", &got.temperature, 0, 100, NULL, NULL},
    {OPTION_STRING, "mode", 'm', "M", "", &got.mode, 0, 0, "full|lazy", NULL},
    {OPTION_LIST, "bias", 0, "B", "", &got.biases, 0, 0, NULL, NULL},
    {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};

#define MAX_WORDS 8

/* Parses words separated by null; the list ends with null. */
static qn_status parse(const char *const words[MAX_WORDS], arguments *rest, error_context *err) {
    const option *const tables[] = {table};
    char *argv[MAX_WORDS];
    int argc = 0;
    memset(&got, 0, sizeof got);
    for (; argc < MAX_WORDS && words[argc] != NULL; argc++) {
        argv[argc] = (char *)(uintptr_t)words[argc];
    }
    return options_parse(tables, 1, argc, argv, rest, err);
}

static void every_form_of_an_option_is_read(void **state) {
    (void)state;
    arguments rest;
    assert_int_equal(
        parse((const char *const[MAX_WORDS]){"-q", "-t", "3", "file", "--seed=18446744073709551615"}, &rest, NULL),
        QN_OK);
    assert_true(got.quiet && got.was_given);
    assert_int_equal(got.threads, 3);
    assert_true(got.seed == UINT64_MAX);
    assert_int_equal(rest.n_items, 1);
    assert_int_equal(
        parse((const char *const[MAX_WORDS]){"--temp", "0.75", "--mode=lazy", "--quiet=false"}, &rest, NULL), QN_OK);
    assert_true(got.temperature == 0.75);
    assert_string_equal(got.mode, "lazy");
    assert_false(got.quiet);
    assert_int_equal(parse((const char *const[MAX_WORDS]){"-t7"}, &rest, NULL), QN_OK);
    assert_int_equal(got.threads, 7);
}

static void values_may_begin_with_a_dash_and_a_double_dash_ends_options(void **state) {
    (void)state;
    arguments rest;
    assert_int_equal(
        parse((const char *const[MAX_WORDS]){"--bias", "-5:1", "--bias", "7:-inf", "--", "--quiet", "-"}, &rest, NULL),
        QN_OK);
    assert_int_equal(got.biases.n_items, 2);
    assert_string_equal(got.biases.items[0], "-5:1");
    assert_false(got.quiet);
    assert_int_equal(rest.n_items, 2);
    assert_string_equal(rest.items[0], "--quiet");
    assert_int_equal(parse((const char *const[MAX_WORDS]){"-"}, &rest, NULL), QN_OK); /* standard input is no option */
    assert_int_equal(rest.n_items, 1);
}

static void what_cannot_be_is_refused_with_option_and_value(void **state) {
    (void)state;
    static const struct {
        const char *words[MAX_WORDS];
        const char *says[2];
    } rows[] = {
        {{"--threads", "257"}, {"--threads 257", "0 to 256"}},
        {{"--threads", "-1"}, {"--threads -1", "whole number"}},
        {{"--threads", "1.5"}, {"--threads 1.5", "whole number"}},
        {{"--threads", ""}, {"--threads ", "whole number"}},
        {{"--threads", "0x10"}, {"--threads 0x10", "whole number"}},
        {{"--threads", "99999999999999999999"}, {"99999999999999999999", "0 to 256"}},
        {{"--seed", "18446744073709551616"}, {"--seed", "18446744073709551615"}},
        {{"--temp", "0,7"}, {"--temp 0,7", "a point, not a comma"}},
        {{"--temp", "warm"}, {"--temp warm", "0 to 100"}},
        {{"--temp", "nan"}, {"--temp nan", "0 to 100"}},
        {{"--temp", "inf"}, {"--temp inf", "0 to 100"}},
        {{"--temp", "-0.1"}, {"--temp -0.1", "0 to 100"}},
        {{"--temp", "1e9999"}, {"--temp", "0 to 100"}},
        {{"--mode", "ful"}, {"--mode ful", "full|lazy"}},
        {{"--quiet=perhaps"}, {"quiet perhaps", "true or false"}},
        {{"--threads"}, {"--threads", "needs a value"}},
        {{"-t"}, {"-t", "needs a value"}},
        {{"--thraeds", "3"}, {"--thraeds", "did you mean --threads"}},
        {{"--sed=3"}, {"--sed=3", "did you mean --seed"}},
        {{"--xyzzyxyzzy"}, {"--xyzzyxyzzy", "--help lists"}},
        {{"-x"}, {"-x", "unknown option"}},
        {{"-threads"}, {"-threads", "did you mean --threads"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arguments rest;
        error_context err = {0};
        assert_int_equal(parse(rows[i].words, &rest, &err), QN_BAD_INPUT);
        for (size_t w = 0; w < 2; w++) {
            if (strstr(error_text(&err), rows[i].says[w]) == NULL) {
                fail_msg("row %zu: \"%s\" does not say \"%s\"", i, error_text(&err), rows[i].says[w]);
            }
        }
    }
}

static void a_list_has_an_end(void **state) {
    (void)state;
    option_list list = {.n_items = OPTION_LIST_MAX};
    const option row = {OPTION_LIST, "bias", 0, "B", "", &list, 0, 0, NULL, NULL};
    error_context err = {0};
    assert_int_equal(option_set(&row, "1:1", "--", &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "more than 64 times"));
}

static void the_message_begins_with_the_place_in_a_file(void **state) {
    (void)state;
    error_context err = {0};
    assert_int_equal(option_set(&table[1], "many", "quoin.conf: line 3: ", &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "quoin.conf: line 3: threads many"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_an_option_is_read),
        cmocka_unit_test(values_may_begin_with_a_dash_and_a_double_dash_ends_options),
        cmocka_unit_test(what_cannot_be_is_refused_with_option_and_value),
        cmocka_unit_test(a_list_has_an_end),
        cmocka_unit_test(the_message_begins_with_the_place_in_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
