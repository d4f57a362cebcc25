/* stop_ids.c — which tokens end an answer. */
#include <stddef.h>

#include "model/model.h"

static void add_id(uint32_t id, uint32_t *ids, uint32_t *count, uint32_t room) {
    for (uint32_t i = 0; i < *count; i++) {
        if (ids[i] == id) {
            return;
        }
    }
    if (id != TOKEN_NONE && *count < room) {
        ids[(*count)++] = id;
    }
}

static fmt_str get_spelling(void *ctx, uint32_t id) {
    const tokenizer_facts *facts = ctx;
    return facts->tokens[id];
}

uint32_t model_stop_ids(const model *m, uint32_t *out_ids, uint32_t room) {
    const tokenizer_facts *facts = tokenizer_get_facts(m->tok);
    uint32_t derived[P64_MAX_STOPS], count = 0;
    const uint32_t n_derived = p64_derive_stops(get_spelling, (void *)(uintptr_t)facts, facts->n_tokens, facts->eos, derived);
    const uint32_t told[] = {facts->eos, facts->eot, facts->eom};
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        add_id(told[i], out_ids, &count, room);
    }
    if (m->format == MODEL_P64) {
        for (uint32_t i = 0; i < m->p64.tokenizer.n_stops; i++) {
            add_id(m->p64.tokenizer.stops[i], out_ids, &count, room);
        }
    }
    for (uint32_t i = 0; i < n_derived; i++) {
        add_id(derived[i], out_ids, &count, room);
    }
    return count;
}
