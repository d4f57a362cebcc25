/* test_journal_file.c — journals on disk: transactions arrive whole or not at all, and a full disk leaves the journal as it was. */
#include "graph/journal_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "corpus.h"

static char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];

static int make_journal(void **state) {
    (void)state;
    const q42_journal_header header = {.profile = 1, .schema_rules = 1};
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/a.q42j", folder);
    return journal_file_create(path, &header, NULL) == QN_OK ? 0 : -1;
}

static int remove_journal(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

static void open_both(journal_file *journal, journal_writer *writer) {
    assert_int_equal(journal_file_open(path, FMT_MODE_STRICT, NULL, NULL, journal, NULL), QN_OK);
    assert_int_equal(journal_writer_open(journal, writer, NULL), QN_OK);
}

static void put_quins(journal_writer *writer, uint32_t n) {
    assert_int_equal(journal_writer_begin(writer, 1, 2, NULL), QN_OK);
    for (uint32_t i = 0; i < n; i++) {
        const q42_journal_entry entry = {.type = Q42_JOURNAL_ADD, .quin = q42_quin_make(i + 1, 2, 3, 4, 5)};
        assert_int_equal(journal_writer_put(writer, entry, NULL), QN_OK);
    }
}

static q42_journal read_back(void) {
    journal_file journal;
    assert_int_equal(journal_file_open(path, FMT_MODE_STRICT, NULL, NULL, &journal, NULL), QN_OK);
    const q42_journal view = journal.journal;
    journal_file_close(&journal);
    return view;
}

static void transactions_follow_each_other_with_rising_numbers(void **state) {
    (void)state;
    for (uint32_t i = 1; i <= 3; i++) {
        journal_file journal;
        journal_writer writer;
        open_both(&journal, &writer);
        put_quins(&writer, 2);
        assert_int_equal(journal_writer_commit(&writer, NULL), QN_OK);
        put_quins(&writer, 1);
        assert_int_equal(journal_writer_commit(&writer, NULL), QN_OK);
        journal_writer_close(&writer);
        journal_file_close(&journal);
        const q42_journal view = read_back();
        assert_int_equal(view.n_transactions, 2 * i);
        assert_int_equal(view.last_transaction, 2 * i);
        assert_int_equal(view.last_sequence, 7 * i);
    }
}

static void a_transaction_without_commit_is_written_nowhere(void **state) {
    (void)state;
    journal_file journal;
    journal_writer writer;
    open_both(&journal, &writer);
    put_quins(&writer, 2);
    journal_writer_close(&writer);
    journal_file_close(&journal);
    assert_int_equal(read_back().span.size, Q42_JOURNAL_HEADER_BYTES);
}

static void a_full_disk_leaves_the_journal_as_it_was(void **state) {
    (void)state;
    journal_file journal;
    journal_writer writer;
    error_context err = {0};
    struct rlimit before, small = {4096, 0};
    open_both(&journal, &writer);
    put_quins(&writer, 500);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const qn_status status = journal_writer_commit(&writer, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, QN_IO);
    assert_non_null(strstr(error_text(&err), "nothing was added"));
    journal_writer_close(&writer);
    journal_file_close(&journal);
    assert_int_equal(read_back().span.size, Q42_JOURNAL_HEADER_BYTES);
}

static void a_journal_that_changed_meanwhile_is_not_written(void **state) {
    (void)state;
    journal_file journal;
    journal_writer writer;
    assert_int_equal(journal_file_open(path, FMT_MODE_STRICT, NULL, NULL, &journal, NULL), QN_OK);
    const int fd = open(path, O_WRONLY | O_APPEND);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    assert_int_equal(journal_writer_open(&journal, &writer, NULL), QN_BUSY);
    journal_file_close(&journal);
}

static void an_existing_journal_is_not_made_again(void **state) {
    (void)state;
    const q42_journal_header header = {.profile = 2, .schema_rules = 1};
    assert_int_equal(journal_file_create(path, &header, NULL), QN_IO);
    assert_int_equal(read_back().header.profile, 1);
    assert_int_equal(journal_file_reset(path, &header, NULL), QN_OK);
    assert_int_equal(read_back().header.profile, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(transactions_follow_each_other_with_rising_numbers, make_journal, remove_journal),
        cmocka_unit_test_setup_teardown(a_transaction_without_commit_is_written_nowhere, make_journal, remove_journal),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_journal_as_it_was, make_journal, remove_journal),
        cmocka_unit_test_setup_teardown(a_journal_that_changed_meanwhile_is_not_written, make_journal, remove_journal),
        cmocka_unit_test_setup_teardown(an_existing_journal_is_not_made_again, make_journal, remove_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
