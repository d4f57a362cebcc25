/* query_explain.h — what a query that was run did: the order of its patterns, the indexes, the blocks.
 *
 * Threading: pure.
 */
#ifndef HOST_GRAPH_QUERY_EXPLAIN_H
#define HOST_GRAPH_QUERY_EXPLAIN_H
#include <jansson.h>

#include "graph/query_plan.h"

typedef void explain_line_fn(void *ctx, const char *line);

void query_explain_text(const query_plan *plan, explain_line_fn *tell, void *ctx);

/* {"steps": [{"pattern", "source", "access", "indexes", ...}, ...], "planning_blocks_decoded"}; a new reference. */
json_t *query_explain_json(const query_plan *plan);

#endif
