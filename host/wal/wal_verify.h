/* wal_verify.h — whether a log is what was written, and who signed it.
 *
 * Opening a set checks bytes, numbers, parities, terms and digests; building its state checks that agreements follow their rules. Here
 * signatures are held against keys, and checkpoints against the volumes that are there.
 *
 * Threading: reentrant.
 */
#ifndef HOST_WAL_VERIFY_H
#define HOST_WAL_VERIFY_H
#include "keys/trusted_keys.h"
#include "wal/wal_set.h"
#include "wal/wal_state.h"

/* How many signatures of transactions or consents. */
typedef struct wal_signatures {
    uint64_t n_valid;
    uint64_t n_wrong;    /* not the key's signature, or not the signer's key */
    uint64_t n_revoked;  /* right, but the key counts no more */
    uint64_t n_unknown;  /* of a key that is not among those given */
} wal_signatures;

typedef struct wal_verify_report {
    wal_signatures transactions, consents;
    uint64_t n_checkpoints, n_volumes, n_wrong_volumes; /* volumes that are there; that have another digest */
    uint64_t first_wrong; /* sequence of the first record that is wrong; 0 when none is */
} wal_verify_report;

/* `keys` may be empty: every signature is then of an unknown key. */
qn_status wal_verify(const wal_set *set, const wal_state *state, const trusted_keys *keys, wal_verify_report *out_report,
                     error_context *err);

#endif
