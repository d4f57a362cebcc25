/* residency.h — one place for one model: which model is there, how far it is, who uses it, and how it goes away.
 *
 *     DISCOVERED ──load──► MAPPED ──validated──► STREAMING ──ready──► ACTIVE ──evict──► SCRUBBING ──scrubbed──► DISCOVERED
 *          ▲                 └──────error──────► FAILED ◄──error──┘    │ ▲
 *          └────────────────────────reset──────────┘                 begin, end: sessions are counted
 *
 * Every other pair of state and event is refused with BAD_STATE and told in the log; residency_next is the table. The object keeps the
 * account: it maps, allocates and frees nothing. Whoever does says so here first, and hears whether it may.
 *
 * A model is what its file is (device, inode, size, time of change; the digest when both know it), never what it is called.
 *
 * Evict waits until no session is left, for a bounded time, and may ask them to end; as long as it is pending no session begins. The
 * scrub itself is the caller's function, called between SCRUBBING and DISCOVERED, outside the lock.
 *
 * Threading: thread-safe; one mutex guards state, identity, bytes and count. Listeners are called under it: they must not call back.
 * Memory:    owned by the residency until destroy; the error text is kept inside.
 */
#ifndef HOST_RESIDENCY_H
#define HOST_RESIDENCY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/scrub.h"
#include "residency/model_identity.h"

typedef uint32_t residency_state;
enum {
    RESIDENCY_DISCOVERED = 0, /* nothing is there */
    RESIDENCY_MAPPED = 1,     /* the file is mapped and checked */
    RESIDENCY_STREAMING = 2,  /* memory is taken, weights are prepared */
    RESIDENCY_ACTIVE = 3,
    RESIDENCY_SCRUBBING = 4,
    RESIDENCY_FAILED = 5,
    RESIDENCY_STATES = 6
};
const char *residency_state_name(residency_state state); /* "discovered", ... Static. */

typedef uint32_t residency_event;
enum {
    RESIDENCY_LOAD = 0, RESIDENCY_VALIDATED, RESIDENCY_READY, RESIDENCY_ERROR, RESIDENCY_RESET, RESIDENCY_BEGIN, RESIDENCY_END,
    RESIDENCY_EVICT, RESIDENCY_SCRUBBED, RESIDENCY_EVENTS
};
const char *residency_event_name(residency_event event); /* "load", ... Static. */

#define RESIDENCY_NO_STATE UINT32_MAX
/* Where an event leads, or RESIDENCY_NO_STATE where it is not allowed. The table itself: counts and identity are not asked. */
residency_state residency_next(residency_state from, residency_event event);

/* What happened, as listeners hear it. */
typedef struct residency_change {
    uint64_t time_ns;        /* of the clock */
    residency_state from, to;
    residency_event event;
    uint64_t bytes;          /* resident afterwards */
    uint32_t n_sessions;     /* afterwards */
    const char *error;       /* of RESIDENCY_ERROR; borrowed for the call; otherwise null */
    const scrub_report *scrubbed; /* of RESIDENCY_SCRUBBED; otherwise null */
} residency_change;

typedef struct residency_options {
    uint64_t (*clock_ns)(void *ctx);   /* null: the system's monotonic clock */
    void (*on_change)(void *ctx, const residency_change *change); /* may be null */
    void *ctx;
} residency_options;

typedef struct residency residency;

qn_status residency_create(const residency_options *options, residency **out, error_context *err);
/* Nothing may be in use; whatever is resident is only forgotten. Null is legal. */
void residency_destroy(residency *r);

/* How a model leaves. */
typedef struct residency_eviction {
    uint64_t wait_ms;                  /* for sessions to end; 0: none may be there */
    void (*cancel)(void *ctx);         /* called once when sessions are there, asks them to end; null: they are only waited for */
    void (*scrub)(void *ctx, scrub_report *report); /* overwrites and gives back what the model holds; null: nothing to do */
    void *ctx;
} residency_eviction;

/* DISCOVERED to MAPPED: this model, of so many bytes, is there. When another one is: QN_BUSY, or, with `replace`, that one is evicted
 * first, and its errors are this call's. */
qn_status residency_load(residency *r, const model_identity *identity, uint64_t bytes, const residency_eviction *replace,
                         error_context *err);
/* MAPPED to STREAMING; STREAMING to ACTIVE with all bytes that it takes now; either of both to FAILED; FAILED to DISCOVERED. */
qn_status residency_validated(residency *r, error_context *err);
qn_status residency_ready(residency *r, uint64_t bytes, error_context *err);
qn_status residency_fail(residency *r, const char *why, error_context *err);
qn_status residency_reset(residency *r, error_context *err);

/* A session of this model begins. QN_BUSY while another model is resident or an eviction is pending; QN_BAD_STATE before ACTIVE. */
qn_status residency_begin(residency *r, const model_identity *identity, error_context *err);
/* One ends. QN_BAD_STATE when none is there. */
qn_status residency_end(residency *r, error_context *err);

/* QN_BUSY when another model than `identity` (null: whichever) is resident. QN_TIMEOUT when sessions are still there after the wait: the
 * eviction stays pending, no session begins, and the next call goes on with it. *report (may be null) is added to. */
qn_status residency_evict(residency *r, const model_identity *identity, const residency_eviction *how, scrub_report *report,
                          error_context *err);

/* What is there now. */
typedef struct residency_view {
    residency_state state;
    bool is_evicting;          /* an eviction waits for sessions */
    uint32_t n_sessions;
    uint64_t bytes;
    model_identity identity;   /* zeroed in DISCOVERED */
    char error[256];           /* of FAILED; otherwise "" */
} residency_view;
residency_view residency_look(residency *r);

#endif
