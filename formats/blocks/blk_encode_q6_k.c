/* blk_encode_q6_k.c — f32 to Q6_K by search.
 *
 * A sub-block of 16 is fitted as x = s * q with q in -32..31 and s of either sign, so that sum of x^2 * (x - s * q)^2
 * is small. The grid is tried at nineteen widths about the one that puts the extreme element on -32; for each the
 * best s has a closed form. The largest |s| of the superblock becomes -128 units of the half d; the others are
 * rounded to units, and the neighbours of each are tried with what the elements really become.
 */
#include "blk_impl.h"

#include <math.h>

#define N_SUB 16
#define SUB 16
#define BLOCK_BYTES 210
#define HIGH_AT 128
#define SCALES_AT 192
#define D_AT 208

static int clamp_digit(float q) {
    return q >= 31.0f ? 31 : q > -32.0f ? (int)roundf(q) : -32;
}

static double measure_error(const float x[SUB], float scale) {
    const float inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
    double error = 0.0;
    for (int i = 0; i < SUB; i++) {
        const double miss = (double)(x[i] - scale * (float)clamp_digit(x[i] * inverse));
        error += (double)x[i] * (double)x[i] * miss * miss;
    }
    return error;
}

/* Best s for the digits x * inverse; *out_gain is by how much the error then lies below that of all zeros. */
static float solve_for_grid(const float x[SUB], float inverse, double *out_gain) {
    double sum_xq = 0.0;
    double sum_qq = 0.0;
    for (int i = 0; i < SUB; i++) {
        const double w = (double)x[i] * (double)x[i];
        const double q = clamp_digit(x[i] * inverse);
        sum_xq += w * (double)x[i] * q;
        sum_qq += w * q * q;
    }
    *out_gain = sum_qq > 0.0 ? sum_xq * sum_xq / sum_qq : 0.0;
    return sum_qq > 0.0 ? (float)(sum_xq / sum_qq) : 0.0f;
}

static float fit_sub_block(const float x[SUB]) {
    float extreme = 0.0f;
    for (int i = 0; i < SUB; i++) {
        extreme = fabsf(x[i]) > fabsf(extreme) ? x[i] : extreme;
    }
    float best = 0.0f;
    double most = 0.0;
    for (int step = -9; step <= 9 && extreme != 0.0f; step++) {
        double gain;
        const float scale = solve_for_grid(x, -(32.0f + 0.1f * (float)step) / extreme, &gain);
        if (gain > most) {
            most = gain;
            best = scale;
        }
    }
    return best;
}

static int choose_units(const float x[SUB], float scale, float d) {
    const float n = d != 0.0f ? roundf(scale / d) : 0.0f;
    const int middle = n >= 127.0f ? 127 : n > -128.0f ? (int)n : -128;
    int best = middle;
    double least = INFINITY;
    for (int units = middle - 1; units <= middle + 1; units++) {
        const double error = units >= -128 && units <= 127 ? measure_error(x, d * (float)units) : INFINITY;
        if (error < least) {
            least = error;
            best = units;
        }
    }
    return best;
}

/* Puts digit q (-32..31) of element e where blk_decode_kquants.c finds it; the block's bits must be zero before. */
static void put_digit(uint8_t *block, int e, int q) {
    const int half = e / 128;
    const int quarter = e % 128 / 32;
    const int l = e % 32;
    const unsigned bits = (unsigned)(q + 32);
    uint8_t *low = block + 64 * half + quarter % 2 * 32 + l;
    uint8_t *high = block + HIGH_AT + 32 * half + l;
    *low = (uint8_t)(*low | (bits & 15) << (quarter / 2 * 4));
    *high = (uint8_t)(*high | bits >> 4 << (quarter * 2));
}

static bool encode_superblock(const float *values, uint8_t *block) {
    float scale[N_SUB];
    float largest = 0.0f;
    for (int j = 0; j < N_SUB; j++) {
        scale[j] = fit_sub_block(values + SUB * j);
        largest = fabsf(scale[j]) > fabsf(largest) ? scale[j] : largest;
    }
    memset(block, 0, SCALES_AT);
    if (!blk_store_half(block + D_AT, largest / -128.0f)) {
        return false;
    }
    const float d = blk_load_half(block + D_AT);
    for (int j = 0; j < N_SUB; j++) {
        const int units = choose_units(values + SUB * j, scale[j], d);
        const float unit_scale = d * (float)units;
        const float inverse = unit_scale != 0.0f ? 1.0f / unit_scale : 0.0f;
        block[SCALES_AT + j] = (uint8_t)(int8_t)units;
        for (int i = 0; i < SUB; i++) {
            put_digit(block, SUB * j + i, clamp_digit(values[SUB * j + i] * inverse));
        }
    }
    return true;
}

uint64_t blk_encode_q6_k(const float *values, uint64_t n_blocks, uint8_t *blocks) {
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
