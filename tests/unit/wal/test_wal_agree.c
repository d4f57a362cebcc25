/* test_wal_agree.c — transactions that wait for signers: who counts, who does not, and when it is over. */
#include "wal_fixture.h"

#define AGREEMENT 0xA11CEu
#define DAY UINT64_C(86400000)

static signing_key *keys_of[3];
static trusted_key known[3];
static trusted_keys keys;
static uint8_t digest[Q42_DIGEST_BYTES];

static int make_signers(void **state) {
    static const char *const names[] = {"did:example:alice", "did:example:bob", "did:example:carol"};
    fixture_setup(state);
    for (size_t i = 0; i < 3; i++) {
        char path[CORPUS_PATH_SIZE + 64];
        snprintf(path, sizeof path, "%s/%zu.key", fixture_folder, i);
        known[i].name = (char *)(uintptr_t)names[i];
        known[i].signer = q42_hash(names[i], strlen(names[i]));
        if (signing_key_create(path, NULL, &known[i].key, NULL) < 0 || signing_key_open(path, NULL, &keys_of[i], NULL) < 0) {
            return -1;
        }
    }
    keys = (trusted_keys){known, 3, {0}};
    return 0;
}

static int drop_signers(void **state) {
    for (size_t i = 0; i < 3; i++) {
        signing_key_close(keys_of[i]);
    }
    return fixture_teardown(state);
}

/* A transaction of subject 7 that waits for two of the three. */
static wal *suspend_one(void) {
    wal *log = fixture_open();
    const q42_quin quin = q42_quin_make(7, 2, 3, AGREEMENT, 5);
    wal_proposal proposal = {.agreement = AGREEMENT, .proposer = 1, .expires_ms = FIXTURE_START + DAY, .threshold = 2, .n_signers = 3};
    wal_receipt receipt;
    for (size_t i = 0; i < 3; i++) {
        proposal.signers[i] = known[i].signer;
    }
    wal_begin(log);
    assert_int_equal(wal_add_term(log, (fmt_str){"http://e.example/tide", 21}, NULL), QN_OK);
    assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    assert_int_equal(wal_suspend(log, &proposal, &receipt, NULL), QN_OK);
    memcpy(digest, receipt.digest, sizeof digest);
    return log;
}

static qn_status consent(wal *log, size_t who, wal_consent_result *out, error_context *err) {
    uint8_t signature[SIGNATURE_BYTES];
    assert_int_equal(signing_key_sign(keys_of[who], digest, sizeof digest, signature, NULL), QN_OK);
    return wal_consent(log, AGREEMENT, known[who].key.id, signature, &keys, out, err);
}

static void assert_refused(qn_status status, qn_status wanted, const error_context *err, const char *words) {
    assert_int_equal(status, wanted);
    if (strstr(error_text(err), words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, error_text(err));
    }
}

static void two_signers_release_what_one_cannot_even_over_a_restart(void **state) {
    (void)state;
    wal_consent_result result;
    wal *log = suspend_one();
    fixture_commit(log, 1);
    assert_subjects(1);
    assert_int_equal(consent(log, 0, &result, NULL), QN_OK);
    assert_false(result.is_committed);
    assert_int_equal(result.n_valid, 1);
    wal_close(log);
    assert_subjects(1);
    log = fixture_open();
    assert_int_equal(wal_get_state(log)->n_pending, 1);
    fixture_commit(log, 2);
    assert_int_equal(consent(log, 2, &result, NULL), QN_OK);
    assert_true(result.is_committed);
    fixture_commit(log, 3);
    assert_int_equal(wal_get_state(log)->n_pending, 0);
    wal_close(log);
    assert_subjects(1, 2, 7, 3);
}

static void the_same_signer_does_not_count_twice(void **state) {
    (void)state;
    wal *log = suspend_one();
    error_context err = {0};
    assert_int_equal(consent(log, 0, NULL, NULL), QN_OK);
    assert_refused(consent(log, 0, NULL, &err), QN_BAD_INPUT, &err, "already");
    known[1].signer = known[0].signer; /* a second key of the same signer */
    error_clear(&err);
    assert_refused(consent(log, 1, NULL, &err), QN_BAD_INPUT, &err, "already");
    wal_close(log);
    assert_int_equal(fixture_subjects((uint64_t[1]){0}, 1), 0);
}

static void a_signature_of_something_else_is_refused_and_leaves_no_trace(void **state) {
    (void)state;
    wal *log = suspend_one();
    error_context err = {0};
    size_t before, after;
    free(fixture_read(fixture_last_file(), &before));
    digest[0] ^= 1;
    assert_refused(consent(log, 0, NULL, &err), QN_DENIED, &err, "is not of agreement");
    free(fixture_read(fixture_last_file(), &after));
    assert_int_equal(before, after);
    wal_close(log);
}

static void keys_that_nobody_trusts_and_those_of_others_are_refused(void **state) {
    (void)state;
    wal *log = suspend_one();
    error_context err = {0};
    keys.n_items = 1;
    assert_refused(consent(log, 1, NULL, &err), QN_DENIED, &err, "not among the trusted");
    keys.n_items = 3;
    error_clear(&err);
    known[1].signer = 12345; /* somebody that the agreement does not name */
    assert_refused(consent(log, 1, NULL, &err), QN_DENIED, &err, "no signer");
    wal_close(log);
}

static void a_revoked_key_is_refused_and_takes_its_earlier_consent_with_it(void **state) {
    (void)state;
    wal *log = suspend_one();
    wal_consent_result result;
    error_context err = {0};
    assert_int_equal(consent(log, 0, NULL, NULL), QN_OK);
    revocation gone = {known[0].key, (char *)(uintptr_t)"2025-06-16T00:00:00Z lost"};
    keys.revoked = (revocations){&gone, 1};
    assert_int_equal(consent(log, 1, &result, NULL), QN_OK);
    assert_int_equal(result.n_valid, 1);
    assert_false(result.is_committed);
    assert_int_equal(consent(log, 2, &result, NULL), QN_OK);
    assert_true(result.is_committed);
    wal_close(log);
    assert_subjects(7);
    fixture_teardown(NULL);
    fixture_setup(NULL);
    log = suspend_one();
    assert_refused(consent(log, 0, NULL, &err), QN_DENIED, &err, "revoked");
    wal_close(log);
}

static void an_agreement_ends_with_its_time_and_is_over_for_good(void **state) {
    (void)state;
    wal *log = suspend_one();
    error_context err = {0};
    assert_int_equal(consent(log, 0, NULL, NULL), QN_OK);
    fixture_time = FIXTURE_START + DAY;
    assert_refused(consent(log, 1, NULL, &err), QN_BAD_INPUT, &err, "expired");
    fixture_time = FIXTURE_START; /* a clock that is put back does not bring it back */
    error_clear(&err);
    assert_refused(consent(log, 1, NULL, &err), QN_BAD_INPUT, &err, "expired already");
    wal_close(log);
    log = fixture_open();
    assert_int_equal(wal_state_find(wal_get_state(log), AGREEMENT)->standing, WAL_EXPIRED);
    wal_close(log);
    assert_int_equal(fixture_subjects((uint64_t[1]){0}, 1), 0);
}

static void opening_a_log_ends_what_has_expired_meanwhile(void **state) {
    (void)state;
    wal_close(suspend_one());
    fixture_time = FIXTURE_START + 2 * DAY;
    wal *log = fixture_open();
    assert_int_equal(wal_get_state(log)->n_pending, 0);
    assert_int_equal(wal_state_find(wal_get_state(log), AGREEMENT)->standing, WAL_EXPIRED);
    wal_close(log);
}

static void a_withdrawn_agreement_may_be_proposed_again(void **state) {
    (void)state;
    wal *log = suspend_one();
    error_context err = {0};
    assert_int_equal(wal_withdraw(log, AGREEMENT, NULL), QN_OK);
    assert_refused(consent(log, 0, NULL, &err), QN_BAD_INPUT, &err, "withdrawn");
    wal_close(log);
    log = suspend_one();
    assert_int_equal(consent(log, 0, NULL, NULL), QN_OK);
    assert_int_equal(consent(log, 1, NULL, NULL), QN_OK);
    wal_close(log);
    assert_subjects(7);
}

static void proposals_that_cannot_be_met_are_refused(void **state) {
    static const struct {
        wal_proposal proposal;
        const char *words;
    } rows[] = {
        {{0, 1, FIXTURE_START + 1, 1, 1, {1}}, "not 0"},
        {{5, 1, FIXTURE_START + 1, 0, 1, {1}}, "threshold"},
        {{5, 1, FIXTURE_START + 1, 2, 1, {1}}, "threshold"},
        {{5, 1, FIXTURE_START + 1, 1, 0, {1}}, "signers"},
        {{5, 1, FIXTURE_START + 1, 1, 9, {1}}, "signers"},
        {{5, 1, FIXTURE_START, 1, 1, {1}}, "expires"},
        {{5, 1, FIXTURE_START + 1, 2, 3, {1, 2, 1}}, "twice"},
        {{AGREEMENT, 1, FIXTURE_START + 1, 1, 1, {1}}, "pending already"},
    };
    (void)state;
    wal *log = suspend_one();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const q42_quin quin = q42_quin_make(7, 2, 3, 4, 5);
        error_context err = {0};
        wal_begin(log);
        assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
        assert_refused(wal_suspend(log, &rows[i].proposal, NULL, &err), QN_BAD_INPUT, &err, rows[i].words);
    }
    wal_begin(log);
    assert_int_equal(wal_suspend(log, &(wal_proposal){5, 1, FIXTURE_START + 1, 1, 1, {1}}, NULL, NULL), QN_BAD_INPUT); /* no quins */
    wal_close(log);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_signers, drop_signers)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(two_signers_release_what_one_cannot_even_over_a_restart),
        TEST(the_same_signer_does_not_count_twice),
        TEST(a_signature_of_something_else_is_refused_and_leaves_no_trace),
        TEST(keys_that_nobody_trusts_and_those_of_others_are_refused),
        TEST(a_revoked_key_is_refused_and_takes_its_earlier_consent_with_it),
        TEST(an_agreement_ends_with_its_time_and_is_over_for_good),
        TEST(opening_a_log_ends_what_has_expired_meanwhile),
        TEST(a_withdrawn_agreement_may_be_proposed_again),
        TEST(proposals_that_cannot_be_met_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
