/* merge_queue.c — the heap of candidate pairs. */
#include "text/merge_queue.h"

#include "base/scrub.h"

#define NO_SYMBOL UINT32_MAX

qn_status merge_reserve(merge_scratch *scratch, size_t n, error_context *err) {
    if (n <= scratch->capacity) {
        return QN_OK;
    }
    const size_t capacity = n < 256 ? 256 : n + n / 2;
    if (n > UINT32_MAX / 4) {
        return FAIL(err, QN_LIMIT, "a word of %zu characters is longer than this tokenizer can handle", n);
    }
    merge_symbol *symbols = scrub_grow(scratch->symbols, scratch->capacity * sizeof *symbols, capacity * sizeof *symbols);
    if (symbols != NULL) {
        scratch->symbols = symbols;
    }
    uint64_t *heap = scrub_grow(scratch->heap, scratch->capacity * 3 * sizeof *heap, capacity * 3 * sizeof *heap);
    if (heap != NULL) {
        scratch->heap = heap;
    }
    if (symbols == NULL || heap == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a word of %zu characters", n);
    }
    scratch->capacity = capacity;
    return QN_OK;
}

void merge_scratch_free(merge_scratch *scratch) {
    scrub_free(scratch->symbols, scratch->capacity * sizeof *scratch->symbols);
    scrub_free(scratch->heap, scratch->capacity * 3 * sizeof *scratch->heap);
    *scratch = (merge_scratch){0};
}

static void push(uint64_t *heap, size_t *n, uint64_t value) {
    size_t at = (*n)++;
    while (at > 0 && heap[(at - 1) / 2] > value) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = value;
}

static uint64_t pop(uint64_t *heap, size_t *n) {
    const uint64_t top = heap[0], last = heap[--*n];
    size_t at = 0;
    for (size_t child = 1; child < *n; child = 2 * at + 1) {
        if (child + 1 < *n && heap[child + 1] < heap[child]) {
            child++;
        }
        if (heap[child] >= last) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* Finds out what symbol `index` and its right neighbour join to, and queues it. */
static void consider(merge_scratch *scratch, size_t *n_heap, uint32_t index, merge_rank_fn *rank, const void *ctx) {
    merge_symbol *symbol = &scratch->symbols[index];
    symbol->rank = MERGE_NO_RANK;
    if (symbol->next != NO_SYMBOL) {
        symbol->rank = rank(ctx, symbol, &scratch->symbols[symbol->next], &symbol->joined_id);
    }
    if (symbol->rank != MERGE_NO_RANK) {
        push(scratch->heap, n_heap, (uint64_t)symbol->rank << 32 | index);
    }
}

void merge_run(merge_scratch *scratch, size_t n, merge_rank_fn *rank, const void *ctx) {
    merge_symbol *symbols = scratch->symbols;
    size_t n_heap = 0;
    for (size_t i = 0; i < n; i++) {
        symbols[i].previous = i > 0 ? (uint32_t)i - 1 : NO_SYMBOL;
        symbols[i].next = i + 1 < n ? (uint32_t)i + 1 : NO_SYMBOL;
        consider(scratch, &n_heap, (uint32_t)i, rank, ctx);
    }
    while (n_heap > 0) {
        const uint64_t top = pop(scratch->heap, &n_heap);
        const uint32_t index = (uint32_t)top;
        merge_symbol *left = &symbols[index];
        if (left->rank != top >> 32) {
            continue; /* the pair is not there any more: one of the two was joined with another */
        }
        merge_symbol *right = &symbols[left->next];
        left->id = left->joined_id;
        left->size += right->size;
        left->next = right->next;
        right->rank = MERGE_NO_RANK;
        if (left->next != NO_SYMBOL) {
            symbols[left->next].previous = index;
        }
        consider(scratch, &n_heap, index, rank, ctx);
        if (left->previous != NO_SYMBOL) {
            consider(scratch, &n_heap, left->previous, rank, ctx);
        }
    }
}
