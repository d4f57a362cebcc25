/* file_digest.h — the SHA-256 of a whole file.
 *
 * Threading: reentrant.
 */
#ifndef HOST_GRAPH_FILE_DIGEST_H
#define HOST_GRAPH_FILE_DIGEST_H
#include <stdint.h>

#include <quoin/q42.h>

#include "base/error.h"
#include "base/progress.h"

/* `progress` may be null. QN_CANCELLED when it says so. */
qn_status file_digest(const char *path, progress_fn *progress, void *progress_ctx, uint8_t out[Q42_DIGEST_BYTES],
                      error_context *err);
/* The same of bytes in memory, which `path` names in messages. */
qn_status span_digest(fmt_span span, const char *path, progress_fn *progress, void *progress_ctx,
                      uint8_t out[Q42_DIGEST_BYTES], error_context *err);

#endif
