/* cells.c — scattering positions over cells, and the spans that describe it. */
#include "cells.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void cell_map_init(cell_map *self, uint32_t n_cells, uint32_t n_sequences, uint32_t n_positions) {
    const size_t n = (size_t)n_sequences * n_positions;
    *self = (cell_map){.n_cells = n_cells, .n_sequences = n_sequences, .n_positions = n_positions};
    self->cell = malloc(n * sizeof *self->cell);
    self->token_cells = malloc(n * sizeof *self->token_cells);
    self->spans = malloc(n * sizeof *self->spans);
    self->span_at = malloc((n_sequences + 1) * sizeof *self->span_at);
    assert_true(self->cell != NULL && self->token_cells != NULL && self->spans != NULL && self->span_at != NULL);
    memset(self->cell, 0xff, n * sizeof *self->cell);
}

void cell_map_deinit(cell_map *self) {
    free(self->cell);
    free(self->token_cells);
    free(self->spans);
    free(self->span_at);
    memset(self, 0, sizeof *self);
}

void cell_map_scatter(cell_map *self, uint32_t order, op_random *random) {
    const uint32_t n = self->n_sequences * self->n_positions, first = self->n_cells - n;
    for (uint32_t i = 0; i < n; i++) {
        self->cell[i] = order == CELLS_REVERSED ? self->n_cells - 1 - i : first + i;
    }
    if (order == CELLS_SHUFFLED) {
        for (uint32_t i = n; i > 1; i--) {
            const uint32_t j = op_random_below(random, i), other = self->cell[j];
            self->cell[j] = self->cell[i - 1];
            self->cell[i - 1] = other;
        }
    }
    /* Pieces of five consecutive cells, from the end backwards. */
    for (uint32_t i = 0; order == CELLS_IN_PIECES && i < n; i++) {
        const uint32_t piece = i / 5, begin = piece * 5, length = n - begin < 5 ? n - begin : 5;
        self->cell[i] = first + (n - begin - length) + i % 5;
    }
}

void cell_map_share(cell_map *self, uint32_t from, uint32_t to, uint32_t n) {
    memcpy(self->cell + (size_t)to * self->n_positions, self->cell + (size_t)from * self->n_positions,
           n * sizeof *self->cell);
}

/* Spans of positions 0..n-1 of one sequence: runs of consecutive cells. Returns how many. */
static uint32_t describe_spans(const uint32_t *cell, uint32_t n, qn_span *spans) {
    uint32_t n_spans = 0;
    for (uint32_t p = 0; p < n; p++) {
        if (p > 0 && cell[p] == cell[p - 1] + 1) {
            spans[n_spans - 1].n_cells++;
        } else {
            spans[n_spans++] = (qn_span){.first_cell = cell[p], .n_cells = 1, .first_position = (int32_t)p};
        }
    }
    return n_spans;
}

static void shuffle_spans(qn_span *spans, uint32_t n, op_random *random) {
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = op_random_below(random, i);
        const qn_span other = spans[j];
        spans[j] = spans[i - 1];
        spans[i - 1] = other;
    }
}

void cell_map_place(cell_map *self, uint32_t n_tokens, const int32_t *positions, const uint32_t *sequences, op_random *random) {
    uint32_t n_spans = 0;
    for (uint32_t t = 0; t < n_tokens; t++) {
        const uint32_t sequence = sequences == NULL ? 0 : sequences[t];
        self->token_cells[t] = self->cell[(size_t)sequence * self->n_positions + (uint32_t)positions[t]];
        assert_true(self->token_cells[t] != CELL_NONE);
    }
    for (uint32_t s = 0; s < self->n_sequences; s++) {
        uint32_t n = 0;
        for (uint32_t t = 0; t < n_tokens; t++) {
            if ((sequences == NULL ? 0 : sequences[t]) == s && (uint32_t)positions[t] >= n) {
                n = (uint32_t)positions[t] + 1;
            }
        }
        self->span_at[s] = n_spans;
        const uint32_t n_new = describe_spans(self->cell + (size_t)s * self->n_positions, n, self->spans + n_spans);
        if (random != NULL) {
            shuffle_spans(self->spans + n_spans, n_new, random);
        }
        n_spans += n_new;
    }
    self->span_at[self->n_sequences] = n_spans;
    self->placement = (qn_placement){.size = sizeof(qn_placement), .n_spans = n_spans, .cells = self->token_cells,
                                     .spans = self->spans, .span_at = self->span_at};
}
