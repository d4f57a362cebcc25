/* volume_check.h — one volume file, everything in it checked, on one thread: the plain way for a file that is already mapped.
 *
 * Threading: reentrant.
 */
#ifndef HOST_GRAPH_VOLUME_CHECK_H
#define HOST_GRAPH_VOLUME_CHECK_H
#include <quoin/q42.h>

#include "base/error.h"
#include "base/progress.h"

/* Blocks, what the indexes say about them, lexicon pages, DAG and Merkle root. QN_BAD_FILE names the first fault. */
qn_status volume_check(const q42_volume *volume, const char *path, progress_fn *progress, void *progress_ctx,
                       error_context *err);

#endif
