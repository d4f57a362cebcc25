/* cf_team.c — workers that sleep between regions. */
#include "core/cf_team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/cf_host.h"

struct cf_team {
    pthread_mutex_t region_lock; /* one region at a time */
    pthread_mutex_t lock;
    pthread_cond_t begun, done;
    pthread_t threads[CF_MOST_WORKERS];
    uint32_t n_workers, n_threads, n_running;
    uint64_t region;             /* number of the region that runs */
    bool is_closing;
    qn_team_fn fn;
    void *arg;
    atomic_uint_fast64_t next;
    atomic_uint barrier_count, barrier_phase;
};

typedef struct worker_start {
    cf_team *team;
    uint32_t worker;
} worker_start;

static void *run_worker(void *arg) {
    const worker_start start = *(worker_start *)arg;
    cf_team *team = start.team;
    uint64_t seen = 0;
    free(arg);
    pthread_mutex_lock(&team->lock);
    for (;;) {
        while (team->region == seen && !team->is_closing) {
            pthread_cond_wait(&team->begun, &team->lock);
        }
        if (team->is_closing) {
            break;
        }
        seen = team->region;
        pthread_mutex_unlock(&team->lock);
        team->fn(team->arg, start.worker, team->n_workers);
        pthread_mutex_lock(&team->lock);
        if (--team->n_running == 0) {
            pthread_cond_signal(&team->done);
        }
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

static bool start_worker(cf_team *team, uint32_t worker) {
    worker_start *start = malloc(sizeof *start);
    if (start == NULL) {
        return false;
    }
    *start = (worker_start){team, worker};
    if (pthread_create(&team->threads[worker - 1], NULL, run_worker, start) != 0) {
        free(start);
        return false;
    }
    team->n_threads++;
    return true;
}

cf_team *cf_team_open(uint32_t n_workers) {
    cf_team *team = n_workers == 0 || n_workers > CF_MOST_WORKERS ? NULL : calloc(1, sizeof *team);
    if (team == NULL) {
        return NULL;
    }
    team->n_workers = n_workers;
    pthread_mutex_init(&team->region_lock, NULL);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begun, NULL);
    pthread_cond_init(&team->done, NULL);
    for (uint32_t w = 1; w < n_workers; w++) {
        if (!start_worker(team, w)) {
            cf_team_close(team);
            return NULL;
        }
    }
    return team;
}

void cf_team_close(cf_team *team) {
    if (team == NULL) {
        return;
    }
    pthread_mutex_lock(&team->lock);
    team->is_closing = true;
    pthread_cond_broadcast(&team->begun);
    pthread_mutex_unlock(&team->lock);
    for (uint32_t t = 0; t < team->n_threads; t++) {
        pthread_join(team->threads[t], NULL);
    }
    pthread_mutex_destroy(&team->region_lock);
    pthread_mutex_destroy(&team->lock);
    pthread_cond_destroy(&team->begun);
    pthread_cond_destroy(&team->done);
    free(team);
}

uint32_t cf_team_size(const cf_team *team) {
    return team->n_workers;
}

void cf_team_run(cf_team *team, qn_team_fn fn, void *arg) {
    pthread_mutex_lock(&team->region_lock);
    pthread_mutex_lock(&team->lock);
    team->fn = fn;
    team->arg = arg;
    team->n_running = team->n_workers - 1;
    team->region++;
    atomic_store(&team->next, 0);
    pthread_cond_broadcast(&team->begun);
    pthread_mutex_unlock(&team->lock);
    fn(arg, 0, team->n_workers);
    pthread_mutex_lock(&team->lock);
    while (team->n_running > 0) {
        pthread_cond_wait(&team->done, &team->lock);
    }
    pthread_mutex_unlock(&team->lock);
    pthread_mutex_unlock(&team->region_lock);
}

void cf_team_barrier(cf_team *team) {
    const unsigned phase = atomic_load(&team->barrier_phase);
    if (atomic_fetch_add(&team->barrier_count, 1) + 1 == team->n_workers) {
        atomic_store(&team->barrier_count, 0);
        atomic_store(&team->barrier_phase, phase + 1);
        return;
    }
    while (atomic_load(&team->barrier_phase) == phase) {
        sched_yield();
    }
}

uint64_t cf_team_next(cf_team *team) {
    return atomic_fetch_add(&team->next, 1);
}

void cf_team_reset(cf_team *team) {
    atomic_store(&team->next, 0);
}
