/* qwal_builder.c — logs for tests. */
#include "qwal_builder.h"

#include "common/sha.h"

void build_start(log_builder *b, const char *checkpoint_text, uint64_t sequence, uint64_t transaction) {
    qwal_header header = {.created_ms = BUILDER_NOW};
    if (checkpoint_text != NULL) {
        assert_true(sha256_digest(checkpoint_text, strlen(checkpoint_text), header.checkpoint));
    }
    memset(b, 0, sizeof *b);
    qwal_encode_header(&header, b->bytes);
    b->size = QWAL_HEADER_BYTES;
    b->sequence = sequence;
    b->transaction = transaction;
}

uint64_t build_record(log_builder *b, qwal_type type, uint16_t flags, const void *payload, uint64_t size) {
    const uint64_t at = b->size;
    const qwal_record record = {.type = type, .flags = flags, .sequence = b->sequence++, .transaction = b->transaction,
                                .payload = {NULL, size}};
    if ((flags & QWAL_BEGIN) != 0) {
        b->unit_at = at;
        b->n_records = 0;
    }
    memcpy(b->bytes + at + QWAL_RECORD_BYTES, payload, size);
    const uint64_t used = qwal_encode_record(&record, b->bytes + at, sizeof b->bytes - at);
    assert_true(used > 0);
    b->size += used;
    b->n_records++;
    if ((flags & QWAL_END) != 0) {
        b->transaction++;
        b->n_records = 0;
    }
    return at;
}

static uint16_t first_flag(const log_builder *b) {
    return b->n_records == 0 ? QWAL_BEGIN : 0;
}

void build_quins(log_builder *b, const q42_quin *quins, uint32_t n) {
    uint8_t bytes[64 * Q42_QUIN_BYTES];
    assert_true(n <= 64);
    for (uint32_t i = 0; i < n; i++) {
        q42_quin_store(bytes + i * Q42_QUIN_BYTES, &quins[i]);
    }
    build_record(b, QWAL_QUINS, first_flag(b), bytes, n * Q42_QUIN_BYTES);
}

void build_term(log_builder *b, const char *text) {
    uint8_t payload[1024];
    const qwal_term term = {q42_hash(text, strlen(text)), {text, strlen(text)}};
    const uint64_t size = qwal_encode_term(&term, payload, sizeof payload);
    assert_true(size > 0);
    build_record(b, QWAL_TERM, first_flag(b), payload, size);
}

void build_commit(log_builder *b, qwal_authority authority, uint64_t agreement) {
    uint8_t payload[64];
    const qwal_commit commit = {authority, b->n_records, BUILDER_NOW, agreement};
    const uint64_t size = qwal_encode_commit(&commit, payload, sizeof payload);
    assert_true(size > 0);
    build_record(b, QWAL_COMMIT, QWAL_END, payload, size);
}

void build_unit(log_builder *b, uint64_t subject) {
    const q42_quin quin = q42_quin_make(subject, 2, 3, 4, 5);
    build_quins(b, &quin, 1);
    build_commit(b, QWAL_UNSIGNED, 0);
}

void build_suspend(log_builder *b, uint8_t threshold, uint8_t n_signers, const uint64_t *signers, uint64_t expires_ms,
                   const q42_quin *quins, uint32_t n_quins) {
    uint8_t payload[4096], stored[64 * Q42_QUIN_BYTES];
    qwal_suspend suspend = {.agreement = 0xA11CE, .proposer = q42_hash("did:example:agent", 17), .created_ms = BUILDER_NOW,
                            .expires_ms = expires_ms, .threshold = threshold, .n_signers = n_signers, .n_quins = n_quins,
                            .quins = stored};
    memcpy(suspend.signers, signers, n_signers * sizeof signers[0]);
    for (uint32_t i = 0; i < n_quins; i++) {
        q42_quin_store(stored + i * Q42_QUIN_BYTES, &quins[i]);
    }
    const uint64_t size = qwal_encode_suspend(&suspend, payload, sizeof payload);
    assert_true(size > 0);
    const log_builder before = *b;
    build_record(b, QWAL_SUSPEND, (uint16_t)(first_flag(b) | QWAL_END), payload, size);
    assert_true(qwal_unit_digest((fmt_span){b->bytes + b->unit_at, b->size - b->unit_at}, suspend.digest));
    assert_true(qwal_encode_suspend(&suspend, payload, sizeof payload) == size);
    *b = before;
    build_record(b, QWAL_SUSPEND, (uint16_t)(first_flag(b) | QWAL_END), payload, size);
}
