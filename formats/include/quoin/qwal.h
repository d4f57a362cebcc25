/* qwal.h — the log of governed commits, QWAL version 2, and the two older logs that it replaces.
 *
 * A log is a header and records. Records that one write puts on disk are a *unit*: its first record has the flag BEGIN, its last the
 * flag END. A crash leaves whole units and at most one that is cut; that one is no part of the log. All numbers are little-endian.
 *
 *     file header, 64 bytes                              record header, 32 bytes, at a multiple of 8
 *      0   4  "QWAL"                                      0   4  marker 0x52575151 ("QQWR")
 *      4   2  version, 2                                  4   4  bytes of the payload
 *      6   2  flags, 0                                    8   2  type
 *      8   4  bytes of this header, 64                   10   2  flags: 1 BEGIN, 2 END
 *     12  32  SHA-256 of the last checkpoint's volume,   12   8  sequence: one more than the record before
 *             zeros without one                          20   8  transaction
 *     44   8  created, ms since 1970                     28   4  CRC-32C of this header with zeros here, and the payload
 *     52   8  zero                                       32      payload, then zeros up to a multiple of 8
 *     60   4  CRC-32C of bytes 0 to 59
 *
 *     type           payload
 *     1 QUINS        n quins of 48 bytes: subject, predicate, object, context, metadata, parity
 *     2 SIGNATURE    0  32 key id (SHA-256 of the public key) | 32  64 Ed25519 signature of the digest | 96  32 digest of the unit
 *     3 COMMIT       0   4 authority | 4  4 records of the unit before this | 8  8 time, ms | 16  8 agreement, or 0
 *     4 SUSPEND      0   8 agreement | 8  8 proposer (hash of a DID) | 16  8 created, ms | 24  8 expires, ms | 32  1 threshold |
 *                   33   1 number of signers | 34  2 zero | 36  4 number of quins | 40  32 digest to sign |
 *                   72   8 for each signer (hash of a DID), rising | then 48 for each quin
 *     5 CONSENT      0   8 agreement | 8  8 signer (hash of a DID) | 16  8 time, ms | 24  32 key id | 56  64 signature of the digest
 *     6 ABORT        0   8 agreement | 8  8 time, ms | 16  4 reason | 20  4 zero
 *     7 CHECKPOINT   0  32 SHA-256 of the volume | 32  8 last sequence that it holds
 *     8 AUDIT        0   8 time, ms | 8  32 SHA-256 of the policy | 40  4 version of the policy | 44  4 number of entries | entries, each
 *                    padded to 8:  0  2 verdict | 2  2 bytes of the gate's name | 4  4 bytes of the detail | 8  8 code | 16 name, detail
 *     9 TERM         0   8 id | 8  4 bytes of the text | 12  text, UTF-8, whose hash is the id
 *
 *     unit                                                what it does
 *     (TERM | QUINS | AUDIT)+ SIGNATURE? COMMIT           the quins hold from now on
 *     (TERM | AUDIT)* SUSPEND                             the quins wait: their transaction stays open
 *     CONSENT                                             one more signer of a suspended transaction
 *     CONSENT COMMIT                                      the last signer: the quins of the SUSPEND hold from now on
 *     ABORT                                               the suspended transaction is over
 *     CHECKPOINT                                          every commit up to that sequence is in a volume of its own
 *     AUDIT                                               results of a run that committed nothing
 *
 * Transactions are numbered upwards; the records of CONSENT, COMMIT and ABORT that settle a suspended transaction have its number.
 *
 * The digest of a unit is SHA-256 of "QWAL2" and three zeros, then of each record in front of the SIGNATURE (or up to and with the
 * SUSPEND, whose own digest counts as zeros) its type u16, zero u16, payload bytes u32, and payload.
 *
 * As everywhere in this library: a span goes in, nothing is opened, printed or allocated (but what libcrypto takes for a digest), and
 * the first broken rule is named with its offset. Views point into the span.
 *
 * Threading: an opened log is immutable: thread-safe. A walk belongs to one thread at a time.
 * Errors:    fmt_status; FMT_BAD_FILE fills the diagnosis. Out parameters are untouched on error.
 *
 *     qwal_log log;
 *     qwal_walk walk = {0};
 *     qwal_record record;
 *     if (qwal_open(span, FMT_MODE_DEFAULT, &log, NULL, NULL, &diag) != FMT_OK) { puts(diag.text); return; }
 *     while (qwal_next(&log, &walk, &record)) { use(record.type, record.payload); }
 */
#ifndef QUOIN_QWAL_H
#define QUOIN_QWAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quoin/fmt.h>
#include <quoin/q42.h>
#include <quoin/span.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QWAL_HEADER_BYTES 64u
#define QWAL_RECORD_BYTES 32u
#define QWAL_MARKER UINT32_C(0x52575151)
#define QWAL_MAX_PAYLOAD (1u << 20)
#define QWAL_MAX_TERM 65535u /* bytes of a text */
#define QWAL_MAX_SIGNERS 8u
#define QWAL_KEY_ID_BYTES 32u
#define QWAL_SIGNATURE_BYTES 64u
#define QWAL_MAX_QUINS ((QWAL_MAX_PAYLOAD - 72u - 8u * QWAL_MAX_SIGNERS) / Q42_QUIN_BYTES) /* of one record */

/* All rules of logs, in the order of checking. Static. [any-thread] */
const fmt_rule *qwal_rules(uint32_t *out_count);

typedef struct qwal_header {
    uint8_t checkpoint[Q42_DIGEST_BYTES]; /* of the last checkpoint's volume; zeros without one */
    uint64_t created_ms;
} qwal_header;

typedef uint16_t qwal_type;
enum {
    QWAL_QUINS = 1, QWAL_SIGNATURE, QWAL_COMMIT, QWAL_SUSPEND, QWAL_CONSENT, QWAL_ABORT, QWAL_CHECKPOINT, QWAL_AUDIT, QWAL_TERM,
    QWAL_N_TYPES
};
const char *qwal_type_name(qwal_type type); /* "QUINS", ...; "UNKNOWN" */

enum { QWAL_BEGIN = 1, QWAL_END = 2 };

typedef struct qwal_record {
    qwal_type type;
    uint16_t flags;
    uint64_t sequence, transaction;
    fmt_span payload; /* without padding */
    uint64_t offset;  /* of the record's header in its file */
} qwal_record;

/* ------------------------------------------------------------------------------------------------------- reading */

typedef struct qwal_log {
    fmt_span span;
    qwal_header header;
    uint64_t end;              /* one past the last whole unit, at least 64: where appending goes on */
    uint64_t n_records, n_units, n_commits, n_quins, n_terms; /* up to `end`; quins of SUSPEND are counted too */
    uint64_t first_sequence, last_sequence; /* 0 without records */
    uint64_t last_transaction; /* the highest; 0 without records */
    uint64_t n_torn_bytes;     /* behind `end`: what a crash left of one unit */
} qwal_log;

/* Reads everything. What a crash leaves of the last unit is a note (FMT_MODE_STRICT refuses it) and no part of the log: a record that
 * is cut, whose checksum is wrong, or whose unit has no end. When a later unit stands behind a broken record the file is damaged, since
 * a unit is written only after the one before is safe: FMT_BAD_FILE, rule "wal-damage". Records that are whole and break a rule
 * (parity, a term's hash, order of a unit, digest) are FMT_BAD_FILE in both modes. */
fmt_status qwal_open(fmt_span span, fmt_mode mode, qwal_log *out_log, fmt_note_fn *note, void *note_ctx, fmt_diag *diag);

typedef struct qwal_walk {
    uint64_t at;
} qwal_walk;
/* The next record of the log. Start with a zeroed walk; false after the last. [no-alloc] */
bool qwal_next(const qwal_log *log, qwal_walk *walk, qwal_record *out_record);

/* The record at *at of bytes that are records and nothing else, as a writer has them; *at begins at 0. False at the end, and where a record
 * is not all there; nothing else is checked. [no-alloc] */
bool qwal_next_record(fmt_span records, uint64_t *at, qwal_record *out_record);

/* The payloads. A record of an opened log always has a right one; for others the answer is false when the payload is not of its
 * type's form. [no-alloc] */
typedef struct qwal_signature {
    uint8_t key_id[QWAL_KEY_ID_BYTES], signature[QWAL_SIGNATURE_BYTES], digest[Q42_DIGEST_BYTES];
} qwal_signature;
bool qwal_read_signature(fmt_span payload, qwal_signature *out);

typedef uint32_t qwal_authority;
enum {
    QWAL_BY_SIGNATURE = 1, /* a SIGNATURE stands in the unit */
    QWAL_UNSIGNED = 2,     /* somebody chose to do without */
    QWAL_BY_CONSENT = 3    /* the signers of the agreement */
};
typedef struct qwal_commit {
    qwal_authority authority;
    uint32_t n_records;
    uint64_t time_ms, agreement;
} qwal_commit;
bool qwal_read_commit(fmt_span payload, qwal_commit *out);

typedef struct qwal_suspend {
    uint64_t agreement, proposer, created_ms, expires_ms;
    uint8_t threshold, n_signers;
    uint32_t n_quins;
    uint8_t digest[Q42_DIGEST_BYTES];
    uint64_t signers[QWAL_MAX_SIGNERS]; /* rising */
    const uint8_t *quins;               /* [n_quins][48], borrowed from the payload */
} qwal_suspend;
bool qwal_read_suspend(fmt_span payload, qwal_suspend *out);

typedef struct qwal_consent {
    uint64_t agreement, signer, time_ms;
    uint8_t key_id[QWAL_KEY_ID_BYTES], signature[QWAL_SIGNATURE_BYTES];
} qwal_consent;
bool qwal_read_consent(fmt_span payload, qwal_consent *out);

typedef uint32_t qwal_reason;
enum { QWAL_EXPIRED = 1, QWAL_WITHDRAWN = 2 };
typedef struct qwal_abort {
    uint64_t agreement, time_ms;
    qwal_reason reason;
} qwal_abort;
bool qwal_read_abort(fmt_span payload, qwal_abort *out);

typedef struct qwal_checkpoint {
    uint8_t digest[Q42_DIGEST_BYTES];
    uint64_t last_sequence;
} qwal_checkpoint;
bool qwal_read_checkpoint(fmt_span payload, qwal_checkpoint *out);

typedef struct qwal_term {
    uint64_t id;
    fmt_str text;
} qwal_term;
bool qwal_read_term(fmt_span payload, qwal_term *out);

/* The result of one gate. */
typedef struct qwal_audit_entry {
    uint16_t verdict;
    fmt_str gate;   /* 1 to 65535 bytes, UTF-8 */
    fmt_str detail; /* UTF-8, may be empty */
    uint64_t code;
} qwal_audit_entry;
typedef struct qwal_audit {
    uint64_t time_ms;
    uint8_t policy[Q42_DIGEST_BYTES];
    uint32_t policy_version, n_entries;
    fmt_span entries; /* borrowed from the payload */
} qwal_audit;
bool qwal_read_audit(fmt_span payload, qwal_audit *out);
/* The entry at *at, which begins at 0; false after the last. */
bool qwal_next_entry(const qwal_audit *audit, uint64_t *at, qwal_audit_entry *out_entry);

/* Digest of the unit in `records`: whole records from the unit's first on; a SIGNATURE and what follows is left out. False when these
 * are no records or libcrypto refuses. */
bool qwal_unit_digest(fmt_span records, uint8_t out[Q42_DIGEST_BYTES]);

/* ------------------------------------------------------------------------------------------------------- writing */

void qwal_encode_header(const qwal_header *header, uint8_t out[QWAL_HEADER_BYTES]);

/* Bytes that a record with this payload takes. */
static inline uint64_t qwal_record_size(uint64_t payload_bytes) {
    return QWAL_RECORD_BYTES + ((payload_bytes + 7u) & ~UINT64_C(7));
}

/* Writes header, padding and checksum of a record whose payload stands at out + 32 already; record->payload.size counts, its data does
 * not. Answers the record's length, or 0 when it does not fit in `room` or the payload is too long. */
uint64_t qwal_encode_record(const qwal_record *record, uint8_t *out, uint64_t room);
/* The same again after the flags have changed; the record is one that was encoded. */
void qwal_set_flags(uint8_t *record, uint16_t flags);

/* The payloads; each answers its length, or 0 when it does not fit in `room` or breaks a rule of its type. */
uint64_t qwal_encode_signature(const qwal_signature *value, uint8_t *out, uint64_t room);
uint64_t qwal_encode_commit(const qwal_commit *value, uint8_t *out, uint64_t room);
uint64_t qwal_encode_suspend(const qwal_suspend *value, uint8_t *out, uint64_t room);
uint64_t qwal_encode_consent(const qwal_consent *value, uint8_t *out, uint64_t room);
uint64_t qwal_encode_abort(const qwal_abort *value, uint8_t *out, uint64_t room);
uint64_t qwal_encode_checkpoint(const qwal_checkpoint *value, uint8_t *out, uint64_t room);
uint64_t qwal_encode_term(const qwal_term *value, uint8_t *out, uint64_t room);
/* `entries` [value->n_entries]; value->entries is not looked at. */
uint64_t qwal_encode_audit(const qwal_audit *value, const qwal_audit_entry *entries, uint8_t *out, uint64_t room);

/* ---------------------------------------------------------------------------------------------------- older logs */

/* Bare quins, behind a SHA-256 or not. Neither has checksums, so that only its length tells which one it is: size % 48 = 32 has the
 * digest; = 0 has none, unless its first 32 bytes are zero. Any other length is accepted only behind 32 zero bytes: the rest of a quin at
 * the end is then what a crash left. */
typedef struct qwal_old_log {
    fmt_span span;
    bool has_digest;
    uint8_t digest[Q42_DIGEST_BYTES]; /* of the last checkpoint; zeros without */
    uint64_t n_quins, n_wrong_parity, n_empty; /* empty: all words zero, which the old writer's clearing left */
    uint64_t n_torn_bytes;
} qwal_old_log;
fmt_status qwal_old_open(fmt_span span, qwal_old_log *out_log, fmt_diag *diag);
/* Quin `index` below n_quins, its parity computed anew. */
q42_quin qwal_old_quin(const qwal_old_log *log, uint64_t index);

#ifdef __cplusplus
}
#endif
#endif
