/* slot_ring.h — a ring of 32-byte slots with one writer and one reader, who may live in different processes and need not trust each other.
 *
 * Both ends keep their own count and the capacity to themselves. What the other end wrote is looked at once per call, as a whole word; a
 * count that cannot be makes the ring full for a writer and empty for a reader. No end ever waits for the other.
 *
 * Threading: one thread at each end; both at once. [no-lock] [no-alloc]
 * Memory:    slots and counters are borrowed.
 */
#ifndef HOST_SENTINEL_SLOT_RING_H
#define HOST_SENTINEL_SLOT_RING_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SLOT_WORDS 4u
#define SLOT_BYTES 32u

/* Words are atomic one by one: a peer that breaks the rules garbles a slot, and is not undefined behaviour. */
typedef struct ring_slot {
    _Atomic uint64_t words[SLOT_WORDS];
} ring_slot;

void ring_slot_write(ring_slot *slot, const void *from); /* [SLOT_BYTES] */
void ring_slot_read(ring_slot *slot, void *to);

typedef struct ring_end {
    ring_slot *slots;
    uint32_t capacity;          /* at least 1 */
    uint64_t count;             /* of this end: the truth */
    _Atomic uint64_t *own;      /* where it is told */
    _Atomic uint64_t *theirs;
} ring_end;

/* True when there was room. */
bool slot_ring_push(ring_end *writer, const void *from);
/* True when there was one. */
bool slot_ring_pop(ring_end *reader, void *to);

#endif
