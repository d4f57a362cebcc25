/* merge_heap.c — sift up, sift down. */
#include "graph/merge_heap.h"

#include <stddef.h>

static bool is_before(const merge_heap *heap, merge_entry a, merge_entry b) {
    return a.key < b.key || (a.key == b.key && heap->is_before != NULL && heap->is_before(heap->ctx, a.source, b.source));
}

void merge_heap_push(merge_heap *heap, uint64_t key, uint32_t source) {
    const merge_entry entry = {key, source};
    uint32_t at = heap->n++;
    while (at > 0 && is_before(heap, entry, heap->entries[(at - 1) / 2])) {
        heap->entries[at] = heap->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->entries[at] = entry;
}

static void sift_down(merge_heap *heap, merge_entry entry) {
    uint32_t at = 0;
    while (2 * at + 1 < heap->n) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < heap->n && is_before(heap, heap->entries[child + 1], heap->entries[child])) {
            child++;
        }
        if (!is_before(heap, heap->entries[child], entry)) {
            break;
        }
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = entry;
}

void merge_heap_advance(merge_heap *heap, uint64_t key) {
    sift_down(heap, (merge_entry){key, heap->entries[0].source});
}

void merge_heap_pop(merge_heap *heap) {
    heap->n--;
    if (heap->n > 0) {
        sift_down(heap, heap->entries[heap->n]);
    }
}
