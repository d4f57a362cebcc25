/* merge_queue.c — candidate pairs: a heap of them, or, in a short word, a look at each. */
#include "text/merge_queue.h"

#include "base/scrub.h"

#define NO_SYMBOL UINT32_MAX
/* Words of up to so many symbols are joined without a heap. */
#define FEW_SYMBOLS 24u

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

/* Finds out what symbol `index` and its right neighbour join to. */
static void judge(merge_symbol *symbols, uint32_t index, merge_rank_fn *rank, const void *ctx) {
    merge_symbol *symbol = &symbols[index];
    symbol->rank = symbol->next == NO_SYMBOL ? MERGE_NO_RANK : rank(ctx, symbol, &symbols[symbol->next], &symbol->joined_id);
}

/* The same, and queues the pair. */
static void consider(merge_scratch *scratch, size_t *n_heap, uint32_t index, merge_rank_fn *rank, const void *ctx) {
    judge(scratch->symbols, index, rank, ctx);
    if (scratch->symbols[index].rank != MERGE_NO_RANK) {
        push(scratch->heap, n_heap, (uint64_t)scratch->symbols[index].rank << 32 | index);
    }
}

static void link_symbols(merge_symbol *symbols, size_t n) {
    for (size_t i = 0; i < n; i++) {
        symbols[i].previous = i > 0 ? (uint32_t)i - 1 : NO_SYMBOL;
        symbols[i].next = i + 1 < n ? (uint32_t)i + 1 : NO_SYMBOL;
    }
}

/* Symbol `index` takes in its right neighbour. */
static void join(merge_symbol *symbols, uint32_t index) {
    merge_symbol *left = &symbols[index], *right = &symbols[left->next];
    left->id = left->joined_id;
    left->size += right->size;
    left->next = right->next;
    right->rank = MERGE_NO_RANK;
    if (left->next != NO_SYMBOL) {
        symbols[left->next].previous = index;
    }
}

/* The leftmost of the best pairs; NO_SYMBOL when none can be joined. */
static uint32_t find_best(const merge_symbol *symbols) {
    uint32_t best = NO_SYMBOL, rank = MERGE_NO_RANK;
    for (uint32_t i = 0; i != NO_SYMBOL; i = symbols[i].next) {
        if (symbols[i].rank < rank) {
            rank = symbols[i].rank;
            best = i;
        }
    }
    return best;
}

/* Nearly every word has few symbols: looking through all of them each time costs less than keeping a heap. */
static void run_few(merge_symbol *symbols, size_t n, merge_rank_fn *rank, const void *ctx) {
    for (size_t i = 0; i < n; i++) {
        judge(symbols, (uint32_t)i, rank, ctx);
    }
    for (uint32_t index = find_best(symbols); index != NO_SYMBOL; index = find_best(symbols)) {
        join(symbols, index);
        judge(symbols, index, rank, ctx);
        if (symbols[index].previous != NO_SYMBOL) {
            judge(symbols, symbols[index].previous, rank, ctx);
        }
    }
}

static void run_many(merge_scratch *scratch, size_t n, merge_rank_fn *rank, const void *ctx) {
    merge_symbol *symbols = scratch->symbols;
    size_t n_heap = 0;
    for (size_t i = 0; i < n; i++) {
        consider(scratch, &n_heap, (uint32_t)i, rank, ctx);
    }
    while (n_heap > 0) {
        const uint64_t top = pop(scratch->heap, &n_heap);
        const uint32_t index = (uint32_t)top;
        if (symbols[index].rank != top >> 32) {
            continue; /* the pair is not there any more: one of the two was joined with another */
        }
        join(symbols, index);
        consider(scratch, &n_heap, index, rank, ctx);
        if (symbols[index].previous != NO_SYMBOL) {
            consider(scratch, &n_heap, symbols[index].previous, rank, ctx);
        }
    }
}

void merge_run(merge_scratch *scratch, size_t n, merge_rank_fn *rank, const void *ctx) {
    link_symbols(scratch->symbols, n);
    if (n <= FEW_SYMBOLS) {
        run_few(scratch->symbols, n, rank, ctx);
    } else {
        run_many(scratch, n, rank, ctx);
    }
}
