/* test_review.c — records that say they wait, and are not what they say. */
#include "govern/review.h"
#include "govern_fixture.h"

#define QUIN_1_2_3 \
    "0100000000000000" "0200000000000000" "0300000000000000" "0000000000000000" "0000000000000000" "0000000000000000"

typedef struct review_row {
    const char *name, *claim, *quin, *signers;
    bool is_id_right;
    qn_status status;
    const char *words;
} review_row;

static uint64_t id_of_quin(void) {
    const q42_quin quin = q42_quin_make(1, 2, 3, 0, 0);
    return request_fact_id(&quin);
}

static fmt_str str(const char *text) {
    return (fmt_str){text, strlen(text)};
}

/* A log with one such record; the status of accepting it. */
static qn_status accept_row(const review_row *row, error_context *err) {
    char folder[CORPUS_PATH_SIZE + 16], path[CORPUS_PATH_SIZE + 32];
    static uint32_t n_logs;
    const uint64_t id = row->is_id_right ? id_of_quin() : 7;
    const qwal_audit_entry entries[] = {{VERDICT_PASS, str("request"), str("intent i, agent did:a, principal p, tier 1"), 1},
                                        {VERDICT_REVIEW, str("claim"), str(row->claim), id},
                                        {VERDICT_REVIEW, str("quin"), str(row->quin), id},
                                        {VERDICT_REVIEW, str("signers"), str(row->signers), 1}};
    const qwal_audit audit = {.policy_version = 1, .n_entries = row->signers[0] != 0 ? 4 : 3};
    wal_receipt receipt;
    review_result result;
    wal_set set;
    wal *log;
    signing_key *key;
    public_key public_part;
    snprintf(folder, sizeof folder, "%s/log%u", fixture_folder, n_logs);
    snprintf(path, sizeof path, "%s/key%u", fixture_folder, n_logs++);
    assert_int_equal(signing_key_create(path, NULL, &public_part, NULL), QN_OK);
    assert_int_equal(signing_key_open(path, NULL, &key, NULL), QN_OK);
    assert_int_equal(wal_open(&(wal_options){.directory = folder, .may_create = true}, &log, NULL, NULL), QN_OK);
    assert_int_equal(wal_record_audit(log, &audit, entries, &receipt, NULL), QN_OK);
    assert_int_equal(wal_set_open(folder, FMT_MODE_DEFAULT, NULL, NULL, &set, NULL), QN_OK);
    const qn_status status = review_settle(&set, log, receipt.sequence, true, key, "did:reviewer", &result, err);
    wal_set_close(&set);
    wal_close(log);
    signing_key_close(key);
    return status;
}

static void a_record_that_is_not_what_it_says_commits_nothing(void **state) {
    static const review_row rows[] = {
        {"right", "<urn:quoin:hash:1> <urn:b> <urn:c> .", QUIN_1_2_3, "", true, QN_OK, ""},
        {"another id", "<urn:a> <urn:b> <urn:c> .", QUIN_1_2_3, "", false, QN_BAD_FILE, "not what its id says"},
        {"wrong parity", "<urn:a> .", "0200000000000000" "0200000000000000" "0300000000000000" "0000000000000000" "0000000000000000" "0000000000000000", "",
         true, QN_BAD_FILE, "not what its id says"},
        {"too short", "<urn:a> .", "01", "", true, QN_BAD_FILE, "not what its id says"},
        {"no digits", "<urn:a> .", "zz00000000000000" "0200000000000000" "0300000000000000" "0000000000000000" "0000000000000000" "0000000000000000", "", true,
         QN_BAD_FILE, "not what its id says"},
        {"cut text", "<urn:a> <urn:b> \"half", QUIN_1_2_3, "", true, QN_BAD_INPUT, "is cut"},
        {"signers that wait", "<urn:a> .", QUIN_1_2_3, "2 1000 0000000000000001 0000000000000002", true, QN_OK, ""},
        {"more needed than there are", "<urn:a> .", QUIN_1_2_3, "3 1000 0000000000000001 0000000000000002", true, QN_BAD_FILE, "signers"},
        {"nobody", "<urn:a> .", QUIN_1_2_3, "1 1000", true, QN_BAD_FILE, "signers"},
        {"nonsense", "<urn:a> .", QUIN_1_2_3, "2 1000 ana bo", true, QN_BAD_FILE, "signers"},
        {"nothing", "<urn:a> .", QUIN_1_2_3, " ", true, QN_BAD_FILE, "signers"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        error_context err = {0};
        const qn_status status = accept_row(&rows[i], &err);
        if (status != rows[i].status || strstr(error_text(&err), rows[i].words) == NULL) {
            fail_msg("%s: %d, %s", rows[i].name, (int)status, error_text(&err));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_that_is_not_what_it_says_commits_nothing, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
