/* score.h — how many milliseconds a token will take on a device: what was measured there, times what this model needs.
 *
 *     ms/token =  Σ over weight formats: bytes read / measured bytes per second
 *              +  bytes of K and V at the asked context / measured bytes per second
 *              +  ops × measured time of an op  +  measured time of an empty step
 *
 * The host measured all of it on its own programs (probe_measure.h), so the sum can be compared between any two devices.
 *
 * Threading: pure.
 */
#ifndef HOST_SCORE_H
#define HOST_SCORE_H
#include <stdbool.h>
#include <stdint.h>

#include "backends/probe_answer.h"

/* What one token of a model needs. */
typedef struct workload {
    struct {
        qn_format format;
        uint64_t bytes;      /* of matrices in this format, each read once a token */
    } weights[PROBE_MAX_RATES];
    uint32_t n_weights;
    uint64_t kv_bytes;       /* of K and V when the context is full */
    uint32_t n_ops;
    uint32_t n_layers;       /* 0 = not known */
    uint64_t memory_bytes;   /* weights and state together: what a device with memory of its own must hold */
} workload;

/* A model that is not known yet: 1 GiB in Q8_0, 128 MiB of K and V, 1000 ops. */
workload workload_usual(void);

/* One device that could be chosen. */
typedef struct candidate {
    uint32_t entry;          /* index in the registry */
    const char *name;        /* of the backend; borrowed */
    probe_device device;
    uint32_t n_layers;       /* > 0: only so many layers fit; the rest runs on the program's cpu */
    bool is_measured;        /* ms counts */
    double ms;
} candidate;

/* Fills ms and is_measured. False when a format of the model was tried and cannot be run there: *out_format tells which. */
bool score_predict(candidate *c, const workload *w, qn_format *out_format);

/* Makes of a device that cannot hold the whole model one that runs its first layers, with `rest` for the others: as many as fit into
 * `room` bytes, layers taken as equally heavy. Both must have been measured. False when none fits. */
bool score_divide(candidate *c, const candidate *rest, const workload *w, uint64_t room);

/* Best first. Within 3 % of the fastest: what needs less memory (reads the host's in place), then the name. What was not measured
 * comes behind, as GPU, integrated GPU, other, CPU. */
void score_rank(candidate *candidates, uint32_t n);

/* Do both mean one physical device? Only ids that name one (a PCI address, "uuid=…") can say so. */
bool score_is_same_device(const candidate *a, const candidate *b);

#endif
