/* block_walk.h — which blocks of a volume or set may hold what is looked for, as its indexes say.
 *
 *     object range   the manifest leaves members out, BIDX gives an interval of blocks
 *     fields         FIDX and PIDX leave out blocks in it
 *
 * Threading: one thread at a time per walk.
 */
#ifndef HOST_GRAPH_BLOCK_WALK_H
#define HOST_GRAPH_BLOCK_WALK_H
#include "graph/block_cache.h"

/* What was looked at, added up over all walks of a pattern. */
typedef struct walk_stats {
    uint64_t n_walks;
    uint64_t n_blocks;  /* in the intervals */
    uint64_t n_decoded; /* n_border counted */
    uint64_t n_skipped_fidx, n_skipped_pidx;
    uint64_t n_border;  /* neighbours of an interval without an answer, read to make sure that BIDX does not lie */
    uint64_t n_members_skipped;
} walk_stats;

typedef struct block_query {
    bool has_object;
    q42_range object;
    uint32_t bound;             /* Q42_BOUND_SUBJECT, _PREDICATE, _CONTEXT: these have the values below */
    uint64_t values[3];         /* by q42_field */
    const uint64_t *keys;       /* may be null: `key_field` has one of these values */
    uint32_t n_keys;
    q42_field key_field;
} block_query;

typedef struct block_walk {
    graph_volume *volume;
    block_cache *cache;
    block_query query;
    walk_stats *stats;
    uint32_t member, end_member;
    const q42_volume *open;     /* null between members */
    uint64_t first, next, end;  /* interval in the open member */
    bool has_found;             /* set by the caller when a block held a quin in the object range */
} block_walk;

void block_walk_begin(block_walk *walk, graph_volume *volume, block_cache *cache, const block_query *query,
                      walk_stats *stats);

/* The next block that may hold something; QN_NOT_FOUND without words after the last. */
qn_status block_walk_next(block_walk *walk, uint32_t *out_member, uint64_t *out_block, error_context *err);

/* Whether the indexes let block `block` of an opened member pass; counts what they leave out. */
qn_status block_query_test(const block_query *query, const q42_volume *volume, uint64_t block, const char *path,
                           walk_stats *stats, bool *out_may_hold, error_context *err);

#endif
