/* blk_encode_q4_k.c — f32 to Q4_K by search.
 *
 * A sub-block of 32 is fitted as x = s * q - m with q in 0..15 and s, m >= 0, so that sum of w * (x - fit)^2 is small.
 * The weight of an element is w = |x| + rms of its sub-block: large elements matter more, small ones not nothing.
 *
 * 1. For each sub-block: stretch the grid a little (from 14 to 16 steps over the range), round, solve the least squares
 *    for s and m, keep the best of all stretches.
 * 2. The largest s and m give the superblock's halves d and dmin; s and m become multiples (0..63) of them. Rounding
 *    both one by one is not the best pair: the neighbours of both are tried with what the elements really become.
 */
#include "blk_impl.h"

#include <math.h>

#define N_SUB 8
#define SUB 32
#define BLOCK_BYTES 144

typedef struct sub_fit {
    float scale; /* s */
    float min;   /* m */
} sub_fit;

static int clamp_digit(float q) {
    return q >= 15.0f ? 15 : q > 0.0f ? (int)(q + 0.5f) : 0;
}

static void weigh(const float x[SUB], float weight[SUB]) {
    double sum = 0.0;
    for (int i = 0; i < SUB; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    const float rms = (float)sqrt(sum / SUB);
    for (int i = 0; i < SUB; i++) {
        weight[i] = rms + fabsf(x[i]);
    }
}

/* Weighted squared error of the sub-block when its elements become the nearest of s * q - m. */
static double measure_error(const float x[SUB], const float weight[SUB], float scale, float min) {
    const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    double error = 0.0;
    for (int i = 0; i < SUB; i++) {
        const float fit = scale * (float)clamp_digit((x[i] + min) * inverse) - min;
        const double miss = (double)(x[i] - fit);
        error += (double)weight[i] * miss * miss;
    }
    return error;
}

/* The s and m that fit best once the digits are chosen as (x - lo) * inverse. */
static sub_fit solve_for_grid(const float x[SUB], const float weight[SUB], float lo, float inverse) {
    double sum_w = 0.0, sum_q = 0.0, sum_qq = 0.0, sum_x = 0.0, sum_xq = 0.0;
    for (int i = 0; i < SUB; i++) {
        const double w = (double)weight[i];
        const double q = clamp_digit((x[i] - lo) * inverse);
        sum_w += w;
        sum_q += w * q;
        sum_qq += w * q * q;
        sum_x += w * (double)x[i];
        sum_xq += w * (double)x[i] * q;
    }
    const double determinant = sum_w * sum_qq - sum_q * sum_q;
    double scale = determinant > 0.0 ? (sum_w * sum_xq - sum_x * sum_q) / determinant : 0.0;
    double min = determinant > 0.0 ? (sum_q * sum_xq - sum_qq * sum_x) / determinant : 0.0;
    if (min < 0.0) {
        min = 0.0;
        scale = sum_qq > 0.0 ? sum_xq / sum_qq : 0.0;
    }
    return (sub_fit){scale > 0.0 ? (float)scale : 0.0f, (float)min};
}

static sub_fit fit_sub_block(const float x[SUB], const float weight[SUB]) {
    float lo = 0.0f;
    float hi = x[0];
    for (int i = 0; i < SUB; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    if (!(hi > lo)) {
        return (sub_fit){0.0f, -lo};
    }
    sub_fit best = {(hi - lo) / 15.0f, -lo};
    double least = measure_error(x, weight, best.scale, best.min);
    for (int step = -10; step <= 10; step++) {
        const sub_fit fit = solve_for_grid(x, weight, lo, (15.0f + 0.1f * (float)step) / (hi - lo));
        const double error = measure_error(x, weight, fit.scale, fit.min);
        if (error < least) {
            least = error;
            best = fit;
        }
    }
    return best;
}

/* value / unit rounded and held in 0..63; 0 when the unit is 0. */
static int count_units(float value, float unit) {
    const float n = unit > 0.0f ? value / unit : 0.0f;
    return n >= 63.0f ? 63 : n > 0.0f ? (int)(n + 0.5f) : 0;
}

/* The best pair of multiples near the real ones. */
static void choose_units(const float x[SUB], const float weight[SUB], sub_fit fit, float d, float dmin,
                         int *out_scale, int *out_min) {
    const int middle_scale = count_units(fit.scale, d);
    const int middle_min = count_units(fit.min, dmin);
    double least = INFINITY;
    *out_scale = middle_scale;
    *out_min = middle_min;
    for (int scale = middle_scale - 1; scale <= middle_scale + 1; scale++) {
        for (int min = middle_min - 1; min <= middle_min + 1; min++) {
            if (scale < 0 || scale > 63 || min < 0 || min > 63) {
                continue;
            }
            const double error = measure_error(x, weight, d * (float)scale, dmin * (float)min);
            if (error < least) {
                least = error;
                *out_scale = scale;
                *out_min = min;
            }
        }
    }
}

static void pack_units(uint8_t packed[12], int j, int scale, int min) {
    if (j < 4) {
        packed[j] = (uint8_t)(packed[j] | scale);
        packed[j + 4] = (uint8_t)(packed[j + 4] | min);
    } else {
        packed[j + 4] = (uint8_t)((scale & 15) | (min & 15) << 4);
        packed[j - 4] = (uint8_t)(packed[j - 4] | scale >> 4 << 6);
        packed[j] = (uint8_t)(packed[j] | min >> 4 << 6);
    }
}

static void write_digits(const float x[SUB], int j, float scale, float min, uint8_t *digits) {
    const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    uint8_t *q = digits + j / 2 * SUB;
    for (int i = 0; i < SUB; i++) {
        const int digit = clamp_digit((x[i] + min) * inverse);
        q[i] = (uint8_t)(j % 2 == 0 ? digit : q[i] | digit << 4);
    }
}

static bool encode_superblock(const float *values, uint8_t *block) {
    float weight[N_SUB][SUB];
    sub_fit fit[N_SUB];
    float max_scale = 0.0f;
    float max_min = 0.0f;
    for (int j = 0; j < N_SUB; j++) {
        weigh(values + SUB * j, weight[j]);
        fit[j] = fit_sub_block(values + SUB * j, weight[j]);
        max_scale = fit[j].scale > max_scale ? fit[j].scale : max_scale;
        max_min = fit[j].min > max_min ? fit[j].min : max_min;
    }
    if (!blk_store_half(block, max_scale / 63.0f) || !blk_store_half(block + 2, max_min / 63.0f)) {
        return false;
    }
    const float d = blk_load_half(block);
    const float dmin = blk_load_half(block + 2);
    memset(block + 4, 0, 12);
    for (int j = 0; j < N_SUB; j++) {
        int scale, min;
        choose_units(values + SUB * j, weight[j], fit[j], d, dmin, &scale, &min);
        pack_units(block + 4, j, scale, min);
        write_digits(values + SUB * j, j, d * (float)scale, dmin * (float)min, block + 16);
    }
    return true;
}

uint64_t blk_encode_q4_k(const float *values, uint64_t n_blocks, uint8_t *blocks) {
    for (uint64_t b = 0; b < n_blocks; b++, values += N_SUB * SUB, blocks += BLOCK_BYTES) {
        for (int i = 0; i < N_SUB * SUB; i++) {
            if (!blk_is_finite(values[i])) {
                return b;
            }
        }
        if (!encode_superblock(values, blocks)) {
            return b;
        }
    }
    return n_blocks;
}
