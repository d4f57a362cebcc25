/* id_counter.c — open addressing over slices of mixed ids. */
#include "graph/id_counter.h"

#include <stdlib.h>
#include <string.h>

#include "graph/secret.h"

/* One to one, so that slices of mixed ids are about equally full whatever the ids look like. 0 stays 0: it has a slot of its own. */
static uint64_t mix(uint64_t id) {
    id ^= id >> 32;
    id *= UINT64_C(0xD6E8FEB86659FD93);
    id ^= id >> 32;
    id *= UINT64_C(0xD6E8FEB86659FD93);
    return id ^ id >> 32;
}

qn_status id_counter_init(id_counter *counter, uint64_t memory, error_context *err) {
    *counter = (id_counter){.n_slots = 1024, .most = UINT64_MAX, .multiplier = secret_multiplier()};
    while (counter->n_slots * 4 * sizeof *counter->slots <= memory) {
        counter->n_slots *= 2;
    }
    counter->slots = calloc((size_t)counter->n_slots + 1, sizeof *counter->slots); /* the last one is for 0 */
    counter->kept = malloc((size_t)counter->n_slots * sizeof *counter->kept);
    return counter->slots != NULL && counter->kept != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

void id_counter_deinit(id_counter *counter) {
    free(counter->slots);
    free(counter->kept);
    *counter = (id_counter){.slots = NULL};
}

/* The slot that holds `mixed`, or the empty one where it belongs. */
static uint64_t *find_slot(id_counter *counter, uint64_t mixed) {
    uint64_t at = secret_slot(mixed, counter->multiplier, counter->n_slots);
    while (counter->slots[at] != 0 && counter->slots[at] != mixed) {
        at = (at + 1) & (counter->n_slots - 1);
    }
    return &counter->slots[at];
}

/* Keeps the lower half of the slice: what stays is taken out of the table and put in again. */
static void halve(id_counter *counter) {
    const uint64_t middle = counter->least + (counter->most - counter->least) / 2;
    uint64_t n_kept = 0;
    for (uint64_t i = 0; i < counter->n_slots; i++) {
        if (counter->slots[i] != 0 && counter->slots[i] <= middle) {
            counter->kept[n_kept++] = counter->slots[i];
        }
    }
    memset(counter->slots, 0, (size_t)counter->n_slots * sizeof *counter->slots);
    counter->most = middle;
    counter->n_used = n_kept + (counter->slots[counter->n_slots] != 0);
    for (uint64_t i = 0; i < n_kept; i++) {
        *find_slot(counter, counter->kept[i]) = counter->kept[i];
    }
}

void id_counter_add(id_counter *counter, uint64_t id) {
    const uint64_t mixed = mix(id);
    if (mixed < counter->least || mixed > counter->most) {
        return;
    }
    uint64_t *slot = mixed != 0 ? find_slot(counter, mixed) : &counter->slots[counter->n_slots];
    if (*slot != 0) {
        return;
    }
    *slot = mixed != 0 ? mixed : 1;
    counter->n_used++;
    while (counter->n_used > counter->n_slots / 4 * 3) {
        halve(counter);
    }
}

bool id_counter_next_pass(id_counter *counter) {
    counter->n_counted += counter->n_used;
    counter->n_used = 0;
    if (counter->most == UINT64_MAX) {
        return false;
    }
    memset(counter->slots, 0, ((size_t)counter->n_slots + 1) * sizeof *counter->slots);
    counter->least = counter->most + 1;
    counter->most = UINT64_MAX;
    return true;
}

uint64_t id_counter_total(const id_counter *counter) {
    return counter->n_counted;
}
