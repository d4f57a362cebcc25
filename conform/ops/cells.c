/* cells.c — scattering positions over cells, and the spans that describe it. */
#include "cells.h"

#include <string.h>

static uint32_t most_spans;

void cell_maps_limit_spans(uint32_t most) {
    most_spans = most;
}

uint32_t cell_maps_most_spans(void) {
    return most_spans;
}

void cell_map_init(cell_map *self, op_model *model, uint32_t n_cells, uint32_t n_sequences, uint32_t n_positions) {
    const uint64_t n = (uint64_t)n_sequences * n_positions;
    *self = (cell_map){.model = model, .n_cells = n_cells, .n_sequences = n_sequences, .n_positions = n_positions};
    self->cell = op_model_take(model, n, sizeof *self->cell);
    memset(self->cell, 0xff, n * sizeof *self->cell);
}

void cell_map_scatter(cell_map *self, uint32_t order) {
    const uint32_t n = self->n_sequences * self->n_positions, first = self->n_cells - n;
    order = most_spans > 0 ? CELLS_IN_ORDER : order;
    for (uint32_t i = 0; i < n; i++) {
        self->cell[i] = order == CELLS_REVERSED ? self->n_cells - 1 - i : first + i;
    }
    if (order == CELLS_SHUFFLED) {
        for (uint32_t i = n; i > 1; i--) {
            const uint32_t j = cf_random_below(&self->model->random, i), other = self->cell[j];
            self->cell[j] = self->cell[i - 1];
            self->cell[i - 1] = other;
        }
    }
    /* Pieces of five consecutive cells, from the end backwards. */
    for (uint32_t i = 0; order == CELLS_IN_PIECES && i < n; i++) {
        const uint32_t begin = i / 5 * 5, length = n - begin < 5 ? n - begin : 5;
        self->cell[i] = first + (n - begin - length) + i % 5;
    }
}

void cell_map_share(cell_map *self, uint32_t from, uint32_t to, uint32_t n) {
    memcpy(self->cell + (size_t)to * self->n_positions, self->cell + (size_t)from * self->n_positions,
           n * sizeof *self->cell);
}

/* Spans of positions 0..n-1 of one sequence: runs of consecutive cells, cut now and then when they need not be long.
 * Returns how many. */
static uint32_t describe_spans(const cell_map *self, const uint32_t *cell, uint32_t n, bool is_cut, qn_span *spans) {
    uint32_t n_spans = 0;
    for (uint32_t p = 0; p < n; p++) {
        const bool is_next = p > 0 && cell[p] == cell[p - 1] + 1;
        if (is_next && !(is_cut && cf_random_below(&self->model->random, 8) == 0)) {
            spans[n_spans - 1].n_cells++;
        } else {
            spans[n_spans++] = (qn_span){.first_cell = cell[p], .n_cells = 1, .first_position = (int32_t)p};
        }
    }
    return n_spans;
}

static void shuffle_spans(const cell_map *self, qn_span *spans, uint32_t n) {
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = cf_random_below(&self->model->random, i);
        const qn_span other = spans[j];
        spans[j] = spans[i - 1];
        spans[i - 1] = other;
    }
}

/* Positions that a sequence has after this step. */
static uint32_t find_length(uint32_t sequence, uint32_t n_tokens, const int32_t *positions, const uint32_t *sequences) {
    uint32_t n = 0;
    for (uint32_t t = 0; t < n_tokens; t++) {
        if ((sequences == NULL ? 0 : sequences[t]) == sequence && (uint32_t)positions[t] >= n) {
            n = (uint32_t)positions[t] + 1;
        }
    }
    return n;
}

qn_placement cell_map_place(cell_map *self, uint32_t n_tokens, const int32_t *positions, const uint32_t *sequences,
                            bool is_shuffled) {
    uint32_t *const cells = op_model_take(self->model, n_tokens, sizeof *cells);
    uint32_t *const span_at = op_model_take(self->model, self->n_sequences + 1, sizeof *span_at);
    uint64_t most = 0;
    uint32_t n_spans = 0;
    is_shuffled = is_shuffled && most_spans == 0;
    for (uint32_t s = 0; s < self->n_sequences; s++) {
        most += find_length(s, n_tokens, positions, sequences);
    }
    qn_span *const spans = op_model_take(self->model, most, sizeof *spans);
    for (uint32_t t = 0; t < n_tokens; t++) {
        cells[t] =
            self->cell[(size_t)(sequences == NULL ? 0 : sequences[t]) * self->n_positions + (uint32_t)positions[t]];
    }
    for (uint32_t s = 0; s < self->n_sequences; s++) {
        const uint32_t n = find_length(s, n_tokens, positions, sequences);
        span_at[s] = n_spans;
        const uint32_t n_new = describe_spans(self, self->cell + (size_t)s * self->n_positions, n, is_shuffled,
                                              spans + n_spans);
        if (is_shuffled) {
            shuffle_spans(self, spans + n_spans, n_new);
        }
        n_spans += n_new;
    }
    span_at[self->n_sequences] = n_spans;
    return (qn_placement){
        .size = sizeof(qn_placement), .n_spans = n_spans, .cells = cells, .spans = spans, .span_at = span_at};
}
