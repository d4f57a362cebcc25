/* chat.h — running a stack step by step: tokens, sequences and their cells, as a host does it.
 *
 *     chat c;
 *     chat_init(&c, &s, n_cells, n_sequences, n_positions, CELLS_SHUFFLED);
 *     const op_step *step = chat_step(&c, &(chat_tokens){.n = 7, .first = 0});
 *
 * Threading: one thread at a time per object. Memory: the stack's; every step stays valid until the stack is freed.
 */
#ifndef CONFORM_CHAT_H
#define CONFORM_CHAT_H
#include "cells.h"
#include "stack.h"

typedef struct chat {
    stack *s;
    uint32_t n_sequences, n_positions;
    int32_t *ids;              /* [n_sequences][n_positions] the text of each sequence */
    cell_map maps[2];          /* of each group */
} chat;

/* Random texts. n_cells >= n_sequences * n_positions. */
void chat_init(chat *self, stack *s, uint32_t n_cells, uint32_t n_sequences, uint32_t n_positions, uint32_t order);

/* n tokens of one sequence, or of several in turn, from position `first` on; logits of all of them. */
typedef struct chat_tokens {
    uint32_t n;                /* of each sequence */
    uint32_t first;
    uint32_t sequence;         /* the only one, when n_sequences is 0 */
    uint32_t n_sequences;      /* 0 .. n - 1 take part */
    bool is_reversed;          /* sequences in descending order */
    bool is_shuffled;          /* spans in any order */
    bool is_quiet;             /* no logits */
} chat_tokens;

const op_step *chat_step(chat *self, const chat_tokens *tokens);

#endif
