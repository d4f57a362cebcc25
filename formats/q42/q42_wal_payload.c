/* q42_wal_payload.c — reading the payloads of a log's records. */
#include <string.h>

#include "common/checked.h"
#include "common/endian.h"
#include "common/utf8.h"
#include "q42_wal_internal.h"

bool qwal_read_signature(fmt_span payload, qwal_signature *out) {
    if (payload.size != WAL_SIGNATURE_BYTES) {
        return false;
    }
    memcpy(out->key_id, payload.data, sizeof out->key_id);
    memcpy(out->signature, payload.data + 32, sizeof out->signature);
    memcpy(out->digest, payload.data + 96, sizeof out->digest);
    return true;
}

bool qwal_read_commit(fmt_span payload, qwal_commit *out) {
    if (payload.size != WAL_COMMIT_BYTES) {
        return false;
    }
    const qwal_commit value = {load_u32(payload.data), load_u32(payload.data + 4), load_u64(payload.data + 8),
                               load_u64(payload.data + 16)};
    if (value.authority < QWAL_BY_SIGNATURE || value.authority > QWAL_BY_CONSENT ||
        (value.agreement != 0 && value.authority != QWAL_BY_CONSENT)) {
        return false;
    }
    *out = value;
    return true;
}

static bool has_rising_signers(const qwal_suspend *s) {
    for (uint32_t i = 1; i < s->n_signers; i++) {
        if (s->signers[i] <= s->signers[i - 1]) {
            return false;
        }
    }
    return true;
}

bool qwal_read_suspend(fmt_span payload, qwal_suspend *out) {
    const uint8_t *at = payload.data;
    if (payload.size < WAL_SUSPEND_BYTES || load_u16(at + 34) != 0) {
        return false;
    }
    qwal_suspend value = {.agreement = load_u64(at), .proposer = load_u64(at + 8), .created_ms = load_u64(at + 16),
                          .expires_ms = load_u64(at + 24), .threshold = at[32], .n_signers = at[33], .n_quins = load_u32(at + 36)};
    const uint64_t head = WAL_SUSPEND_BYTES + 8u * (uint64_t)value.n_signers;
    if (value.n_signers < 1 || value.n_signers > QWAL_MAX_SIGNERS || value.threshold < 1 || value.threshold > value.n_signers ||
        value.n_quins < 1 || payload.size != head + (uint64_t)value.n_quins * Q42_QUIN_BYTES) {
        return false;
    }
    memcpy(value.digest, at + WAL_SUSPEND_DIGEST_AT, sizeof value.digest);
    for (uint32_t i = 0; i < value.n_signers; i++) {
        value.signers[i] = load_u64(at + WAL_SUSPEND_BYTES + 8u * i);
    }
    value.quins = at + head;
    if (!has_rising_signers(&value) || value.expires_ms <= value.created_ms) {
        return false;
    }
    *out = value;
    return true;
}

bool qwal_read_consent(fmt_span payload, qwal_consent *out) {
    if (payload.size != WAL_CONSENT_BYTES) {
        return false;
    }
    out->agreement = load_u64(payload.data);
    out->signer = load_u64(payload.data + 8);
    out->time_ms = load_u64(payload.data + 16);
    memcpy(out->key_id, payload.data + 24, sizeof out->key_id);
    memcpy(out->signature, payload.data + 56, sizeof out->signature);
    return true;
}

bool qwal_read_abort(fmt_span payload, qwal_abort *out) {
    if (payload.size != WAL_ABORT_BYTES || load_u32(payload.data + 20) != 0) {
        return false;
    }
    const qwal_abort value = {load_u64(payload.data), load_u64(payload.data + 8), load_u32(payload.data + 16)};
    if (value.reason < QWAL_EXPIRED || value.reason > QWAL_WITHDRAWN) {
        return false;
    }
    *out = value;
    return true;
}

bool qwal_read_checkpoint(fmt_span payload, qwal_checkpoint *out) {
    if (payload.size != WAL_CHECKPOINT_BYTES) {
        return false;
    }
    memcpy(out->digest, payload.data, sizeof out->digest);
    out->last_sequence = load_u64(payload.data + 32);
    return true;
}

bool qwal_read_term(fmt_span payload, qwal_term *out) {
    if (payload.size < WAL_TERM_BYTES || load_u32(payload.data + 8) != payload.size - WAL_TERM_BYTES ||
        payload.size - WAL_TERM_BYTES > QWAL_MAX_TERM) {
        return false;
    }
    out->id = load_u64(payload.data);
    out->text = (fmt_str){(const char *)payload.data + WAL_TERM_BYTES, payload.size - WAL_TERM_BYTES};
    return true;
}

bool qwal_next_entry(const qwal_audit *audit, uint64_t *at, qwal_audit_entry *out_entry) {
    const fmt_span all = audit->entries;
    if (*at > all.size || all.size - *at < WAL_ENTRY_BYTES) {
        return false;
    }
    const uint8_t *head = all.data + *at;
    const uint64_t gate = load_u16(head + 2), detail = load_u32(head + 4);
    uint64_t size = 0;
    if (gate == 0 || !checked_align(WAL_ENTRY_BYTES + gate + detail, 8, &size) || size > all.size - *at) {
        return false;
    }
    const char *text = (const char *)head + WAL_ENTRY_BYTES;
    *out_entry = (qwal_audit_entry){load_u16(head), {text, gate}, {text + gate, detail}, load_u64(head + 8)};
    *at += size;
    return true;
}

static bool is_text(fmt_str text) {
    return utf8_first_invalid(text.data, text.size) == UTF8_ALL_VALID;
}

bool qwal_read_audit(fmt_span payload, qwal_audit *out) {
    if (payload.size < WAL_AUDIT_BYTES) {
        return false;
    }
    qwal_audit value = {.time_ms = load_u64(payload.data), .policy_version = load_u32(payload.data + 40),
                        .n_entries = load_u32(payload.data + 44),
                        .entries = {payload.data + WAL_AUDIT_BYTES, payload.size - WAL_AUDIT_BYTES}};
    memcpy(value.policy, payload.data + 8, sizeof value.policy);
    qwal_audit_entry entry;
    uint64_t at = 0;
    uint32_t n = 0;
    while (n < value.n_entries && qwal_next_entry(&value, &at, &entry)) {
        if (!is_text(entry.gate) || !is_text(entry.detail)) {
            return false;
        }
        n++;
    }
    if (n != value.n_entries || at != value.entries.size) {
        return false;
    }
    *out = value;
    return true;
}

bool wal_has_form(qwal_type type, fmt_span payload) {
    union {
        qwal_signature signature;
        qwal_commit commit;
        qwal_suspend suspend;
        qwal_consent consent;
        qwal_abort abort;
        qwal_checkpoint checkpoint;
        qwal_audit audit;
        qwal_term term;
    } value;
    switch (type) {
    case QWAL_QUINS: return payload.size >= Q42_QUIN_BYTES && payload.size % Q42_QUIN_BYTES == 0;
    case QWAL_SIGNATURE: return qwal_read_signature(payload, &value.signature);
    case QWAL_COMMIT: return qwal_read_commit(payload, &value.commit);
    case QWAL_SUSPEND: return qwal_read_suspend(payload, &value.suspend);
    case QWAL_CONSENT: return qwal_read_consent(payload, &value.consent);
    case QWAL_ABORT: return qwal_read_abort(payload, &value.abort);
    case QWAL_CHECKPOINT: return qwal_read_checkpoint(payload, &value.checkpoint);
    case QWAL_AUDIT: return qwal_read_audit(payload, &value.audit);
    default: return qwal_read_term(payload, &value.term);
    }
}
