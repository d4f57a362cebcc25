/* team.c — a sense-counting barrier that spins, then sleeps, and the threads around it. */
#define _GNU_SOURCE
#include "base/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORKERS 256
/* A pause takes 40 to 140 cycles, so this is some 50 microseconds of polling: longer than any barrier of a busy team,
 * and short enough not to steal a time slice from a worker that another process has pushed off its core. */
#define SPINS_BEFORE_SLEEP 1500u

/* Threads wait until `value` changes. A waiter announces itself in n_sleepers before it looks a last time, and a waker
 * changes value before it looks at n_sleepers (both sequentially consistent), so a wake-up cannot be lost. */
typedef struct gate {
    atomic_uint value;
    atomic_uint n_sleepers;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} gate;

struct team {
    uint32_t n_workers;
    pthread_t *threads; /* [n_workers - 1] */
    pthread_mutex_t run_lock;
    _Alignas(64) gate job;      /* value counts regions */
    _Alignas(64) gate barrier;  /* value counts completed barriers */
    _Alignas(64) atomic_uint n_arrived;
    _Alignas(64) atomic_ullong counter;
    team_fn *fn;
    void *arg;
    atomic_bool is_ending;
};

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void gate_init(gate *g) {
    atomic_init(&g->value, 0);
    atomic_init(&g->n_sleepers, 0);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
}

static void gate_deinit(gate *g) {
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->changed);
}

static void gate_wait(gate *g, unsigned seen) {
    for (unsigned spin = 0; spin < SPINS_BEFORE_SLEEP; spin++) {
        if (atomic_load_explicit(&g->value, memory_order_acquire) != seen) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&g->lock);
    atomic_fetch_add(&g->n_sleepers, 1);
    while (atomic_load(&g->value) == seen) {
        pthread_cond_wait(&g->changed, &g->lock);
    }
    atomic_fetch_sub(&g->n_sleepers, 1);
    pthread_mutex_unlock(&g->lock);
}

static void gate_open(gate *g) {
    atomic_fetch_add(&g->value, 1);
    if (atomic_load(&g->n_sleepers) > 0) {
        pthread_mutex_lock(&g->lock);
        pthread_cond_broadcast(&g->changed);
        pthread_mutex_unlock(&g->lock);
    }
}

void team_barrier(team *t) {
    if (t->n_workers == 1) {
        return;
    }
    const unsigned seen = atomic_load_explicit(&t->barrier.value, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&t->n_arrived, 1, memory_order_acq_rel) + 1 == t->n_workers) {
        atomic_store_explicit(&t->n_arrived, 0, memory_order_relaxed);
        gate_open(&t->barrier);
    } else {
        gate_wait(&t->barrier, seen);
    }
}

uint64_t team_next(team *t) {
    return atomic_fetch_add_explicit(&t->counter, 1, memory_order_relaxed);
}

void team_reset(team *t) {
    atomic_store_explicit(&t->counter, 0, memory_order_relaxed);
}

uint32_t team_size(const team *t) {
    return t->n_workers;
}

typedef struct worker_start {
    team *t;
    uint32_t worker;
} worker_start;

static void *run_worker(void *arg) {
    const worker_start start = *(worker_start *)arg;
    free(arg);
    for (unsigned seen = 0;; seen++) {
        gate_wait(&start.t->job, seen);
        if (atomic_load(&start.t->is_ending)) {
            return NULL;
        }
        start.t->fn(start.t->arg, start.worker, start.t->n_workers);
        team_barrier(start.t);
    }
}

void team_run(team *t, team_fn *fn, void *arg) {
    pthread_mutex_lock(&t->run_lock);
    team_reset(t);
    if (t->n_workers == 1) {
        fn(arg, 0, 1);
    } else {
        t->fn = fn;
        t->arg = arg;
        gate_open(&t->job);
        fn(arg, 0, t->n_workers);
        team_barrier(t);
    }
    pthread_mutex_unlock(&t->run_lock);
}

static qn_status start_thread(team *t, uint32_t worker, error_context *err) {
    worker_start *start = malloc(sizeof *start);
    if (start == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a worker thread");
    }
    *start = (worker_start){t, worker};
    const int failed = pthread_create(&t->threads[worker - 1], NULL, run_worker, start);
    if (failed != 0) {
        free(start);
        return FAIL(err, QN_INTERNAL, "cannot start worker thread %u of %u: %s; ask for fewer with --threads", worker,
                    t->n_workers, strerror(failed));
    }
    return QN_OK;
}

static void join_threads(team *t, uint32_t n_threads) {
    atomic_store(&t->is_ending, true);
    gate_open(&t->job);
    for (uint32_t i = 0; i < n_threads; i++) {
        pthread_join(t->threads[i], NULL);
    }
    gate_deinit(&t->job);
    gate_deinit(&t->barrier);
    pthread_mutex_destroy(&t->run_lock);
    free(t->threads);
    free(t);
}

qn_status team_create(uint32_t n_workers, team **out_team, error_context *err) {
    if (n_workers < 1 || n_workers > MAX_WORKERS) {
        return FAIL(err, QN_BAD_INPUT, "%u threads: the range is 1 to %d", n_workers, MAX_WORKERS);
    }
    team *t = NULL;
    pthread_t *threads = calloc(n_workers, sizeof *threads);
    if (threads == NULL || posix_memalign((void **)&t, 64, sizeof *t) != 0) {
        free(threads);
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a team of %u threads", n_workers);
    }
    memset(t, 0, sizeof *t);
    t->n_workers = n_workers;
    t->threads = threads;
    gate_init(&t->job);
    gate_init(&t->barrier);
    pthread_mutex_init(&t->run_lock, NULL);
    for (uint32_t worker = 1; worker < n_workers; worker++) {
        const qn_status status = start_thread(t, worker, err);
        if (status < 0) {
            join_threads(t, worker - 1);
            return status;
        }
    }
    *out_team = t;
    return QN_OK;
}

void team_destroy(team *t) {
    if (t != NULL) {
        join_threads(t, t->n_workers - 1);
    }
}
