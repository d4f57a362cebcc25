/* volume_stats.h — how much of what a volume holds.
 *
 * Distinct subjects, predicates and graphs are counted exactly, in as many passes over the volume as the memory makes necessary;
 * distinct objects and triples fall out of the volume's order.
 *
 * Threading: one thread at a time. Memory: what the caller gives, for any volume.
 */
#ifndef HOST_GRAPH_VOLUME_STATS_H
#define HOST_GRAPH_VOLUME_STATS_H
#include "base/progress.h"
#include "graph/volume.h"

#define STATS_MAX_LISTED 65536u /* predicates, and graphs, that are listed one by one */

typedef struct id_count {
    uint64_t id, n;
} id_count;

/* Ids and how often each was seen; with more than STATS_MAX_LISTED of them is_cut, and the rest is not told apart. */
typedef struct id_list {
    id_count *items;  /* [n_items], most frequent first, then by id */
    uint32_t n_items;
    bool is_cut;
} id_list;

typedef struct volume_stats {
    uint64_t n_quins;
    uint64_t n_triples;   /* distinct subject, predicate and object, whatever the graph; only when has_triples */
    bool has_triples;     /* the volume is in the order that makes them countable */
    uint64_t n_subjects, n_predicates, n_objects;
    uint64_t n_graphs;    /* with a name */
    uint64_t n_default;   /* quins in the graph without one */
    uint64_t n_integers, n_decimals, n_booleans, n_floats; /* quins with such an object */
    uint64_t n_terms;     /* entries of the lexicon, the mark not counted */
    uint64_t n_blocks, bytes;
    uint32_t n_files, n_passes;
    id_list predicates, graphs;
} volume_stats;

/* `memory` bytes for counting. */
qn_status volume_stats_count(graph_volume *volume, uint64_t memory, progress_fn *progress, void *progress_ctx,
                             volume_stats *out_stats, error_context *err);
void volume_stats_free(volume_stats *stats);

#endif
