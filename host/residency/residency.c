/* residency.c — the table, and the account that goes with it. */
#include "residency/residency.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

#define NO RESIDENCY_NO_STATE

/* [from][event]: load, validated, ready, error, reset, begin, end, evict, scrubbed */
static const residency_state table[RESIDENCY_STATES][RESIDENCY_EVENTS] = {
    [RESIDENCY_DISCOVERED] = {RESIDENCY_MAPPED, NO, NO, NO, NO, NO, NO, NO, NO},
    [RESIDENCY_MAPPED] = {NO, RESIDENCY_STREAMING, NO, RESIDENCY_FAILED, NO, NO, NO, NO, NO},
    [RESIDENCY_STREAMING] = {NO, NO, RESIDENCY_ACTIVE, RESIDENCY_FAILED, NO, NO, NO, NO, NO},
    [RESIDENCY_ACTIVE] = {NO, NO, NO, NO, NO, RESIDENCY_ACTIVE, RESIDENCY_ACTIVE, RESIDENCY_SCRUBBING, NO},
    [RESIDENCY_SCRUBBING] = {NO, NO, NO, NO, NO, NO, NO, NO, RESIDENCY_DISCOVERED},
    [RESIDENCY_FAILED] = {NO, NO, NO, NO, RESIDENCY_DISCOVERED, NO, NO, NO, NO}};

struct residency {
    residency_options options;
    pthread_mutex_t lock;
    pthread_cond_t ended;      /* the last session went, or an eviction did */
    residency_view now;
};

const char *residency_state_name(residency_state state) {
    static const char *const names[RESIDENCY_STATES] = {"discovered", "mapped", "streaming", "active", "scrubbing", "failed"};
    return state < RESIDENCY_STATES ? names[state] : "none";
}

const char *residency_event_name(residency_event event) {
    static const char *const names[RESIDENCY_EVENTS] = {"load", "validated", "ready", "error",   "reset",
                                                        "begin", "end",      "evict", "scrubbed"};
    return event < RESIDENCY_EVENTS ? names[event] : "none";
}

residency_state residency_next(residency_state from, residency_event event) {
    return from < RESIDENCY_STATES && event < RESIDENCY_EVENTS ? table[from][event] : NO;
}

/* ---------------------------------------------------------------- under the lock */

static uint64_t now_ns(const residency *r) {
    struct timespec now;
    if (r->options.clock_ns != NULL) {
        return r->options.clock_ns(r->options.ctx);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static qn_status refuse(const residency *r, residency_event event, error_context *err) {
    log_line(QN_LOG_ERROR, "residency: %s is refused while the model is %s", residency_event_name(event),
             residency_state_name(r->now.state));
    return FAIL(err, QN_BAD_STATE, "the model is %s: %s is not allowed now", residency_state_name(r->now.state),
                residency_event_name(event));
}

/* Goes where the table says, and tells. */
static qn_status go(residency *r, residency_event event, const char *error, const scrub_report *scrubbed, error_context *err) {
    const residency_state from = r->now.state, to = residency_next(from, event);
    if (to == NO) {
        return refuse(r, event, err);
    }
    r->now.state = to;
    if (to == RESIDENCY_DISCOVERED) {
        r->now = (residency_view){.state = to};
    }
    if (r->options.on_change != NULL) {
        const residency_change change = {.time_ns = now_ns(r), .from = from, .to = to, .event = event, .bytes = r->now.bytes,
                                         .n_sessions = r->now.n_sessions, .error = error, .scrubbed = scrubbed};
        r->options.on_change(r->options.ctx, &change);
    }
    return QN_OK;
}

static bool is_there(const residency *r) {
    return r->now.state != RESIDENCY_DISCOVERED;
}

static qn_status refuse_other(error_context *err) {
    return FAIL(err, QN_BUSY, "another model is resident; evict it first");
}

/* ---------------------------------------------------------------- eviction */

/* Waits for the sessions; the eviction is pending from here on. */
static qn_status wait_for_sessions(residency *r, const residency_eviction *how, error_context *err) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + how->wait_ms % 1000 * 1000000u;
    until.tv_sec += (time_t)(how->wait_ms / 1000 + ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    r->now.is_evicting = true;
    if (r->now.n_sessions > 0 && how->cancel != NULL) {
        pthread_mutex_unlock(&r->lock);
        how->cancel(how->ctx);
        pthread_mutex_lock(&r->lock);
    }
    while (r->now.n_sessions > 0 && how->wait_ms > 0) {
        if (pthread_cond_timedwait(&r->ended, &r->lock, &until) == ETIMEDOUT) {
            break;
        }
    }
    return r->now.n_sessions == 0 ? QN_OK
                                  : FAIL(err, QN_TIMEOUT, "%u sessions are still there after %" PRIu64 " ms; no other begins until they end",
                                         r->now.n_sessions, how->wait_ms);
}

/* Somebody else may have evicted while the lock was open: what is there is looked at again. */
static qn_status evict_locked(residency *r, const residency_eviction *how, scrub_report *report, error_context *err) {
    scrub_report own = {0};
    if (residency_next(r->now.state, RESIDENCY_EVICT) == NO) {
        return refuse(r, RESIDENCY_EVICT, err);
    }
    QN_TRY(wait_for_sessions(r, how, err), err, "evicting");
    QN_TRY(go(r, RESIDENCY_EVICT, NULL, NULL, err), err, "evicting");
    if (how->scrub != NULL) {
        pthread_mutex_unlock(&r->lock);
        how->scrub(how->ctx, &own);
        pthread_mutex_lock(&r->lock);
    }
    QN_TRY(go(r, RESIDENCY_SCRUBBED, NULL, &own, err), err, "evicting");
    for (uint32_t i = 0; i < SCRUB_CLASSES && report != NULL; i++) {
        report->bytes[i] += own.bytes[i];
    }
    if (own.is_partial && report != NULL) {
        report->is_partial = true;
        memcpy(report->missing, own.missing, sizeof report->missing);
    }
    pthread_cond_broadcast(&r->ended);
    return QN_OK;
}

qn_status residency_evict(residency *r, const model_identity *identity, const residency_eviction *how, scrub_report *report,
                          error_context *err) {
    pthread_mutex_lock(&r->lock);
    const bool is_other = is_there(r) && identity != NULL && !model_identity_equal(&r->now.identity, identity);
    const qn_status status = is_other ? refuse_other(err) : evict_locked(r, how, report, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* ---------------------------------------------------------------- the other events */

static qn_status load_locked(residency *r, const model_identity *identity, uint64_t bytes, const residency_eviction *replace,
                             error_context *err) {
    if (is_there(r) && !model_identity_equal(&r->now.identity, identity)) {
        if (replace == NULL) {
            return refuse_other(err);
        }
        if (r->now.state == RESIDENCY_FAILED) { /* nothing is left of it but its error */
            QN_TRY(go(r, RESIDENCY_RESET, NULL, NULL, err), err, "replacing a model");
        } else {
            QN_TRY(evict_locked(r, replace, NULL, err), err, "replacing a model");
        }
    }
    if (residency_next(r->now.state, RESIDENCY_LOAD) == NO) {
        return refuse(r, RESIDENCY_LOAD, err);
    }
    r->now.identity = *identity;
    r->now.bytes = bytes;
    return go(r, RESIDENCY_LOAD, NULL, NULL, err);
}

qn_status residency_load(residency *r, const model_identity *identity, uint64_t bytes, const residency_eviction *replace,
                         error_context *err) {
    pthread_mutex_lock(&r->lock);
    const qn_status status = load_locked(r, identity, bytes, replace, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

static qn_status go_alone(residency *r, residency_event event, error_context *err) {
    pthread_mutex_lock(&r->lock);
    const qn_status status = go(r, event, NULL, NULL, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

qn_status residency_validated(residency *r, error_context *err) {
    return go_alone(r, RESIDENCY_VALIDATED, err);
}

qn_status residency_ready(residency *r, uint64_t bytes, error_context *err) {
    pthread_mutex_lock(&r->lock);
    if (residency_next(r->now.state, RESIDENCY_READY) != NO) {
        r->now.bytes = bytes;
    }
    const qn_status status = go(r, RESIDENCY_READY, NULL, NULL, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

qn_status residency_fail(residency *r, const char *why, error_context *err) {
    pthread_mutex_lock(&r->lock);
    if (residency_next(r->now.state, RESIDENCY_ERROR) != NO) {
        snprintf(r->now.error, sizeof r->now.error, "%s", why);
        r->now.bytes = 0; /* whoever failed has given everything back */
    }
    const qn_status status = go(r, RESIDENCY_ERROR, r->now.error, NULL, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

qn_status residency_reset(residency *r, error_context *err) {
    return go_alone(r, RESIDENCY_RESET, err);
}

static qn_status begin_locked(residency *r, const model_identity *identity, error_context *err) {
    if (is_there(r) && !model_identity_equal(&r->now.identity, identity)) {
        return refuse_other(err);
    }
    if (r->now.is_evicting) {
        return FAIL(err, QN_BUSY, "the model is being evicted: no session begins");
    }
    if (residency_next(r->now.state, RESIDENCY_BEGIN) == NO) {
        return refuse(r, RESIDENCY_BEGIN, err);
    }
    r->now.n_sessions++;
    return go(r, RESIDENCY_BEGIN, NULL, NULL, err);
}

qn_status residency_begin(residency *r, const model_identity *identity, error_context *err) {
    pthread_mutex_lock(&r->lock);
    const qn_status status = begin_locked(r, identity, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

qn_status residency_end(residency *r, error_context *err) {
    pthread_mutex_lock(&r->lock);
    qn_status status = r->now.n_sessions > 0 ? QN_OK : refuse(r, RESIDENCY_END, err);
    if (status == QN_OK) {
        r->now.n_sessions--;
        status = go(r, RESIDENCY_END, NULL, NULL, err);
        pthread_cond_broadcast(&r->ended);
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* ---------------------------------------------------------------- life */

qn_status residency_create(const residency_options *options, residency **out, error_context *err) {
    residency *r = calloc(1, sizeof *r);
    pthread_condattr_t attributes;
    if (r == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a residency");
    }
    if (options != NULL) {
        r->options = *options;
    }
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&r->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    *out = r;
    return QN_OK;
}

void residency_destroy(residency *r) {
    if (r != NULL) {
        pthread_cond_destroy(&r->ended);
        pthread_mutex_destroy(&r->lock);
        free(r);
    }
}

residency_view residency_look(residency *r) {
    pthread_mutex_lock(&r->lock);
    const residency_view view = r->now;
    pthread_mutex_unlock(&r->lock);
    return view;
}
