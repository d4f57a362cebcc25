/* collision_search.h — where two terms stand that have the same key, when it turns out behind the reading.
 *
 * Reads the inputs once more, from their beginning. Standard input cannot be read again: then only that is said.
 *
 * Threading: one thread at a time.
 * Memory:    the reader's, and two terms.
 */
#ifndef HOST_GRAPH_COLLISION_SEARCH_H
#define HOST_GRAPH_COLLISION_SEARCH_H
#include "graph/ingest.h"

/* Puts input, line and column of both terms before the words of `err`. Returns `status`. */
qn_status collision_put_place(const ingest_options *options, uint64_t key, qn_status status, error_context *err);

#endif
