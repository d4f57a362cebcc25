/* key_set.c — open addressing, at most half full. */
#include "graph/key_set.h"

#include <stdlib.h>
#include <string.h>

#include "graph/secret.h"

#define LEAST_SLOTS 1024u

/* Where the key stands, or the free slot where it would. */
static uint64_t find_slot(const uint64_t *slots, uint64_t n_slots, uint64_t multiplier, uint64_t key) {
    uint64_t at = secret_slot(key, multiplier, n_slots);
    while (slots[at] != 0 && slots[at] != key) {
        at = (at + 1) & (n_slots - 1);
    }
    return at;
}

bool key_set_has(const key_set *set, uint64_t key) {
    if (key == 0) {
        return set->has_zero;
    }
    return set->n_slots > 0 && set->slots[find_slot(set->slots, set->n_slots, set->multiplier, key)] == key;
}

static bool grow(key_set *set) {
    const uint64_t n_slots = set->n_slots == 0 ? LEAST_SLOTS : set->n_slots * 2;
    uint64_t *slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    set->multiplier = set->multiplier != 0 ? set->multiplier : secret_multiplier();
    for (uint64_t i = 0; i < set->n_slots; i++) {
        if (set->slots[i] != 0) {
            slots[find_slot(slots, n_slots, set->multiplier, set->slots[i])] = set->slots[i];
        }
    }
    free(set->slots);
    set->slots = slots;
    set->n_slots = n_slots;
    return true;
}

bool key_set_add(key_set *set, uint64_t key) {
    if (key == 0) {
        set->has_zero = true;
        return true;
    }
    if (set->n_keys * 2 >= set->n_slots && !grow(set)) {
        return false;
    }
    uint64_t *slot = &set->slots[find_slot(set->slots, set->n_slots, set->multiplier, key)];
    set->n_keys += *slot == 0;
    *slot = key;
    return true;
}

void key_set_free(key_set *set) {
    free(set->slots);
    memset(set, 0, sizeof *set);
}
