/* test_config.c — configuration files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/config.h"
#include "corpus.h"

static char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 64];

static int make_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/quoin.conf", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

static void write_file(const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void sections_keys_and_values_come_in_file_order(void **state) {
    (void)state;
    config c;
    write_file("; comment\n[common]\nthreads = 2\n[backend cpu]\nisa = avx2\n");
    assert_int_equal(config_read(path, &c, NULL), QN_OK);
    assert_int_equal(c.n_entries, 2);
    assert_int_equal(c.entries[0].line, 3);
    assert_int_equal(c.entries[1].line, 5);
    assert_string_equal(c.entries[0].section, "common");
    assert_string_equal(c.entries[0].key, "threads");
    assert_string_equal(c.entries[0].value, "2");
    assert_string_equal(c.entries[1].section, "backend cpu");
    config_free(&c);
}

static void a_text_in_memory_is_read_like_a_file(void **state) {
    static const char right[] = "[common]\nthreads = 2", wrong[] = "[common]\nnonsense\n";
    (void)state;
    config c;
    error_context err = {0};
    assert_int_equal(config_parse((fmt_str){right, sizeof right - 1}, "a text", &c, NULL), QN_OK);
    assert_int_equal(c.n_entries, 1);
    assert_int_equal(c.entries[0].line, 2);
    assert_string_equal(c.entries[0].value, "2");
    config_free(&c);
    assert_int_equal(config_parse((fmt_str){right, 0}, "a text", &c, NULL), QN_OK);
    assert_int_equal(c.n_entries, 0);
    config_free(&c);
    assert_int_equal(config_parse((fmt_str){wrong, sizeof wrong - 1}, "a text", &c, &err), QN_BAD_INPUT);
    assert_string_equal(error_text(&err), "a text: line 2: is neither [section] nor key = value");
}

static void a_broken_line_is_named_by_its_number(void **state) {
    (void)state;
    config c;
    error_context err = {0};
    write_file("[common]\nthreads = 2\nnonsense\n");
    assert_int_equal(config_read(path, &c, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "line 3"));
}

static void a_file_without_an_end_is_refused(void **state) {
    (void)state;
    config c;
    error_context err = {0};
    assert_int_equal(config_read("/dev/zero", &c, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), "longer than 4 MiB"));
}

static void a_named_file_must_exist_and_no_file_is_fine_otherwise(void **state) {
    (void)state;
    config c;
    error_context err = {0};
    assert_int_equal(config_find("/nonexistent/quoin.conf", &c, &err), QN_NOT_FOUND);
    setenv("XDG_CONFIG_HOME", folder, 1);
    assert_int_equal(config_find(NULL, &c, &err), QN_OK);
    config_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sections_keys_and_values_come_in_file_order, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_text_in_memory_is_read_like_a_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_broken_line_is_named_by_its_number, make_folder, remove_folder),
        cmocka_unit_test(a_file_without_an_end_is_refused),
        cmocka_unit_test_setup_teardown(a_named_file_must_exist_and_no_file_is_fine_otherwise, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
