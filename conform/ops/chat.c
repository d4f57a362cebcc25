/* chat.c — making the steps of chat.h. */
#include "chat.h"

void chat_init(chat *self, stack *s, uint32_t n_cells, uint32_t n_sequences, uint32_t n_positions, uint32_t order) {
    *self = (chat){.s = s, .n_sequences = n_sequences, .n_positions = n_positions};
    self->ids = op_model_take(&s->m, (uint64_t)n_sequences * n_positions, sizeof *self->ids);
    for (uint64_t i = 0; i < (uint64_t)n_sequences * n_positions; i++) {
        self->ids[i] = (int32_t)cf_random_below(&s->m.random, s->shape.n_vocab);
    }
    for (uint32_t g = 0; g < stack_groups(s); g++) {
        cell_map_init(&self->maps[g], &s->m, n_cells, n_sequences, n_positions);
        cell_map_scatter(&self->maps[g], order);
    }
}

/* Token t of the step. */
static void choose_token(const chat_tokens *tokens, uint32_t t, uint32_t *sequence, uint32_t *position) {
    const uint32_t n = tokens->n_sequences == 0 ? 1 : tokens->n_sequences, turn = t % n;
    *sequence = tokens->n_sequences == 0 ? tokens->sequence : tokens->is_reversed ? n - 1 - turn : turn;
    *position = tokens->first + t / n;
}

const op_step *chat_step(chat *self, const chat_tokens *tokens) {
    op_model *const m = &self->s->m;
    const uint32_t n_tokens = tokens->n * (tokens->n_sequences == 0 ? 1 : tokens->n_sequences);
    op_step *const step = op_model_take(m, 1, sizeof *step);
    int32_t *const ids = op_model_take(m, n_tokens, sizeof *ids), *const positions = op_model_take(m, n_tokens,
                                                                                                   sizeof *positions);
    int32_t *const rows = op_model_take(m, n_tokens, sizeof *rows);
    uint32_t *const sequences = op_model_take(m, n_tokens, sizeof *sequences);
    qn_placement *const placements = op_model_take(m, 2, sizeof *placements);
    for (uint32_t t = 0; t < n_tokens; t++) {
        uint32_t position;
        choose_token(tokens, t, &sequences[t], &position);
        positions[t] = (int32_t)position;
        ids[t] = self->ids[(size_t)sequences[t] * self->n_positions + position];
        rows[t] = (int32_t)t;
    }
    op_step_init(step, n_tokens, tokens->is_quiet ? 0 : n_tokens);
    for (uint32_t g = 0; g < stack_groups(self->s); g++) {
        placements[g] = cell_map_place(&self->maps[g], n_tokens, positions, sequences, tokens->is_shuffled);
    }
    step->n_sequences = self->n_sequences;
    step->positions = positions;
    step->sequences = self->n_sequences == 1 ? NULL : sequences;
    step->placements = placements;
    step->inputs[self->s->ids] = ids;
    step->inputs[self->s->rows] = rows;
    return step;
}
