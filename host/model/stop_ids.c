/* stop_ids.c — which tokens end an answer. */
#include "model/model.h"
#include "text/stop_set.h"

uint32_t model_stop_ids(const model *m, uint32_t *out_ids, uint32_t room) {
    stop_set set = {0};
    stop_set_from_vocabulary(m->tok, &set);
    for (uint32_t i = 0; m->format == MODEL_P64 && i < m->p64.tokenizer.n_stops; i++) {
        stop_set_add(&set, m->p64.tokenizer.stops[i]);
    }
    const uint32_t count = set.count < room ? set.count : room;
    for (uint32_t i = 0; i < count; i++) {
        out_ids[i] = set.ids[i];
    }
    return count;
}
