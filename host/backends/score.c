/* score.c — adding up, and putting in order. */
#include "backends/score.h"

#include <string.h>

#define TIE 1.03
#define USABLE_ROOM 0.9 /* of what a device says is free: its own buffers need some */

workload workload_usual(void) {
    return (workload){.weights = {{QN_FORMAT_Q8_0, (uint64_t)1 << 30}},
                      .n_weights = 1,
                      .kv_bytes = (uint64_t)128 << 20,
                      .n_ops = 1000,
                      .memory_bytes = ((uint64_t)1 << 30) + ((uint64_t)128 << 20)};
}

bool score_predict(candidate *c, const workload *w, qn_format *out_format) {
    double seconds = 0.0;
    c->is_measured = c->device.is_measured;
    for (uint32_t i = 0; i < w->n_weights; i++) {
        const probe_rate *rate = probe_device_rate(&c->device, w->weights[i].format);
        if (rate != NULL && rate->bytes_per_s == 0) {
            *out_format = w->weights[i].format;
            return false;
        }
        c->is_measured = c->is_measured && rate != NULL;
        seconds += rate != NULL ? (double)w->weights[i].bytes / (double)rate->bytes_per_s : 0.0;
    }
    seconds += c->device.kv_bytes_per_s > 0 ? (double)w->kv_bytes / (double)c->device.kv_bytes_per_s : 0.0;
    seconds += ((double)w->n_ops * (double)c->device.op_ns + (double)c->device.step_ns) * 1e-9;
    c->ms = seconds * 1e3;
    return true;
}

bool score_divide(candidate *c, const candidate *rest, const workload *w, uint64_t room) {
    const double fitting = (double)w->n_layers * USABLE_ROOM * (double)room / (double)(w->memory_bytes + 1);
    const uint32_t n = (uint32_t)fitting;
    if (!c->is_measured || !rest->is_measured || n == 0 || n >= w->n_layers) {
        return false;
    }
    c->n_layers = n;
    c->ms = (c->ms * n + rest->ms * (w->n_layers - n)) / w->n_layers;
    return true;
}

static int class_order(uint32_t device_class) {
    switch (device_class) {
    case QN_DEVICE_GPU: return 0;
    case QN_DEVICE_IGPU: return 1;
    case QN_DEVICE_CPU: return 3;
    default: return 2;
    }
}

/* Where neither is clearly faster. */
static bool is_preferred(const candidate *a, const candidate *b) {
    const bool a_in_place = (a->device.info.flags & QN_DEVICE_HOST_MEMORY) != 0;
    const bool b_in_place = (b->device.info.flags & QN_DEVICE_HOST_MEMORY) != 0;
    return a_in_place != b_in_place ? a_in_place : strcmp(a->name, b->name) < 0;
}

/* The best of candidates[0..n): the fastest, or whoever is preferred among those that are nearly as fast. */
static uint32_t find_best(const candidate *candidates, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        const candidate *a = &candidates[i], *b = &candidates[best];
        const int order = class_order(a->device.info.device_class) - class_order(b->device.info.device_class);
        const bool is_better = a->is_measured != b->is_measured ? a->is_measured : a->is_measured ? a->ms < b->ms : order < 0;
        best = is_better ? i : best;
    }
    const candidate fastest = candidates[best];
    for (uint32_t i = 0; i < n && fastest.is_measured; i++) {
        if (candidates[i].is_measured && candidates[i].ms <= fastest.ms * TIE && is_preferred(&candidates[i], &candidates[best])) {
            best = i;
        }
    }
    return best;
}

void score_rank(candidate *candidates, uint32_t n) {
    for (uint32_t i = 0; i + 1 < n; i++) {
        const uint32_t best = i + find_best(candidates + i, n - i);
        const candidate moved = candidates[best];
        memmove(candidates + i + 1, candidates + i, (best - i) * sizeof *candidates);
        candidates[i] = moved;
    }
}

/* "0000:65:00.0" */
static bool is_pci_address(const char *id) {
    return strlen(id) >= 12 && strspn(id, "0123456789abcdefABCDEF") == 4 && id[4] == ':' && id[7] == ':' && id[10] == '.';
}

bool score_is_same_device(const candidate *a, const candidate *b) {
    const char *id = a->device.info.id;
    return (is_pci_address(id) || strncmp(id, "uuid=", 5) == 0) && strcmp(id, b->device.info.id) == 0;
}
