/* row_set.h — which rows were seen before; exact, in a fixed amount of memory.
 *
 * Threading: one thread at a time.
 */
#ifndef HOST_GRAPH_ROW_SET_H
#define HOST_GRAPH_ROW_SET_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct row_set {
    uint32_t n_values;  /* of a row */
    uint32_t n_rows, capacity, n_heads;
    uint64_t multiplier; /* see secret.h */
    uint64_t *rows;     /* [capacity][n_values] */
    uint32_t *heads;    /* [n_heads]: row + 1, or 0 */
} row_set;

/* Takes at most `memory` bytes, and of these only as much as rows come. */
qn_status row_set_init(row_set *set, uint32_t n_values, uint64_t memory, error_context *err);
void row_set_deinit(row_set *set);

/* *out_is_new: it was not there before. QN_LIMIT when the memory is full. */
qn_status row_set_add(row_set *set, const uint64_t *row, bool *out_is_new, error_context *err);

#endif
