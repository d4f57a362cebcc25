/* side_digest.h — a SHA-256 that is computed beside other work: a digest is one chain, and its chain is the longest of a large file.
 *
 * Threading: one thread at a time per object; `fn` runs on a thread of its own, or in end when there is none to be had.
 * Memory:    none of its own.
 */
#ifndef HOST_SIDE_DIGEST_H
#define HOST_SIDE_DIGEST_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/span_digest.h"

/* Computes a digest under `watch`, whose release is the function's own to set; as span_digest. */
typedef fmt_status side_digest_fn(void *ctx, span_watch watch, uint8_t out[SHA256_BYTES]);

typedef struct side_digest {
    side_digest_fn *fn; /* null: not begun, or ended */
    void *ctx;
    bool has_thread, is_done;
    fmt_status status;
    uint8_t digest[SHA256_BYTES];
    atomic_bool is_cancelled;
    _Atomic(uint64_t) n_done, n_total;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} side_digest;

/* `ctx` is borrowed until end or abandon. The object must not move meanwhile. */
void side_digest_begin(side_digest *out, side_digest_fn *fn, void *ctx);

/* Waits for it, and meanwhile calls `progress` (may be null) on this thread. The statuses of `fn`; FMT_CANCELLED also when
 * progress said so. [may block] */
fmt_status side_digest_end(side_digest *s, progress_fn *progress, void *progress_ctx, uint8_t out[SHA256_BYTES]);

/* Stops it. Does nothing on a zeroed or ended one. */
void side_digest_abandon(side_digest *s);

#endif
