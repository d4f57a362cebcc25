/* q42_wal_scan.c — opening a log: what is whole, what a crash left, and what is damage. */
#include <string.h>

#include "common/crc32c.h"
#include "common/endian.h"
#include "common/fnv.h"
#include "common/utf8.h"
#include "q42_wal_internal.h"

/* How many records behind a broken one may look right at first sight before the search ends: each costs a checksum of up to a
 * megabyte. More than that come from no crash. */
#define MOST_CANDIDATES 4096u

typedef enum unit_state { UNIT_NONE, UNIT_BODY, UNIT_SIGNED, UNIT_CONSENTED } unit_state;

typedef struct wal_scan {
    files_reading r;
    qwal_log log;
    uint64_t at;            /* of the record that is looked at */
    uint64_t last_sequence; /* also of records of the open unit */
    /* the open unit */
    unit_state state;
    uint64_t unit_at, transaction;
    uint32_t n_records;
    uint64_t n_quins, n_terms;
    uint64_t agreement; /* of its CONSENT */
} wal_scan;

static diag_place record_place(const qwal_record *record, uint64_t expected, uint64_t got) {
    const diag_place place = {record->offset, record->sequence, expected, got};
    return place;
}

/* ---------------------------------------------------------------- header */

static fmt_status check_header(wal_scan *s) {
    const fmt_span span = s->log.span;
    static const uint8_t zeros[8];
    if (span.size < 4 || memcmp(span.data, "QWAL", 4) != 0) {
        char quoted[DIAG_QUOTE_SIZE];
        const fmt_str start = {(const char *)span.data, span.size < 4 ? span.size : 4};
        return wal_refuse(s->r.diag, QWAL_R_MAGIC, files_at(0), "the file begins with %s", diag_quote(quoted, start));
    }
    if (span.size < QWAL_HEADER_BYTES) {
        return wal_refuse(s->r.diag, QWAL_R_SIZE, (diag_place){span.size, FMT_NO_INDEX, QWAL_HEADER_BYTES, span.size},
                          "the file has %llu bytes", (unsigned long long)span.size);
    }
    if (load_u16(span.data + 4) != 2) {
        return wal_refuse(s->r.diag, QWAL_R_VERSION, (diag_place){4, FMT_NO_INDEX, 2, load_u16(span.data + 4)},
                          "the version is %u", (unsigned)load_u16(span.data + 4));
    }
    const uint32_t checksum = crc32c(span.data, 60);
    if (checksum != load_u32(span.data + 60)) {
        return wal_refuse(s->r.diag, QWAL_R_HEADER_CHECKSUM,
                          (diag_place){60, FMT_NO_INDEX, checksum, load_u32(span.data + 60)},
                          "the header says checksum %08x, its bytes have %08x", load_u32(span.data + 60), checksum);
    }
    if (load_u16(span.data + 6) != 0 || load_u32(span.data + 8) != QWAL_HEADER_BYTES ||
        memcmp(span.data + 52, zeros, sizeof zeros) != 0) {
        return wal_refuse(s->r.diag, QWAL_R_HEADER, files_at(6), "the header says flags %u and %u bytes, or uses reserved ones",
                          (unsigned)load_u16(span.data + 6), load_u32(span.data + 8));
    }
    memcpy(s->log.header.checkpoint, span.data + 12, Q42_DIGEST_BYTES);
    s->log.header.created_ms = load_u64(span.data + 44);
    return FMT_OK;
}

/* ---------------------------------------------------------------- where the log ends */

/* The rule that ends the log at this record, with its words in `found`, or QWAL_N_RULES when the record is whole. */
static wal_rule_no judge_frame(const wal_scan *s, qwal_record *out_record, fmt_diag *found) {
    const uint64_t left = s->log.span.size - s->at;
    const uint8_t *at = s->log.span.data + s->at;
    if (left < QWAL_RECORD_BYTES) {
        wal_refuse(found, QWAL_R_CUT, (diag_place){s->at, FMT_NO_INDEX, QWAL_RECORD_BYTES, left}, "%llu bytes are left",
                   (unsigned long long)left);
        return QWAL_R_CUT;
    }
    const qwal_record record = wal_load_record(at, s->at);
    if (load_u32(at) != QWAL_MARKER) {
        wal_refuse(found, QWAL_R_MARKER, (diag_place){s->at, FMT_NO_INDEX, QWAL_MARKER, load_u32(at)},
                   "behind sequence %llu stands %08x", (unsigned long long)s->last_sequence, load_u32(at));
        return QWAL_R_MARKER;
    }
    if (record.payload.size > QWAL_MAX_PAYLOAD) {
        wal_refuse(found, QWAL_R_PAYLOAD, record_place(&record, QWAL_MAX_PAYLOAD, record.payload.size),
                   "record %llu claims %llu bytes", (unsigned long long)record.sequence, (unsigned long long)record.payload.size);
        return QWAL_R_PAYLOAD;
    }
    if (qwal_record_size(record.payload.size) > left) {
        wal_refuse(found, QWAL_R_CUT, record_place(&record, qwal_record_size(record.payload.size), left),
                   "of record %llu only %llu bytes are left", (unsigned long long)record.sequence, (unsigned long long)left);
        return QWAL_R_CUT;
    }
    const uint32_t checksum = wal_record_checksum(at, record.payload.size);
    if (checksum != load_u32(at + WAL_CRC_AT)) {
        wal_refuse(found, QWAL_R_CHECKSUM, record_place(&record, checksum, load_u32(at + WAL_CRC_AT)),
                   "record %llu says checksum %08x, its bytes have %08x", (unsigned long long)record.sequence,
                   load_u32(at + WAL_CRC_AT), checksum);
        return QWAL_R_CHECKSUM;
    }
    if (record.sequence == 0 || (s->last_sequence != 0 && record.sequence != s->last_sequence + 1)) {
        wal_refuse(found, QWAL_R_SEQUENCE, record_place(&record, s->last_sequence + 1, record.sequence),
                   "record %llu stands behind record %llu", (unsigned long long)record.sequence,
                   (unsigned long long)s->last_sequence);
        return QWAL_R_SEQUENCE;
    }
    *out_record = record;
    return QWAL_N_RULES;
}

/* Whether a whole record that begins a later unit than the broken one stands at `at`. The broken one begins at the log's end. */
static bool is_later_unit(const wal_scan *s, uint64_t at, uint32_t *candidates) {
    const uint64_t left = s->log.span.size - at, last = s->log.last_sequence;
    const uint8_t *bytes = s->log.span.data + at;
    if (left < QWAL_RECORD_BYTES || load_u32(bytes) != QWAL_MARKER) {
        return false;
    }
    const qwal_record record = wal_load_record(bytes, at);
    const bool is_above = record.sequence > last + 1 && record.sequence - last - 1 <= s->log.span.size / QWAL_RECORD_BYTES;
    const bool is_later = last == 0 ? at > s->log.end : is_above;
    if (!is_later || (record.flags & QWAL_BEGIN) == 0 || record.payload.size > QWAL_MAX_PAYLOAD ||
        qwal_record_size(record.payload.size) > left) {
        return false;
    }
    return ++*candidates > MOST_CANDIDATES || wal_record_checksum(bytes, record.payload.size) == load_u32(bytes + WAL_CRC_AT);
}

/* A unit is written after the one before is safe: if one stands behind the break, what is broken was safe once. */
static fmt_status settle_break(wal_scan *s, const fmt_diag *found) {
    uint32_t n_candidates = 0;
    for (uint64_t at = s->log.end; at < s->log.span.size; at += 8) {
        if (is_later_unit(s, at, &n_candidates)) {
            return wal_refuse(s->r.diag, QWAL_R_DAMAGE, (diag_place){found->offset, found->index, found->expected, found->got},
                              "the record at byte %llu is broken (%s), but a later unit stands at byte %llu",
                              (unsigned long long)found->offset, found->rule, (unsigned long long)at);
        }
    }
    return files_settle(&s->r, found);
}

/* ---------------------------------------------------------------- records */

static fmt_status check_quins(wal_scan *s, const qwal_record *record, const uint8_t *quins, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        const q42_quin quin = q42_quin_load(quins + i * Q42_QUIN_BYTES);
        if (quin.parity != q42_quin_parity(&quin)) {
            const uint64_t offset = record->offset + (uint64_t)(quins + i * Q42_QUIN_BYTES - (record->payload.data - QWAL_RECORD_BYTES));
            return wal_refuse(s->r.diag, QWAL_R_PARITY, (diag_place){offset, record->sequence, q42_quin_parity(&quin), quin.parity},
                              "quin %llu of record %llu has parity %016llx, which should be %016llx", (unsigned long long)i,
                              (unsigned long long)record->sequence, (unsigned long long)quin.parity,
                              (unsigned long long)q42_quin_parity(&quin));
        }
    }
    s->n_quins += n;
    return FMT_OK;
}

static fmt_status check_term(wal_scan *s, const qwal_record *record) {
    qwal_term term;
    if (!qwal_read_term(record->payload, &term) || utf8_first_invalid(term.text.data, term.text.size) != UTF8_ALL_VALID ||
        !files_is_key_of(term.id, term.text)) {
        return wal_refuse(s->r.diag, QWAL_R_TERM, record_place(record, fnv_q_hash(term.text.data, term.text.size), term.id),
                          "record %llu names id %016llx with a text that is not its own", (unsigned long long)record->sequence,
                          (unsigned long long)term.id);
    }
    s->n_terms++;
    return FMT_OK;
}

/* `records` end with the SUSPEND, or in front of the SIGNATURE. */
static fmt_status check_digest(wal_scan *s, const qwal_record *record, const uint8_t *says, uint64_t end) {
    uint8_t digest[Q42_DIGEST_BYTES];
    if (!qwal_unit_digest((fmt_span){s->log.span.data + s->unit_at, end - s->unit_at}, digest)) {
        return wal_refuse(s->r.diag, QWAL_R_HASH, record_place(record, 0, 0), "record %llu cannot be checked",
                          (unsigned long long)record->sequence);
    }
    if (memcmp(digest, says, sizeof digest) != 0) {
        return wal_refuse(s->r.diag, QWAL_R_DIGEST, record_place(record, 0, 0), "record %llu signs another digest than its unit has",
                          (unsigned long long)record->sequence);
    }
    return FMT_OK;
}

static fmt_status check_commit(wal_scan *s, const qwal_record *record) {
    qwal_commit commit;
    qwal_read_commit(record->payload, &commit);
    if (commit.n_records != s->n_records) {
        return wal_refuse(s->r.diag, QWAL_R_COUNT, record_place(record, s->n_records, commit.n_records),
                          "record %llu commits %u records of %u", (unsigned long long)record->sequence, commit.n_records,
                          s->n_records);
    }
    const qwal_authority authority = s->state == UNIT_SIGNED      ? QWAL_BY_SIGNATURE
                                     : s->state == UNIT_CONSENTED ? QWAL_BY_CONSENT
                                                                  : QWAL_UNSIGNED;
    if (commit.authority != authority || commit.agreement != s->agreement || (s->state != UNIT_CONSENTED && s->n_quins == 0)) {
        return wal_refuse(s->r.diag, QWAL_R_ORDER, record_place(record, authority, commit.authority),
                          "record %llu commits by authority %u a unit of authority %u and %llu quins",
                          (unsigned long long)record->sequence, commit.authority, authority, (unsigned long long)s->n_quins);
    }
    return FMT_OK;
}

static fmt_status check_content(wal_scan *s, const qwal_record *record) {
    qwal_suspend suspend;
    qwal_signature signature;
    qwal_consent consent;
    switch (record->type) {
    case QWAL_TERM: return check_term(s, record);
    case QWAL_QUINS: return check_quins(s, record, record->payload.data, record->payload.size / Q42_QUIN_BYTES);
    case QWAL_COMMIT: return check_commit(s, record);
    case QWAL_SUSPEND: {
        qwal_read_suspend(record->payload, &suspend);
        const fmt_status status = check_quins(s, record, suspend.quins, suspend.n_quins);
        return status != FMT_OK ? status
                                : check_digest(s, record, suspend.digest, record->offset + qwal_record_size(record->payload.size));
    }
    case QWAL_SIGNATURE:
        qwal_read_signature(record->payload, &signature);
        return check_digest(s, record, signature.digest, record->offset);
    case QWAL_CONSENT:
        qwal_read_consent(record->payload, &consent);
        s->agreement = consent.agreement;
        return FMT_OK;
    default: return FMT_OK;
    }
}

/* Whether a record of this type may stand here in its unit. */
static bool has_place(const wal_scan *s, qwal_type type) {
    switch (type) {
    case QWAL_TERM:
    case QWAL_QUINS:
    case QWAL_AUDIT: return s->state == UNIT_NONE || s->state == UNIT_BODY;
    case QWAL_SIGNATURE: return s->state == UNIT_BODY;
    case QWAL_COMMIT: return s->state != UNIT_NONE;
    case QWAL_SUSPEND: return s->state == UNIT_NONE || (s->state == UNIT_BODY && s->n_quins == 0);
    default: return s->state == UNIT_NONE;
    }
}

/* Whether the record may end its unit, and whether it must. */
static bool has_right_end(const wal_scan *s, const qwal_record *record) {
    const bool is_end = (record->flags & QWAL_END) != 0;
    switch (record->type) {
    case QWAL_TERM:
    case QWAL_QUINS:
    case QWAL_SIGNATURE: return !is_end;
    case QWAL_AUDIT: return !is_end || s->state == UNIT_NONE;
    case QWAL_CONSENT: return true;
    default: return is_end;
    }
}

static bool settles_older(qwal_type type) {
    return type == QWAL_CONSENT || type == QWAL_ABORT;
}

static fmt_status check_transaction(wal_scan *s, const qwal_record *record) {
    const bool is_first = s->state == UNIT_NONE;
    const bool is_right = !is_first                     ? record->transaction == s->transaction
                          : settles_older(record->type) ? record->transaction != 0
                                                        : record->transaction > s->log.last_transaction;
    if (!is_right) {
        return wal_refuse(s->r.diag, QWAL_R_TRANSACTION,
                          record_place(record, is_first ? s->log.last_transaction + 1 : s->transaction, record->transaction),
                          "record %llu has transaction %llu behind %llu", (unsigned long long)record->sequence,
                          (unsigned long long)record->transaction,
                          (unsigned long long)(is_first ? s->log.last_transaction : s->transaction));
    }
    return FMT_OK;
}

static fmt_status check_record(wal_scan *s, const qwal_record *record) {
    static const uint8_t zeros[8];
    const uint64_t padding = qwal_record_size(record->payload.size) - QWAL_RECORD_BYTES - record->payload.size;
    const unsigned long long sequence = record->sequence;
    if (memcmp(record->payload.data + record->payload.size, zeros, (size_t)padding) != 0) {
        return wal_refuse(s->r.diag, QWAL_R_PADDING, record_place(record, 0, 0), "record %llu has other bytes behind its payload",
                          sequence);
    }
    if (record->type < QWAL_QUINS || record->type >= QWAL_N_TYPES) {
        return wal_refuse(s->r.diag, QWAL_R_TYPE, record_place(record, 0, record->type), "record %llu has type %u", sequence,
                          (unsigned)record->type);
    }
    const bool is_first = (record->flags & QWAL_BEGIN) != 0;
    if (record->flags > (QWAL_BEGIN | QWAL_END) || is_first != (s->state == UNIT_NONE)) {
        return wal_refuse(s->r.diag, QWAL_R_FLAGS, record_place(record, s->state == UNIT_NONE, record->flags),
                          "record %llu is number %u of its unit and has flags %u", sequence, s->n_records + 1,
                          (unsigned)record->flags);
    }
    if (!wal_has_form(record->type, record->payload)) {
        return wal_refuse(s->r.diag, QWAL_R_FORM, record_place(record, 0, record->payload.size),
                          "record %llu, %s of %llu bytes, is not of that form", sequence, qwal_type_name(record->type),
                          (unsigned long long)record->payload.size);
    }
    const fmt_status status = check_transaction(s, record);
    if (status == FMT_OK && (!has_place(s, record->type) || !has_right_end(s, record))) {
        return wal_refuse(s->r.diag, QWAL_R_ORDER, record_place(record, 0, record->type),
                          "record %llu, %s with flags %u, stands as number %u of its unit", sequence, qwal_type_name(record->type),
                          (unsigned)record->flags, s->n_records + 1);
    }
    return status;
}

static void end_unit(wal_scan *s, const qwal_record *record) {
    qwal_log *log = &s->log;
    log->n_units++;
    log->n_records += s->n_records;
    log->n_commits += record->type == QWAL_COMMIT;
    log->n_quins += s->n_quins;
    log->n_terms += s->n_terms;
    log->last_sequence = record->sequence;
    log->first_sequence = log->first_sequence != 0 ? log->first_sequence : record->sequence + 1 - s->n_records;
    log->last_transaction = record->transaction > log->last_transaction ? record->transaction : log->last_transaction;
    log->end = record->offset + qwal_record_size(record->payload.size);
    s->state = UNIT_NONE;
}

static fmt_status take_record(wal_scan *s, const qwal_record *record) {
    fmt_status status = check_record(s, record);
    if (status != FMT_OK) {
        return status;
    }
    if (s->state == UNIT_NONE) {
        s->unit_at = record->offset;
        s->transaction = record->transaction;
        s->n_records = 0;
        s->n_quins = s->n_terms = s->agreement = 0;
    }
    status = check_content(s, record);
    if (status != FMT_OK) {
        return status;
    }
    s->state = record->type == QWAL_SIGNATURE ? UNIT_SIGNED : record->type == QWAL_CONSENT ? UNIT_CONSENTED : UNIT_BODY;
    s->n_records++;
    s->last_sequence = record->sequence;
    s->at = record->offset + qwal_record_size(record->payload.size);
    if ((record->flags & QWAL_END) != 0) {
        end_unit(s, record);
    }
    return FMT_OK;
}

static fmt_status scan_records(wal_scan *s) {
    fmt_diag found = {.text = ""};
    while (s->at < s->log.span.size) {
        qwal_record record;
        if (judge_frame(s, &record, &found) != QWAL_N_RULES) {
            return settle_break(s, &found);
        }
        const fmt_status status = take_record(s, &record);
        if (status != FMT_OK) {
            return status;
        }
    }
    if (s->log.end != s->log.span.size) {
        wal_refuse(&found, QWAL_R_OPEN_UNIT, (diag_place){s->log.end, FMT_NO_INDEX, 0, 0}, "the unit at byte %llu has no end",
                   (unsigned long long)s->log.end);
        return files_settle(&s->r, &found);
    }
    return FMT_OK;
}

fmt_status qwal_open(fmt_span span, fmt_mode mode, qwal_log *out_log, fmt_note_fn *note, void *note_ctx, fmt_diag *diag) {
    wal_scan s = {.r = {mode, note, note_ctx, diag}, .log = {.span = span, .end = QWAL_HEADER_BYTES}, .at = QWAL_HEADER_BYTES};
    fmt_status status = check_header(&s);
    if (status == FMT_OK) {
        status = scan_records(&s);
    }
    if (status == FMT_OK) {
        s.log.n_torn_bytes = span.size - s.log.end;
        *out_log = s.log;
    }
    return status;
}

bool qwal_next(const qwal_log *log, qwal_walk *walk, qwal_record *out_record) {
    if (walk->at == 0) {
        walk->at = QWAL_HEADER_BYTES;
    }
    if (walk->at >= log->end) {
        return false;
    }
    *out_record = wal_load_record(log->span.data + walk->at, walk->at);
    walk->at += qwal_record_size(out_record->payload.size);
    return true;
}
