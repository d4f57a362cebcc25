/* test_wal_checkpoint.c — what was committed becomes volumes, and files that nobody needs go. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/team.h"
#include "graph/file_digest.h"
#include "graph/volume.h"
#include "wal/wal_checkpoint.h"
#include "wal/wal_verify.h"
#include "wal_fixture.h"

static team *workers;

static int make_team(void **state) {
    fixture_setup(state);
    return team_create(1, &workers, NULL) == QN_OK ? 0 : -1;
}

static int drop_team(void **state) {
    team_destroy(workers);
    return fixture_teardown(state);
}

static wal_checkpoint_report checkpoint(wal *log, uint32_t keep_files) {
    const wal_checkpoint_options options = {.memory = UINT64_C(32) << 20, .keep_files = keep_files, .workers = workers};
    wal_checkpoint_report report;
    error_context err = {0};
    if (wal_checkpoint_run(log, &options, &report, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    return report;
}

static size_t count_files(void) {
    wal_set set;
    assert_int_equal(wal_set_open(fixture_directory, FMT_MODE_STRICT, NULL, NULL, &set, NULL), QN_OK);
    const size_t n = set.n_files;
    wal_set_close(&set);
    return n;
}

static void a_checkpoint_is_a_volume_with_the_quins_and_terms_since_the_last(void **state) {
    (void)state;
    wal *log = fixture_open();
    fixture_commit(log, 1);
    fixture_commit(log, 2);
    wal_checkpoint_report report = checkpoint(log, WAL_KEEP_ALL);
    uint8_t digest[Q42_DIGEST_BYTES];
    graph_volume *volume;
    assert_true(report.is_made);
    assert_int_equal(report.n_transactions, 2);
    assert_int_equal(report.n_quins, 2);
    assert_int_equal(report.n_terms, 2);
    assert_int_equal(report.checkpoint.last_sequence, 6);
    assert_int_equal(file_digest(report.path, NULL, NULL, digest, NULL), QN_OK);
    assert_memory_equal(digest, report.checkpoint.digest, sizeof digest);
    assert_int_equal(graph_volume_open(report.path, FMT_MODE_STRICT, TERMS_AUTO, &volume, NULL), QN_OK);
    graph_volume_close(volume);
    wal_checkpoint_report_free(&report);
    fixture_commit(log, 3);
    report = checkpoint(log, WAL_KEEP_ALL);
    assert_int_equal(report.n_quins, 1);
    wal_checkpoint_report_free(&report);
    wal_close(log);
    assert_subjects(1, 2, 3);
}

static void whatever_the_log_accepts_a_checkpoint_can_hold(void **state) {
    (void)state;
    static const uint64_t objects[] = {0, 1, UINT64_C(1) << 60, UINT64_C(5) << 60, UINT64_C(7) << 60, UINT64_C(1) << 63, UINT64_MAX};
    char *text = malloc(65535);
    assert_non_null(text);
    memset(text, 'a', 65535);
    const fmt_str texts[] = {{"", 0}, {"a\0b", 3}, {"\n\x7F", 2}, {text, 65535}, {"did:q42:abc", 11}, {"_:b", 3}};
    wal *log = fixture_open();
    wal_begin(log);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(wal_add_term(log, texts[i], NULL), QN_OK);
    }
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        const q42_quin quin = q42_quin_make(objects[i], 0, objects[i], 0, UINT64_MAX);
        assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    }
    assert_int_equal(wal_commit_unsigned(log, NULL, NULL), QN_OK);
    wal_checkpoint_report report = checkpoint(log, WAL_KEEP_ALL);
    graph_volume *volume;
    error_context err = {0};
    assert_int_equal(report.n_terms, 6);
    assert_int_equal(report.n_quins, 7);
    if (graph_volume_open(report.path, FMT_MODE_DEFAULT, TERMS_AUTO, &volume, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    graph_volume_close(volume);
    wal_checkpoint_report_free(&report);
    wal_close(log);
    free(text);
}

static void the_next_file_carries_the_digest_of_the_checkpoint(void **state) {
    (void)state;
    wal *log = fixture_open();
    fixture_commit(log, 1);
    wal_checkpoint_report report = checkpoint(log, WAL_KEEP_ALL);
    fixture_commit(log, 2);
    wal_close(log);
    wal_set set;
    assert_int_equal(wal_set_open(fixture_directory, FMT_MODE_STRICT, NULL, NULL, &set, NULL), QN_OK);
    assert_int_equal(set.n_files, 2);
    assert_memory_equal(set.files[1].log.header.checkpoint, report.checkpoint.digest, Q42_DIGEST_BYTES);
    wal_set_close(&set);
    wal_checkpoint_report_free(&report);
}

static void nothing_new_makes_no_checkpoint(void **state) {
    (void)state;
    wal *log = fixture_open();
    wal_checkpoint_report report = checkpoint(log, WAL_KEEP_ALL);
    assert_false(report.is_made);
    fixture_commit(log, 1);
    report = checkpoint(log, WAL_KEEP_ALL);
    assert_true(report.is_made);
    wal_checkpoint_report_free(&report);
    report = checkpoint(log, WAL_KEEP_ALL);
    assert_false(report.is_made);
    wal_close(log);
}

static void files_go_when_their_quins_are_in_volumes_and_numbers_go_on(void **state) {
    (void)state;
    wal *log = fixture_open();
    for (uint64_t i = 1; i <= 4; i++) {
        fixture_commit(log, i);
        wal_checkpoint_report report = checkpoint(log, 1);
        wal_checkpoint_report_free(&report);
    }
    /* The record of the last checkpoint stands in the file before the one that is written, which stays in any case. */
    assert_int_equal(count_files(), 2);
    const uint64_t last = wal_get_state(log)->last_sequence;
    wal_close(log);
    log = fixture_open();
    assert_int_equal(wal_get_state(log)->last_sequence, last);
    fixture_commit(log, 5);
    wal_close(log);
}

/* Files between two checkpoints name the older one, whose record is gone. */
static void a_log_whose_oldest_files_are_gone_opens_whatever_its_headers_name(void **state) {
    (void)state;
    fixture_rotate = WAL_LEAST_ROTATE;
    wal *log = fixture_open();
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t i = 1; i <= 60; i++) {
            fixture_commit(log, i);
        }
        wal_checkpoint_report report = checkpoint(log, round == 0 ? WAL_KEEP_ALL : 2);
        assert_int_equal(report.n_removed > 0, round == 1);
        wal_checkpoint_report_free(&report);
    }
    wal_close(log);
    log = fixture_open();
    fixture_commit(log, 99);
    wal_close(log);
    log = fixture_open();
    assert_true(wal_get_state(log)->has_checkpoint);
    wal_close(log);
}

static void a_header_that_names_another_checkpoint_is_refused(void **state) {
    (void)state;
    wal *log = fixture_open();
    fixture_commit(log, 1);
    wal_checkpoint_report report = checkpoint(log, WAL_KEEP_ALL);
    wal_checkpoint_report_free(&report);
    wal_close(log);
    uint8_t header[QWAL_HEADER_BYTES];
    qwal_encode_header(&(qwal_header){.checkpoint = {1}}, header);
    fixture_write(fixture_last_file(), header, sizeof header);
    error_context err = {0};
    assert_int_equal(fixture_try_open(&log, &err), QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "another checkpoint"));
}

static void a_file_with_a_pending_agreement_stays(void **state) {
    (void)state;
    wal *log = fixture_open();
    const q42_quin quin = q42_quin_make(7, 2, 3, 4, 5);
    const wal_proposal proposal = {5, 1, FIXTURE_START + 1000, 1, 1, {1}};
    wal_begin(log);
    assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    assert_int_equal(wal_suspend(log, &proposal, NULL, NULL), QN_OK);
    for (uint64_t i = 1; i <= 3; i++) {
        fixture_commit(log, i);
        wal_checkpoint_report report = checkpoint(log, 0);
        assert_int_equal(report.n_removed, 0);
        wal_checkpoint_report_free(&report);
    }
    assert_int_equal(wal_withdraw(log, 5, NULL), QN_OK);
    fixture_commit(log, 4);
    wal_checkpoint_report report = checkpoint(log, 0);
    wal_checkpoint_report_free(&report);
    fixture_commit(log, 5);
    report = checkpoint(log, 0);
    assert_true(report.n_removed > 0);
    wal_checkpoint_report_free(&report);
    wal_close(log);
    wal_close(fixture_open());
}

static void a_changed_volume_is_told_by_verifying(void **state) {
    (void)state;
    wal *log = fixture_open();
    fixture_commit(log, 1);
    wal_checkpoint_report made = checkpoint(log, WAL_KEEP_ALL);
    wal_close(log);
    size_t size;
    uint8_t *bytes = fixture_read(made.path, &size);
    bytes[size / 2] ^= 1;
    fixture_write(made.path, bytes, size);
    free(bytes);
    wal_checkpoint_report_free(&made);
    wal_set set;
    wal_state built = {0};
    wal_verify_report report;
    assert_int_equal(wal_set_open(fixture_directory, FMT_MODE_STRICT, NULL, NULL, &set, NULL), QN_OK);
    assert_int_equal(wal_state_build(&set, &built, NULL), QN_OK);
    assert_int_equal(wal_verify(&set, &built, &(trusted_keys){0}, &report, NULL), QN_OK);
    assert_int_equal(report.n_checkpoints, 1);
    assert_int_equal(report.n_wrong_volumes, 1);
    wal_state_free(&built);
    wal_set_close(&set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_team, drop_team)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_checkpoint_is_a_volume_with_the_quins_and_terms_since_the_last),
        TEST(whatever_the_log_accepts_a_checkpoint_can_hold),
        TEST(the_next_file_carries_the_digest_of_the_checkpoint),
        TEST(nothing_new_makes_no_checkpoint),
        TEST(files_go_when_their_quins_are_in_volumes_and_numbers_go_on),
        TEST(a_log_whose_oldest_files_are_gone_opens_whatever_its_headers_name),
        TEST(a_header_that_names_another_checkpoint_is_refused),
        TEST(a_file_with_a_pending_agreement_stays),
        TEST(a_changed_volume_is_told_by_verifying),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
