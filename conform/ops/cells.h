/* cells.h — where a test puts the positions of its sequences among the cells of one group, and the placement of each step.
 *
 *     cell_map map;
 *     cell_map_init(&map, n_cells, n_sequences, n_positions);
 *     cell_map_scatter(&map, CELLS_SHUFFLED, &random);
 *     cell_map_place(&map, n_tokens, positions, sequences, &random);     map.placement is filled
 *
 * Threading: one thread at a time per object. Memory: owned by the map until cell_map_deinit.
 */
#ifndef TEST_CELLS_H
#define TEST_CELLS_H
#include "op_data.h"

#define CELL_NONE UINT32_MAX

enum { CELLS_IN_ORDER, CELLS_REVERSED, CELLS_SHUFFLED, CELLS_IN_PIECES, CELLS_ORDERS };

typedef struct cell_map {
    uint32_t n_cells, n_sequences, n_positions;
    uint32_t *cell;        /* [n_sequences][n_positions], CELL_NONE where there is none */
    uint32_t *token_cells; /* [n_sequences * n_positions] of the last placement */
    qn_span *spans;
    uint32_t *span_at;     /* [n_sequences + 1] */
    qn_placement placement;
} cell_map;

void cell_map_init(cell_map *self, uint32_t n_cells, uint32_t n_sequences, uint32_t n_positions);
void cell_map_deinit(cell_map *self);

/* Gives every position of every sequence a cell of its own. n_cells >= n_sequences * n_positions. */
void cell_map_scatter(cell_map *self, uint32_t order, op_random *random);

/* Makes sequence `to` see the cells of the first n positions of `from`. */
void cell_map_share(cell_map *self, uint32_t from, uint32_t to, uint32_t n);

/* Fills placement for a step of these tokens: each sequence sees its positions 0..its last token's. random: null keeps spans
 * in order of position, otherwise they are shuffled inside each sequence. */
void cell_map_place(cell_map *self, uint32_t n_tokens, const int32_t *positions, const uint32_t *sequences, op_random *random);

#endif
