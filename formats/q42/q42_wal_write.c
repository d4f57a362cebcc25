/* q42_wal_write.c — encoding records, and the digest that is signed. */
#include <string.h>

#include "common/crc32c.h"
#include "common/endian.h"
#include "common/sha.h"
#include "common/utf8.h"
#include "q42_wal_internal.h"

#define DIGEST_START "QWAL2\0\0" /* and the zero that ends it */

qwal_record wal_load_record(const uint8_t *at, uint64_t offset) {
    const qwal_record record = {.type = load_u16(at + WAL_TYPE_AT),
                                .flags = load_u16(at + WAL_FLAGS_AT),
                                .sequence = load_u64(at + WAL_SEQUENCE_AT),
                                .transaction = load_u64(at + WAL_TRANSACTION_AT),
                                .payload = {at + QWAL_RECORD_BYTES, load_u32(at + WAL_SIZE_AT)},
                                .offset = offset};
    return record;
}

uint32_t wal_record_checksum(const uint8_t *at, uint64_t payload_bytes) {
    static const uint8_t zeros[4];
    uint32_t crc = crc32c(at, WAL_CRC_AT);
    crc = crc32c_extend(crc, zeros, sizeof zeros);
    return crc32c_extend(crc, at + QWAL_RECORD_BYTES, payload_bytes);
}

void qwal_encode_header(const qwal_header *header, uint8_t out[QWAL_HEADER_BYTES]) {
    memset(out, 0, QWAL_HEADER_BYTES);
    memcpy(out, "QWAL", 4);
    store_u16(out + 4, 2);
    store_u32(out + 8, QWAL_HEADER_BYTES);
    memcpy(out + 12, header->checkpoint, sizeof header->checkpoint);
    store_u64(out + 44, header->created_ms);
    store_u32(out + 60, crc32c(out, 60));
}

uint64_t qwal_encode_record(const qwal_record *record, uint8_t *out, uint64_t room) {
    const uint64_t bytes = record->payload.size;
    const uint64_t size = bytes <= QWAL_MAX_PAYLOAD ? qwal_record_size(bytes) : 0;
    if (size == 0 || size > room) {
        return 0;
    }
    store_u32(out, QWAL_MARKER);
    store_u32(out + WAL_SIZE_AT, (uint32_t)bytes);
    store_u16(out + WAL_TYPE_AT, record->type);
    store_u16(out + WAL_FLAGS_AT, record->flags);
    store_u64(out + WAL_SEQUENCE_AT, record->sequence);
    store_u64(out + WAL_TRANSACTION_AT, record->transaction);
    memset(out + QWAL_RECORD_BYTES + bytes, 0, (size_t)(size - QWAL_RECORD_BYTES - bytes));
    store_u32(out + WAL_CRC_AT, wal_record_checksum(out, bytes));
    return size;
}

void qwal_set_flags(uint8_t *record, uint16_t flags) {
    store_u16(record + WAL_FLAGS_AT, flags);
    store_u32(record + WAL_CRC_AT, wal_record_checksum(record, load_u32(record + WAL_SIZE_AT)));
}

/* ---------------------------------------------------------------- payloads */

uint64_t qwal_encode_signature(const qwal_signature *value, uint8_t *out, uint64_t room) {
    if (room < WAL_SIGNATURE_BYTES) {
        return 0;
    }
    memcpy(out, value->key_id, sizeof value->key_id);
    memcpy(out + 32, value->signature, sizeof value->signature);
    memcpy(out + 96, value->digest, sizeof value->digest);
    return WAL_SIGNATURE_BYTES;
}

/* A payload that the reader would refuse is not written. */
static uint64_t keep_if_right(qwal_type type, const uint8_t *out, uint64_t size) {
    return wal_has_form(type, (fmt_span){out, size}) ? size : 0;
}

uint64_t qwal_encode_commit(const qwal_commit *value, uint8_t *out, uint64_t room) {
    if (room < WAL_COMMIT_BYTES) {
        return 0;
    }
    store_u32(out, value->authority);
    store_u32(out + 4, value->n_records);
    store_u64(out + 8, value->time_ms);
    store_u64(out + 16, value->agreement);
    return keep_if_right(QWAL_COMMIT, out, WAL_COMMIT_BYTES);
}

uint64_t qwal_encode_suspend(const qwal_suspend *value, uint8_t *out, uint64_t room) {
    if (value->n_signers > QWAL_MAX_SIGNERS || value->n_quins > QWAL_MAX_QUINS) {
        return 0;
    }
    const uint64_t head = WAL_SUSPEND_BYTES + 8u * (uint64_t)value->n_signers;
    const uint64_t size = head + (uint64_t)value->n_quins * Q42_QUIN_BYTES;
    if (room < size) {
        return 0;
    }
    store_u64(out, value->agreement);
    store_u64(out + 8, value->proposer);
    store_u64(out + 16, value->created_ms);
    store_u64(out + 24, value->expires_ms);
    out[32] = value->threshold;
    out[33] = value->n_signers;
    store_u16(out + 34, 0);
    store_u32(out + 36, value->n_quins);
    memcpy(out + WAL_SUSPEND_DIGEST_AT, value->digest, sizeof value->digest);
    for (uint32_t i = 0; i < value->n_signers; i++) {
        store_u64(out + WAL_SUSPEND_BYTES + 8u * i, value->signers[i]);
    }
    memcpy(out + head, value->quins, (size_t)(size - head));
    return keep_if_right(QWAL_SUSPEND, out, size);
}

uint64_t qwal_encode_consent(const qwal_consent *value, uint8_t *out, uint64_t room) {
    if (room < WAL_CONSENT_BYTES) {
        return 0;
    }
    store_u64(out, value->agreement);
    store_u64(out + 8, value->signer);
    store_u64(out + 16, value->time_ms);
    memcpy(out + 24, value->key_id, sizeof value->key_id);
    memcpy(out + 56, value->signature, sizeof value->signature);
    return WAL_CONSENT_BYTES;
}

uint64_t qwal_encode_abort(const qwal_abort *value, uint8_t *out, uint64_t room) {
    if (room < WAL_ABORT_BYTES) {
        return 0;
    }
    store_u64(out, value->agreement);
    store_u64(out + 8, value->time_ms);
    store_u32(out + 16, value->reason);
    store_u32(out + 20, 0);
    return keep_if_right(QWAL_ABORT, out, WAL_ABORT_BYTES);
}

uint64_t qwal_encode_checkpoint(const qwal_checkpoint *value, uint8_t *out, uint64_t room) {
    if (room < WAL_CHECKPOINT_BYTES) {
        return 0;
    }
    memcpy(out, value->digest, sizeof value->digest);
    store_u64(out + 32, value->last_sequence);
    return WAL_CHECKPOINT_BYTES;
}

uint64_t qwal_encode_term(const qwal_term *value, uint8_t *out, uint64_t room) {
    const uint64_t size = WAL_TERM_BYTES + value->text.size;
    if (value->text.size > QWAL_MAX_TERM || room < size ||
        utf8_first_invalid(value->text.data, value->text.size) != UTF8_ALL_VALID || !files_is_key_of(value->id, value->text)) {
        return 0;
    }
    store_u64(out, value->id);
    store_u32(out + 8, (uint32_t)value->text.size);
    memcpy(out + WAL_TERM_BYTES, value->text.data, (size_t)value->text.size);
    return size;
}

/* Answers the entry's length with its padding, or 0. */
static uint64_t encode_entry(const qwal_audit_entry *entry, uint8_t *out, uint64_t room) {
    if (entry->gate.size == 0 || entry->gate.size > UINT16_MAX || entry->detail.size > QWAL_MAX_PAYLOAD) {
        return 0;
    }
    const uint64_t used = WAL_ENTRY_BYTES + entry->gate.size + entry->detail.size, size = (used + 7u) & ~UINT64_C(7);
    if (size > room) {
        return 0;
    }
    store_u16(out, entry->verdict);
    store_u16(out + 2, (uint16_t)entry->gate.size);
    store_u32(out + 4, (uint32_t)entry->detail.size);
    store_u64(out + 8, entry->code);
    memcpy(out + WAL_ENTRY_BYTES, entry->gate.data, (size_t)entry->gate.size);
    if (entry->detail.size > 0) {
        memcpy(out + WAL_ENTRY_BYTES + entry->gate.size, entry->detail.data, (size_t)entry->detail.size);
    }
    memset(out + used, 0, (size_t)(size - used));
    return size;
}

uint64_t qwal_encode_audit(const qwal_audit *value, const qwal_audit_entry *entries, uint8_t *out, uint64_t room) {
    uint64_t at = WAL_AUDIT_BYTES;
    if (room < at) {
        return 0;
    }
    store_u64(out, value->time_ms);
    memcpy(out + 8, value->policy, sizeof value->policy);
    store_u32(out + 40, value->policy_version);
    store_u32(out + 44, value->n_entries);
    for (uint32_t i = 0; i < value->n_entries; i++) {
        const uint64_t size = encode_entry(&entries[i], out + at, room - at);
        if (size == 0) {
            return 0;
        }
        at += size;
    }
    return keep_if_right(QWAL_AUDIT, out, at);
}

/* ---------------------------------------------------------------- digest */

static void add_payload(sha256_stream *stream, const qwal_record *record) {
    static const uint8_t zeros[Q42_DIGEST_BYTES];
    const uint64_t behind = WAL_SUSPEND_DIGEST_AT + Q42_DIGEST_BYTES;
    if (record->type == QWAL_SUSPEND && record->payload.size >= behind) {
        sha256_add(stream, record->payload.data, WAL_SUSPEND_DIGEST_AT);
        sha256_add(stream, zeros, sizeof zeros);
        sha256_add(stream, record->payload.data + behind, record->payload.size - behind);
    } else {
        sha256_add(stream, record->payload.data, record->payload.size);
    }
}

bool qwal_next_record(fmt_span records, uint64_t *at, qwal_record *out_record) {
    if (*at > records.size || records.size - *at < QWAL_RECORD_BYTES) {
        return false;
    }
    const qwal_record record = wal_load_record(records.data + *at, *at);
    const uint64_t size = qwal_record_size(record.payload.size);
    if (size > records.size - *at) {
        return false;
    }
    *out_record = record;
    *at += size;
    return true;
}

static bool add_records(sha256_stream *stream, fmt_span records) {
    uint64_t at = 0;
    qwal_record record;
    while (qwal_next_record(records, &at, &record)) {
        if (record.type == QWAL_SIGNATURE) {
            return true;
        }
        uint8_t head[8] = {0};
        store_u16(head, record.type);
        store_u32(head + 4, (uint32_t)record.payload.size);
        sha256_add(stream, head, sizeof head);
        add_payload(stream, &record);
    }
    return at == records.size;
}

bool qwal_unit_digest(fmt_span records, uint8_t out[Q42_DIGEST_BYTES]) {
    sha256_stream stream;
    if (!sha256_begin(&stream)) {
        return false;
    }
    sha256_add(&stream, DIGEST_START, sizeof DIGEST_START);
    if (!add_records(&stream, records)) {
        sha256_abandon(&stream);
        return false;
    }
    return sha256_end(&stream, out);
}
