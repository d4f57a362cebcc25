/* test_sentinel_rules.c — phrases and repetition against plain searches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sentinel/phrase_automaton.h"
#include "sentinel/repetition.h"

static uint64_t seed = 7;

static uint32_t draw(uint32_t n) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 40) % n;
}

static bool ends_with(const char *text, size_t n, const phrase_text *phrase) {
    return phrase->size <= n && memcmp(text + n - phrase->size, phrase->bytes, phrase->size) == 0;
}

/* Random phrases over few letters, so that they overlap in every way, in texts that are cut at random. */
static void the_automaton_finds_what_a_plain_search_finds(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 300; round++) {
        char store[8][8], text[200];
        phrase_text phrases[8];
        const uint32_t n_phrases = 1 + draw(8);
        for (uint32_t i = 0; i < n_phrases; i++) {
            phrases[i] = (phrase_text){store[i], 1 + draw(7)};
            for (size_t k = 0; k < phrases[i].size; k++) {
                store[i][k] = (char)('a' + draw(3));
            }
        }
        phrase_automaton a;
        uint32_t where = 0;
        assert_int_equal(phrase_automaton_make(phrases, n_phrases, false, &a, NULL), QN_OK);
        for (size_t n = 1; n <= sizeof text; n++) {
            uint32_t found;
            bool is_expected = false;
            text[n - 1] = (char)('a' + draw(4));
            for (uint32_t i = 0; i < n_phrases; i++) {
                is_expected |= ends_with(text, n, &phrases[i]);
            }
            where = phrase_automaton_walk(&a, where, text + n - 1, 1, &found);
            assert_int_equal(found != PHRASE_NONE, is_expected);
            assert_true(found == PHRASE_NONE || ends_with(text, n, &phrases[found]));
        }
        phrase_automaton_free(&a);
    }
}

static void a_phrase_is_found_across_pieces_and_the_first_one_is_told(void **state) {
    (void)state;
    const phrase_text phrases[] = {{"secret word", 11}, {"word", 4}};
    phrase_automaton a;
    uint32_t found;
    assert_int_equal(phrase_automaton_make(phrases, 2, false, &a, NULL), QN_OK);
    uint32_t where = phrase_automaton_walk(&a, 0, "a sec", 5, &found);
    assert_int_equal(found, PHRASE_NONE);
    where = phrase_automaton_walk(&a, where, "ret ", 4, &found);
    assert_int_equal(found, PHRASE_NONE);
    phrase_automaton_walk(&a, where, "word", 4, &found);
    assert_int_equal(found, 0);
    phrase_automaton_walk(&a, where, "none", 4, &found);
    assert_int_equal(found, PHRASE_NONE);
    phrase_automaton_free(&a);
}

static void folding_is_of_ascii_letters_alone(void **state) {
    (void)state;
    const phrase_text phrases[] = {{"FoG\xc3\x84[", 6}};
    static const struct {
        const char *text;
        bool folded, plain;
    } cases[] = {{"fog\xc3\x84[", true, false}, {"FoG\xc3\x84[", true, true}, {"fog\xc3\xa4[", false, false}, {"fog\xc3\x84{", false, false}};
    for (int folds = 0; folds < 2; folds++) {
        phrase_automaton a;
        assert_int_equal(phrase_automaton_make(phrases, 1, folds != 0, &a, NULL), QN_OK);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            uint32_t found;
            phrase_automaton_walk(&a, 0, cases[i].text, strlen(cases[i].text), &found);
            assert_int_equal(found == 0, folds != 0 ? cases[i].folded : cases[i].plain);
        }
        phrase_automaton_free(&a);
    }
}

static void phrases_that_cannot_be_are_refused(void **state) {
    (void)state;
    static char large[PHRASES_MOST_BYTES + 1];
    const phrase_text empty[] = {{"a", 1}, {"", 0}}, long_one[] = {{large, sizeof large}};
    phrase_automaton a;
    assert_int_equal(phrase_automaton_make(empty, 2, false, &a, NULL), QN_BAD_INPUT);
    assert_int_equal(phrase_automaton_make(long_one, 1, false, &a, NULL), QN_LIMIT);
}

static void the_longest_phrases_fit(void **state) {
    (void)state;
    static char large[PHRASES_MOST_BYTES];
    for (size_t i = 0; i < sizeof large; i++) {
        large[i] = (char)(i * 31 % 251);
    }
    const phrase_text phrases[] = {{large, sizeof large}};
    phrase_automaton a;
    uint32_t found;
    assert_int_equal(phrase_automaton_make(phrases, 1, false, &a, NULL), QN_OK);
    phrase_automaton_walk(&a, 0, large, sizeof large, &found);
    assert_int_equal(found, 0);
    phrase_automaton_free(&a);
}

/* ---------------------------------------------------------------- repetition */

static bool stands_often(const uint32_t *tokens, size_t length, uint32_t n, uint32_t times, uint32_t window) {
    const size_t begin = length > window ? length - window : 0;
    uint32_t n_found = 0;
    for (size_t at = begin; at + n <= length; at++) {
        n_found += memcmp(tokens + at, tokens + length - n, n * sizeof *tokens) == 0 ? 1 : 0;
    }
    return length >= n && n_found >= times;
}

static void repetition_counts_as_a_plain_search_does(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 200; round++) {
        const uint32_t n = 1 + draw(4), times = 2 + draw(3), window = n + times - 1 + draw(20);
        uint32_t tokens[120];
        repetition r;
        assert_int_equal(repetition_init(&r, n, times, window, NULL), QN_OK);
        for (size_t i = 0; i < 120; i++) {
            tokens[i] = draw(3);
            assert_int_equal(repetition_would_fire(&r, tokens[i]), stands_often(tokens, i + 1, n, times, window));
            repetition_add(&r, tokens[i]);
        }
        repetition_free(&r);
    }
}

static void windows_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const uint32_t cases[][3] = {{0, 2, 8}, {1, 1, 8}, {4, 3, 5}, {2, 2, 5000}, {UINT32_MAX, UINT32_MAX, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        repetition r;
        error_context err = {0};
        assert_int_equal(repetition_init(&r, cases[i][0], cases[i][1], cases[i][2], &err), QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), "window"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_automaton_finds_what_a_plain_search_finds),
        cmocka_unit_test(a_phrase_is_found_across_pieces_and_the_first_one_is_told),
        cmocka_unit_test(folding_is_of_ascii_letters_alone),
        cmocka_unit_test(phrases_that_cannot_be_are_refused),
        cmocka_unit_test(the_longest_phrases_fit),
        cmocka_unit_test(repetition_counts_as_a_plain_search_does),
        cmocka_unit_test(windows_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
