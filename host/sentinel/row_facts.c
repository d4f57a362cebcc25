/* row_facts.c — two passes in lanes. */
#include "sentinel/row_facts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LANES 16u
#define LOWEST (-80.0f) /* exp of it is 2e-35: what a row has of such logits does not matter */

/* Bits of what is no number: the exponent is all ones. */
static uint32_t is_odd(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7f800000u) == 0x7f800000u;
}

typedef struct greatest {
    float best[LANES], second[LANES];
    uint32_t n_odd[LANES];
} greatest;

/* Without a branch, so that it becomes vectors. */
static void take_block(greatest *restrict g, const float *restrict logits) {
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const uint32_t odd = is_odd(logits[lane]);
        const float y = odd ? -FLT_MAX : logits[lane];
        const float low = y < g->best[lane] ? y : g->best[lane];
        g->n_odd[lane] += odd;
        g->second[lane] = low > g->second[lane] ? low : g->second[lane];
        g->best[lane] = y > g->best[lane] ? y : g->best[lane];
    }
}

static void find_greatest(const float *logits, uint32_t n, row_facts *out) {
    greatest g;
    float last[LANES];
    uint32_t at = 0;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        g.best[lane] = g.second[lane] = -FLT_MAX;
        g.n_odd[lane] = 0;
    }
    for (; at + LANES <= n; at += LANES) {
        take_block(&g, logits + at);
    }
    if (at < n) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            last[lane] = at + lane < n ? logits[at + lane] : -FLT_MAX;
        }
        take_block(&g, last);
    }
    *out = (row_facts){.best = -FLT_MAX, .second = -FLT_MAX};
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const float low = g.best[lane] < out->best ? g.best[lane] : out->best;
        const float second = g.second[lane] > low ? g.second[lane] : low;
        out->second = second > out->second ? second : out->second;
        out->best = g.best[lane] > out->best ? g.best[lane] : out->best;
        out->n_odd += g.n_odd[lane];
    }
}

/* exp(x) for -80 <= x <= 0: 2^k times a polynomial of the rest, |rest| <= ln 2 / 2. */
static inline float exp_below(float x) {
    const float shifter = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    const float moved = x * 1.44269504f + shifter;
    const float k = moved - shifter;
    const float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t bits;
    float scale;
    memcpy(&bits, &moved, sizeof bits);
    bits = (bits + 127u) << 23;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

typedef struct weighing {
    float sum[LANES], moment[LANES];
} weighing;

/* Without a branch, so that it becomes vectors. */
static void weigh_block(weighing *restrict w, const float *restrict logits, float best) {
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const float distance = logits[lane] - best;
        const float below = distance > LOWEST ? distance : LOWEST;
        const float weight = exp_below(below);
        w->sum[lane] += weight;
        w->moment[lane] += weight * below;
    }
}

/* LANES logits, what is no number, or beyond the end, so low that it has no weight. */
static void copy_block(const float *logits, uint32_t n, float *to) {
    for (uint32_t lane = 0; lane < LANES; lane++) {
        to[lane] = lane < n && !is_odd(logits[lane]) ? logits[lane] : -FLT_MAX;
    }
}

/* Adds what the lanes have to doubles every so often: so rounding does not grow with the length. */
static float find_entropy(const float *logits, uint32_t n, const row_facts *facts) {
    double sum = 0.0, moment = 0.0;
    for (uint32_t from = 0; from < n;) {
        weighing w = {{0.0f}, {0.0f}};
        const uint32_t end = n - from < 64u * LANES ? n : from + 64u * LANES;
        for (uint32_t at = from; at < end; at += LANES) {
            float block[LANES];
            if (end - at >= LANES && facts->n_odd == 0) {
                weigh_block(&w, logits + at, facts->best);
            } else {
                copy_block(logits + at, end - at, block);
                weigh_block(&w, block, facts->best);
            }
        }
        for (uint32_t lane = 0; lane < LANES; lane++) {
            sum += (double)w.sum[lane];
            moment += (double)w.moment[lane];
        }
        from = end;
    }
    const double entropy = log(sum) - moment / sum;
    return entropy > 0.0 ? (float)entropy : 0.0f;
}

row_facts row_facts_of(const float *logits, uint32_t n, bool with_entropy) {
    row_facts facts;
    find_greatest(logits, n, &facts);
    if (with_entropy && facts.n_odd < n) {
        facts.entropy = find_entropy(logits, n, &facts);
    }
    return facts;
}
