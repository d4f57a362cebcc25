/* wal_import.h — the quins of an older log, committed to a log of today.
 *
 * The old forms have no checksums and no texts: parities are computed anew, what differed is counted, and cleared quins are left out. The
 * old file stays as it is.
 *
 * Threading: as wal.h.
 */
#ifndef HOST_WAL_IMPORT_H
#define HOST_WAL_IMPORT_H
#include "wal/wal.h"

#define WAL_IMPORT_QUINS 65536u /* of one transaction */

typedef struct wal_import_report {
    bool has_digest;
    uint8_t digest[Q42_DIGEST_BYTES]; /* of the old log's last checkpoint; zeros without */
    uint64_t n_quins, n_wrong_parity, n_empty, n_torn_bytes, n_transactions;
} wal_import_report;

/* Signed with `key`, or unsigned when that is null. A longer log becomes several transactions; after an error those that were committed
 * stand, as the report says. */
qn_status wal_import(wal *log, const char *path, const signing_key *key, wal_import_report *out_report, error_context *err);

#endif
