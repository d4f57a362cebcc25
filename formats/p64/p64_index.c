/* p64_index.c — a stable merge sort of hashed items.
 *
 * Files are hostile: whoever wrote one may have chosen names whose hashes collide, so a hash table could be made to crawl. A merge
 * sort needs n log n steps on any input, and leaves an index to search by hash.
 */
#include <string.h>

#include "p64_layout.h"

static bool goes_first(const p64_index_item *a, const p64_index_item *b, p64_compare_fn *compare, const void *ctx) {
    if (a->hash != b->hash) {
        return a->hash < b->hash;
    }
    return compare == NULL || compare(ctx, a, b) <= 0;
}

static void merge_runs(const p64_index_item *from, uint32_t begin, uint32_t middle, uint32_t end, p64_index_item *to,
                       p64_compare_fn *compare, const void *ctx) {
    uint32_t left = begin, right = middle;
    for (uint32_t at = begin; at < end; at++) {
        const bool is_left = right >= end || (left < middle && goes_first(&from[left], &from[right], compare, ctx));
        to[at] = is_left ? from[left++] : from[right++];
    }
}

void p64_index_sort(p64_index_item *items, p64_index_item *room, uint32_t count, p64_compare_fn *compare, const void *ctx) {
    p64_index_item *from = items, *to = room;
    for (uint64_t width = 1; width < count; width *= 2) {
        for (uint64_t begin = 0; begin < count; begin += 2 * width) {
            const uint64_t middle = begin + width < count ? begin + width : count;
            const uint64_t end = begin + 2 * width < count ? begin + 2 * width : count;
            merge_runs(from, (uint32_t)begin, (uint32_t)middle, (uint32_t)end, to, compare, ctx);
        }
        p64_index_item *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) {
        memcpy(items, from, count * sizeof items[0]);
    }
}

const p64_index_item *p64_index_find(const p64_index_item *items, uint32_t count, uint64_t hash) {
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (items[middle].hash < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && items[low].hash == hash ? &items[low] : NULL;
}
