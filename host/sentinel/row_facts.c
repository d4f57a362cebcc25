/* row_facts.c — two passes in lanes. */
#include "sentinel/row_facts.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LANES 16u

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

static inline void take_lane(greatest *g, uint32_t lane, float x) {
    const uint32_t odd = is_odd(x);
    const float y = odd ? -FLT_MAX : x;
    const float low = y < g->best[lane] ? y : g->best[lane];
    g->n_odd[lane] += odd;
    g->second[lane] = low > g->second[lane] ? low : g->second[lane];
    g->best[lane] = y > g->best[lane] ? y : g->best[lane];
}

static void find_greatest(const float *logits, uint32_t n, row_facts *out) {
    greatest g;
    uint32_t at = 0;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        g.best[lane] = g.second[lane] = -FLT_MAX;
        g.n_odd[lane] = 0;
    }
    for (; at + LANES <= n; at += LANES) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            take_lane(&g, lane, logits[at + lane]);
        }
    }
    for (uint32_t lane = 0; at < n; at++, lane++) {
        take_lane(&g, lane, logits[at]);
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

/* exp(x) for x <= 0: 2^k times a polynomial of the rest, |rest| <= ln 2 / 2. What is odd or far below gives 0. */
static inline float exp_below(float x) {
    const float shifter = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    const float y = x > -80.0f ? x : -80.0f;
    const float moved = y * 1.44269504f + shifter;
    const float k = moved - shifter;
    const float r = (y - k * 0.693359375f) - k * -2.12194440e-4f;
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
    return x > -80.0f ? p * scale : 0.0f;
}

typedef struct weighing {
    float sum[LANES], moment[LANES];
} weighing;

static inline void weigh_lane(weighing *w, uint32_t lane, float x, float best) {
    const float below = is_odd(x) ? -FLT_MAX : x - best;
    const float weight = exp_below(below);
    w->sum[lane] += weight;
    w->moment[lane] += weight > 0.0f ? weight * below : 0.0f;
}

/* Adds what the lanes have to doubles every so often: so rounding does not grow with the length. */
static float find_entropy(const float *logits, uint32_t n, float best) {
    double sum = 0.0, moment = 0.0;
    for (uint32_t from = 0; from < n;) {
        weighing w = {{0.0f}, {0.0f}};
        const uint32_t end = n - from < 64u * LANES ? n : from + 64u * LANES;
        uint32_t at = from;
        for (; at + LANES <= end; at += LANES) {
            for (uint32_t lane = 0; lane < LANES; lane++) {
                weigh_lane(&w, lane, logits[at + lane], best);
            }
        }
        for (uint32_t lane = 0; at < end; at++, lane++) {
            weigh_lane(&w, lane, logits[at], best);
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
        facts.entropy = find_entropy(logits, n, facts.best);
    }
    return facts;
}
