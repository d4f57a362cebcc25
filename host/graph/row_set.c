/* row_set.c — open addressing over rows in the order in which they came. */
#include "graph/row_set.h"

#include <stdlib.h>
#include <string.h>

#include "graph/secret.h"

qn_status row_set_init(row_set *set, uint32_t n_values, uint64_t memory, error_context *err) {
    *set = (row_set){.n_values = n_values, .n_heads = 1024, .multiplier = secret_multiplier()};
    const uint64_t capacity = memory / (n_values * sizeof(uint64_t) + 3 * sizeof(uint32_t));
    set->capacity = capacity < (1u << 24) ? (uint32_t)capacity : 1u << 24;
    while (set->n_heads / 4 * 3 < set->capacity) {
        set->n_heads *= 2;
    }
    set->rows = calloc((size_t)set->capacity * n_values + 1, sizeof *set->rows); /* pages that are never touched cost nothing */
    set->heads = calloc(set->n_heads, sizeof *set->heads);
    return set->rows != NULL && set->heads != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

void row_set_deinit(row_set *set) {
    free(set->rows);
    free(set->heads);
    *set = (row_set){.n_values = 0};
}

qn_status row_set_add(row_set *set, const uint64_t *row, bool *out_is_new, error_context *err) {
    const size_t size = set->n_values * sizeof *row;
    uint64_t hash = 0;
    for (uint32_t i = 0; i < set->n_values; i++) {
        hash = secret_mix(hash, row[i], set->multiplier);
    }
    uint32_t at = (uint32_t)secret_slot(hash, set->multiplier, set->n_heads);
    for (; set->heads[at] != 0; at = (at + 1) & (set->n_heads - 1)) {
        if (memcmp(set->rows + (size_t)(set->heads[at] - 1) * set->n_values, row, size) == 0) {
            *out_is_new = false;
            return QN_OK;
        }
    }
    if (set->n_rows == set->capacity) {
        return FAIL(err, QN_LIMIT, "more than %u distinct rows do not fit into the memory of a query; select fewer variables, or "
                    "leave --distinct out and sort the output", set->capacity);
    }
    memcpy(set->rows + (size_t)set->n_rows * set->n_values, row, size);
    set->heads[at] = ++set->n_rows;
    *out_is_new = true;
    return QN_OK;
}
