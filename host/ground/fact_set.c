/* fact_set.c — facts by number and by id. */
#include "ground/fact_set.h"

#include <stdlib.h>

fact_set fact_set_empty(void) {
    return (fact_set){.facts = NULL};
}

void fact_set_free(fact_set *set) {
    free(set->facts);
    free(set->by_id);
    *set = fact_set_empty();
}

qn_status fact_set_add(fact_set *set, const ground_fact *fact, error_context *err) {
    if (set->n == FACT_SET_MAX) {
        return FAIL(err, QN_LIMIT, "more than %u facts: that is the most that a prompt may hold", FACT_SET_MAX);
    }
    if (set->n == set->room) {
        const uint32_t room = set->room > 0 ? set->room * 2 : 32;
        ground_fact *grown = realloc(set->facts, room * sizeof *grown);
        if (grown == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
        set->facts = grown;
        set->room = room;
    }
    ground_fact added = *fact;
    QN_TRY(fact_make_id(&fact->quin, &added.id, err), err, "adding a fact");
    set->facts[set->n++] = added;
    set->is_sealed = false;
    return QN_OK;
}

/* A stable sort by id of few indices: the lower index first among equals. */
static void sort_index(const fact_set *set, uint32_t *index, uint32_t n) {
    for (uint32_t gap = n / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < n; i++) {
            const uint32_t moved = index[i];
            const uint64_t id = set->facts[moved].id;
            uint32_t at = i;
            for (; at >= gap; at -= gap) {
                const uint32_t other = index[at - gap];
                if (set->facts[other].id < id || (set->facts[other].id == id && other < moved)) {
                    break;
                }
                index[at] = other;
            }
            index[at] = moved;
        }
    }
}

static void fill_index(fact_set *set) {
    for (uint32_t i = 0; i < set->n; i++) {
        set->by_id[i] = i;
    }
    sort_index(set, set->by_id, set->n);
}

/* Marks all but the first of those with one id by a source of UINT32_MAX; returns how many. */
static uint32_t mark_repeated(fact_set *set) {
    uint32_t n = 0, first = 0;
    for (uint32_t i = 1; i < set->n; i++) {
        ground_fact *kept = &set->facts[set->by_id[first]], *fact = &set->facts[set->by_id[i]];
        if (kept->id != fact->id) {
            first = i;
            continue;
        }
        kept->tier = fact->tier > kept->tier ? fact->tier : kept->tier;
        fact->source = UINT32_MAX;
        n++;
    }
    return n;
}

qn_status fact_set_seal(fact_set *set, error_context *err) {
    free(set->by_id);
    set->by_id = calloc(set->n > 0 ? set->n : 1, sizeof *set->by_id);
    if (set->by_id == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    fill_index(set);
    if (mark_repeated(set) > 0) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < set->n; i++) {
            if (set->facts[i].source != UINT32_MAX) {
                set->facts[n++] = set->facts[i];
            }
        }
        set->n = n;
        fill_index(set);
    }
    set->is_sealed = true;
    return QN_OK;
}

const ground_fact *fact_set_find(const fact_set *set, uint64_t id) {
    uint32_t low = 0, high = set->is_sealed ? set->n : 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (set->facts[set->by_id[middle]].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return set->is_sealed && low < set->n && set->facts[set->by_id[low]].id == id ? &set->facts[set->by_id[low]] : NULL;
}

uint32_t fact_set_tier(const fact_set *set) {
    uint32_t tier = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        tier = set->facts[i].tier > tier ? set->facts[i].tier : tier;
    }
    return tier;
}
