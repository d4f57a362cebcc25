/* wal_append.c — units: gathered in memory, written in one piece. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/diag.h"
#include "base/whole_io.h"
#include "common/sha.h"
#include "wal/wal_internal.h"

void wal_begin_as(wal *log, uint64_t transaction) {
    log->unit.size = log->quins.size = 0;
    term_marks_free(&log->terms);
    log->n_records = 0;
    log->last_record = 0;
    log->transaction = transaction;
}

void wal_begin(wal *log) {
    wal_begin_as(log, log->state.last_transaction + 1);
}

/* ---------------------------------------------------------------- gathering */

static qn_status refuse_memory(error_context *err) {
    return FAIL(err, QN_NO_HOST_MEM, "out of memory for the transaction");
}

qn_status wal_put_record(wal *log, qwal_type type, const void *payload, uint64_t size, error_context *err) {
    static const char zeros[QWAL_RECORD_BYTES];
    const size_t at = log->unit.size;
    const uint64_t room = qwal_record_size(size);
    const qwal_record record = {.type = type, .flags = log->n_records == 0 ? QWAL_BEGIN : 0,
                                .sequence = log->state.last_sequence + 1 + log->n_records, .transaction = log->transaction,
                                .payload = {NULL, size}};
    if (at + room > WAL_MOST_UNIT) {
        return FAIL(err, QN_LIMIT, "%s: a transaction has at most %" PRIu64 " bytes; split it", log->directory, WAL_MOST_UNIT);
    }
    if (!text_buffer_append(&log->unit, zeros, sizeof zeros) || !text_buffer_append(&log->unit, payload, (size_t)size) ||
        !text_buffer_append(&log->unit, zeros, (size_t)(room - QWAL_RECORD_BYTES - size))) {
        log->unit.size = at;
        return refuse_memory(err);
    }
    if (qwal_encode_record(&record, (uint8_t *)log->unit.text + at, room) == 0) {
        log->unit.size = at;
        return FAIL(err, QN_LIMIT, "%s: a record has at most %u bytes", log->directory, QWAL_MAX_PAYLOAD);
    }
    log->last_record = at;
    log->n_records++;
    return QN_OK;
}

static qn_status put_term(wal *log, const qwal_term *term, error_context *err) {
    const uint64_t room = QWAL_RECORD_BYTES + QWAL_MAX_TERM;
    uint8_t *payload = malloc(room);
    if (payload == NULL) {
        return refuse_memory(err);
    }
    const uint64_t size = qwal_encode_term(term, payload, room);
    const qn_status status = size != 0 ? wal_put_record(log, QWAL_TERM, payload, size, err)
                                       : FAIL(err, QN_BAD_INPUT, "a term is no UTF-8");
    free(payload);
    return status;
}

qn_status wal_add_term(wal *log, fmt_str text, error_context *err) {
    if (text.size > QWAL_MAX_TERM) {
        return FAIL(err, QN_LIMIT, "a term of %" PRIu64 " bytes is longer than %u", text.size, QWAL_MAX_TERM);
    }
    const qwal_term term = {q42_hash(text.data, text.size), text};
    const uint64_t mark = term_mark_of(text), here = term_marks_find(&log->terms, term.id);
    const uint64_t known = here != 0 ? here : term_marks_find(&log->state.terms, term.id);
    if (mark == 0) {
        return FAIL(err, QN_INTERNAL, "libcrypto refuses to compute SHA-256");
    }
    if (known != 0 && known != mark) {
        char quoted[DIAG_QUOTE_SIZE];
        return FAIL(err, QN_BAD_INPUT, "%s: another term with the same hash as %s is in the log; rename one of them", log->directory,
                    diag_quote(quoted, text));
    }
    if (here != 0) {
        return QN_OK;
    }
    QN_TRY(put_term(log, &term, err), err, "adding a term");
    return term_marks_add(&log->terms, term.id, mark) ? QN_OK : refuse_memory(err);
}

qn_status wal_add_quin(wal *log, const q42_quin *quin, error_context *err) {
    uint8_t bytes[Q42_QUIN_BYTES];
    if (quin->parity != q42_quin_parity(quin)) {
        return FAIL(err, QN_BAD_INPUT, "a quin has parity %016" PRIx64 ", which should be %016" PRIx64, quin->parity,
                    q42_quin_parity(quin));
    }
    if (log->quins.size + log->unit.size > WAL_MOST_UNIT) {
        return FAIL(err, QN_LIMIT, "%s: a transaction has at most %" PRIu64 " bytes; split it", log->directory, WAL_MOST_UNIT);
    }
    q42_quin_store(bytes, quin);
    return text_buffer_append(&log->quins, (const char *)bytes, sizeof bytes) ? QN_OK : refuse_memory(err);
}

#define ATTRIBUTED_TO "http://www.w3.org/ns/prov#wasAttributedTo"
#define FACT_PREFIX "urn:quoin:fact:"
#define TIER_BITS (UINT64_C(15) << 56)

/* The text that names a claim; it can be computed again from the claim alone. */
static qn_status name_fact(const q42_quin *claim, char out[64], error_context *err) {
    uint8_t bytes[Q42_QUIN_BYTES], digest[SHA256_BYTES];
    char hex[SHA256_HEX_SIZE];
    q42_quin_store(bytes, claim);
    if (!sha256_digest(bytes, 32, digest)) {
        return FAIL(err, QN_INTERNAL, "libcrypto refuses to compute SHA-256");
    }
    sha256_to_hex(digest, hex);
    snprintf(out, 64, FACT_PREFIX "%.16s", hex);
    return QN_OK;
}

qn_status wal_add_attribution(wal *log, const q42_quin *claim, fmt_str agent, fmt_str principal, error_context *err) {
    char fact[64];
    QN_TRY(name_fact(claim, fact, err), err, "naming a claim");
    const fmt_str name = {fact, strlen(fact)}, predicate = {ATTRIBUTED_TO, sizeof ATTRIBUTED_TO - 1};
    const fmt_str who[2] = {agent, principal};
    QN_TRY(wal_add_term(log, name, err), err, "attributing a claim");
    QN_TRY(wal_add_term(log, predicate, err), err, "attributing a claim");
    for (size_t i = 0; i < 2; i++) {
        const q42_quin quin = q42_quin_make(q42_hash(name.data, name.size), q42_hash(predicate.data, predicate.size),
                                            q42_hash(who[i].data, who[i].size), claim->context, claim->metadata & TIER_BITS);
        QN_TRY(wal_add_term(log, who[i], err), err, "attributing a claim");
        QN_TRY(wal_add_quin(log, &quin, err), err, "attributing a claim");
    }
    return QN_OK;
}

qn_status wal_add_audit(wal *log, const qwal_audit *audit, const qwal_audit_entry *entries, error_context *err) {
    uint8_t *payload = malloc(QWAL_MAX_PAYLOAD);
    qwal_audit value = *audit;
    if (payload == NULL) {
        return refuse_memory(err);
    }
    value.time_ms = value.time_ms != 0 ? value.time_ms : wal_now(log);
    const uint64_t size = qwal_encode_audit(&value, entries, payload, QWAL_MAX_PAYLOAD);
    const qn_status status = size != 0 ? wal_put_record(log, QWAL_AUDIT, payload, size, err)
                                       : FAIL(err, QN_BAD_INPUT, "the results of %u gates are no UTF-8, have no name, or take more than %u "
                                              "bytes", audit->n_entries, QWAL_MAX_PAYLOAD);
    free(payload);
    return status;
}

qn_status wal_put_quins(wal *log, error_context *err) {
    const size_t most = (size_t)QWAL_MAX_QUINS * Q42_QUIN_BYTES;
    for (size_t at = 0; at < log->quins.size; at += most) {
        const size_t left = log->quins.size - at;
        QN_TRY(wal_put_record(log, QWAL_QUINS, log->quins.text + at, left < most ? left : most, err), err, "committing");
    }
    log->quins.size = 0;
    return QN_OK;
}

qn_status wal_digest_unit(const wal *log, uint8_t out[Q42_DIGEST_BYTES], error_context *err) {
    return qwal_unit_digest((fmt_span){(const uint8_t *)log->unit.text, log->unit.size}, out)
               ? QN_OK
               : FAIL(err, QN_INTERNAL, "libcrypto refuses to compute SHA-256");
}

/* ---------------------------------------------------------------- writing */

/* After a failed fsync nobody knows what is on disk: the unit is taken away, and opening the log again tells whether that succeeded. */
static qn_status undo_write(wal *log, bool was_synced, int number, error_context *err) {
    const bool is_cut = ftruncate(log->fd, (off_t)log->end) == 0 && fsync(log->fd) == 0;
    log->is_failed = !is_cut || was_synced;
    return error_from_errno(err, number, log->path,
                            log->is_failed ? "cannot be written; open the log again" : "cannot be written; nothing was added");
}

static qn_status write_and_sync(wal *log, error_context *err) {
    if (log->end + log->unit.size > log->rotate_bytes && log->end > QWAL_HEADER_BYTES) {
        QN_TRY(wal_start_file(log, err), err, "going on in a new file");
    }
    if (!io_write_all_at(log->fd, log->unit.text, log->unit.size, log->end)) {
        return undo_write(log, false, errno, err);
    }
    return fsync(log->fd) == 0 ? QN_OK : undo_write(log, true, errno, err);
}

/* The state cannot refuse what this writer wrote, and memory was reserved before. */
static qn_status take_unit(wal *log, error_context *err) {
    const fmt_span span = {(const uint8_t *)log->unit.text, log->unit.size};
    uint64_t at = 0;
    qwal_record record;
    qn_status status = QN_OK;
    while (status >= 0 && qwal_next_record(span, &at, &record)) {
        status = wal_state_take(&log->state, &record, log->first, log->end, log->path, err);
    }
    return status;
}

static void fill_receipt(const wal *log, wal_receipt *out) {
    wal_receipt receipt = {.transaction = log->transaction, .sequence = log->state.last_sequence, .time_ms = wal_now(log)};
    if (out != NULL) {
        memcpy(receipt.digest, out->digest, sizeof receipt.digest);
        receipt.is_signed = out->is_signed;
        *out = receipt;
    }
}

static qn_status write_unit(wal *log, error_context *err) {
    QN_TRY(wal_check_usable(log, err), err, "writing");
    QN_TRY(wal_state_reserve(&log->state, err), err, "writing");
    uint8_t *last = (uint8_t *)log->unit.text + log->last_record;
    qwal_set_flags(last, (uint16_t)((log->n_records == 1 ? QWAL_BEGIN : 0) | QWAL_END));
    QN_TRY(write_and_sync(log, err), err, "writing");
    const qn_status status = take_unit(log, err);
    log->end += log->unit.size;
    log->is_failed = status < 0;
    return status;
}

qn_status wal_write_unit(wal *log, wal_receipt *out_receipt, error_context *err) {
    const qn_status status = write_unit(log, err);
    if (status >= 0) {
        fill_receipt(log, out_receipt);
    }
    wal_begin(log);
    return status;
}

/* ---------------------------------------------------------------- committing */

static qn_status put_commit(wal *log, qwal_authority authority, error_context *err) {
    uint8_t payload[64];
    const qwal_commit commit = {authority, log->n_records, wal_now(log), 0};
    return wal_put_record(log, QWAL_COMMIT, payload, qwal_encode_commit(&commit, payload, sizeof payload), err);
}

static qn_status put_signature(wal *log, const signing_key *key, const uint8_t digest[Q42_DIGEST_BYTES], error_context *err) {
    uint8_t payload[128];
    qwal_signature signature;
    memcpy(signature.digest, digest, sizeof signature.digest);
    memcpy(signature.key_id, signing_key_public(key)->id, sizeof signature.key_id);
    QN_TRY(signing_key_sign(key, digest, Q42_DIGEST_BYTES, signature.signature, err), err, "signing the transaction");
    return wal_put_record(log, QWAL_SIGNATURE, payload, qwal_encode_signature(&signature, payload, sizeof payload), err);
}

static qn_status commit(wal *log, const signing_key *key, wal_receipt *receipt, error_context *err) {
    if (log->quins.size == 0) {
        return FAIL(err, QN_BAD_INPUT, "%s: a transaction without quins is not committed", log->directory);
    }
    QN_TRY(wal_put_quins(log, err), err, "committing");
    QN_TRY(wal_digest_unit(log, receipt->digest, err), err, "committing");
    receipt->is_signed = key != NULL;
    if (key != NULL) {
        QN_TRY(put_signature(log, key, receipt->digest, err), err, "committing");
    }
    QN_TRY(put_commit(log, key != NULL ? QWAL_BY_SIGNATURE : QWAL_UNSIGNED, err), err, "committing");
    return wal_write_unit(log, receipt, err);
}

static qn_status commit_with(wal *log, const signing_key *key, wal_receipt *out_receipt, error_context *err) {
    wal_receipt receipt = {0};
    const qn_status status = commit(log, key, &receipt, err);
    if (status >= 0 && out_receipt != NULL) {
        *out_receipt = receipt;
    }
    wal_begin(log);
    return status;
}

qn_status wal_commit(wal *log, const signing_key *key, wal_receipt *out_receipt, error_context *err) {
    if (key == NULL) {
        wal_begin(log);
        return FAIL(err, QN_BAD_INPUT, "%s: no key is given, and nobody said to go without", log->directory);
    }
    return commit_with(log, key, out_receipt, err);
}

qn_status wal_commit_unsigned(wal *log, wal_receipt *out_receipt, error_context *err) {
    return commit_with(log, NULL, out_receipt, err);
}

qn_status wal_end_audit(wal *log, wal_receipt *out_receipt, error_context *err) {
    wal_receipt receipt = {0};
    qn_status status = log->n_records == 0 || log->quins.size > 0 || log->terms.n_ids > 0
                           ? FAIL(err, QN_BAD_INPUT, "%s: a unit of results of gates has nothing but these", log->directory)
                           : wal_digest_unit(log, receipt.digest, err);
    status = status < 0 ? status : wal_write_unit(log, &receipt, err);
    if (status >= 0 && out_receipt != NULL) {
        *out_receipt = receipt;
    }
    wal_begin(log);
    return status;
}

qn_status wal_record_audit(wal *log, const qwal_audit *audit, const qwal_audit_entry *entries, wal_receipt *out_receipt,
                           error_context *err) {
    wal_begin(log);
    const qn_status status = wal_add_audit(log, audit, entries, err);
    if (status < 0) {
        wal_begin(log);
        return status;
    }
    return wal_end_audit(log, out_receipt, err);
}
