/* query_run.h — answering a planned query: rows of ids, one at a time, in an order that depends on the volume and the query alone.
 *
 * Threading: one thread at a time.
 * Memory:    at most QUERY_ROWS_MEMORY for rows between steps, whatever the volume's size and the number of answers.
 */
#ifndef HOST_GRAPH_QUERY_RUN_H
#define HOST_GRAPH_QUERY_RUN_H
#include "graph/query_plan.h"

#define QUERY_ROWS_MEMORY (8u << 20) /* bytes */

/* One answer: values[n_variables of the query]; borrowed for the call. QN_OK to go on, QN_NOTE_END to stop, or an error. */
typedef qn_status query_row_fn(void *ctx, const uint64_t *values, error_context *err);

/* QN_OK when all answers were given or the receiver stopped; otherwise what failed. Fills the steps' statistics. */
qn_status query_run(query_plan *plan, block_cache *cache, query_row_fn *receive, void *ctx, error_context *err);

#endif
