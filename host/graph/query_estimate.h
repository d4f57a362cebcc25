/* query_estimate.h — how many blocks and rows a pattern alone is expected to give. */
#ifndef HOST_GRAPH_QUERY_ESTIMATE_H
#define HOST_GRAPH_QUERY_ESTIMATE_H
#include "graph/query_plan.h"

/* Fills step->expected_blocks from the indexes: BIDX's interval, of which FIDX and PIDX are asked about a sample. With is_counting
 * also step->expected_rows, from at most four of these blocks, decoded; otherwise that is negative. */
qn_status query_estimate(graph_volume *volume, block_cache *cache, plan_step *step, bool is_counting,
                         uint64_t *io_decoded, error_context *err);

#endif
