/* test_exact_decimal.c — numbers compared exactly, and which texts a datatype allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/datatype.h"

static fmt_str text(const char *string) {
    return (fmt_str){string, strlen(string)};
}

static void numbers_are_compared_to_the_last_digit(void **state) {
    static const struct {
        const char *a, *b;
        int order;
    } rows[] = {
        {"0", "-0.000", 0}, {"1", "1.0", 0}, {"007", "7", 0}, {"-1", "1", -1}, {"9", "10", -1}, {"-9", "-10", 1},
        {"9007199254740993", "9007199254740992", 1}, {"0.1", "0.10000000000000000000000000000000001", -1}, {"0.05", "0.5", -1},
        {"1e2", "100", 0}, {"1e-2", "0.01", 0}, {"123e-1", "12.3", 0}, {"0.00012e5", "12", 0}, {"5e999999999", "6e999999998", 1},
        {"0e999", "0", 0}, {"-1e1", "-9", -1}, {"INF", "1e999999999", 1}, {"-INF", "INF", -1}, {"INF", "INF", 0}, {"+5", "5", 0},
        {"0.001", "0.0001", 1}, {"100", "99.99999", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        exact_decimal a, b;
        int order = 9, back = 9;
        print_message("%s and %s\n", rows[i].a, rows[i].b);
        assert_true(exact_decimal_parse(text(rows[i].a), DECIMAL_SYNTAX_DOUBLE, &a));
        assert_true(exact_decimal_parse(text(rows[i].b), DECIMAL_SYNTAX_DOUBLE, &b));
        assert_true(exact_decimal_compare(&a, &b, &order) && exact_decimal_compare(&b, &a, &back));
        assert_int_equal((order > 0) - (order < 0), rows[i].order);
        assert_int_equal((back > 0) - (back < 0), -rows[i].order);
    }
}

static void what_is_no_number_has_no_order(void **state) {
    exact_decimal nan, one;
    int order;
    (void)state;
    assert_true(exact_decimal_parse(text("NaN"), DECIMAL_SYNTAX_DOUBLE, &nan));
    assert_true(exact_decimal_parse(text("1"), DECIMAL_SYNTAX_DOUBLE, &one));
    assert_false(exact_decimal_compare(&nan, &one, &order));
    assert_false(exact_decimal_compare(&one, &nan, &order));
}

static void a_datatype_allows_its_texts_and_no_others(void **state) {
    static const struct {
        const char *type, *text;
        bool is_allowed;
    } rows[] = {
        {"integer", "-12", true}, {"integer", "+012", true}, {"integer", "1.0", false}, {"integer", "", false}, {"integer", "1e3", false},
        {"integer", " 1", false}, {"decimal", "1.", true}, {"decimal", ".5", true}, {"decimal", ".", false}, {"decimal", "1e3", false},
        {"double", "1e3", true}, {"double", "INF", true}, {"double", "-NaN", false}, {"double", "1e", false}, {"double", "inf", false},
        {"byte", "127", true}, {"byte", "128", false}, {"byte", "-129", false}, {"unsignedLong", "18446744073709551615", true},
        {"unsignedLong", "18446744073709551616", false}, {"positiveInteger", "0", false}, {"nonNegativeInteger", "-0", true},
        {"boolean", "true", true}, {"boolean", "1", true}, {"boolean", "True", false}, {"string", "anything\n", true},
        {"dateTime", "2026-11-30T12:00:00Z", true}, {"dateTime", "2026-11-30T12:00:00.5+14:00", true}, {"dateTime", "2026-11-30", false},
        {"dateTime", "2026-02-29T00:00:00", false}, {"dateTime", "2024-02-29T24:00:00", true}, {"dateTime", "2024-02-29T24:00:01", false},
        {"dateTime", "2026-11-30T12:00:00.", false}, {"dateTime", "2026-13-01T00:00:00", false}, {"dateTime", "26-11-30T12:00:00", false},
        {"dateTime", "2026-11-30T12:00:00+14:01", false}, {"date", "-0044-03-15", true}, {"date", "2026-04-31", false},
        {"date", "02026-04-30", false}, {"date", "1900-02-29", false}, {"date", "2000-02-29Z", true}, {"duration", "whatever", true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char iri[100];
        snprintf(iri, sizeof iri, "%s%s", XSD_IRI, rows[i].type);
        print_message("%s of %s\n", rows[i].text, rows[i].type);
        assert_int_equal(datatype_allows(text(iri), text(rows[i].text)), rows[i].is_allowed);
    }
}

static void only_literals_of_number_types_are_numbers(void **state) {
    exact_decimal number;
    (void)state;
    assert_true(datatype_number(text("\"5\"^^<" XSD_IRI "integer>"), &number));
    assert_true(datatype_number(text("\"5e1\"^^<" XSD_IRI "float>"), &number));
    assert_false(datatype_number(text("\"5\""), &number));
    assert_false(datatype_number(text("\"five\"^^<" XSD_IRI "integer>"), &number));
    assert_false(datatype_number(text("\"300\"^^<" XSD_IRI "byte>"), &number));
    assert_false(datatype_number(text("<http://e/5>"), &number));
    assert_false(datatype_number(text(""), &number));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_compared_to_the_last_digit),
        cmocka_unit_test(what_is_no_number_has_no_order),
        cmocka_unit_test(a_datatype_allows_its_texts_and_no_others),
        cmocka_unit_test(only_literals_of_number_types_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
