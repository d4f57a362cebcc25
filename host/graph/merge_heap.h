/* merge_heap.h — which of many sorted sources has the smallest record: a binary heap of their next keys.
 *
 * Threading: one thread at a time.
 * Memory:    entries belong to the caller.
 */
#ifndef HOST_GRAPH_MERGE_HEAP_H
#define HOST_GRAPH_MERGE_HEAP_H
#include <stdbool.h>
#include <stdint.h>

typedef struct merge_entry {
    uint64_t key;    /* first word of the source's next record */
    uint32_t source;
} merge_entry;

/* Decides between two sources whose keys are equal: true when the next record of `a` goes first. */
typedef bool merge_tie_fn(const void *ctx, uint32_t a, uint32_t b);

typedef struct merge_heap {
    merge_entry *entries; /* [as many as there are sources]; entries[0] is the smallest */
    uint32_t n;
    merge_tie_fn *is_before; /* null: any order will do */
    const void *ctx;
} merge_heap;

void merge_heap_push(merge_heap *heap, uint64_t key, uint32_t source);
/* The smallest source has moved on to a record with this key. */
void merge_heap_advance(merge_heap *heap, uint64_t key);
/* The smallest source has ended. */
void merge_heap_pop(merge_heap *heap);

#endif
