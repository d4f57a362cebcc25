/* p64_index.c — a stable sort of hashed items, which leaves an index to search by hash.
 *
 * Hashes are even, so three passes by digits of their upper 33 bits put nearly every item where it belongs. But files
 * are hostile: whoever wrote one may have chosen names whose hashes collide. What the digits cannot tell apart is
 * merge-sorted, so the whole never needs more than n log n steps, where a hash table could be made to crawl.
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

static void merge_sort(p64_index_item *items, p64_index_item *room, uint32_t count, p64_compare_fn *compare,
                       const void *ctx) {
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

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, FIRST_DIGIT = 64 - 3 * DIGIT_BITS, FEW_ITEMS = 256 };

/* One stable pass by the digit that begins at bit `shift`. */
static void sort_by_digit(const p64_index_item *from, p64_index_item *to, uint32_t count, unsigned shift) {
    uint32_t starts[DIGITS] = {0};
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        starts[from[i].hash >> shift & (DIGITS - 1)]++;
    }
    for (uint32_t digit = 0; digit < DIGITS; digit++) {
        const uint32_t here = starts[digit];
        starts[digit] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < count; i++) {
        to[starts[from[i].hash >> shift & (DIGITS - 1)]++] = from[i];
    }
}

void p64_index_sort(p64_index_item *items, p64_index_item *room, uint32_t count, p64_compare_fn *compare,
                    const void *ctx) {
    if (count < FEW_ITEMS) {
        merge_sort(items, room, count, compare, ctx);
        return;
    }
    sort_by_digit(items, room, count, FIRST_DIGIT);
    sort_by_digit(room, items, count, FIRST_DIGIT + DIGIT_BITS);
    sort_by_digit(items, room, count, FIRST_DIGIT + 2 * DIGIT_BITS);
    memcpy(items, room, count * sizeof items[0]);
    for (uint32_t begin = 0, end = 1; begin < count; begin = end, end++) {
        while (end < count && items[end].hash >> FIRST_DIGIT == items[begin].hash >> FIRST_DIGIT) {
            end++;
        }
        if (end - begin > 1) {
            merge_sort(items + begin, room, end - begin, compare, ctx);
        }
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
