/* wal_state.h — what the records of a log say together: agreements and where they stand, the last checkpoint, numbers.
 *
 * Records are taken one after another, from the first file that is there; the table of suspended transactions is therefore built anew
 * whenever a log is opened.
 *
 *     SUSPEND ──► PENDING ──► COMMITTED      the CONSENT that reaches the threshold, and COMMIT
 *                    │
 *                    ├──► EXPIRED            ABORT after its time
 *                    └──► WITHDRAWN          ABORT by the one who runs the log
 *
 * Threading: one thread at a time.
 * Memory:    owned by the state until wal_state_free; a zeroed one is empty. Nothing points into the log.
 * Errors:    QN_BAD_FILE names the record that contradicts the ones before, also one that gives an id a second text.
 */
#ifndef HOST_WAL_STATE_H
#define HOST_WAL_STATE_H
#include <quoin/qwal.h>

#include "base/error.h"
#include "wal/term_marks.h"
#include "wal/wal_set.h"

typedef uint32_t wal_standing;
enum { WAL_PENDING = 0, WAL_COMMITTED, WAL_EXPIRED, WAL_WITHDRAWN };
const char *wal_standing_name(wal_standing standing); /* "pending", ... */

typedef struct wal_agreement {
    qwal_suspend terms;        /* quins is null */
    uint64_t transaction;
    wal_standing standing;
    uint64_t settled_sequence; /* of the COMMIT or ABORT; 0 while pending */
    uint64_t file, unit_at;    /* where its unit begins: first sequence of the file, byte */
    uint32_t n_consents;
    qwal_consent consents[QWAL_MAX_SIGNERS]; /* of different signers with different keys */
} wal_agreement;

typedef struct wal_state {
    wal_agreement *agreements; /* [n_agreements], in the order of time, settled ones too */
    size_t n_agreements, n_pending, room;
    uint64_t last_sequence, last_transaction;
    term_marks terms;    /* of all texts in the files that are there */
    bool has_checkpoint;
    qwal_checkpoint checkpoint; /* the last one */
    uint8_t carried[Q42_DIGEST_BYTES]; /* what the next file's header has to name; of files that are gone the first header tells */
    uint64_t n_commits, n_unsigned, n_quins, n_audits; /* committed ones, in the files that are there */
} wal_state;

/* Takes the next record. `file` is its file's first sequence, `unit_at` where its unit begins; `path` names the file in messages. */
qn_status wal_state_take(wal_state *state, const qwal_record *record, uint64_t file, uint64_t unit_at, const char *path,
                         error_context *err);
/* After this the next SUSPEND cannot fail for want of memory. */
qn_status wal_state_reserve(wal_state *state, error_context *err);
/* Takes a whole set into a zeroed state. To be freed, whatever it answers. */
qn_status wal_state_build(const wal_set *set, wal_state *state, error_context *err);
void wal_state_free(wal_state *state);

/* The pending agreement with this id, or the last one that had it; null when there is none. */
wal_agreement *wal_state_find(const wal_state *state, uint64_t agreement);

#endif
