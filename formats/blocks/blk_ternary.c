/* blk_ternary.c — P64's ternary blob: one f32 scale, then five digits a byte over the whole tensor (P64 14.2).
 *
 *   byte 0 scale   4 + i: sum over k of (t[5i + k] + 1) * 3^k, t in {-1, 0, 1}      value = scale * t
 */
#include "blk_impl.h"

#include <math.h>
#include <stddef.h>

static const uint8_t power[5] = {1, 3, 9, 27, 81};

void blk_decode_ternary(const uint8_t *tensor, uint64_t first, uint64_t count, float *values) {
    const float scale = blk_bits_to_float(load_u32(tensor));
    const uint8_t *byte = tensor + 4 + first / 5;
    unsigned place = (unsigned)(first % 5);
    unsigned digits = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i == 0 || place == 5) {
            place = i == 0 ? place : 0;
            digits = *byte++ / power[place];
        }
        values[i] = scale * (float)((int)(digits % 3) - 1);
        digits /= 3;
        place++;
    }
}

/* Mean of the magnitudes: summed in double, in order, and rounded once (D25). */
static float find_scale(const float *values, uint64_t count) {
    double sum = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        sum += fabs((double)values[i]);
    }
    return count == 0 ? 0.0f : (float)(sum / (double)count);
}

/* value / scale rounded half away from zero and held in -1..1, plus one. */
static unsigned choose_digit(float value, float scale) {
    const float ratio = scale == 0.0f ? 0.0f : value / scale;
    return ratio >= 0.5f ? 2 : ratio <= -0.5f ? 0 : 1;
}

fmt_status blk_encode_ternary(const float *values, uint64_t count, uint8_t *out, uint64_t *out_index) {
    for (uint64_t i = 0; i < count; i++) {
        if (!blk_is_finite(values[i])) {
            if (out_index != NULL) {
                *out_index = i;
            }
            return FMT_LIMIT;
        }
    }
    const float scale = find_scale(values, count);
    store_u32(out, blk_float_to_bits(scale));
    for (uint64_t i = 0; i < count; i += 5) {
        unsigned byte = 0;
        for (uint64_t k = 0; k < 5 && i + k < count; k++) {
            byte += choose_digit(values[i + k], scale) * power[k];
        }
        out[4 + i / 5] = (uint8_t)byte;
    }
    return FMT_OK;
}
