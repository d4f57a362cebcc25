/* wal_retain.h — files of a log that nobody needs any more are taken away, the oldest first.
 *
 * A file can go when every transaction in it and before it is in a volume, and no agreement of theirs is pending or settled later. So a
 * file that holds nothing but results of gates can go without a checkpoint: this is how such results are kept for a while and not for ever.
 * The file with the last checkpoint's record stays, and so what came after it, until the next checkpoint.
 *
 * Threading: as wal.h.
 */
#ifndef HOST_WAL_RETAIN_H
#define HOST_WAL_RETAIN_H
#include "wal/wal.h"

typedef struct wal_retention {
    uint32_t keep_files; /* older files that stay, beside the one that is written */
    uint64_t keep_ms;    /* files that were written to within this time stay as well; 0: time does not matter */
} wal_retention;

/* A crash leaves files that follow each other. */
qn_status wal_retain(wal *log, const wal_retention *keep, uint32_t *out_removed, error_context *err);

#endif
