/* kv_cells.h — where the K and V of each position live: the host's placement of one sequence in the cell groups of a
 * plan.
 *
 * Three words that are never mixed: *cells* is capacity, a *span* is placement, *length* is how many positions are
 * valid.
 *
 *   full group      cell = position
 *   windowed group  cell = position mod cells: old positions are overwritten once nobody can see them
 *
 * Threading: one thread at a time.
 * Memory:    fixed arrays sized at init; nothing is allocated per step.
 */
#ifndef HOST_KV_CELLS_H
#define HOST_KV_CELLS_H
#include <stdint.h>

#include <quoin/program.h>

#include "base/error.h"
#include "model/decoder.h"

typedef struct kv_group {
    uint32_t cells;   /* capacity */
    uint32_t window;  /* 0 = full */
    uint32_t *cell_of_token; /* [max_tokens] for the step at hand */
    qn_span spans[2];
} kv_group;

typedef struct kv_cells {
    uint32_t n_groups;
    uint32_t length;  /* valid positions: 0..length - 1 */
    uint32_t written; /* one past the highest position that was ever placed: what a ring has overwritten follows from it */
    uint32_t touched; /* the same, and never less: cells that are not as a new session's, until kv_cells_forget */
    kv_group groups[DECODER_MAX_GROUPS];
    qn_placement placements[DECODER_MAX_GROUPS];
    uint32_t span_at[DECODER_MAX_GROUPS][2];
} kv_cells;

/* Takes capacities from `limits` and windows from `windows` ([limits->n_groups]). */
qn_status kv_cells_init(kv_cells *kv, const qn_limits *limits, const uint32_t *windows, error_context *err);
void kv_cells_deinit(kv_cells *kv);

/* Fills placements for the `n_tokens` positions that follow the valid ones. Does not change length. */
void kv_cells_place(kv_cells *kv, uint32_t n_tokens);

/* The step succeeded: these positions are valid now. */
void kv_cells_commit(kv_cells *kv, uint32_t n_tokens);

/* Forgets positions from `length` on. Returns the length that is really valid afterwards: `length`, or 0 when a
 * windowed group has already overwritten what the next position would need to see. */
uint32_t kv_cells_truncate(kv_cells *kv, uint32_t length);

/* All cells are zero again: no position is valid, and none was touched. Overwrites the last placement. */
void kv_cells_forget(kv_cells *kv, uint32_t max_tokens);

#endif
