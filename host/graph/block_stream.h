/* block_stream.h — merged quins become full blocks on all workers of a team, and arrive in order.
 *
 * Threading: block_stream_run uses the whole team; `take` is called by one worker at a time, in order of the blocks.
 * Memory:    `memory` bytes for quins and blocks on their way; given back at the end.
 * Errors:    those of the merge, of a block, or of `take`.
 */
#ifndef HOST_GRAPH_BLOCK_STREAM_H
#define HOST_GRAPH_BLOCK_STREAM_H
#include "base/team.h"
#include "graph/quin_merge.h"

#include <quoin/q42_write.h>

/* Takes the next block. *out_is_taken false: a new file begins with this block, which must be built again as its first and is then offered
 * once more. Blocks are numbered from 0 in each file. */
typedef qn_status block_take_fn(void *ctx, const q42_built_block *block, bool *out_is_taken, error_context *err);

typedef struct block_stream {
    quin_merge *merge;
    team *workers;
    bool keeps_duplicates;
    uint64_t memory;
    block_take_fn *take;
    void *take_ctx;
    bool (*is_stopped)(void *ctx, uint64_t n_quins); /* may be null; asked now and then with the quins so far */
    void *stop_ctx;
    uint64_t n_quins, n_duplicates;  /* results */
} block_stream;

qn_status block_stream_run(block_stream *stream, error_context *err);

#endif
