/* test_words.c — nearest words and choices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/words.h"

typedef struct word_list {
    const char *const *words; /* ends with null */
} word_list;

static const char *next_in_list(void *ctx) {
    word_list *list = ctx;
    return *list->words != NULL ? *list->words++ : NULL;
}

static void the_nearest_word_is_few_edits_away(void **state) {
    (void)state;
    static const char *const known[] = {"threads", "backend", "template", "temp", "seed", NULL};
    static const struct {
        const char *word, *nearest; /* null: none is near */
    } rows[] = {
        {"thread", "threads"},   {"thraeds", "threads"}, {"bakend", "backend"}, {"tmep", "temp"}, {"seed", "seed"},
        {"templat", "template"}, {"zzzz", NULL},         {"x", NULL},           {"", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        word_list list = {known};
        const char *found = words_find_nearest(rows[i].word, next_in_list, &list);
        if (rows[i].nearest == NULL ? found != NULL : found == NULL || strcmp(found, rows[i].nearest) != 0) {
            fail_msg("\"%s\": got %s", rows[i].word, found != NULL ? found : "none");
        }
    }
}

static void a_very_long_word_is_near_to_nothing(void **state) {
    (void)state;
    static const char *const known[] = {"a", NULL};
    char word[400];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    word_list list = {known};
    assert_null(words_find_nearest(word, next_in_list, &list));
}

static void a_choice_is_a_whole_word(void **state) {
    (void)state;
    assert_true(words_has_choice("full|lazy", "full"));
    assert_true(words_has_choice("full|lazy", "lazy"));
    assert_false(words_has_choice("full|lazy", "ful"));
    assert_false(words_has_choice("full|lazy", "full|lazy"));
    assert_false(words_has_choice("full|lazy", ""));
    assert_false(words_has_choice("", "full"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_word_is_few_edits_away),
        cmocka_unit_test(a_very_long_word_is_near_to_nothing),
        cmocka_unit_test(a_choice_is_a_whole_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
