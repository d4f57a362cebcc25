/* test_ntr_inline.c — literals inside a word, and words as literals. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nt_fixture.h"

#define XSD "http://www.w3.org/2001/XMLSchema#"
#define TAGGED(tag, payload) ((uint64_t)(tag) << 60 | ((uint64_t)(payload) & ((UINT64_C(1) << 60) - 1)))

static bool pack(const char *value, const char *type, uint64_t *out_id) {
    char text[200];
    ntriples_term term;
    snprintf(text, sizeof text, "\"%s\"^^<%s>", value, type);
    assert_true(ntriples_is_canonical(nt_str(text), &term));
    return ntriples_inline_object(&term, out_id);
}

static void assert_prints(uint64_t id, ntriples_decimal_form form, const char *value, const char *type) {
    char wanted[200], got[NTRIPLES_INLINE_ROOM];
    const uint32_t size = ntriples_inline_text(id, form, got);
    snprintf(wanted, sizeof wanted, "\"%s\"^^<" XSD "%s>", value, type);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(got, wanted, size);
    assert_true(ntriples_is_canonical((fmt_str){got, size}, NULL));
}

static void literals_that_print_back_are_packed(void **state) {
    static const struct {
        const char *value, *type;
        unsigned tag;
        int64_t payload;
    } rows[] = {
        {"0", "integer", 1, 0},
        {"7", "integer", 1, 7},
        {"-1", "integer", 1, -1},
        {"576460752303423487", "integer", 1, INT64_C(576460752303423487)},
        {"-576460752303423488", "integer", 1, INT64_C(-576460752303423488)},
        {"0.0", "decimal", 2, 0},
        {"4.2", "decimal", 2, 4200000},
        {"-0.000001", "decimal", 2, -1},
        {"10.0", "decimal", 2, 10000000},
        {"0.100001", "decimal", 2, 100001},
        {"576460752303.423487", "decimal", 2, INT64_C(576460752303423487)},
        {"-576460752303.423488", "decimal", 2, INT64_C(-576460752303423488)},
        {"true", "boolean", 3, 1},
        {"false", "boolean", 3, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char type[100];
        uint64_t id = 0;
        snprintf(type, sizeof type, XSD "%s", rows[i].type);
        assert_true(pack(rows[i].value, type, &id));
        assert_int_equal(id, TAGGED(rows[i].tag, rows[i].payload));
        assert_prints(id, NTRIPLES_DECIMAL_CANONICAL, rows[i].value, rows[i].type);
    }
}

static void literals_that_would_lose_their_text_are_not_packed(void **state) {
    static const struct {
        const char *value, *type;
    } rows[] = {
        {"", XSD "integer"},       {"-", XSD "integer"},     {"+1", XSD "integer"},    {"007", XSD "integer"},
        {"-0", XSD "integer"},     {" 1", XSD "integer"},    {"1 ", XSD "integer"},    {"1.0", XSD "integer"},
        {"1e3", XSD "integer"},    {"576460752303423488", XSD "integer"},              {"-576460752303423489", XSD "integer"},
        {"18446744073709551617", XSD "integer"},             {"99999999999999999999999999", XSD "integer"},
        {"1", XSD "decimal"},      {"1.", XSD "decimal"},    {".5", XSD "decimal"},    {"-.5", XSD "decimal"},
        {"1.50", XSD "decimal"},   {"1.00", XSD "decimal"},  {"01.5", XSD "decimal"},  {"+1.5", XSD "decimal"},
        {"-0.0", XSD "decimal"},   {"1.0000001", XSD "decimal"},                       {"1.5x", XSD "decimal"},
        {"1,5", XSD "decimal"},    {"576460752303.423488", XSD "decimal"},             {"-576460752303.423489", XSD "decimal"},
        {"1000000000000.0", XSD "decimal"},                  {"99999999999999999999.5", XSD "decimal"},
        {"1", XSD "boolean"},      {"0", XSD "boolean"},     {"TRUE", XSD "boolean"},  {"tru", XSD "boolean"},
        {"1.5E0", XSD "float"},    {"1.5E0", XSD "double"},  {"1", XSD "int"},         {"1", XSD "integers"},
        {"1", XSD},                {"1", "http://e/integer"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t id = 77;
        if (pack(rows[i].value, rows[i].type, &id)) {
            fail_msg("\"%s\"^^<%s> was packed", rows[i].value, rows[i].type);
        }
        assert_int_equal(id, 77);
    }
}

static void terms_without_such_a_datatype_are_not_packed(void **state) {
    static const char *const texts[] = {"\"1\"", "\"1\"@en", "<http://e/1>", "_:1", "\"true\""};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ntriples_term term;
        uint64_t id;
        assert_true(ntriples_is_canonical(nt_str(texts[i]), &term));
        assert_false(ntriples_inline_object(&term, &id));
    }
}

static void decimals_of_bare_volumes_print_six_digits(void **state) {
    (void)state;
    assert_prints(TAGGED(2, 1500000), NTRIPLES_DECIMAL_SIX, "1.500000", "decimal");
    assert_prints(TAGGED(2, -1), NTRIPLES_DECIMAL_SIX, "-0.000001", "decimal");
    assert_prints(TAGGED(2, 0), NTRIPLES_DECIMAL_SIX, "0.000000", "decimal");
    assert_prints(TAGGED(1, -5), NTRIPLES_DECIMAL_SIX, "-5", "integer");
}

static void other_words_are_no_literals(void **state) {
    static const uint64_t ids[] = {0, TAGGED(0, 5), TAGGED(3, 2), TAGGED(4, 0), TAGGED(6, 1), TAGGED(7, 1), TAGGED(9, 1),
                                   UINT64_MAX};
    char text[NTRIPLES_INLINE_ROOM];
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        assert_int_equal(ntriples_inline_text(ids[i], NTRIPLES_DECIMAL_CANONICAL, text), 0);
    }
}

static void floats_print_shortest_in_canonical_form(void **state) {
    static const struct {
        uint32_t bits;
        const char *value;
    } rows[] = {
        {0x00000000, "0.0E0"},         {0x80000000, "-0.0E0"},         {0x3F800000, "1.0E0"},
        {0x3FC00000, "1.5E0"},         {0xC2280000, "-4.2E1"},         {0x3DCCCCCD, "1.0E-1"},
        {0x7F7FFFFF, "3.4028235E38"},  {0x00800000, "1.1754944E-38"},  {0x00000001, "1.0E-45"},
        {0x4B800001, "1.6777218E7"},   {0x7F800000, "INF"},            {0xFF800000, "-INF"},
        {0x7FC00000, "NaN"},           {0xFFC00000, "NaN"},            {0x3EAAAAAB, "3.3333334E-1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_prints(TAGGED(5, rows[i].bits), NTRIPLES_DECIMAL_CANONICAL, rows[i].value, "float");
    }
}

static void floats_read_back_as_the_same_bits(void **state) {
    uint32_t bits = 1;
    (void)state;
    for (size_t i = 0; i < 20000; i++) {
        char text[NTRIPLES_INLINE_ROOM];
        bits = bits * 1664525u + 1013904223u;
        const uint32_t finite = (bits & 0x7F800000u) == 0x7F800000u ? bits ^ 0x40000000u : bits;
        assert_true(ntriples_inline_text(TAGGED(5, finite), NTRIPLES_DECIMAL_CANONICAL, text) > 0);
        const float value = strtof(text + 1, NULL);
        assert_memory_equal(&value, &finite, sizeof finite);
    }
}

/* In every locale with a decimal comma that is installed, and in C. */
static void printing_does_not_depend_on_the_locale(void **state) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (setlocale(LC_ALL, names[i]) != NULL) {
            assert_prints(TAGGED(5, 0x3FC00000), NTRIPLES_DECIMAL_CANONICAL, "1.5E0", "float");
            assert_prints(TAGGED(2, 4200000), NTRIPLES_DECIMAL_CANONICAL, "4.2", "decimal");
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_that_print_back_are_packed),
        cmocka_unit_test(literals_that_would_lose_their_text_are_not_packed),
        cmocka_unit_test(terms_without_such_a_datatype_are_not_packed),
        cmocka_unit_test(decimals_of_bare_volumes_print_six_digits),
        cmocka_unit_test(other_words_are_no_literals),
        cmocka_unit_test(floats_print_shortest_in_canonical_form),
        cmocka_unit_test(floats_read_back_as_the_same_bits),
        cmocka_unit_test(printing_does_not_depend_on_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
