/* test_prompt_words.c — which names stand in a prompt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ground/label_search.h"
#include "ground/prompt_words.h"

static bool stands_in(const char *prompt, const char *name, bool cuts_case) {
    prompt_words *words = malloc(sizeof *words);
    word_reader reader;
    word_set set;
    uint32_t place;
    assert_non_null(words);
    prompt_words_read(words, prompt, strlen(prompt));
    word_reader_init(&reader, name, strlen(name));
    reader.cuts_case = cuts_case;
    const bool is_found = prompt_words_match(words, &reader, &set, &place);
    free(words);
    return is_found;
}

static void a_name_stands_in_a_prompt_when_all_its_words_do_in_their_order(void **state) {
    (void)state;
    static const struct {
        const char *prompt, *name;
        bool cuts_case, wanted;
    } rows[] = {
        {"Who was Angela Merkel?", "Angela Merkel", false, true},
        {"Who was ANGELA merkel?", "Angela Merkel", false, true},
        {"Who was Merkel, Angela?", "Angela Merkel", false, false},
        {"Angela and Merkel", "Angela Merkel", false, false},
        {"Who was Angela?", "Angela Merkel", false, false},
        {"the dogs bark", "Dog", false, true},
        {"a dog barks", "Dogs", false, true},
        {"the glas house", "glass", false, false},
        {"Germany's capital", "Germany", false, true},
        {"what is his birth place", "birthPlace", true, true},
        {"what is his birthplace", "birthPlace", false, true},
        {"what is his birth place", "birth_place", true, true},
        {"the resting heart rate", "restingHeartRate", true, true},
        {"an HTTP server", "HTTPServer", true, true},
        {"Wo liegt K\xc3\xb6ln?", "K\xc3\x96LN", false, true},
        {"\xd0\x9c\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0", "\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0", false, true},
        {"\xce\x91\xce\x98\xce\x97\xce\x9d\xce\x91", "\xce\xb1\xce\xb8\xce\xb7\xce\xbd\xce\xb1", false, true},
        {"\xe6\x9d\xb1\xe4\xba\xac\xe3\x81\xaf\xe3\x81\xa9\xe3\x81\x93", "\xe6\x9d\xb1\xe4\xba\xac", false, true},
        {"It is what it is", "it is", false, false}, /* common words name nothing */
        {"Lord of the Rings", "Lord of the Rings", false, true},
        {"plan b", "b", false, false},               /* nor does one letter */
        {"year 1984", "1984", false, true},
        {"", "x", false, false},
        {"x", "", false, false},
        {"bad \xff bytes", "bytes", false, true},
        {"one two one three", "one three", false, true}, /* the second place of a word */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (stands_in(rows[i].prompt, rows[i].name, rows[i].cuts_case) != rows[i].wanted) {
            fail_msg("\"%s\" in \"%s\"", rows[i].name, rows[i].prompt);
        }
    }
}

static void iris_are_taken_out_of_the_words(void **state) {
    (void)state;
    static const char prompt[] = "Compare <http://e.example/a#b>, (https://e.example/x). And urn:isbn:123, did:q42:abc; http:// <a b>";
    static const char *const wanted[] = {"http://e.example/a#b", "https://e.example/x", "urn:isbn:123", "did:q42:abc"};
    prompt_words *words = malloc(sizeof *words);
    assert_non_null(words);
    prompt_words_read(words, prompt, sizeof prompt - 1);
    assert_int_equal(words->n_iris, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(words->iris[i].size, strlen(wanted[i]));
        assert_memory_equal(words->iris[i].data, wanted[i], strlen(wanted[i]));
    }
    free(words);
    assert_false(stands_in(prompt, "isbn", false));
    assert_true(stands_in(prompt, "Compare", false));
}

static void of_a_long_prompt_the_end_counts(void **state) {
    (void)state;
    const size_t size = 100000;
    char *prompt = malloc(size + 1);
    assert_non_null(prompt);
    for (size_t i = 0; i < size; i++) {
        prompt[i] = i % 2 == 0 ? 'x' : ' ';
    }
    memcpy(prompt, "Berlin", 6);
    memcpy(prompt + size - 6, "Hambur", 6);
    prompt[size] = '\0';
    assert_false(stands_in(prompt, "Berlin", false));
    assert_true(stands_in(prompt, "Hambur", false));
    free(prompt);
}

static void words_beyond_the_table_match_nothing_and_break_nothing(void **state) {
    (void)state;
    char prompt[8000];
    size_t n = 0;
    for (unsigned i = 0; i < 600; i++) {
        n += (size_t)snprintf(prompt + n, sizeof prompt - n, "word%u ", i);
    }
    assert_true(stands_in(prompt, "word7", false));
    assert_false(stands_in(prompt, "word599", false));
    assert_false(stands_in(prompt, "word598 word599", false));
}

static void local_names_are_what_stands_behind_the_last_mark(void **state) {
    (void)state;
    static const struct {
        const char *iri, *name;
    } rows[] = {{"http://e.example/a/b", "b"}, {"http://e.example/a#b", "b"}, {"urn:isbn:1", "1"}, {"http://e.example/a/", "a"},
                {"x", "x"},                    {"://", ""},                   {"", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fmt_str name = iri_local_name(rows[i].iri, strlen(rows[i].iri));
        assert_int_equal(name.size, strlen(rows[i].name));
        assert_memory_equal(name.data, rows[i].name, name.size);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_stands_in_a_prompt_when_all_its_words_do_in_their_order),
        cmocka_unit_test(iris_are_taken_out_of_the_words),
        cmocka_unit_test(of_a_long_prompt_the_end_counts),
        cmocka_unit_test(words_beyond_the_table_match_nothing_and_break_nothing),
        cmocka_unit_test(local_names_are_what_stands_behind_the_last_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
