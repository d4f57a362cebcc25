/* cells.h — where a test puts the positions of its sequences among the cells of one group, and the placement of each
 * step.
 *
 *     cell_map map;
 *     cell_map_init(&map, &model, n_cells, n_sequences, n_positions);
 *     cell_map_scatter(&map, CELLS_SHUFFLED);
 *     placements[g] = cell_map_place(&map, n_tokens, positions, sequences, true);
 *
 * Threading: one thread at a time per object. Memory: the model's; a placement stays valid until the model is freed.
 */
#ifndef CONFORM_CELLS_H
#define CONFORM_CELLS_H
#include "op_model.h"

#define CELL_NONE UINT32_MAX

enum { CELLS_IN_ORDER, CELLS_REVERSED, CELLS_SHUFFLED, CELLS_IN_PIECES, CELLS_ORDERS };

typedef struct cell_map {
    op_model *model;
    uint32_t n_cells, n_sequences, n_positions;
    uint32_t *cell;        /* [n_sequences][n_positions], CELL_NONE where there is none */
} cell_map;

/* A device that says so wants at most this many spans for each sequence and step (0: any number): from now on every map
 * is in order of position, and nothing is shuffled. Called when the device is open. */
void cell_maps_limit_spans(uint32_t most);
uint32_t cell_maps_most_spans(void);

void cell_map_init(cell_map *self, op_model *model, uint32_t n_cells, uint32_t n_sequences, uint32_t n_positions);

/* Gives every position of every sequence a cell of its own. n_cells >= n_sequences * n_positions. */
void cell_map_scatter(cell_map *self, uint32_t order);

/* Makes sequence `to` see the cells of the first n positions of `from`. */
void cell_map_share(cell_map *self, uint32_t from, uint32_t to, uint32_t n);

/* Placement of a step of these tokens: each sequence sees its positions 0..its last token's. is_shuffled: spans in any
 * order and cut at random, instead of in order of position. */
qn_placement cell_map_place(cell_map *self, uint32_t n_tokens, const int32_t *positions, const uint32_t *sequences,
                            bool is_shuffled);

#endif
