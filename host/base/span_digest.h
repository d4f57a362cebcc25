/* span_digest.h — SHA-256 of a large span, piece by piece, so that it can be watched, stopped and kept out of memory.
 *
 * Threading: pure over its arguments; progress is called on the caller's thread.
 * Memory:    what libcrypto needs for one stream.
 */
#ifndef HOST_SPAN_DIGEST_H
#define HOST_SPAN_DIGEST_H
#include <stdint.h>

#include <quoin/fmt.h>
#include <quoin/span.h>

#include "base/progress.h"
#include "common/sha.h"

typedef struct span_watch {
    progress_fn *progress; /* may be null */
    void (*release)(void *ctx, uint64_t offset, uint64_t size); /* this part is not needed any more; may be null */
    void *progress_ctx, *release_ctx;
} span_watch;

/* FMT_CANCELLED: progress said so. FMT_NO_SPACE: libcrypto refuses. `out` is untouched then. [may block] */
fmt_status span_digest(fmt_span span, const span_watch *watch, uint8_t out[SHA256_BYTES]);

#endif
