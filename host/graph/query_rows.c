/* query_rows.c — batches of rows. */
#include "graph/query_rows.h"

#include <stdlib.h>
#include <string.h>

#include "graph/secret.h"

#define LEAST_CAPACITY 64u
#define MOST_CAPACITY 65536u
#define GROWTH 4u

static uint32_t count_heads(uint32_t capacity) {
    uint32_t n = 1;
    while (n < capacity) {
        n *= 2;
    }
    return n;
}

uint32_t row_batch_capacity(uint64_t memory, uint32_t n_variables) {
    const uint64_t one = n_variables * sizeof(uint64_t) + sizeof(row_place) + 3 * sizeof(uint32_t);
    const uint64_t n = memory / one;
    return n < LEAST_CAPACITY ? LEAST_CAPACITY : n > MOST_CAPACITY ? MOST_CAPACITY : (uint32_t)n;
}

bool row_batch_init(row_batch *batch, uint32_t n_variables, uint32_t capacity, uint32_t first_limit) {
    *batch = (row_batch){.n_variables = n_variables,
                         .capacity = capacity,
                         .limit = first_limit < capacity ? first_limit : capacity,
                         .n_heads = count_heads(capacity),
                         .multiplier = secret_multiplier()};
    batch->values = calloc((size_t)capacity * n_variables + 1, sizeof *batch->values);
    batch->sorted = calloc(capacity, sizeof *batch->sorted);
    batch->heads = calloc(batch->n_heads, sizeof *batch->heads);
    batch->nexts = calloc(capacity, sizeof *batch->nexts);
    return batch->values != NULL && batch->sorted != NULL && batch->heads != NULL && batch->nexts != NULL;
}

void row_batch_deinit(row_batch *batch) {
    free(batch->values);
    free(batch->sorted);
    free(batch->heads);
    free(batch->nexts);
}

uint64_t *row_batch_push(row_batch *batch) {
    return batch->values + (size_t)batch->n_rows++ * batch->n_variables;
}

void row_batch_pop(row_batch *batch) {
    batch->n_rows--;
}

bool row_batch_is_full(const row_batch *batch) {
    return batch->n_rows == batch->limit;
}

void row_batch_clear(row_batch *batch) {
    batch->n_rows = 0;
    batch->limit = batch->limit < batch->capacity / GROWTH ? batch->limit * GROWTH : batch->capacity;
}

static int compare_places(const void *a, const void *b) {
    const row_place *left = a, *right = b;
    if (left->key != right->key) {
        return left->key < right->key ? -1 : 1;
    }
    return left->row < right->row ? -1 : left->row > right->row;
}

void row_batch_sort(row_batch *batch, uint32_t variable) {
    for (uint32_t i = 0; i < batch->n_rows; i++) {
        batch->sorted[i] = (row_place){row_batch_at(batch, i)[variable], i};
    }
    qsort(batch->sorted, batch->n_rows, sizeof *batch->sorted, compare_places);
}

const uint64_t *row_batch_sorted(const row_batch *batch, uint32_t i) {
    return row_batch_at(batch, batch->sorted[i].row);
}

const uint64_t *row_batch_at(const row_batch *batch, uint32_t row) {
    return batch->values + (size_t)row * batch->n_variables;
}

static uint32_t head_of_row(const row_batch *batch, const plan_step *step, const uint64_t *row) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < N_PLACES; i++) {
        hash = step->places[i].kind == PLACE_BOUND ? secret_mix(hash, row[step->places[i].variable], batch->multiplier) : hash;
    }
    return (uint32_t)secret_slot(hash, batch->multiplier, batch->n_heads);
}

static uint32_t head_of_quin(const row_batch *batch, const plan_step *step, const q42_quin *quin) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < N_PLACES; i++) {
        hash = step->places[i].kind == PLACE_BOUND ? secret_mix(hash, query_quin_place(quin, i), batch->multiplier) : hash;
    }
    return (uint32_t)secret_slot(hash, batch->multiplier, batch->n_heads);
}

void row_batch_index(row_batch *batch, const plan_step *step) {
    memset(batch->heads, 0xFF, batch->n_heads * sizeof *batch->heads);
    for (uint32_t i = batch->n_rows; i > 0; i--) { /* backwards, so that chains run forwards */
        uint32_t *head = &batch->heads[head_of_row(batch, step, row_batch_at(batch, i - 1))];
        batch->nexts[i - 1] = *head;
        *head = i - 1;
    }
}

uint32_t row_batch_first(const row_batch *batch, const plan_step *step, const q42_quin *quin) {
    return batch->heads[head_of_quin(batch, step, quin)];
}

uint32_t row_batch_next(const row_batch *batch, uint32_t row) {
    return batch->nexts[row];
}

uint32_t row_batch_distinct(const row_batch *batch, uint32_t variable, bool is_sorted, uint32_t begin, uint32_t end,
                            uint64_t *out_values, uint32_t most) {
    uint32_t n = 0;
    for (uint32_t i = begin; i < end; i++) {
        const uint64_t value = (is_sorted ? row_batch_sorted(batch, i) : row_batch_at(batch, i))[variable];
        uint32_t at = 0;
        while (at < n && out_values[at] != value) {
            at++;
        }
        if (at == n && n == most) {
            return 0;
        }
        out_values[at] = value;
        n += at == n;
    }
    return n;
}
