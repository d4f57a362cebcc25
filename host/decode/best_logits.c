/* best_logits.c — a heap whose root is the worst of the best. */
#include "decode/best_logits.h"

#include <math.h>
#include <stdbool.h>

#include "decode/logit_scan.h"

static bool is_better(const sampler_candidate *a, const sampler_candidate *b) {
    return a->value > b->value || (a->value == b->value && a->id < b->id);
}

static void sift_down(sampler_candidate *heap, uint32_t n, uint32_t at) {
    const sampler_candidate moved = heap[at];
    for (uint32_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && is_better(&heap[child], &heap[child + 1])) {
            child++;
        }
        if (!is_better(&moved, &heap[child])) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void make_heap(sampler_candidate *heap, uint32_t n) {
    for (uint32_t i = n / 2; i-- > 0;) {
        sift_down(heap, n, i);
    }
}

/* The worst goes behind those that are left, so the best ends in front. */
static void sort_heap(sampler_candidate *heap, uint32_t n) {
    for (uint32_t left = n; left > 1; left--) {
        const sampler_candidate worst = heap[0];
        heap[0] = heap[left - 1];
        heap[left - 1] = worst;
        sift_down(heap, left - 1, 0);
    }
}

/* Takes in what is better than the root. Ids ascend, so an equal one never is. */
static void offer_block(const float *logits, uint32_t first, uint32_t n, sampler_candidate *heap, uint32_t k) {
    for (uint32_t id = first; id < first + n; id++) {
        if (logits[id] > heap[0].value && isfinite(logits[id])) {
            heap[0] = (sampler_candidate){logits[id], id};
            sift_down(heap, k, 0);
        }
    }
}

uint32_t best_logits_collect(const float *logits, uint32_t n, uint32_t k, sampler_candidate *out) {
    uint32_t id = 0, n_found = 0;
    for (; id < n && n_found < k; id++) {
        if (isfinite(logits[id])) {
            out[n_found++] = (sampler_candidate){logits[id], id};
        }
    }
    make_heap(out, n_found);
    for (; id < n && k > 0; id += LOGIT_BLOCK) {
        const uint32_t n_here = n - id < LOGIT_BLOCK ? n - id : LOGIT_BLOCK;
        if (logit_scan_greatest(logits + id, n_here) > out[0].value) {
            offer_block(logits, id, n_here, out, k);
        }
    }
    sort_heap(out, n_found);
    return n_found;
}
