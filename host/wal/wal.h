/* wal.h — the log of governed commits, written: one writer, and nothing is said to be done before it is on disk.
 *
 *     open      takes the lock, cuts off what a crash left, builds the table of agreements anew, ends those whose time has passed
 *     begin     a unit gathers in memory: terms, quins, results of gates
 *     commit    one write of all of it with SIGNATURE and COMMIT, fsync, then QN_OK: the acknowledgement
 *     suspend   the same with SUSPEND: the quins wait for their signers
 *     consent   one more signer, whose signature is checked first; at the threshold the COMMIT is in the same write
 *
 * A transaction of which QN_OK was said is there after any crash; of any other one there is all or nothing. There is no built-in key:
 * a commit is signed with the key that is given, or is unsigned because the caller said so, and recorded as that.
 *
 * Threading: one thread at a time per log; other processes get QN_BUSY.
 * Memory:    a log keeps the open unit and the table of agreements.
 * Errors:    after a failed call the log is as it was before it and the unit is gone. When not even that could be ensured (a failed
 *            fsync), every later call answers QN_IO: open the log again.
 *
 *     wal *log;
 *     QN_TRY(wal_open(&(wal_options){.directory = "/var/lib/quoin/wal", .may_create = true}, &log, err), err, "opening the log");
 *     wal_begin(log);
 *     QN_TRY(wal_add_term(log, text, err), err, "committing");
 *     QN_TRY(wal_add_quin(log, &quin, err), err, "committing");
 *     QN_TRY(wal_commit(log, key, &receipt, err), err, "committing");
 *     wal_close(log);
 */
#ifndef HOST_WAL_H
#define HOST_WAL_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/qwal.h>

#include "base/error.h"
#include "keys/signing_key.h"
#include "keys/trusted_keys.h"
#include "wal/wal_state.h"

#define WAL_DEFAULT_ROTATE (UINT64_C(64) << 20)
#define WAL_LEAST_ROTATE UINT64_C(4096)
#define WAL_MOST_UNIT (UINT64_C(64) << 20) /* bytes of one write */

typedef struct wal wal;
typedef uint64_t wal_clock_fn(void *ctx); /* ms since 1970 */

typedef struct wal_options {
    const char *directory;   /* never the working directory */
    bool may_create;         /* make the directory (0700) and an empty log when there is none */
    uint64_t rotate_bytes;   /* a file that would grow beyond this is followed by a new one; 0: WAL_DEFAULT_ROTATE */
    wal_clock_fn *now;       /* null: the system's clock */
    void *now_ctx;
} wal_options;

typedef struct wal_recovery {
    uint64_t n_torn_bytes;   /* that were cut off */
    uint32_t n_expired;      /* agreements that were ended */
} wal_recovery;

/* QN_BUSY when another process has it; QN_BAD_FILE when it is damaged: nothing is changed then. `out_recovery` may be null. */
qn_status wal_open(const wal_options *options, wal **out_log, wal_recovery *out_recovery, error_context *err);
void wal_close(wal *log); /* null is legal; an open unit is given up */

const wal_state *wal_get_state(const wal *log); /* valid until the next call that writes */
const char *wal_directory(const wal *log);
uint64_t wal_now(const wal *log);

/* ------------------------------------------------------------------------------------------------------- one unit */

/* What an acknowledgement says. */
typedef struct wal_receipt {
    uint64_t transaction, sequence; /* of the record that ended the unit */
    uint64_t time_ms;
    uint8_t digest[Q42_DIGEST_BYTES]; /* of the unit: what was signed, or is to be */
    bool is_signed;
} wal_receipt;

/* Begins a unit; one that is open is given up. */
void wal_begin(wal *log);
/* The id is the hash of the text. QN_BAD_INPUT for what is no UTF-8, QN_LIMIT over 65535 bytes. A text that the unit holds is not written
 * again; one that has the hash of another text in the log is QN_BAD_INPUT. */
qn_status wal_add_term(wal *log, fmt_str text, error_context *err);
/* QN_BAD_INPUT when the parity is wrong. */
qn_status wal_add_quin(wal *log, const q42_quin *quin, error_context *err);
/* Who is behind a claim: two quins `<urn:quoin:fact:HEX16> prov:wasAttributedTo` agent and principal, with their terms. HEX16 is the first eight
 * bytes of the SHA-256 of subject, predicate, object and context as on disk; the quins have the claim's context and its tier, and the
 * claim itself stays as it is. `agent` and `principal` are DIDs. */
qn_status wal_add_attribution(wal *log, const q42_quin *claim, fmt_str agent, fmt_str principal, error_context *err);
/* `audit` with n_entries and its time (0: now). */
qn_status wal_add_audit(wal *log, const qwal_audit *audit, const qwal_audit_entry *entries, error_context *err);

/* `out_receipt` may be null. */
qn_status wal_commit(wal *log, const signing_key *key, wal_receipt *out_receipt, error_context *err);
qn_status wal_commit_unsigned(wal *log, wal_receipt *out_receipt, error_context *err);
/* Ends a unit that has results of gates and nothing else: no transaction of quins. */
qn_status wal_end_audit(wal *log, wal_receipt *out_receipt, error_context *err);
/* A unit of one result of gates and nothing else. */
qn_status wal_record_audit(wal *log, const qwal_audit *audit, const qwal_audit_entry *entries, wal_receipt *out_receipt,
                           error_context *err);

/* ---------------------------------------------------------------------------------------------------- agreements */

typedef struct wal_proposal {
    uint64_t agreement;      /* not 0; usually the context of the quins */
    uint64_t proposer;       /* hash of a DID */
    uint64_t expires_ms;     /* after now */
    uint8_t threshold, n_signers;
    uint64_t signers[QWAL_MAX_SIGNERS]; /* hashes of DIDs, in any order, each once */
} wal_proposal;

/* The open unit waits. receipt->digest is what the signers sign. QN_BAD_INPUT for a proposal that cannot be met or an id that is pending. */
qn_status wal_suspend(wal *log, const wal_proposal *proposal, wal_receipt *out_receipt, error_context *err);

typedef struct wal_consent_result {
    uint32_t n_valid, threshold; /* consents that count now */
    bool is_committed;
    wal_receipt receipt;
} wal_consent_result;

/* A signature of the agreement's digest by the key with this id. Refused (QN_BAD_INPUT, or QN_DENIED when the signature is not right or the
 * key is not trusted, revoked or another signer's) without a trace in the log. At the threshold all consents are checked again with
 * these keys; only those that still hold count. An open unit is given up. */
qn_status wal_consent(wal *log, uint64_t agreement, const uint8_t key_id[KEY_ID_BYTES], const uint8_t signature[SIGNATURE_BYTES],
                      const trusted_keys *keys, wal_consent_result *out_result, error_context *err);
/* Ends a pending agreement. */
qn_status wal_withdraw(wal *log, uint64_t agreement, error_context *err);
/* Ends every agreement whose time has passed. */
qn_status wal_expire(wal *log, uint32_t *out_expired, error_context *err);

#endif
