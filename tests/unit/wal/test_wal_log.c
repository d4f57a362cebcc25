/* test_wal_log.c — one writer: what it acknowledges, what it refuses, how files follow each other, and older logs. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wal/wal_import.h"
#include "wal/wal_verify.h"
#include "wal_fixture.h"

static void what_is_committed_is_there_for_the_next_reader_and_writer(void **state) {
    (void)state;
    wal *log = fixture_open();
    fixture_commit(log, 1);
    fixture_commit(log, 2);
    assert_subjects(1, 2);
    wal_close(log);
    log = fixture_open();
    fixture_commit(log, 3);
    assert_int_equal(wal_get_state(log)->n_commits, 3);
    assert_int_equal(wal_get_state(log)->n_unsigned, 3);
    wal_close(log);
    assert_subjects(1, 2, 3);
}

static void a_second_writer_is_refused_until_the_first_is_gone(void **state) {
    (void)state;
    wal *log = fixture_open(), *other = NULL;
    error_context err = {0};
    assert_int_equal(fixture_try_open(&other, &err), QN_BUSY);
    assert_non_null(strstr(error_text(&err), "another process"));
    wal_close(log);
    assert_int_equal(fixture_try_open(&other, NULL), QN_OK);
    wal_close(other);
}

static void a_log_is_for_its_owner_alone_and_not_in_the_working_directory(void **state) {
    (void)state;
    struct stat info;
    wal *log = fixture_open();
    wal_close(log);
    assert_int_equal(stat(fixture_directory, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(stat(fixture_last_file(), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    error_context err = {0};
    assert_int_equal(wal_open(&(wal_options){.directory = ".", .may_create = true}, &log, NULL, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "working directory"));
    assert_int_equal(wal_open(&(wal_options){.directory = ""}, &log, NULL, NULL), QN_BAD_INPUT);
}

static void a_log_that_is_not_there_is_not_made_unasked(void **state) {
    (void)state;
    wal *log;
    assert_int_equal(wal_open(&(wal_options){.directory = fixture_directory}, &log, NULL, NULL), QN_NOT_FOUND);
    assert_int_not_equal(access(fixture_directory, F_OK), 0);
    assert_int_equal(mkdir(fixture_directory, 0700), 0);
    assert_int_equal(wal_open(&(wal_options){.directory = fixture_directory}, &log, NULL, NULL), QN_NOT_FOUND);
    assert_int_equal(rmdir(fixture_directory), 0); /* not even a lock was left */
}

static void a_commit_needs_a_key_or_the_word_unsigned(void **state) {
    (void)state;
    wal *log = fixture_open();
    const q42_quin quin = q42_quin_make(1, 2, 3, 4, 5);
    wal_begin(log);
    assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    assert_int_equal(wal_commit(log, NULL, NULL, NULL), QN_BAD_INPUT);
    assert_int_equal(wal_commit_unsigned(log, NULL, NULL), QN_BAD_INPUT); /* the unit is gone */
    wal_close(log);
    assert_int_equal(fixture_subjects((uint64_t[1]){0}, 1), 0);
}

static void quins_with_a_wrong_parity_and_texts_that_are_none_are_refused(void **state) {
    (void)state;
    wal *log = fixture_open();
    q42_quin quin = q42_quin_make(1, 2, 3, 4, 5);
    quin.parity ^= 1;
    wal_begin(log);
    assert_int_equal(wal_add_quin(log, &quin, NULL), QN_BAD_INPUT);
    assert_int_equal(wal_add_term(log, (fmt_str){"\xFF", 1}, NULL), QN_BAD_INPUT);
    char *text = calloc(1, 65536);
    assert_non_null(text);
    memset(text, 'a', 65536);
    assert_int_equal(wal_add_term(log, (fmt_str){text, 65536}, NULL), QN_LIMIT);
    assert_int_equal(wal_add_term(log, (fmt_str){text, 65535}, NULL), QN_OK);
    free(text);
    wal_close(log);
}

static void files_follow_each_other_and_the_next_writer_goes_on(void **state) {
    (void)state;
    fixture_rotate = WAL_LEAST_ROTATE;
    for (uint64_t i = 1; i <= 60; i++) {
        wal *log = fixture_open();
        fixture_commit(log, i);
        wal_close(log);
    }
    uint64_t subjects[64];
    assert_int_equal(fixture_subjects(subjects, 64), 60);
    for (uint64_t i = 0; i < 60; i++) {
        assert_int_equal(subjects[i], i + 1);
    }
    wal_set set;
    assert_int_equal(wal_set_open(fixture_directory, FMT_MODE_STRICT, NULL, NULL, &set, NULL), QN_OK);
    assert_true(set.n_files >= 3);
    for (size_t i = 0; i < set.n_files; i++) {
        assert_true(set.files[i].file.span.size <= WAL_LEAST_ROTATE);
    }
    char *middle = strdup(set.files[1].path);
    wal_set_close(&set);
    assert_int_equal(unlink(middle), 0);
    free(middle);
    wal *log;
    error_context err = {0};
    assert_int_equal(fixture_try_open(&log, &err), QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "missing"));
}

static void a_file_that_is_cut_in_front_of_another_is_damage(void **state) {
    (void)state;
    fixture_rotate = WAL_LEAST_ROTATE;
    wal *log = fixture_open();
    for (uint64_t i = 1; i <= 30; i++) {
        fixture_commit(log, i);
    }
    wal_close(log);
    char *first = wal_path_of_log(fixture_directory, 1);
    size_t size;
    uint8_t *bytes = fixture_read(first, &size);
    fixture_write(first, bytes, size - 5);
    error_context err = {0};
    assert_int_equal(fixture_try_open(&log, &err), QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "damage"));
    free(bytes);
    free(first);
}

static void a_full_disk_leaves_the_log_as_it_was(void **state) {
    (void)state;
    wal *log = fixture_open();
    struct rlimit before, small;
    error_context err = {0};
    fixture_commit(log, 1);
    wal_begin(log);
    for (uint64_t i = 0; i < 500; i++) {
        const q42_quin quin = q42_quin_make(i, 2, 3, 4, 5);
        assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    }
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){4096, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const qn_status status = wal_commit_unsigned(log, NULL, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, QN_IO);
    assert_non_null(strstr(error_text(&err), "nothing was added"));
    fixture_commit(log, 2);
    wal_close(log);
    assert_subjects(1, 2);
}

static void results_of_gates_are_kept_beside_and_without_commits(void **state) {
    (void)state;
    wal *log = fixture_open();
    const qwal_audit_entry entry = {1, {"intent", 6}, {"", 0}, 7};
    const qwal_audit audit = {.policy_version = 3, .n_entries = 1};
    assert_int_equal(wal_record_audit(log, &audit, &entry, NULL, NULL), QN_OK);
    const q42_quin quin = q42_quin_make(1, 2, 3, 4, 5);
    wal_begin(log);
    assert_int_equal(wal_add_audit(log, &audit, &entry, NULL), QN_OK);
    assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    assert_int_equal(wal_commit_unsigned(log, NULL, NULL), QN_OK);
    assert_int_equal(wal_get_state(log)->n_audits, 2);
    wal_close(log);
    assert_subjects(1);
}

static void a_signed_commit_is_the_keys_and_a_changed_one_is_not(void **state) {
    (void)state;
    char path[CORPUS_PATH_SIZE + 64], text[KEY_TEXT_SIZE];
    public_key shown;
    signing_key *key;
    wal_receipt receipt;
    wal *log = fixture_open();
    const q42_quin quin = q42_quin_make(1, 2, 3, 4, 5);
    snprintf(path, sizeof path, "%s/agent.key", fixture_folder);
    assert_int_equal(signing_key_create(path, NULL, &shown, NULL), QN_OK);
    assert_int_equal(signing_key_open(path, NULL, &key, NULL), QN_OK);
    wal_begin(log);
    assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    assert_int_equal(wal_commit(log, key, &receipt, NULL), QN_OK);
    assert_true(receipt.is_signed);
    signing_key_close(key);
    wal_close(log);

    trusted_key one = {shown, (char *)(uintptr_t)"agent", 1};
    trusted_keys keys = {&one, 1, {0}}, none = {0};
    wal_set set;
    wal_state built = {0};
    wal_verify_report report;
    assert_int_equal(wal_set_open(fixture_directory, FMT_MODE_STRICT, NULL, NULL, &set, NULL), QN_OK);
    assert_int_equal(wal_state_build(&set, &built, NULL), QN_OK);
    assert_int_equal(wal_verify(&set, &built, &keys, &report, NULL), QN_OK);
    assert_int_equal(report.transactions.n_valid, 1);
    assert_int_equal(wal_verify(&set, &built, &none, &report, NULL), QN_OK);
    assert_int_equal(report.transactions.n_unknown, 1);
    one.key.bytes[0] ^= 1; /* the same id, another key */
    assert_int_equal(wal_verify(&set, &built, &keys, &report, NULL), QN_OK);
    assert_int_equal(report.transactions.n_wrong, 1);
    assert_true(report.first_wrong > 0);
    wal_state_free(&built);
    wal_set_close(&set);
    assert_non_null(public_key_text(&shown, text));
}

/* Two texts with the hash 00b38583702c89ab, found by a search. */
static void a_text_with_the_hash_of_another_one_is_refused_in_the_same_and_in_later_transactions(void **state) {
    static const char one[] = "\"b9e04f534b5cfbd\"", other[] = "\"36ea95e6402d088\"";
    (void)state;
    wal *log = fixture_open();
    const q42_quin quin = q42_quin_make(q42_hash(one, strlen(one)), 2, 3, 4, 5);
    error_context err = {0};
    assert_int_equal(q42_hash(one, strlen(one)), q42_hash(other, strlen(other)));
    wal_begin(log);
    assert_int_equal(wal_add_term(log, (fmt_str){one, strlen(one)}, NULL), QN_OK);
    assert_int_equal(wal_add_term(log, (fmt_str){other, strlen(other)}, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "rename"));
    assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    assert_int_equal(wal_commit_unsigned(log, NULL, NULL), QN_OK);
    wal_begin(log);
    assert_int_equal(wal_add_term(log, (fmt_str){other, strlen(other)}, NULL), QN_BAD_INPUT);
    wal_close(log);
    log = fixture_open();
    wal_begin(log);
    assert_int_equal(wal_add_term(log, (fmt_str){other, strlen(other)}, NULL), QN_BAD_INPUT);
    assert_int_equal(wal_add_term(log, (fmt_str){one, strlen(one)}, NULL), QN_OK);
    wal_close(log);
}

typedef struct attribution {
    char texts[8][64];
    uint64_t ids[8], quins[8][2]; /* subject, object */
    size_t n_texts, n_quins;
} attribution;

static qn_status take_term(void *ctx, const qwal_term *term, error_context *err) {
    attribution *a = ctx;
    (void)err;
    assert_true(a->n_texts < 8);
    snprintf(a->texts[a->n_texts], 64, "%.*s", (int)term->text.size, term->text.data);
    a->ids[a->n_texts++] = term->id;
    return QN_OK;
}

static qn_status take_quin(void *ctx, const q42_quin *quin, error_context *err) {
    attribution *a = ctx;
    (void)err;
    assert_true(a->n_quins < 8);
    assert_int_equal(quin->context, 4);
    assert_true(quin->metadata >> 56 == 3);
    a->quins[a->n_quins][0] = quin->subject;
    a->quins[a->n_quins++][1] = quin->object;
    return QN_OK;
}

static void a_claim_stays_as_it_is_and_gets_two_quins_that_name_agent_and_principal(void **state) {
    (void)state;
    wal *log = fixture_open();
    const q42_quin claim = q42_quin_make(1, 2, 3, 4, UINT64_C(3) << 56 | 77);
    wal_begin(log);
    assert_int_equal(wal_add_quin(log, &claim, NULL), QN_OK);
    for (int i = 0; i < 2; i++) { /* the second time the terms are there */
        assert_int_equal(wal_add_attribution(log, &claim, (fmt_str){"did:example:agent", 17}, (fmt_str){"did:example:ann", 15}, NULL),
                         QN_OK);
    }
    assert_int_equal(wal_commit_unsigned(log, NULL, NULL), QN_OK);
    wal_close(log);
    wal_set set = {0};
    wal_state built = {0};
    attribution found = {.n_texts = 0};
    assert_int_equal(wal_set_open(fixture_directory, FMT_MODE_STRICT, NULL, NULL, &set, NULL), QN_OK);
    assert_int_equal(wal_state_build(&set, &built, NULL), QN_OK);
    assert_int_equal(wal_replay(&set, &built, 0, &(wal_visitor){&found, take_term, take_quin, NULL}, NULL), QN_OK);
    assert_int_equal(found.n_texts, 4);
    assert_int_equal(found.n_quins, 5);
    assert_int_equal(found.quins[0][0], 1);
    /* SHA-256 of 01 00… 02 00… 03 00… 04 00… begins so. */
    assert_string_equal(found.texts[0], "urn:quoin:fact:73e200e2b048c86d");
    assert_int_equal(found.quins[1][0], found.ids[0]);
    assert_int_equal(found.quins[1][1], q42_hash("did:example:agent", 17));
    assert_int_equal(found.quins[2][1], q42_hash("did:example:ann", 15));
    wal_state_free(&built);
    wal_set_close(&set);
}

static void older_logs_are_imported_with_their_parities_computed_anew(void **state) {
    static const struct {
        const char *name;
        uint64_t n_quins, n_wrong, n_empty, n_torn;
    } rows[] = {{"old_bare.wal", 3, 1, 0, 0}, {"old_headed.wal", 2, 0, 1, 0}, {"old_headed_zero.wal", 1, 0, 0, 16}};
    (void)state;
    wal *log = fixture_open();
    uint64_t n = 0, subjects[16];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char relative[64], path[CORPUS_PATH_SIZE];
        wal_import_report report;
        snprintf(relative, sizeof relative, "tests/vectors/qwal/%s", rows[i].name);
        source_require(relative, path);
        assert_int_equal(wal_import(log, path, NULL, &report, NULL), QN_OK);
        assert_int_equal(report.n_quins, rows[i].n_quins);
        assert_int_equal(report.n_wrong_parity, rows[i].n_wrong);
        assert_int_equal(report.n_empty, rows[i].n_empty);
        assert_int_equal(report.n_torn_bytes, rows[i].n_torn);
        n += report.n_quins;
    }
    wal_close(log);
    assert_int_equal(fixture_subjects(subjects, 16), n);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_committed_is_there_for_the_next_reader_and_writer),
        TEST(a_second_writer_is_refused_until_the_first_is_gone),
        TEST(a_log_is_for_its_owner_alone_and_not_in_the_working_directory),
        TEST(a_log_that_is_not_there_is_not_made_unasked),
        TEST(a_commit_needs_a_key_or_the_word_unsigned),
        TEST(quins_with_a_wrong_parity_and_texts_that_are_none_are_refused),
        TEST(files_follow_each_other_and_the_next_writer_goes_on),
        TEST(a_file_that_is_cut_in_front_of_another_is_damage),
        TEST(a_full_disk_leaves_the_log_as_it_was),
        TEST(results_of_gates_are_kept_beside_and_without_commits),
        TEST(a_signed_commit_is_the_keys_and_a_changed_one_is_not),
        TEST(a_text_with_the_hash_of_another_one_is_refused_in_the_same_and_in_later_transactions),
        TEST(a_claim_stays_as_it_is_and_gets_two_quins_that_name_agent_and_principal),
        TEST(older_logs_are_imported_with_their_parities_computed_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
