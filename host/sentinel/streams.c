/* streams.c — the block, and what each end does with it. */
#include "sentinel/streams.h"

#include <string.h>
#include <unistd.h>

typedef struct streams_block {
    quoin_observer_header header;
    _Atomic uint64_t record_head, message_tail, dropped, sequence, is_ended, host_reserved[3];
    _Atomic uint64_t record_tail, message_head, peer_reserved[6];
    ring_slot end;
    uint64_t end_reserved[4];
    ring_slot slots[]; /* records, then messages */
} streams_block;

_Static_assert(sizeof(quoin_logit_record) == SLOT_BYTES && sizeof(quoin_control_message) == SLOT_BYTES, "a record fills a slot");
_Static_assert(sizeof(quoin_observer_header) == QUOIN_OBSERVER_HOST_AT, "the header is 128 bytes");
_Static_assert(offsetof(streams_block, record_head) == QUOIN_OBSERVER_HOST_AT, "where the host writes");
_Static_assert(offsetof(streams_block, sequence) == QUOIN_OBSERVER_HOST_AT + offsetof(quoin_observer_host, sequence), "as told");
_Static_assert(offsetof(streams_block, record_tail) == QUOIN_OBSERVER_PEER_AT, "where the observer writes");
_Static_assert(offsetof(streams_block, end) == QUOIN_OBSERVER_END_AT, "where END stands");
_Static_assert(offsetof(streams_block, slots) == QUOIN_OBSERVER_RECORDS_AT, "where records begin");
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t), "an atomic word is a word");

size_t streams_size(uint32_t record_capacity, uint32_t message_capacity) {
    return sizeof(streams_block) + ((size_t)record_capacity + message_capacity) * sizeof(ring_slot);
}

/* ---------------------------------------------------------------- the run */

void run_streams_begin(run_streams *s, void *memory, uint32_t record_capacity, uint32_t message_capacity) {
    streams_block *b = memory;
    const uint64_t messages_at = QUOIN_OBSERVER_RECORDS_AT + (uint64_t)record_capacity * SLOT_BYTES;
    b->header = (quoin_observer_header){.version = QUOIN_OBSERVER_VERSION, .header_bytes = QUOIN_OBSERVER_RECORDS_AT,
                                        .total_bytes = streams_size(record_capacity, message_capacity), .pid = (uint64_t)getpid(),
                                        .record_bytes = SLOT_BYTES, .record_capacity = record_capacity,
                                        .records_at = QUOIN_OBSERVER_RECORDS_AT, .message_bytes = SLOT_BYTES,
                                        .message_capacity = message_capacity, .messages_at = messages_at};
    memcpy(b->header.magic, QUOIN_OBSERVER_MAGIC, sizeof b->header.magic);
    *s = (run_streams){.block = b,
                       .records = {b->slots, record_capacity, 0, &b->record_head, &b->record_tail},
                       .messages = {b->slots + record_capacity, message_capacity, 0, &b->message_tail, &b->message_head}};
}

void run_streams_post(run_streams *s, const quoin_logit_record *record) {
    if (!slot_ring_push(&s->records, record)) {
        atomic_store_explicit(&s->block->dropped, ++s->n_dropped, memory_order_relaxed);
    }
    atomic_store_explicit(&s->block->sequence, ++s->n_posted, memory_order_relaxed);
}

void run_streams_end(run_streams *s, uint32_t step, uint32_t reason) {
    const quoin_logit_record end = {.step = step, .token = reason, .flags = QUOIN_RECORD_END};
    if (!s->is_ended) {
        s->is_ended = true;
        ring_slot_write(&s->block->end, &end);
        atomic_store_explicit(&s->block->sequence, ++s->n_posted, memory_order_relaxed);
        atomic_store_explicit(&s->block->is_ended, 1, memory_order_release);
    }
}

bool run_streams_hear(run_streams *s, quoin_control_message *out) {
    if (!slot_ring_pop(&s->messages, out)) {
        return false;
    }
    out->reason[sizeof out->reason - 1] = '\0';
    for (char *at = out->reason; *at != '\0'; at++) {
        *at = *at >= ' ' && *at <= '~' ? *at : '?';
    }
    return true;
}

/* ---------------------------------------------------------------- the observer */

static bool is_described(const quoin_observer_header *h, size_t bytes) {
    return h->header_bytes == QUOIN_OBSERVER_RECORDS_AT && h->records_at == QUOIN_OBSERVER_RECORDS_AT && h->record_bytes == SLOT_BYTES
           && h->message_bytes == SLOT_BYTES && h->record_capacity >= 1 && h->record_capacity <= 65536 && h->message_capacity >= 1
           && h->message_capacity <= 65536 && h->total_bytes == bytes && bytes == streams_size(h->record_capacity, h->message_capacity)
           && h->messages_at == QUOIN_OBSERVER_RECORDS_AT + (uint64_t)h->record_capacity * SLOT_BYTES;
}

qn_status observer_streams_attach(observer_streams *s, void *memory, size_t bytes, error_context *err) {
    streams_block *b = memory;
    if (bytes < sizeof *b || memcmp(b->header.magic, QUOIN_OBSERVER_MAGIC, sizeof b->header.magic) != 0) {
        return FAIL(err, QN_BAD_FILE, "is not what quoin run --observe makes: it does not begin with " QUOIN_OBSERVER_MAGIC);
    }
    const quoin_observer_header header = b->header;
    if (header.version != QUOIN_OBSERVER_VERSION) {
        return FAIL(err, QN_UNSUPPORTED, "has layout version %u; this program knows version %u", header.version, QUOIN_OBSERVER_VERSION);
    }
    if (!is_described(&header, bytes)) {
        return FAIL(err, QN_BAD_FILE, "its header describes %u records and %u messages in %llu bytes; it has %zu", header.record_capacity,
                    header.message_capacity, (unsigned long long)header.total_bytes, bytes);
    }
    *s = (observer_streams){.block = b,
                            .records = {b->slots, header.record_capacity, atomic_load(&b->record_tail), &b->record_tail, &b->record_head},
                            .messages = {b->slots + header.record_capacity, header.message_capacity, atomic_load(&b->message_head),
                                         &b->message_head, &b->message_tail}};
    return QN_OK;
}

bool observer_streams_take(observer_streams *s, quoin_logit_record *out) {
    /* Asked before the ring: what is found empty afterwards stays empty. */
    const bool is_ended = atomic_load_explicit(&s->block->is_ended, memory_order_acquire) != 0;
    if (slot_ring_pop(&s->records, out)) {
        return true;
    }
    if (!is_ended || s->is_over) {
        return false;
    }
    ring_slot_read(&s->block->end, out);
    s->is_over = true;
    return true;
}

bool observer_streams_abort(observer_streams *s, uint32_t step, const char *reason) {
    quoin_control_message message = {.kind = QUOIN_CONTROL_ABORT, .step = step, .pid = (uint32_t)getpid()};
    for (size_t i = 0; i + 1 < sizeof message.reason && reason[i] != '\0'; i++) {
        message.reason[i] = reason[i];
    }
    return slot_ring_push(&s->messages, &message);
}

uint64_t observer_streams_dropped(const observer_streams *s) {
    return atomic_load_explicit(&s->block->dropped, memory_order_relaxed);
}

uint64_t observer_streams_pid(const observer_streams *s) {
    return s->block->header.pid;
}
