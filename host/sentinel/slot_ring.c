/* slot_ring.c — push and pop. */
#include "sentinel/slot_ring.h"

#include <string.h>

void ring_slot_write(ring_slot *slot, const void *from) {
    uint64_t words[SLOT_WORDS];
    memcpy(words, from, sizeof words);
    for (uint32_t i = 0; i < SLOT_WORDS; i++) {
        atomic_store_explicit(&slot->words[i], words[i], memory_order_relaxed);
    }
}

void ring_slot_read(ring_slot *slot, void *to) {
    uint64_t words[SLOT_WORDS];
    for (uint32_t i = 0; i < SLOT_WORDS; i++) {
        words[i] = atomic_load_explicit(&slot->words[i], memory_order_relaxed);
    }
    memcpy(to, words, sizeof words);
}

bool slot_ring_push(ring_end *writer, const void *from) {
    const uint64_t tail = atomic_load_explicit(writer->theirs, memory_order_acquire);
    if (writer->count - tail >= writer->capacity) { /* full, or a tail that is ahead of us */
        return false;
    }
    ring_slot_write(&writer->slots[writer->count % writer->capacity], from);
    atomic_store_explicit(writer->own, ++writer->count, memory_order_release);
    return true;
}

bool slot_ring_pop(ring_end *reader, void *to) {
    const uint64_t waiting = atomic_load_explicit(reader->theirs, memory_order_acquire) - reader->count;
    if (waiting == 0 || waiting > reader->capacity) {
        return false;
    }
    ring_slot_read(&reader->slots[reader->count % reader->capacity], to);
    atomic_store_explicit(reader->own, ++reader->count, memory_order_release);
    return true;
}
