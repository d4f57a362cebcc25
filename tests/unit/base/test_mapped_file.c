/* test_mapped_file.c — mapping files, and files that are cut while they are mapped. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_limit.h"
#include "base/mapped_file.h"
#include "corpus.h"

#define FILE_BYTES 20000

static char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 64];

static int make_file(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/data", folder);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < FILE_BYTES; i++) {
        fputc('x', file);
    }
    return fclose(file);
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

static void the_whole_file_is_readable(void **state) {
    (void)state;
    mapped_file file;
    assert_int_equal(mapped_file_open(path, &file, NULL), QN_OK);
    assert_int_equal(file.span.size, FILE_BYTES);
    assert_int_equal(file.span.data[FILE_BYTES - 1], 'x');
    assert_int_equal(mapped_file_check(&file, NULL), QN_OK);
    mapped_file_close(&file);
}

/* As many as the largest volume sets of a machine with usual limits have; slots are used again. */
static void thousands_of_files_are_mapped_at_once(void **state) {
    enum { N = 3000 };
    mapped_file *files = calloc(N, sizeof *files);
    (void)state;
    file_limit_raise();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            assert_int_equal(mapped_file_open(path, &files[i], NULL), QN_OK);
            assert_true(files[i].slot < N);
        }
        for (int i = N; i > 0; i--) {
            assert_int_equal(files[i - 1].span.data[0], 'x');
            assert_int_equal(mapped_file_check(&files[i - 1], NULL), QN_OK);
            mapped_file_close(&files[i - 1]);
        }
    }
    free(files);
}

/* Exit status of reading a cut file: 0 when zeros were read and the cut was told. */
static int read_behind_cut(void) {
    mapped_file file;
    error_context err = {0};
    signal(SIGBUS, SIG_DFL); /* cmocka's handler is not part of this story */
    if (mapped_file_open(path, &file, NULL) != QN_OK || truncate(path, 100) != 0) {
        return 1;
    }
    if (((const volatile uint8_t *)file.span.data)[FILE_BYTES - 1] != 0) {
        return 2;
    }
    return mapped_file_check(&file, &err) == QN_IO && strstr(error_text(&err), "20000") != NULL ? 0 : 3;
}

/* In a process of its own: the handler is installed with the first mapping, and cmocka puts its own over it in each
 * test. */
static void reading_behind_a_cut_gives_zeros_and_is_told(void **state) {
    (void)state;
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        _exit(read_behind_cut());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_is_no_file_is_refused_with_its_path(void **state) {
    (void)state;
    mapped_file file;
    error_context err = {0};
    assert_int_equal(mapped_file_open("/nonexistent/model", &file, &err), QN_NOT_FOUND);
    assert_non_null(strstr(error_text(&err), "/nonexistent/model"));
    assert_int_equal(mapped_file_open(folder, &file, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "folder"));
}

static void forgetting_loses_nothing_and_leaves_other_memory_alone(void **state) {
    (void)state;
    mapped_file file;
    unsigned char *own = calloc(1, FILE_BYTES);
    assert_int_equal(mapped_file_open(path, &file, NULL), QN_OK);
    memset(own, 'y', FILE_BYTES);
    mapped_file_forget(file.span.data, file.span.size);
    mapped_file_forget(file.span.data, file.span.size + 100000);
    mapped_file_forget(own, FILE_BYTES);
    for (uint32_t i = 0; i < FILE_BYTES; i++) {
        assert_int_equal(file.span.data[i], 'x');
        assert_int_equal(own[i], 'y');
    }
    mapped_file_close(&file);
    free(own);
}

static void an_empty_file_has_no_data_and_closes(void **state) {
    (void)state;
    mapped_file file;
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(mapped_file_open(path, &file, NULL), QN_OK);
    assert_int_equal(file.span.size, 0);
    assert_null(file.span.data);
    mapped_file_close(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* first, so that the child is the process that installs the handler */
        cmocka_unit_test_setup_teardown(reading_behind_a_cut_gives_zeros_and_is_told, make_file, remove_folder),
        cmocka_unit_test_setup_teardown(the_whole_file_is_readable, make_file, remove_folder),
        cmocka_unit_test_setup_teardown(thousands_of_files_are_mapped_at_once, make_file, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_refused_with_its_path, make_file, remove_folder),
        cmocka_unit_test_setup_teardown(forgetting_loses_nothing_and_leaves_other_memory_alone, make_file, remove_folder),
        cmocka_unit_test_setup_teardown(an_empty_file_has_no_data_and_closes, make_file, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
