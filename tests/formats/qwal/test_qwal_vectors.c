/* test_qwal_vectors.c — the frozen logs, made by another encoder: they are read, and this one makes the same bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "common/sha.h"
#include "corpus.h"
#include "qwal_builder.h"

static uint8_t *bytes;

static fmt_span read_vector(const char *name) {
    char relative[256], path[CORPUS_PATH_SIZE];
    size_t size = 0;
    snprintf(relative, sizeof relative, "tests/vectors/qwal/%s", name);
    source_require(relative, path);
    bytes = test_read_file(path, &size);
    return (fmt_span){bytes, size};
}

static int free_vector(void **state) {
    (void)state;
    free(bytes);
    bytes = NULL;
    return 0;
}

static void assert_built(const log_builder *b, const char *name) {
    const fmt_span wanted = read_vector(name);
    qwal_log log;
    fmt_diag diag = {.text = ""};
    assert_int_equal(qwal_open(wanted, FMT_MODE_STRICT, &log, NULL, NULL, &diag), FMT_OK);
    assert_int_equal(b->size, wanted.size);
    assert_memory_equal(b->bytes, wanted.data, wanted.size);
    free_vector(NULL);
}

static uint64_t id(const char *text) {
    return q42_hash(text, strlen(text));
}

#define S "http://e.example/s"
#define P "http://e.example/p"
#define O "http://e.example/\xE6\xBD\xAE"

static void fill_quins(q42_quin quins[2]) {
    quins[0] = q42_quin_make(id(S), id(P), id(O), 0, 0);
    quins[1] = q42_quin_make(id(S), id(P), UINT64_C(1) << 60 | 7, id(S), UINT64_C(3) << 56);
}

static void quins_terms_and_commits_are_the_frozen_bytes(void **state) {
    (void)state;
    log_builder b;
    q42_quin quins[2];
    fill_quins(quins);
    build_start(&b, NULL, 1, 1);
    assert_built(&b, "empty.qwal");
    build_quins(&b, quins, 1);
    build_commit(&b, QWAL_UNSIGNED, 0);
    assert_built(&b, "quins_commit.qwal");
    build_start(&b, NULL, 1, 1);
    build_term(&b, S);
    build_term(&b, P);
    build_term(&b, O);
    build_quins(&b, quins, 2);
    build_commit(&b, QWAL_UNSIGNED, 0);
    assert_built(&b, "term.qwal");
}

/* The signature itself is the other encoder's; the digest below it is ours. */
static void a_signed_unit_is_the_frozen_bytes(void **state) {
    (void)state;
    log_builder b;
    q42_quin quins[2];
    qwal_log log;
    qwal_walk walk = {0};
    qwal_record record;
    qwal_signature signature;
    uint8_t digest[Q42_DIGEST_BYTES], payload[128];
    fill_quins(quins);
    assert_int_equal(qwal_open(read_vector("signature.qwal"), FMT_MODE_STRICT, &log, NULL, NULL, NULL), FMT_OK);
    while (qwal_next(&log, &walk, &record) && record.type != QWAL_SIGNATURE) {
    }
    assert_true(qwal_read_signature(record.payload, &signature));
    free_vector(NULL);
    build_start(&b, NULL, 1, 1);
    build_term(&b, S);
    build_quins(&b, quins, 1);
    assert_true(qwal_unit_digest((fmt_span){b.bytes + b.unit_at, b.size - b.unit_at}, digest));
    assert_memory_equal(digest, signature.digest, sizeof digest);
    assert_int_equal(qwal_encode_signature(&signature, payload, sizeof payload), 128);
    build_record(&b, QWAL_SIGNATURE, 0, payload, 128);
    build_commit(&b, QWAL_BY_SIGNATURE, 0);
    assert_built(&b, "signature.qwal");
}

static void put_suspend(log_builder *b, uint64_t expires_ms) {
    q42_quin quins[2];
    uint64_t signers[3] = {id("did:example:alice"), id("did:example:bob"), id("did:example:carol")};
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            if (signers[j] > signers[j + 1]) {
                const uint64_t other = signers[j];
                signers[j] = signers[j + 1];
                signers[j + 1] = other;
            }
        }
    }
    fill_quins(quins);
    build_start(b, NULL, 1, 1);
    build_term(b, S);
    build_suspend(b, 2, 3, signers, expires_ms, quins, 2);
}

static qwal_consent last_consent(const char *name) {
    qwal_log log;
    qwal_walk walk = {0};
    qwal_record record;
    qwal_consent consent = {0};
    assert_int_equal(qwal_open(read_vector(name), FMT_MODE_STRICT, &log, NULL, NULL, NULL), FMT_OK);
    while (qwal_next(&log, &walk, &record)) {
        if (record.type == QWAL_CONSENT) {
            assert_true(qwal_read_consent(record.payload, &consent));
        }
    }
    free_vector(NULL);
    return consent;
}

static void put_consent(log_builder *b, const char *vector, const char *signer, uint16_t flags) {
    uint8_t payload[128];
    const qwal_consent consent = last_consent(vector);
    assert_int_equal(consent.agreement, 0xA11CE);
    assert_int_equal(consent.signer, id(signer));
    assert_int_equal(consent.time_ms, BUILDER_NOW + 1000);
    assert_int_equal(qwal_encode_consent(&consent, payload, sizeof payload), 120);
    build_record(b, QWAL_CONSENT, flags, payload, 120);
}

static void suspending_and_consent_are_the_frozen_bytes(void **state) {
    (void)state;
    log_builder b;
    q42_quin quins[2];
    fill_quins(quins);
    put_suspend(&b, BUILDER_NOW + 86400000);
    assert_built(&b, "suspend.qwal");
    build_quins(&b, quins + 1, 1);
    build_commit(&b, QWAL_UNSIGNED, 0);
    const uint64_t next = b.transaction;
    b.transaction = 1;
    put_consent(&b, "consent.qwal", "did:example:alice", QWAL_BEGIN | QWAL_END);
    assert_built(&b, "consent.qwal");
    b.transaction = 1;
    put_consent(&b, "consent_commit.qwal", "did:example:bob", QWAL_BEGIN);
    build_commit(&b, QWAL_BY_CONSENT, 0xA11CE);
    assert_built(&b, "consent_commit.qwal");
    assert_int_equal(next, 3);
}

static void abort_checkpoint_and_audit_are_the_frozen_bytes(void **state) {
    (void)state;
    log_builder b;
    uint8_t payload[1024];
    q42_quin quins[2];
    fill_quins(quins);
    put_suspend(&b, BUILDER_NOW + 1);
    b.transaction = 1;
    const qwal_abort expired = {0xA11CE, BUILDER_NOW + 2, QWAL_EXPIRED};
    build_record(&b, QWAL_ABORT, QWAL_BEGIN | QWAL_END, payload, qwal_encode_abort(&expired, payload, sizeof payload));
    assert_built(&b, "abort.qwal");

    qwal_checkpoint checkpoint = {.last_sequence = 42};
    assert_true(sha256_digest("volume", 6, checkpoint.digest));
    build_start(&b, "volume", 41, 9);
    build_quins(&b, quins, 1);
    build_commit(&b, QWAL_UNSIGNED, 0);
    build_record(&b, QWAL_CHECKPOINT, QWAL_BEGIN | QWAL_END, payload, qwal_encode_checkpoint(&checkpoint, payload, sizeof payload));
    assert_built(&b, "checkpoint.qwal");

    static const char detail[] = "tier 3 is above the ceiling of this destination";
    const qwal_audit_entry entries[2] = {{1, {"intent", 6}, {"", 0}, 0}, {0, {"egress", 6}, {detail, sizeof detail - 1}, 0x2002}};
    qwal_audit audit = {.time_ms = BUILDER_NOW, .policy_version = 7, .n_entries = 2};
    assert_true(sha256_digest("policy", 6, audit.policy));
    build_start(&b, NULL, 1, 1);
    build_record(&b, QWAL_AUDIT, QWAL_BEGIN | QWAL_END, payload, qwal_encode_audit(&audit, entries, payload, sizeof payload));
    assert_built(&b, "audit.qwal");
}

static void audit_entries_read_back(void **state) {
    (void)state;
    qwal_log log;
    qwal_walk walk = {0};
    qwal_record record;
    qwal_audit audit;
    qwal_audit_entry entry;
    uint64_t at = 0;
    assert_int_equal(qwal_open(read_vector("audit.qwal"), FMT_MODE_STRICT, &log, NULL, NULL, NULL), FMT_OK);
    assert_true(qwal_next(&log, &walk, &record) && qwal_read_audit(record.payload, &audit));
    assert_int_equal(audit.policy_version, 7);
    assert_true(qwal_next_entry(&audit, &at, &entry));
    assert_memory_equal(entry.gate.data, "intent", 6);
    assert_int_equal(entry.detail.size, 0);
    assert_true(qwal_next_entry(&audit, &at, &entry));
    assert_int_equal(entry.code, 0x2002);
    assert_memory_equal(entry.detail.data, "tier 3", 6);
    assert_false(qwal_next_entry(&audit, &at, &entry));
}

static void older_logs_are_told_apart_by_their_length(void **state) {
    static const struct {
        const char *name;
        bool has_digest;
        uint64_t n_quins, n_wrong, n_empty, n_torn;
    } rows[] = {{"old_bare.wal", false, 3, 1, 0, 0}, {"old_headed.wal", true, 3, 0, 1, 0}, {"old_headed_zero.wal", true, 1, 0, 0, 16}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qwal_old_log log;
        assert_int_equal(qwal_old_open(read_vector(rows[i].name), &log, NULL), FMT_OK);
        assert_int_equal(log.has_digest, rows[i].has_digest);
        assert_int_equal(log.n_quins, rows[i].n_quins);
        assert_int_equal(log.n_wrong_parity, rows[i].n_wrong);
        assert_int_equal(log.n_empty, rows[i].n_empty);
        assert_int_equal(log.n_torn_bytes, rows[i].n_torn);
        for (uint64_t q = 0; q < log.n_quins; q++) {
            const q42_quin quin = qwal_old_quin(&log, q);
            assert_true(quin.parity == q42_quin_parity(&quin));
        }
        free_vector(NULL);
    }
}

static void other_lengths_are_no_older_log(void **state) {
    (void)state;
    fmt_span span = read_vector("old_bare.wal");
    qwal_old_log log;
    fmt_diag diag;
    span.size -= 1;
    assert_int_equal(qwal_old_open(span, &log, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "wal-old-size");
    assert_int_equal(diag.offset, 96);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quins_terms_and_commits_are_the_frozen_bytes),
        cmocka_unit_test(a_signed_unit_is_the_frozen_bytes),
        cmocka_unit_test(suspending_and_consent_are_the_frozen_bytes),
        cmocka_unit_test(abort_checkpoint_and_audit_are_the_frozen_bytes),
        cmocka_unit_test_teardown(audit_entries_read_back, free_vector),
        cmocka_unit_test(older_logs_are_told_apart_by_their_length),
        cmocka_unit_test_teardown(other_lengths_are_no_older_log, free_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
