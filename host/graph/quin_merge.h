/* quin_merge.h — many sorted runs of quins as one.
 *
 * Threading: one thread at a time per merge.
 * Memory:    `buffer` bytes for each run in a file; owned until quin_merge_destroy.
 * Errors:    QN_IO, QN_NO_HOST_MEM.
 */
#ifndef HOST_GRAPH_QUIN_MERGE_H
#define HOST_GRAPH_QUIN_MERGE_H
#include "graph/spill_run.h"

typedef struct quin_merge quin_merge;

/* Runs are borrowed for the life of the merge. */
qn_status quin_merge_create(const sorted_run *runs, uint32_t n_runs, uint64_t buffer, quin_merge **out_merge,
                            error_context *err);
/* The next quin in order, repetitions included; QN_NOT_FOUND without words after the last. */
qn_status quin_merge_next(quin_merge *merge, q42_quin *out_quin, error_context *err);
void quin_merge_destroy(quin_merge *merge); /* null is legal */

/* Merges the first `n` runs of the list into one at the end of `into`, without repetitions unless `keeps` them, and puts it
 * behind the others. *dropped counts what went. */
qn_status quin_merge_reduce(run_list *list, uint32_t n, spill_file *into, uint64_t buffer, bool keeps,
                            uint64_t *dropped, error_context *err);

#endif
