/* merge_queue.h — joins neighbouring symbols of a word, best pair first, until no pair can be joined (internal to text/).
 *
 * Both families of tokenizers are this; they differ in what a pair's rank is. The smaller rank goes first, of equal ranks the
 * leftmost. A heap holds the candidates of a long word, so that n symbols cost n log n, also when all its letters are the same.
 *
 * Threading: one thread at a time per scratch.
 * Memory:    the scratch grows to the longest word and is kept by the caller between words.
 */
#ifndef HOST_MERGE_QUEUE_H
#define HOST_MERGE_QUEUE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define MERGE_NO_RANK UINT32_MAX

/* A symbol of the word; symbols that were joined into their left neighbour are skipped by `next`. */
typedef struct merge_symbol {
    uint32_t id;
    uint32_t start, size; /* bytes of the word */
    uint32_t previous, next; /* indices; UINT32_MAX at the ends */
    uint32_t rank, joined_id; /* of the pair with `next`; MERGE_NO_RANK: cannot be joined */
} merge_symbol;

typedef struct merge_scratch {
    merge_symbol *symbols;
    uint64_t *heap; /* rank << 32 | index */
    size_t capacity; /* symbols; the heap holds three times as many */
} merge_scratch;

/* Rank and id of what `left` and `right` join to. The rank is MERGE_NO_RANK when they do not. */
typedef uint32_t merge_rank_fn(const void *ctx, const merge_symbol *left, const merge_symbol *right, uint32_t *out_id);

/* Makes room for words of `n` symbols. */
qn_status merge_reserve(merge_scratch *scratch, size_t n, error_context *err);
void merge_scratch_free(merge_scratch *scratch);

/* Joins scratch->symbols[0..n), whose id, start and size are filled, 1 <= n <= capacity. Afterwards symbol 0 and the chain of
 * `next` behind it are the result. [no-alloc] */
void merge_run(merge_scratch *scratch, size_t n, merge_rank_fn *rank, const void *ctx);

#endif
