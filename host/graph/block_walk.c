/* block_walk.c — member after member, block after block. */
#include "graph/block_walk.h"

void block_walk_begin(block_walk *walk, graph_volume *volume, block_cache *cache, const block_query *query,
                      walk_stats *stats) {
    *walk = (block_walk){.volume = volume,
                         .cache = cache,
                         .query = *query,
                         .stats = stats,
                         .end_member = graph_volume_n_members(volume)};
    stats->n_walks++;
}

/* What a value does to a block: PASSES, or the index that leaves it out. */
enum { PASSES = 0, BY_FIDX = 1, BY_PIDX = 2 };

static fmt_status test_value(const q42_volume *volume, uint64_t block, q42_field field, uint64_t value, int *out,
                             fmt_diag *diag) {
    *out = PASSES;
    if ((volume->header.flags & Q42_FLAG_FIELD_RANGES) != 0) {
        const q42_range range = q42_field_range(volume, block, field);
        if (value < range.least || value > range.most) {
            *out = BY_FIDX;
            return FMT_OK;
        }
    }
    if ((volume->header.flags & Q42_FLAG_FIELD_POSTINGS) != 0) {
        bool may_hold = true;
        const fmt_status status = q42_postings_test(volume, block, field, value, &may_hold, diag);
        if (status != FMT_OK) {
            return status;
        }
        *out = may_hold ? PASSES : BY_PIDX;
    }
    return FMT_OK;
}

/* A block passes when one of the keys does. */
static fmt_status test_keys(const block_query *query, const q42_volume *volume, uint64_t block, int *out, fmt_diag *diag) {
    *out = query->n_keys > 0 ? BY_FIDX : PASSES;
    for (uint32_t i = 0; i < query->n_keys; i++) {
        int one;
        const fmt_status status = test_value(volume, block, query->key_field, query->keys[i], &one, diag);
        if (status != FMT_OK || one == PASSES) {
            *out = one;
            return status;
        }
        *out = one == BY_PIDX ? BY_PIDX : *out;
    }
    return FMT_OK;
}

qn_status block_query_test(const block_query *query, const q42_volume *volume, uint64_t block, const char *path,
                           walk_stats *stats, bool *out_may_hold, error_context *err) {
    static const uint32_t bits[] = {Q42_BOUND_SUBJECT, Q42_BOUND_PREDICATE, Q42_BOUND_CONTEXT};
    int verdict = PASSES;
    fmt_diag diag;
    fmt_status status = FMT_OK;
    for (q42_field field = 0; status == FMT_OK && verdict == PASSES && field < 3; field++) {
        if ((query->bound & bits[field]) != 0) {
            status = test_value(volume, block, field, query->values[field], &verdict, &diag);
        }
    }
    if (status == FMT_OK && verdict == PASSES) {
        status = test_keys(query, volume, block, &verdict, &diag);
    }
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, path);
    }
    stats->n_skipped_fidx += verdict == BY_FIDX;
    stats->n_skipped_pidx += verdict == BY_PIDX;
    *out_may_hold = verdict == PASSES;
    return QN_OK;
}

static bool can_hold(const block_walk *walk) {
    const q42_range objects = graph_volume_member_objects(walk->volume, walk->member);
    return !walk->query.has_object ||
           (objects.least <= walk->query.object.most && objects.most >= walk->query.object.least);
}

static qn_status open_member(block_walk *walk, error_context *err) {
    const qn_status status = graph_volume_member(walk->volume, walk->member, &walk->open, err);
    if (status < 0) {
        return status;
    }
    walk->first = 0;
    walk->end = walk->open->header.block_count;
    walk->has_found = false;
    if (walk->query.has_object) {
        q42_object_blocks(walk->open, walk->query.object.least, walk->query.object.most, &walk->first, &walk->end);
    }
    walk->next = walk->first;
    walk->stats->n_blocks += walk->end - walk->first;
    return QN_OK;
}

/* Reading a block compares it with BIDX: a neighbour whose entry lies is an error, not an empty answer. */
static qn_status check_borders(block_walk *walk, error_context *err) {
    const q42_block *block;
    uint64_t n_decoded = 0;
    qn_status status = QN_OK;
    if (walk->first > 0) {
        status = block_cache_get(walk->cache, walk->member, walk->first - 1, &block, &n_decoded, err);
    }
    if (status == QN_OK && walk->end < walk->open->header.block_count) {
        status = block_cache_get(walk->cache, walk->member, walk->end, &block, &n_decoded, err);
    }
    walk->stats->n_border += n_decoded;
    walk->stats->n_decoded += n_decoded;
    return status;
}

static qn_status close_member(block_walk *walk, error_context *err) {
    const qn_status status = walk->query.has_object && !walk->has_found ? check_borders(walk, err) : QN_OK;
    walk->open = NULL;
    walk->member++;
    return status;
}

/* Opens the next member that may hold something, unless one is open. */
static qn_status find_member(block_walk *walk, error_context *err) {
    while (walk->open == NULL) {
        if (walk->member == walk->end_member) {
            return QN_NOT_FOUND;
        }
        if (!can_hold(walk)) {
            walk->stats->n_members_skipped++;
            walk->member++;
            continue;
        }
        const qn_status status = open_member(walk, err);
        if (status < 0) {
            return status;
        }
    }
    return QN_OK;
}

qn_status block_walk_next(block_walk *walk, uint32_t *out_member, uint64_t *out_block, error_context *err) {
    for (;;) {
        qn_status status = find_member(walk, err);
        if (status < 0) {
            return status;
        }
        while (walk->next < walk->end) {
            const uint64_t block = walk->next++;
            bool may_hold;
            status = block_query_test(&walk->query, walk->open, block, graph_volume_member_path(walk->volume, walk->member),
                                      walk->stats, &may_hold, err);
            if (status < 0) {
                return status;
            }
            if (may_hold) {
                *out_member = walk->member;
                *out_block = block;
                return QN_OK;
            }
        }
        status = close_member(walk, err);
        if (status < 0) {
            return status;
        }
    }
}
