/* observer.h — the memory through which a process beside quoin sees each choice of a token, and may end the run.
 *
 * `quoin run --observe PATH` makes a block of shared memory that is sealed against being cut or grown, of mode 0600, and a symbolic link
 * PATH that leads to it (/proc/PID/fd/N): both are gone with the run. An observer opens PATH for reading and writing, maps the whole file
 * shared, and checks the header. It may do two things: take records, and ask for an end.
 *
 *     byte 0     quoin_observer_header            written once, before the link appears
 *     byte 128   quoin_observer_host              written by the run only
 *     byte 192   quoin_observer_peer              written by the observer only
 *     byte 256   quoin_logit_record               the END record, valid once host.is_ended is not 0
 *     byte 320   records [record_capacity]        quoin_logit_record, ring
 *                messages [message_capacity]      quoin_control_message, ring, at messages_at
 *
 * Both rings have one writer and one reader. Heads and tails count up from 0 and are never taken modulo: slot = count % capacity. A
 * writer fills the slot and then stores head + 1 with release order; a reader loads head with acquire order, copies the slot and then
 * stores tail + 1 with release order. head - tail is how many are waiting. All counters are accessed as atomic words of 64 bits.
 *
 * The run never waits: a record that finds the ring full is counted in host.dropped and gone. The END record has a place of its own and
 * is never dropped: when is_ended was read as not 0, and then the ring was found empty, the END record is what comes last.
 *
 * Two observers at once would take each other's records: an observer holds flock(fd, LOCK_EX) while it reads.
 *
 * The run believes nothing in this memory. It keeps its own counters and capacities; a tail or head of the peer that cannot be is taken
 * for a full or an empty ring. So an observer gone mad can lose records and end the run, and nothing else.
 *
 * Units: logits as the model gives them, entropy in nats. Numbers are little-endian.
 */
#ifndef QUOIN_OBSERVER_H
#define QUOIN_OBSERVER_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUOIN_OBSERVER_MAGIC "QNOBSERV"
#define QUOIN_OBSERVER_VERSION 1u
#define QUOIN_OBSERVER_RECORDS 1024u
#define QUOIN_OBSERVER_MESSAGES 16u

enum {
    QUOIN_OBSERVER_HOST_AT = 128,
    QUOIN_OBSERVER_PEER_AT = 192,
    QUOIN_OBSERVER_END_AT = 256,
    QUOIN_OBSERVER_RECORDS_AT = 320
};

/* Flags of a record. Rules that fired have a bit each, whatever their action is. */
enum {
    QUOIN_RECORD_END = 1u << 0,      /* no choice: `token` is the reason that ended the run, a stop reason's number */
    QUOIN_RECORD_RESAMPLE = 1u << 1, /* the choice was sent back */
    QUOIN_RECORD_ABORT = 1u << 2,    /* the choice ended the run */
    QUOIN_RECORD_OBSERVER = 1u << 3, /* because an observer asked for it */
    QUOIN_RECORD_DENY = 1u << 4,
    QUOIN_RECORD_NON_FINITE = 1u << 5,
    QUOIN_RECORD_MARGIN = 1u << 6,
    QUOIN_RECORD_ENTROPY = 1u << 7,
    QUOIN_RECORD_REPETITION = 1u << 8,
    QUOIN_RECORD_PHRASE = 1u << 9,
    QUOIN_RECORD_COMPAT_99 = 1u << 10
};

/* One choice: 32 bytes. */
typedef struct quoin_logit_record {
    uint32_t step;       /* tokens taken before it; of END: how many were taken */
    uint32_t token;      /* the choice */
    float logit;         /* its own */
    float runner_up;     /* the greatest of all others */
    float entropy;       /* of the row, in nats */
    uint16_t flags;      /* QUOIN_RECORD_* */
    uint16_t reserved[5]; /* 0 */
} quoin_logit_record;

enum { QUOIN_CONTROL_NOTHING = 0, QUOIN_CONTROL_ABORT = 1 };

/* What an observer may ask for: 32 bytes. Unknown kinds are passed over. */
typedef struct quoin_control_message {
    uint32_t kind;       /* QUOIN_CONTROL_* */
    uint32_t step;       /* of the record that made it ask; told, not used */
    uint32_t pid;        /* who asks, as it says itself */
    char reason[20];     /* printable ASCII, ends with a zero byte */
} quoin_control_message;

typedef struct quoin_observer_header {
    char magic[8];          /* QUOIN_OBSERVER_MAGIC, not terminated */
    uint32_t version;       /* QUOIN_OBSERVER_VERSION */
    uint32_t header_bytes;  /* QUOIN_OBSERVER_RECORDS_AT: everything in front of the records */
    uint64_t total_bytes;   /* of the file */
    uint64_t pid;           /* of the run */
    uint32_t record_bytes, record_capacity;
    uint64_t records_at;
    uint32_t message_bytes, message_capacity;
    uint64_t messages_at;
    uint64_t reserved[8];   /* 0 */
} quoin_observer_header;

typedef struct quoin_observer_host {
    uint64_t record_head;   /* records that were put into the ring */
    uint64_t message_tail;  /* messages that were read */
    uint64_t dropped;       /* records that found it full */
    uint64_t sequence;      /* records in all: goes on even when nobody reads */
    uint64_t is_ended;      /* not 0: the END record is valid */
    uint64_t reserved[3];
} quoin_observer_host;

typedef struct quoin_observer_peer {
    uint64_t record_tail;   /* records that were taken */
    uint64_t message_head;  /* messages that were put into the ring */
    uint64_t reserved[6];
} quoin_observer_peer;

#ifdef __cplusplus
}
#endif
#endif
