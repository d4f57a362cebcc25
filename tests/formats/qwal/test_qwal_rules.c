/* test_qwal_rules.c — each rule of a log broken alone: which rule is told, and at which byte. */
#include "qwal_builder.h"

#include "common/crc32c.h"
#include "common/endian.h"

/* Breaks one thing in a fresh log; answers where the fault should be seen. */
typedef uint64_t break_fn(log_builder *b);

static const q42_quin quin = {1, 2, 3, 4, 5, 1 ^ 2 ^ 3 ^ 4 ^ 5};

static uint64_t cut_header(log_builder *b) {
    return b->size = 63;
}

static uint64_t change_magic(log_builder *b) {
    b->bytes[3] = 'X';
    return 0;
}

static uint64_t change_version(log_builder *b) {
    b->bytes[4] = 3;
    return 4;
}

static uint64_t change_header(log_builder *b) {
    b->bytes[13] ^= 1;
    return 60;
}

static uint64_t use_reserved(log_builder *b) {
    b->bytes[52] = 1;
    store_u32(b->bytes + 60, crc32c(b->bytes, 60));
    return 6;
}

static uint64_t fill_padding(log_builder *b) {
    build_term(b, "a");
    b->bytes[b->size - 1] = 1;
    return b->unit_at;
}

static uint64_t use_type_10(log_builder *b) {
    return build_record(b, 10, QWAL_BEGIN | QWAL_END, "", 0);
}

static uint64_t use_type_0(log_builder *b) {
    return build_record(b, 0, QWAL_BEGIN | QWAL_END, "", 0);
}

static uint64_t begin_without_flag(log_builder *b) {
    uint8_t bytes[48];
    q42_quin_store(bytes, &quin);
    return build_record(b, QWAL_QUINS, 0, bytes, 48);
}

static uint64_t begin_twice(log_builder *b) {
    uint8_t bytes[48];
    build_quins(b, &quin, 1);
    q42_quin_store(bytes, &quin);
    return build_record(b, QWAL_QUINS, QWAL_BEGIN, bytes, 48);
}

static uint64_t use_flag_4(log_builder *b) {
    uint8_t bytes[48];
    q42_quin_store(bytes, &quin);
    return build_record(b, QWAL_QUINS, QWAL_BEGIN | 4, bytes, 48);
}

static uint64_t shorten_quin(log_builder *b) {
    return build_record(b, QWAL_QUINS, QWAL_BEGIN, b->bytes, 47);
}

static uint64_t leave_quins_empty(log_builder *b) {
    return build_record(b, QWAL_QUINS, QWAL_BEGIN, "", 0);
}

static uint64_t suspend_above_its_signers(log_builder *b) {
    uint8_t payload[128] = {0};
    payload[32] = 3; /* of 2 */
    payload[33] = 2;
    return build_record(b, QWAL_SUSPEND, QWAL_BEGIN | QWAL_END, payload, 128);
}

static uint64_t change_parity(log_builder *b) {
    uint8_t bytes[96];
    q42_quin wrong = quin;
    wrong.parity++;
    q42_quin_store(bytes, &quin);
    q42_quin_store(bytes + 48, &wrong);
    return build_record(b, QWAL_QUINS, QWAL_BEGIN, bytes, 96) + QWAL_RECORD_BYTES + 48;
}

static uint64_t change_parity_of_suspended(log_builder *b) {
    const uint64_t signer = 1;
    q42_quin wrong = quin;
    wrong.parity++;
    build_suspend(b, 1, 1, &signer, BUILDER_NOW + 1, &wrong, 1);
    return b->unit_at + QWAL_RECORD_BYTES + 72 + 8;
}

static uint64_t change_term(log_builder *b) {
    const uint8_t payload[13] = {1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'a'};
    return build_record(b, QWAL_TERM, QWAL_BEGIN, payload, sizeof payload);
}

static uint64_t use_term_that_is_no_utf8(log_builder *b) {
    uint8_t payload[13] = {0};
    payload[12] = 0xFF;
    store_u64(payload, q42_hash("\xFF", 1));
    store_u32(payload + 8, 1);
    return build_record(b, QWAL_TERM, QWAL_BEGIN, payload, sizeof payload);
}

static uint64_t repeat_transaction(log_builder *b) {
    build_unit(b, 1);
    b->transaction--;
    build_quins(b, &quin, 1);
    return b->unit_at;
}

static uint64_t change_transaction_in_a_unit(log_builder *b) {
    uint8_t payload[24];
    const qwal_commit commit = {QWAL_UNSIGNED, 1, 0, 0};
    build_quins(b, &quin, 1);
    b->transaction++;
    qwal_encode_commit(&commit, payload, sizeof payload);
    return build_record(b, QWAL_COMMIT, QWAL_END, payload, 24);
}

static uint64_t commit_nothing(log_builder *b) {
    uint8_t payload[24];
    const qwal_commit commit = {QWAL_UNSIGNED, 0, 0, 0};
    qwal_encode_commit(&commit, payload, sizeof payload);
    return build_record(b, QWAL_COMMIT, QWAL_BEGIN | QWAL_END, payload, 24);
}

static uint64_t commit_terms_alone(log_builder *b) {
    build_term(b, "a");
    const uint64_t at = b->size;
    build_commit(b, QWAL_UNSIGNED, 0);
    return at;
}

static uint64_t end_with_quins(log_builder *b) {
    uint8_t bytes[48];
    q42_quin_store(bytes, &quin);
    return build_record(b, QWAL_QUINS, QWAL_BEGIN | QWAL_END, bytes, 48);
}

static uint64_t put_checkpoint_in_a_unit(log_builder *b) {
    const uint8_t payload[40] = {0};
    build_quins(b, &quin, 1);
    return build_record(b, QWAL_CHECKPOINT, QWAL_END, payload, 40);
}

static uint64_t commit_unsigned_as_signed(log_builder *b) {
    build_quins(b, &quin, 1);
    const uint64_t at = b->size;
    build_commit(b, QWAL_BY_SIGNATURE, 0);
    return at;
}

static uint64_t commit_another_agreement(log_builder *b) {
    uint8_t payload[120] = {5};
    build_record(b, QWAL_CONSENT, QWAL_BEGIN, payload, 120);
    const uint64_t at = b->size;
    build_commit(b, QWAL_BY_CONSENT, 6);
    return at;
}

static uint64_t miscount(log_builder *b) {
    build_quins(b, &quin, 1);
    b->n_records = 5;
    const uint64_t at = b->size;
    build_commit(b, QWAL_UNSIGNED, 0);
    return at;
}

static uint64_t sign_another_digest(log_builder *b) {
    const uint8_t payload[128] = {0};
    build_quins(b, &quin, 1);
    return build_record(b, QWAL_SIGNATURE, 0, payload, 128);
}

static uint64_t suspend_another_digest(log_builder *b) {
    const uint64_t signer = 1;
    uint8_t stored[48], payload[128];
    q42_quin_store(stored, &quin);
    const qwal_suspend suspend = {.agreement = 1, .created_ms = 1, .expires_ms = 2, .threshold = 1, .n_signers = 1, .n_quins = 1,
                                  .signers = {signer}, .quins = stored};
    assert_int_equal(qwal_encode_suspend(&suspend, payload, sizeof payload), 128);
    return build_record(b, QWAL_SUSPEND, QWAL_BEGIN | QWAL_END, payload, 128);
}

static const struct {
    const char *what, *rule;
    break_fn *make;
} rows[] = {
    {"a cut header", "wal-size", cut_header},
    {"another magic", "wal-magic", change_magic},
    {"version 3", "wal-version", change_version},
    {"a changed byte in the header", "wal-header-checksum", change_header},
    {"a reserved byte", "wal-header", use_reserved},
    {"padding that is not zero", "wal-padding", fill_padding},
    {"type 10", "wal-type", use_type_10},
    {"type 0", "wal-type", use_type_0},
    {"a first record without its flag", "wal-flags", begin_without_flag},
    {"a second first record", "wal-flags", begin_twice},
    {"flag 4", "wal-flags", use_flag_4},
    {"47 bytes of a quin", "wal-form", shorten_quin},
    {"no quin", "wal-form", leave_quins_empty},
    {"three of two signers", "wal-form", suspend_above_its_signers},
    {"a wrong parity", "wal-parity", change_parity},
    {"a wrong parity of a suspended quin", "wal-parity", change_parity_of_suspended},
    {"a term of another id", "wal-term", change_term},
    {"a term that is no UTF-8", "wal-term", use_term_that_is_no_utf8},
    {"a transaction that stands twice", "wal-transaction", repeat_transaction},
    {"two transactions in a unit", "wal-transaction", change_transaction_in_a_unit},
    {"a commit alone", "wal-order", commit_nothing},
    {"a commit of terms alone", "wal-order", commit_terms_alone},
    {"quins without a commit", "wal-order", end_with_quins},
    {"a checkpoint inside a unit", "wal-order", put_checkpoint_in_a_unit},
    {"a commit that says signed without a signature", "wal-order", commit_unsigned_as_signed},
    {"a commit of another agreement", "wal-order", commit_another_agreement},
    {"a commit that counts wrongly", "wal-count", miscount},
    {"a signature of another digest", "wal-digest", sign_another_digest},
    {"a suspended transaction with another digest", "wal-digest", suspend_another_digest},
};

static void each_broken_rule_is_told_with_its_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static log_builder b;
        qwal_log log;
        fmt_diag diag = {.rule = "none", .text = ""};
        build_start(&b, NULL, 1, 1);
        const uint64_t at = rows[i].make(&b);
        const fmt_status status = qwal_open(built(&b), FMT_MODE_DEFAULT, &log, NULL, NULL, &diag);
        if (status != FMT_BAD_FILE || strcmp(diag.rule, rows[i].rule) != 0 || diag.offset != at) {
            fail_msg("%s: status %d, rule %s at byte %llu (wanted %s at %llu): %s", rows[i].what, status, diag.rule,
                     (unsigned long long)diag.offset, rows[i].rule, (unsigned long long)at, diag.text);
        }
    }
}

static void rules_have_ids_of_their_own(void **state) {
    (void)state;
    uint32_t n = 0;
    const fmt_rule *all = qwal_rules(&n);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(strncmp(all[i].id, "wal-", 4) == 0);
        for (uint32_t j = 0; j < i; j++) {
            assert_string_not_equal(all[i].id, all[j].id);
        }
    }
}

static void what_breaks_a_rule_is_not_encoded(void **state) {
    (void)state;
    uint8_t out[256], stored[48];
    q42_quin_store(stored, &quin);
    const qwal_term term = {1, {"a", 1}};
    const qwal_commit commit = {4, 1, 0, 0};
    const qwal_abort abort = {1, 2, 3};
    const qwal_audit audit = {.n_entries = 1};
    const qwal_audit_entry nameless = {1, {"", 0}, {"", 0}, 0};
    qwal_suspend suspend = {.agreement = 1, .created_ms = 1, .expires_ms = 2, .threshold = 1, .n_signers = 2, .n_quins = 1,
                            .signers = {7, 7}, .quins = stored};
    assert_int_equal(qwal_encode_term(&term, out, sizeof out), 0);
    assert_int_equal(qwal_encode_commit(&commit, out, sizeof out), 0);
    assert_int_equal(qwal_encode_abort(&abort, out, sizeof out), 0);
    assert_int_equal(qwal_encode_audit(&audit, &nameless, out, sizeof out), 0);
    assert_int_equal(qwal_encode_suspend(&suspend, out, sizeof out), 0);
    suspend.signers[1] = 8;
    assert_int_equal(qwal_encode_suspend(&suspend, out, sizeof out), 72 + 16 + 48);
    suspend.expires_ms = 1;
    assert_int_equal(qwal_encode_suspend(&suspend, out, sizeof out), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_rule_is_told_with_its_byte),
        cmocka_unit_test(rules_have_ids_of_their_own),
        cmocka_unit_test(what_breaks_a_rule_is_not_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
