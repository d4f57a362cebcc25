/* test_utf8.c — strict UTF-8: every boundary of RFC 3629, and every sequence of up to three bytes against its
 * grammar. */
#include "common/utf8.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    uint32_t code;
    const char *bytes;
} good[] = {
    {0x00, "\x00"},         {0x41, "A"},             {0x7F, "\x7F"},
    {0x80, "\xC2\x80"},     {0x7FF, "\xDF\xBF"},     {0x800, "\xE0\xA0\x80"},
    {0xFFF, "\xE0\xBF\xBF"}, {0x1000, "\xE1\x80\x80"}, {0xCFFF, "\xEC\xBF\xBF"},
    {0xD7FF, "\xED\x9F\xBF"}, {0xE000, "\xEE\x80\x80"}, {0xFEFF, "\xEF\xBB\xBF"},
    {0xFFFD, "\xEF\xBF\xBD"}, {0xFFFF, "\xEF\xBF\xBF"}, {0x10000, "\xF0\x90\x80\x80"},
    {0x3FFFF, "\xF0\xBF\xBF\xBF"}, {0x40000, "\xF1\x80\x80\x80"}, {0xFFFFF, "\xF3\xBF\xBF\xBF"},
    {0x100000, "\xF4\x80\x80\x80"}, {0x10FFFF, "\xF4\x8F\xBF\xBF"},
};

static const char *const bad[] = {
    "\x80", "\xBF",                         /* continuation first */
    "\xC0\x80", "\xC1\xBF",                 /* overlong forms of two bytes */
    "\xE0\x80\x80", "\xE0\x9F\xBF",         /* of three */
    "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", /* of four */
    "\xED\xA0\x80", "\xED\xBF\xBF",         /* surrogates */
    "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF8\x88\x80\x80\x80", "\xFE", "\xFF", /* above U+10FFFF */
    "\xC2", "\xE1\x80", "\xF1\x80\x80",     /* cut off */
    "\xC2\x41", "\xC2\xC2", "\xE1\x41\x80", "\xE1\x80\x41", "\xF1\x41\x80\x80", "\xF1\x80\x41\x80", "\xF1\x80\x80\x41",
};

static void boundary_characters_decode_and_encode(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const unsigned length = good[i].code < 0x80 ? 1 : (unsigned)strlen(good[i].bytes);
        uint32_t code = 0;
        uint8_t out[4];
        assert_int_equal(utf8_decode((const uint8_t *)good[i].bytes, length, &code), length);
        assert_int_equal(code, good[i].code);
        assert_int_equal(utf8_encode(code, out), length);
        assert_memory_equal(out, good[i].bytes, length);
        assert_int_equal(utf8_decode((const uint8_t *)good[i].bytes, length - 1, &code), 0);
    }
}

static void ill_formed_sequences_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t code = 77;
        if (utf8_decode((const uint8_t *)bad[i], strlen(bad[i]), &code) != 0) {
            fail_msg("row %zu was accepted", i);
        }
        assert_int_equal(code, 77);
        assert_int_equal(utf8_first_invalid(bad[i], strlen(bad[i])), 0);
    }
}

static int is_in(unsigned byte, unsigned low, unsigned high) {
    return byte >= low && byte <= high;
}

/* The grammar of RFC 3629 section 4, written out. */
static unsigned grammar_length(const uint8_t *b) {
    const int second = is_in(b[1], 0x80, 0xBF), third = is_in(b[2], 0x80, 0xBF), fourth = is_in(b[3], 0x80, 0xBF);
    if (b[0] <= 0x7F) {
        return 1;
    }
    if (is_in(b[0], 0xC2, 0xDF)) {
        return second ? 2 : 0;
    }
    if (is_in(b[0], 0xE0, 0xEF)) {
        const int first_two = b[0] == 0xE0 ? is_in(b[1], 0xA0, 0xBF) : b[0] == 0xED ? is_in(b[1], 0x80, 0x9F) : second;
        return first_two && third ? 3 : 0;
    }
    if (is_in(b[0], 0xF0, 0xF4)) {
        const int first_two = b[0] == 0xF0 ? is_in(b[1], 0x90, 0xBF) : b[0] == 0xF4 ? is_in(b[1], 0x80, 0x8F) : second;
        return first_two && third && fourth ? 4 : 0;
    }
    return 0;
}

static void every_three_bytes_with_edge_fourth_follow_the_grammar(void **state) {
    (void)state;
    static const uint8_t fourth[] = {0x00, 0x7F, 0x80, 0xBF, 0xC0};
    for (uint32_t i = 0; i < 1u << 24; i++) {
        for (size_t k = 0; k < sizeof fourth; k++) {
            const uint8_t bytes[4] = {(uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i, fourth[k]};
            if (utf8_decode(bytes, 4, NULL) != grammar_length(bytes)) {
                fail_msg("%02x %02x %02x %02x", bytes[0], bytes[1], bytes[2], bytes[3]);
            }
            if (bytes[0] < 0xF0) {
                break; /* the fourth byte can matter only behind F0.. */
            }
        }
    }
}

static void every_scalar_value_survives_the_round_trip_and_nothing_else_encodes(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 0x110100; code++) {
        uint8_t bytes[4];
        uint32_t back = 0;
        const unsigned length = utf8_encode(code, bytes);
        const int is_scalar = code <= 0x10FFFF && !is_in(code, 0xD800, 0xDFFF);
        const int is_back = is_scalar && utf8_decode(bytes, length, &back) == length && back == code;
        if (is_scalar != (length != 0) || is_scalar != is_back) {
            fail_msg("U+%04X", (unsigned)code);
        }
    }
    uint8_t bytes[4];
    assert_int_equal(utf8_encode(UINT32_MAX, bytes), 0);
}

static void first_invalid_byte_is_named_behind_valid_text(void **state) {
    (void)state;
    const char text[] = "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x99\x82";
    const uint64_t size = sizeof text - 1;
    assert_true(utf8_first_invalid(text, size) == UTF8_ALL_VALID);
    assert_int_equal(utf8_first_invalid(text, size - 1), size - 4);
    assert_int_equal(utf8_first_invalid("ab\xFF" "cd", 5), 2);
    assert_true(utf8_first_invalid(NULL, 0) == UTF8_ALL_VALID);
    assert_int_equal(utf8_decode(NULL, 0, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boundary_characters_decode_and_encode),
        cmocka_unit_test(ill_formed_sequences_are_refused),
        cmocka_unit_test(every_three_bytes_with_edge_fourth_follow_the_grammar),
        cmocka_unit_test(every_scalar_value_survives_the_round_trip_and_nothing_else_encodes),
        cmocka_unit_test(first_invalid_byte_is_named_behind_valid_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
