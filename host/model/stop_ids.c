/* stop_ids.c — which tokens end an answer. */
#include "model/model.h"
#include "text/stop_set.h"

/* A stored set was made by looking at spellings. With a companion the kinds of the tokens are known: what is no control
 * token would not end a text of the source either. */
static void add_stored(const model *m, stop_set *set, const uint32_t *ids, uint32_t count) {
    const bool knows_kinds = m->companion.state == COMPANION_BOUND;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_control = ids[i] < tokenizer_size(m->tok) && tokenizer_kind(m->tok, ids[i]) == TOKEN_KIND_CONTROL;
        if (is_control || !knows_kinds) {
            stop_set_add(set, ids[i]);
        }
    }
}

uint32_t model_stop_ids(const model *m, uint32_t *out_ids, uint32_t room) {
    stop_set set = {0};
    stop_set_from_vocabulary(m->tok, &set);
    if (m->format == MODEL_P64) {
        add_stored(m, &set, m->p64.tokenizer.stops, m->p64.tokenizer.n_stops);
        add_stored(m, &set, m->companion.stops, m->companion.n_stops);
    }
    const uint32_t count = set.count < room ? set.count : room;
    for (uint32_t i = 0; i < count; i++) {
        out_ids[i] = set.ids[i];
    }
    return count;
}
