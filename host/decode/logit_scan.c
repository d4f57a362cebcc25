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

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* exp of z in [-87, 0], and 0 of everything else, NaN too: 2^k times a polynomial in what is left of z. Adding 1.5 * 2^23 rounds to a
 * whole number, which then stands in the low bits. Outside of the range it comes to nonsense, whose bits are taken away. */
static inline float exp_or_zero(float z) {
    static const float round_by = 12582912.0f, log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    const float shifted = z * log2_e + round_by;
    const float k = shifted - round_by;
    const float r = (z - k * ln2_high) - k * ln2_low;
    const float tail = 0.5f + r * (1.66666666e-1f + r * (4.16666641e-2f + r * (8.33336078e-3f + r * 1.38888860e-3f)));
    const float power = float_of((bits_of(shifted) << 23) + 0x3f800000u);
    const uint32_t counts = 0u - (uint32_t)((z >= -87.0f) & (z <= 0.0f));
    return float_of(bits_of((1.0f + (r + r * r * tail)) * power) & counts);
}

static double sum_block(const float *block, float greatest, float temperature) {
    float weights[LOGIT_BLOCK];
    for (size_t i = 0; i < LOGIT_BLOCK; i++) {
        weights[i] = exp_or_zero((block[i] - greatest) / temperature);
    }
    for (size_t n = HALF; n >= FEW; n /= 2) {
        for (size_t i = 0; i < n; i++) {
            weights[i] += weights[i + n];
        }
    }
    double total = 0.0;
    for (size_t i = 0; i < FEW; i++) {
        total += (double)weights[i];
    }
    return total;
}

double logit_scan_sum(const float *logits, uint32_t n, float greatest, float temperature) {
    float room[LOGIT_BLOCK];
    double total = 0.0;
    for (uint32_t at = 0; at < n; at += LOGIT_BLOCK) {
        total += sum_block(fill_block(logits + at, n - at, room), greatest, temperature);
    }
    return total;
}
