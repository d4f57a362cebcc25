/* block_cache.c — least recently used, found by looking at all of them: there are few. */
#include "graph/block_cache.h"

#include <stdlib.h>

typedef struct cache_entry {
    uint64_t last_use; /* 0: empty */
    uint32_t member;
    q42_block block;
    uint8_t room[Q42_BLOCK_BYTES];
} cache_entry;

struct block_cache {
    graph_volume *volume;
    uint64_t clock;
    cache_entry entries[BLOCK_CACHE_SIZE];
};

block_cache *block_cache_create(graph_volume *volume) {
    block_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL) {
        cache->volume = volume;
    }
    return cache;
}

void block_cache_destroy(block_cache *cache) {
    free(cache);
}

/* The entry that holds the block, otherwise the one to be overwritten. */
static cache_entry *find_entry(block_cache *cache, uint32_t member, uint64_t block, bool *out_is_there) {
    cache_entry *oldest = &cache->entries[0];
    for (uint32_t i = 0; i < BLOCK_CACHE_SIZE; i++) {
        cache_entry *e = &cache->entries[i];
        if (e->last_use != 0 && e->member == member && e->block.index == block) {
            *out_is_there = true;
            return e;
        }
        oldest = e->last_use < oldest->last_use ? e : oldest;
    }
    *out_is_there = false;
    return oldest;
}

qn_status block_cache_get(block_cache *cache, uint32_t member, uint64_t block, const q42_block **out_block,
                          uint64_t *io_decoded, error_context *err) {
    bool is_there;
    cache_entry *e = find_entry(cache, member, block, &is_there);
    if (!is_there) {
        const q42_volume *volume;
        fmt_diag diag;
        const qn_status status = graph_volume_member(cache->volume, member, &volume, err);
        if (status < 0) {
            return status;
        }
        e->last_use = 0; /* while it is overwritten */
        const fmt_status read = q42_read_block(volume, block, Q42_CHECK_READ, e->room, &e->block, &diag);
        if (read != FMT_OK) {
            return error_from_diag(err, read, &diag, graph_volume_member_path(cache->volume, member));
        }
        e->member = member;
        ++*io_decoded;
    }
    e->last_use = ++cache->clock;
    *out_block = &e->block;
    return QN_OK;
}
