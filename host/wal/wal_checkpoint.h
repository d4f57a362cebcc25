/* wal_checkpoint.h — what was committed since the last checkpoint becomes a Q42 volume of its own.
 *
 *     1  checkpoint-LAST.q42 is written under a temporary name, synced, renamed
 *     2  CHECKPOINT {its SHA-256, LAST} is written to the log
 *     3  a new file begins, whose header carries that digest
 *     4  older files that nobody needs any more are taken away, as the retention says
 *
 * A crash between any two of them loses nothing: the next checkpoint holds the same again, or goes on.
 *
 * Threading: as wal.h; the volume is built on all workers.
 */
#ifndef HOST_WAL_CHECKPOINT_H
#define HOST_WAL_CHECKPOINT_H
#include "base/progress.h"
#include "base/team.h"
#include "wal/wal.h"

#define WAL_KEEP_ALL UINT32_MAX

typedef struct wal_checkpoint_options {
    uint64_t memory;      /* bytes for building the volume; at least 32 MiB */
    uint32_t keep_files;  /* how many files of the log stay even when every record of theirs is in a volume; WAL_KEEP_ALL */
    team *workers;
    progress_fn *progress; /* may be null */
    void *progress_ctx;
} wal_checkpoint_options;

typedef struct wal_checkpoint_report {
    bool is_made;         /* false: nothing was committed since the last one */
    char *path;           /* of the volume; null unless is_made */
    qwal_checkpoint checkpoint;
    uint64_t n_transactions, n_quins, n_terms;
    uint32_t n_removed;   /* files of the log */
} wal_checkpoint_report;

/* `out_report` is to be freed. */
qn_status wal_checkpoint_run(wal *log, const wal_checkpoint_options *options, wal_checkpoint_report *out_report, error_context *err);
void wal_checkpoint_report_free(wal_checkpoint_report *report);

#endif
