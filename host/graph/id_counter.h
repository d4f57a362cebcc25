/* id_counter.h — how many different ids there are, exactly, in a fixed amount of memory.
 *
 * Ids are counted a slice of their range at a time. When a slice has more ids than there is room, its upper half is put off to a later
 * pass, over the same ids again.
 *
 *     id_counter_init(&counter, 64 << 20, err);
 *     do { for (each id) { id_counter_add(&counter, id); } } while (id_counter_next_pass(&counter));
 *
 * Threading: one thread at a time. Memory: fixed at init, and of it only what is used.
 */
#ifndef HOST_GRAPH_ID_COUNTER_H
#define HOST_GRAPH_ID_COUNTER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct id_counter {
    uint64_t *slots;       /* [n_slots + 1]: mixed ids, 0: empty; the last one is for the id that mixes to 0 */
    uint64_t *kept;        /* [n_slots]: what stays when a slice is halved */
    uint64_t n_slots, n_used;
    uint64_t multiplier;   /* see secret.h */
    uint64_t least, most;  /* the slice of this pass, of mixed ids */
    uint64_t n_counted;    /* in the passes before */
} id_counter;

qn_status id_counter_init(id_counter *counter, uint64_t memory, error_context *err);
void id_counter_deinit(id_counter *counter);

void id_counter_add(id_counter *counter, uint64_t id);
/* Ends a pass; true when another one is needed. */
bool id_counter_next_pass(id_counter *counter);
uint64_t id_counter_total(const id_counter *counter); /* after the last pass */

#endif
