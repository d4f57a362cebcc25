/* shared_streams.h — the block of streams.h in memory that another process can map: what `run --observe` and `observe` stand on.
 *
 * The memory is a memfd, sealed against being cut or grown, so that no observer can make the run fault; PATH is a symbolic link to it
 * through /proc. Both end with the process, however it ends: a link that a killed run left leads nowhere and is replaced.
 *
 * Threading: one thread at a time per object.
 * Memory:    the mapping belongs to the object until close.
 * Errors:    QN_IO, QN_DENIED, QN_NOT_FOUND with path and reason; QN_BUSY when PATH is there, or another observer reads. After a failure
 *            there is nothing to close.
 */
#ifndef HOST_SENTINEL_SHARED_STREAMS_H
#define HOST_SENTINEL_SHARED_STREAMS_H
#include "sentinel/streams.h"

typedef struct shared_streams {
    int fd;       /* -1: closed */
    void *block;
    size_t bytes;
    char *path;   /* owned; of the run alone: the link to take away */
} shared_streams;

/* Makes the memory and the link; `run` is the end for the sentinel. */
qn_status shared_streams_publish(const char *path, shared_streams *out, run_streams *run, error_context *err);

/* Opens what a run published and locks it for this observer. */
qn_status shared_streams_attach(const char *path, shared_streams *out, observer_streams *observer, error_context *err);

/* Unmaps; takes the link away where it was made. A zeroed or closed one is legal. */
void shared_streams_close(shared_streams *s);

#endif
