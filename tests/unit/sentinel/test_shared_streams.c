/* test_shared_streams.c — the link, its modes, who may read, and what a killed run leaves. */
#define _DEFAULT_SOURCE /* symlink, ftruncate */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "corpus.h"
#include "sentinel/shared_streams.h"

static char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];

static int open_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/watch", folder);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

static void what_a_run_posts_an_observer_takes_and_answers(void **state) {
    (void)state;
    shared_streams mine, theirs;
    run_streams run;
    observer_streams observer;
    quoin_logit_record got;
    quoin_control_message message;
    const quoin_logit_record record = {.step = 1, .token = 2};
    assert_int_equal(shared_streams_publish(path, &mine, &run, NULL), QN_OK);
    assert_int_equal(shared_streams_attach(path, &theirs, &observer, NULL), QN_OK);
    assert_int_equal(observer_streams_pid(&observer), (uint64_t)getpid());
    run_streams_post(&run, &record);
    assert_true(observer_streams_take(&observer, &got));
    assert_int_equal(got.token, 2);
    assert_true(observer_streams_abort(&observer, 1, "enough"));
    assert_true(run_streams_hear(&run, &message));
    assert_int_equal(message.pid, (uint32_t)getpid());
    shared_streams_close(&theirs);
    shared_streams_close(&mine);
    assert_int_equal(access(path, F_OK), -1);
}

static void the_memory_is_for_its_owner_and_cannot_be_cut(void **state) {
    (void)state;
    shared_streams mine;
    run_streams run;
    struct stat about;
    assert_int_equal(shared_streams_publish(path, &mine, &run, NULL), QN_OK);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal((size_t)about.st_size, streams_size(QUOIN_OBSERVER_RECORDS, QUOIN_OBSERVER_MESSAGES));
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 1 << 20), -1);
    close(fd);
    shared_streams_close(&mine);
}

static void a_second_observer_waits_for_the_first_to_go(void **state) {
    (void)state;
    shared_streams mine, first, second;
    run_streams run;
    observer_streams observer;
    error_context err = {0};
    assert_int_equal(shared_streams_publish(path, &mine, &run, NULL), QN_OK);
    assert_int_equal(shared_streams_attach(path, &first, &observer, NULL), QN_OK);
    assert_int_equal(shared_streams_attach(path, &second, &observer, &err), QN_BUSY);
    assert_non_null(strstr(error_text(&err), "another observer"));
    shared_streams_close(&first);
    assert_int_equal(shared_streams_attach(path, &second, &observer, NULL), QN_OK);
    shared_streams_close(&second);
    shared_streams_close(&mine);
}

static void a_path_that_is_taken_is_left_alone(void **state) {
    (void)state;
    shared_streams mine;
    run_streams run;
    struct stat about;
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("mine", file);
    fclose(file);
    assert_int_equal(shared_streams_publish(path, &mine, &run, NULL), QN_BUSY);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_size, 4);
    assert_int_equal(mine.fd, -1);
    unlink(path);
}

static void a_link_that_a_killed_run_left_is_replaced(void **state) {
    (void)state;
    shared_streams mine;
    run_streams run;
    assert_int_equal(symlink("/proc/999999999/fd/3", path), 0);
    assert_int_equal(shared_streams_publish(path, &mine, &run, NULL), QN_OK);
    shared_streams_close(&mine);
    assert_int_equal(symlink("/nowhere", path), 0);
    assert_int_equal(shared_streams_publish(path, &mine, &run, NULL), QN_BUSY);
    unlink(path);
}

static void other_files_are_no_runs(void **state) {
    (void)state;
    shared_streams theirs;
    observer_streams observer;
    error_context err = {0};
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(QUOIN_OBSERVER_MAGIC, file);
    fclose(file);
    assert_int_equal(shared_streams_attach(path, &theirs, &observer, &err), QN_BAD_FILE);
    unlink(path);
    assert_int_equal(shared_streams_attach(path, &theirs, &observer, &err), QN_NOT_FOUND);
    assert_true(shared_streams_attach(folder, &theirs, &observer, &err) < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_run_posts_an_observer_takes_and_answers),
        cmocka_unit_test(the_memory_is_for_its_owner_and_cannot_be_cut),
        cmocka_unit_test(a_second_observer_waits_for_the_first_to_go),
        cmocka_unit_test(a_path_that_is_taken_is_left_alone),
        cmocka_unit_test(a_link_that_a_killed_run_left_is_replaced),
        cmocka_unit_test(other_files_are_no_runs),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
