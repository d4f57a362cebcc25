/* logit_scan.c — blocks that are halved until one number is left. */
#include "decode/logit_scan.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define HALF (LOGIT_BLOCK / 2u)
/* Below this a block is no longer halved, but gone through. */
#define FEW 8u

/* The block itself when it is whole; otherwise a copy that is filled up with what never counts. */
static const float *fill_block(const float *logits, uint32_t n, float room[LOGIT_BLOCK]) {
    if (n >= LOGIT_BLOCK) {
        return logits;
    }
    memcpy(room, logits, n * sizeof *room);
    for (size_t i = n; i < LOGIT_BLOCK; i++) {
        room[i] = -INFINITY;
    }
    return room;
}

/* +infinity counts here. A NaN is never greater than what is there, so it is passed over. */
static float find_greatest_of_block(const float *block) {
    float best[HALF];
    for (size_t i = 0; i < HALF; i++) {
        const float first = block[i] > -INFINITY ? block[i] : -INFINITY;
        best[i] = block[i + HALF] > first ? block[i + HALF] : first;
    }
    for (size_t n = HALF / 2; n >= FEW; n /= 2) {
        for (size_t i = 0; i < n; i++) {
            best[i] = best[i + n] > best[i] ? best[i + n] : best[i];
        }
    }
    for (size_t i = 1; i < FEW; i++) {
        best[0] = best[i] > best[0] ? best[i] : best[0];
    }
    return best[0];
}

static float find_greatest_finite(const float *logits, uint32_t n) {
    float greatest = -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        greatest = isfinite(logits[i]) && logits[i] > greatest ? logits[i] : greatest;
    }
    return greatest;
}

/* Of up to LOGIT_BLOCK logits. */
static float scan_block(const float *logits, uint32_t n) {
    float room[LOGIT_BLOCK];
    const float greatest = find_greatest_of_block(fill_block(logits, n, room));
    return greatest != INFINITY ? greatest : find_greatest_finite(logits, n);
}

float logit_scan_greatest(const float *logits, uint32_t n) {
    float greatest = -INFINITY;
    for (uint32_t at = 0; at < n; at += LOGIT_BLOCK) {
        const float here = scan_block(logits + at, n - at < LOGIT_BLOCK ? n - at : LOGIT_BLOCK);
        greatest = here > greatest ? here : greatest;
    }
    return greatest;
}

uint32_t logit_scan_find(const float *logits, uint32_t n) {
    float greatest = -INFINITY;
    uint32_t id = n;
    for (uint32_t at = 0; at < n; at += LOGIT_BLOCK) {
        const float here = scan_block(logits + at, n - at < LOGIT_BLOCK ? n - at : LOGIT_BLOCK);
        if (here > greatest) {
            greatest = here;
            id = at;
        }
    }
    while (id < n && logits[id] != greatest) {
        id++;
    }
    return id;
}

/* exp of z in [-87, 0], and 0 of everything else, NaN too: 2^k times a polynomial in what is left of z. Adding 1.5 * 2^23 rounds to a
 * whole number, which then stands in the low bits. */
static void exp_block(const float *restrict z, float *restrict out) {
    static const float round_by = 12582912.0f, log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    float power[LOGIT_BLOCK], bounded[LOGIT_BLOCK];
    uint32_t bits[LOGIT_BLOCK];
    for (size_t i = 0; i < LOGIT_BLOCK; i++) {
        bounded[i] = z[i] > -87.0f ? z[i] : -87.0f;
    }
    for (size_t i = 0; i < LOGIT_BLOCK; i++) {
        bounded[i] = bounded[i] < 0.0f ? bounded[i] : 0.0f;
    }
    for (size_t i = 0; i < LOGIT_BLOCK; i++) {
        const float shifted = bounded[i] * log2_e + round_by;
        const float k = shifted - round_by;
        const float r = (bounded[i] - k * ln2_high) - k * ln2_low;
        const float tail = 0.5f + r * (1.66666666e-1f + r * (4.16666641e-2f + r * (8.33336078e-3f + r * 1.38888860e-3f)));
        power[i] = shifted;
        out[i] = 1.0f + (r + r * r * tail);
    }
    memcpy(bits, power, sizeof bits);
    for (size_t i = 0; i < LOGIT_BLOCK; i++) {
        bits[i] = (bits[i] << 23) + 0x3f800000u;
    }
    memcpy(power, bits, sizeof power);
    for (size_t i = 0; i < LOGIT_BLOCK; i++) {
        const float counts = (float)((z[i] >= -87.0f) & (z[i] <= 0.0f));
        out[i] *= power[i] * counts;
    }
}

static double sum_block(const float *block, float greatest, float temperature) {
    float z[LOGIT_BLOCK], weights[LOGIT_BLOCK];
    for (size_t i = 0; i < LOGIT_BLOCK; i++) {
        z[i] = (block[i] - greatest) / temperature;
    }
    exp_block(z, weights);
    for (size_t n = HALF; n > 0; n /= 2) {
        for (size_t i = 0; i < n; i++) {
            weights[i] += weights[i + n];
        }
    }
    return (double)weights[0];
}

double logit_scan_sum(const float *logits, uint32_t n, float greatest, float temperature) {
    float room[LOGIT_BLOCK];
    double total = 0.0;
    for (uint32_t at = 0; at < n; at += LOGIT_BLOCK) {
        total += sum_block(fill_block(logits + at, n - at, room), greatest, temperature);
    }
    return total;
}
