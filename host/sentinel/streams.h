/* streams.h — LogitStream and ControlStream: the two rings of <quoin/observer.h> in one block of memory, and their two ends.
 *
 *     run ── record ──► LogitStream (1024) ──► observer
 *         ◄── message ── ControlStream (16) ◄──
 *
 * The block may lie in this process, for a thread that watches, or in shared memory (shared_streams.h).
 *
 * Threading: the run's end is one thread's, the observer's end another's; both at once. Neither ever waits. [no-lock] [no-alloc]
 * Memory:    the block is borrowed, aligned to 64, and outlives both ends.
 */
#ifndef HOST_SENTINEL_STREAMS_H
#define HOST_SENTINEL_STREAMS_H
#include <stddef.h>

#include <quoin/observer.h>

#include "base/error.h"
#include "sentinel/slot_ring.h"

/* The run's end. */
typedef struct run_streams {
    struct streams_block *block;
    ring_end records, messages;
    uint64_t n_dropped, n_posted; /* of this run; the block has copies */
    bool is_ended;
} run_streams;

/* Bytes of a block; capacities from 1 to 65536. */
size_t streams_size(uint32_t record_capacity, uint32_t message_capacity);

/* Makes a zeroed block into two empty rings. */
void run_streams_begin(run_streams *s, void *block, uint32_t record_capacity, uint32_t message_capacity);
/* Posts one record; a full ring counts it as dropped. */
void run_streams_post(run_streams *s, const quoin_logit_record *record);
/* Posts the END record, which is never dropped; later ones are passed over. */
void run_streams_end(run_streams *s, uint32_t step, uint32_t reason);
/* The next message, if there is one. `reason` is printable and terminated, whatever was sent. */
bool run_streams_hear(run_streams *s, quoin_control_message *out);

/* The observer's end. */
typedef struct observer_streams {
    struct streams_block *block;
    ring_end records, messages;
    bool is_over; /* END was taken */
} observer_streams;

/* Takes up where the last observer stopped. QN_BAD_FILE, saying what, when the `bytes` of the block are not two rings as the header
 * should describe them; QN_UNSUPPORTED for another version. */
qn_status observer_streams_attach(observer_streams *s, void *block, size_t bytes, error_context *err);
/* The next record; END is the last. False: nothing now. */
bool observer_streams_take(observer_streams *s, quoin_logit_record *out);
/* Asks for an end. False when the ring is full. */
bool observer_streams_abort(observer_streams *s, uint32_t step, const char *reason);
uint64_t observer_streams_dropped(const observer_streams *s);
uint64_t observer_streams_pid(const observer_streams *s);

#endif
