/* cpu_peak.c — the extension quoin.peak/1: the loops of kernels/peak_*.c on all workers at once, by each worker's own clock. */
#include <stdio.h>
#include <string.h>

#include <quoin/ext/peak.h>
#include <quoin/glue.h>

#include "cpu_internal.h"

enum { ROOM = 1024, PASSES = 5, N_KINDS = 2 };
#define ROUNDS 2048u
#define PASS_NS 6000000u

/* What one worker works on, and what it did. */
typedef struct seat {
    uint8_t room[ROOM];
    double per_second;
    uint8_t pad[56];
} seat;

typedef struct race {
    const qn_host *host;
    const cpu_peak *peak;
    seat *seats;
} race;

static void QN_CALL run_seat(void *arg, uint32_t worker, uint32_t n_workers) {
    const race *const r = arg;
    seat *const own = &r->seats[worker];
    uint64_t rounds = 0, now;
    (void)n_workers;
    r->peak->run(ROUNDS, own->room);
    r->host->team_barrier(r->host->ctx);
    const uint64_t begin = r->host->time_ns(r->host->ctx);
    do {
        r->peak->run(ROUNDS, own->room);
        rounds += ROUNDS;
        now = r->host->time_ns(r->host->ctx);
    } while (now - begin < PASS_NS);
    own->per_second = (double)rounds * r->peak->operations * 1e9 / (double)(now - begin);
}

/* The best of some passes: a peak is what the machine can do, not what a neighbour left of it. */
static double run_passes(const race *r, uint32_t n_workers) {
    double best = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        double sum = 0;
        r->host->team_run(r->host->ctx, run_seat, (void *)(uintptr_t)r);
        for (uint32_t i = 0; i < n_workers; i++) {
            sum += r->seats[i].per_second;
        }
        best = sum > best ? sum : best;
    }
    return best;
}

static qn_status QN_CALL measure_peak(qn_device *device, uint32_t kind, qn_peak_rate *rate, qn_error *err) {
    if (device == NULL || rate == NULL || rate->size < sizeof *rate) {
        return qn_fail(err, QN_BAD_ARG, "measure: a null argument, or a rate that is too short");
    }
    if (kind >= N_KINDS) {
        return qn_fail(err, QN_UNSUPPORTED, "measure: there is no peak of kind %u here", kind);
    }
    const qn_host *const host = device->plugin->host;
    const uint32_t n_workers = host->machine->n_workers;
    race r = {.host = host, .peak = &device->ops.peaks[kind]};
    /* Zeroed: the numbers stay zero, so that none is denormal or infinite, which some machines take longer for. */
    r.seats = host->mem_alloc(host->ctx, QN_MEM_OTHER, (uint64_t)n_workers * sizeof *r.seats, 64);
    if (r.seats == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory to measure with %u workers", n_workers);
    }
    rate->per_second = run_passes(&r, n_workers);
    snprintf(rate->name, sizeof rate->name, "%s", r.peak->name);
    host->mem_free(host->ctx, r.seats);
    return QN_OK;
}

const qn_peak cpu_peak_ext = {.size = sizeof cpu_peak_ext, .measure = measure_peak};
