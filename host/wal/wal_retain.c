/* wal_retain.c — which files of a log can go. */
#include "wal/wal_retain.h"

#include <errno.h>
#include <unistd.h>

#include "wal/wal_internal.h"
#include "wal/wal_replay.h"

/* Sequence of the first COMMIT that is in no volume; the largest number when there is none. */
static qn_status note_commit(void *ctx, const qwal_record *record, const qwal_commit *commit, error_context *err) {
    uint64_t *first = ctx;
    (void)commit;
    (void)err;
    *first = record->sequence < *first ? record->sequence : *first;
    return QN_OK;
}

static qn_status find_open_commit(const wal *log, const wal_set *set, uint64_t *out_first, error_context *err) {
    const wal_visitor visitor = {out_first, NULL, NULL, note_commit};
    *out_first = UINT64_MAX;
    return wal_replay(set, &log->state, log->state.has_checkpoint ? log->state.checkpoint.last_sequence : 0, &visitor, err);
}

/* Whether the files in front of sequence `next` can go. A commit is in the file where its quins are, or an agreement says so. The record of
 * the last checkpoint stays, since it says which volume that is. */
static bool is_dispensable(const wal *log, uint64_t open_commit, uint64_t next) {
    if (open_commit < next || (log->state.has_checkpoint && next > log->state.checkpoint.last_sequence + 1)) {
        return false;
    }
    for (size_t i = 0; i < log->state.n_agreements; i++) {
        const wal_agreement *one = &log->state.agreements[i];
        if (one->file < next && (one->standing == WAL_PENDING || one->settled_sequence >= next)) {
            return false;
        }
    }
    return true;
}

/* Files [0, n) may go as far as numbers and times are concerned: the one that is written stays, and what came after a file ended is the
 * time of the next one's header. */
static size_t count_old(const wal *log, const wal_set *set, const wal_retention *keep) {
    const uint64_t now = wal_now(log);
    size_t n = set->n_files > 1 ? set->n_files - 1 : 0;
    n = n > keep->keep_files ? n - keep->keep_files : 0;
    while (n > 0 && keep->keep_ms > 0 && set->files[n].log.header.created_ms + keep->keep_ms > now) {
        n--;
    }
    return n;
}

static qn_status remove_files(wal *log, const wal_set *set, const wal_retention *keep, uint32_t *out_removed, error_context *err) {
    uint64_t open_commit;
    size_t n = count_old(log, set, keep);
    qn_status status = n > 0 ? find_open_commit(log, set, &open_commit, err) : QN_OK;
    while (status >= 0 && n > 0 && !is_dispensable(log, open_commit, set->files[n].first)) {
        n--;
    }
    for (size_t i = 0; status >= 0 && i < n; i++) {
        status = unlink(set->files[i].path) == 0 ? QN_OK : error_from_errno(err, errno, set->files[i].path, "cannot be removed");
        *out_removed += status >= 0;
    }
    if (status >= 0 && n > 0 && fsync(log->folder) != 0) {
        status = error_from_errno(err, errno, log->directory, "cannot be synced");
    }
    return status;
}

qn_status wal_retain(wal *log, const wal_retention *keep, uint32_t *out_removed, error_context *err) {
    wal_set set = {0};
    QN_TRY(wal_check_usable(log, err), err, "looking for files that can go");
    QN_TRY(wal_set_open(log->directory, FMT_MODE_DEFAULT, NULL, NULL, &set, err), err, "looking for files that can go");
    const qn_status status = remove_files(log, &set, keep, out_removed, err);
    wal_set_close(&set);
    return status;
}
