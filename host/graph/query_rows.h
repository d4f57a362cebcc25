/* query_rows.h — a batch of rows between two steps of a query, sorted by one variable or indexed by those that are joined.
 *
 * Threading: one thread at a time. Memory: fixed at init.
 */
#ifndef HOST_GRAPH_QUERY_ROWS_H
#define HOST_GRAPH_QUERY_ROWS_H
#include "graph/query_plan.h"

#define NO_ROW UINT32_MAX

typedef struct row_place {
    uint64_t key;
    uint32_t row;
} row_place;

typedef struct row_batch {
    uint32_t n_variables, n_rows;
    uint32_t limit, capacity; /* full at limit, which grows up to the capacity */
    uint64_t *values;         /* [capacity][n_variables] */
    row_place *sorted;        /* [capacity] */
    uint32_t *heads, *nexts;  /* [n_heads], [capacity]: chains of rows with the same hash */
    uint32_t n_heads;         /* a power of two */
    uint64_t multiplier;      /* see secret.h */
} row_batch;

/* Rows that fit into `memory` bytes: at least 64. */
uint32_t row_batch_capacity(uint64_t memory, uint32_t n_variables);
bool row_batch_init(row_batch *batch, uint32_t n_variables, uint32_t capacity, uint32_t first_limit);
void row_batch_deinit(row_batch *batch);

uint64_t *row_batch_push(row_batch *batch); /* a new row without values; not when full */
void row_batch_pop(row_batch *batch);
bool row_batch_is_full(const row_batch *batch);
void row_batch_clear(row_batch *batch); /* empty, and larger next time */

/* By this variable, then as they came. */
void row_batch_sort(row_batch *batch, uint32_t variable);
const uint64_t *row_batch_sorted(const row_batch *batch, uint32_t i);

/* Chains rows by the values that the step finds bound. */
void row_batch_index(row_batch *batch, const plan_step *step);
/* The first row that may fit a quin, and the next one; NO_ROW after the last. In the order in which they came. */
uint32_t row_batch_first(const row_batch *batch, const plan_step *step, const q42_quin *quin);
uint32_t row_batch_next(const row_batch *batch, uint32_t row);
const uint64_t *row_batch_at(const row_batch *batch, uint32_t row);

/* Different values of a variable in rows [begin, end), of the sorted order or as they came; 0 when there are more than `most`. */
uint32_t row_batch_distinct(const row_batch *batch, uint32_t variable, bool is_sorted, uint32_t begin, uint32_t end,
                            uint64_t *out_values, uint32_t most);

#endif
