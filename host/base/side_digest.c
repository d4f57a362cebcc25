/* side_digest.c — one thread, and somebody who may wait for it. */
#include "base/side_digest.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#define NS_BETWEEN_LOOKS 50000000

static bool note_progress(void *ctx, uint64_t done, uint64_t total) {
    side_digest *s = ctx;
    atomic_store(&s->n_total, total);
    atomic_store(&s->n_done, done);
    return !atomic_load(&s->is_cancelled);
}

static void *compute(void *arg) {
    side_digest *s = arg;
    const span_watch watch = {.progress = note_progress, .progress_ctx = s};
    const fmt_status status = s->fn(s->ctx, watch, s->digest);
    pthread_mutex_lock(&s->lock);
    s->status = status;
    s->is_done = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void side_digest_begin(side_digest *out, side_digest_fn *fn, void *ctx) {
    memset(out, 0, sizeof *out);
    out->fn = fn;
    out->ctx = ctx;
    pthread_mutex_init(&out->lock, NULL);
    pthread_cond_init(&out->changed, NULL);
    out->has_thread = pthread_create(&out->thread, NULL, compute, out) == 0;
}

static void wait_a_little(side_digest *s) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += NS_BETWEEN_LOOKS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&s->lock);
    if (!s->is_done) {
        (void)pthread_cond_timedwait(&s->changed, &s->lock, &until);
    }
    pthread_mutex_unlock(&s->lock);
}

static bool is_done(side_digest *s) {
    pthread_mutex_lock(&s->lock);
    const bool done = s->is_done;
    pthread_mutex_unlock(&s->lock);
    return done;
}

static void finish(side_digest *s) {
    if (s->has_thread) {
        pthread_join(s->thread, NULL);
    }
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    s->fn = NULL;
}

fmt_status side_digest_end(side_digest *s, progress_fn *progress, void *progress_ctx, uint8_t out[SHA256_BYTES]) {
    if (!s->has_thread) {
        const span_watch watch = {.progress = progress, .progress_ctx = progress_ctx};
        s->status = s->fn(s->ctx, watch, s->digest);
        s->is_done = true;
    }
    while (!is_done(s)) {
        wait_a_little(s);
        const uint64_t total = atomic_load(&s->n_total);
        if (progress != NULL && total > 0 && !progress(progress_ctx, atomic_load(&s->n_done), total)) {
            atomic_store(&s->is_cancelled, true);
        }
    }
    finish(s);
    if (s->status == FMT_OK) {
        memcpy(out, s->digest, SHA256_BYTES);
    }
    return s->status;
}

void side_digest_abandon(side_digest *s) {
    if (s->fn != NULL) {
        atomic_store(&s->is_cancelled, true);
        finish(s);
    }
}
