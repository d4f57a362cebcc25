/* test_sentinel_settings.c — what a file of rules says, and what is refused with line and nearest word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "corpus.h"
#include "sentinel/sentinel_settings.h"

static char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];

static int open_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/rules.ini", folder);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

static qn_status read_text(const char *text, sentinel_settings *out, error_context *err) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return sentinel_settings_read(path, out, err);
}

static void every_rule_is_read(void **state) {
    (void)state;
    sentinel_settings s;
    error_context err = {0};
    const char *text = "[deny]\nids = 13, 198,4\ntext = \" a\\x41\\n\"\ntext = plain\n"
                       "[non-finite]\naction = allow\n[margin]\nleast = 0.25\naction = abort\n[entropy]\nmost = 6\n"
                       "[repetition]\nn = 2\ntimes = 5\nwindow = 64\n"
                       "[phrase]\nfold-case = yes\nphrase = \"in conclusion\"\nphrase = ok\n[compat-0x99]\naction = resample\n";
    if (read_text(text, &s, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    for (uint32_t i = 0; i < SENTINEL_RULES; i++) {
        assert_true(s.is_on[i]);
    }
    assert_int_equal(s.n_deny_ids, 3);
    assert_int_equal(s.deny_ids[1], 198);
    assert_int_equal(s.n_deny_texts, 2);
    assert_int_equal(s.deny_texts[0].size, 4);
    assert_memory_equal(s.deny_texts[0].bytes, " aA\n", 4);
    assert_int_equal(s.actions[SENTINEL_DENY], SENTINEL_RESAMPLE);
    assert_int_equal(s.actions[SENTINEL_NON_FINITE], SENTINEL_ALLOW);
    assert_int_equal(s.actions[SENTINEL_MARGIN], SENTINEL_ABORT);
    assert_int_equal(s.actions[SENTINEL_ENTROPY], SENTINEL_ALLOW);
    assert_int_equal(s.actions[SENTINEL_COMPAT_99], SENTINEL_RESAMPLE);
    assert_true(s.least_margin == 0.25 && s.most_entropy == 6.0);
    assert_true(s.n == 2 && s.times == 5 && s.window == 64);
    assert_true(s.folds_case);
    assert_int_equal(s.n_phrases, 2);
    assert_int_equal(s.phrases[0].size, 13);
    sentinel_settings_free(&s);
}

static void a_rule_without_a_section_is_off(void **state) {
    (void)state;
    sentinel_settings s;
    assert_int_equal(read_text("[deny]\nids = 1\n", &s, NULL), QN_OK);
    for (uint32_t i = 0; i < SENTINEL_RULES; i++) {
        assert_int_equal(s.is_on[i], i == SENTINEL_DENY);
    }
    sentinel_settings_free(&s);
}

static void what_cannot_be_is_refused_with_its_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *words[2];
    } cases[] = {{"[deny]\nids = 1\nidz = 2\n", {"line 3", "did you mean \"ids\""}},
                 {"[denny]\nids = 1\n", {"line 2", "did you mean \"deny\""}},
                 {"[margin]\nmost = 1\n", {"line 2", "key \"most\""}},
                 {"[deny]\nids = 1,,2\n", {"line 2", "token ids"}},
                 {"[deny]\nids = 1 2\n", {"line 2", "token ids"}},
                 {"[deny]\nids = 4294967295\n", {"line 2", "token ids"}},
                 {"[deny]\nids = -1\n", {"line 2", "token ids"}},
                 {"[deny]\naction = refuse\nids = 1\n", {"line 2", "resample"}},
                 {"[deny]\ntext = \"\"\n", {"line 2", "at least one byte"}},
                 {"[deny]\ntext = \"a\n", {"line 2", "quotes"}},
                 {"[deny]\ntext = a\\q\n", {"line 2", "escapes"}},
                 {"[deny]\ntext = a\\x4\n", {"line 2", "escapes"}},
                 {"[deny]\ntext = a\\\n", {"line 2", "escapes"}},
                 {"[deny]\naction = abort\n", {"denies nothing", "ids"}},
                 {"[margin]\naction = abort\n", {"needs least", "margin"}},
                 {"[margin]\nleast = 1e3\n", {"line 2", "number"}},
                 {"[margin]\nleast = 0\n", {"needs least", "above 0"}},
                 {"[entropy]\naction = abort\n", {"needs most", "nats"}},
                 {"[phrase]\nfold-case = yes\n", {"no phrase", "phrase"}},
                 {"[phrase]\nfold-case = perhaps\n", {"line 2", "yes or no"}},
                 {"[repetition]\nn = many\n", {"line 2", "whole number"}},
                 {"ids = 1\n", {"line 1", "section"}},
                 {"", {"no rule", "section"}},
                 {"nonsense\n", {"line 1", "key = value"}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sentinel_settings s;
        error_context err = {0};
        const qn_status status = read_text(cases[i].text, &s, &err);
        sentinel_settings_free(&s);
        if (status != QN_BAD_INPUT || strstr(error_text(&err), path) == NULL || strstr(error_text(&err), cases[i].words[0]) == NULL
            || strstr(error_text(&err), cases[i].words[1]) == NULL) {
            fail_msg("%s: %d: %s", cases[i].text, status, error_text(&err));
        }
    }
}

static void a_file_that_is_not_there_is_named(void **state) {
    (void)state;
    sentinel_settings s;
    error_context err = {0};
    assert_int_equal(sentinel_settings_read("/nowhere/rules.ini", &s, &err), QN_NOT_FOUND);
    assert_non_null(strstr(error_text(&err), "/nowhere/rules.ini"));
    sentinel_settings_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_is_read),
        cmocka_unit_test(a_rule_without_a_section_is_off),
        cmocka_unit_test(what_cannot_be_is_refused_with_its_line),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
