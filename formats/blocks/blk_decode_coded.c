/* blk_decode_coded.c — types whose digits are not plain integers: codebooks of 16 values, and base-3 digits.
 *
 *          byte 0 ...                              value
 *   IQ4_NL d q[16]                                 d * codebook[q]                       32 elements
 *   IQ4_XS d high (u16) low[4] q[128]              (d * (scale - 32)) * codebook[q]      256, scales of 32 elements
 *   MXFP4  e q[16]                                 2^(e - 128) * doubled[q]              32
 *   TQ1_0  q[48] rest[4] d                         (digit - 1) * d                       256, five digits a byte
 *   TQ2_0  q[64] d                                 (digit - 1) * d                       256, four digits a byte
 *
 * d is a half. In blocks of 32 the low nibble of byte i is element i, the high one element i + 16.
 */
#include "blk_impl.h"

static const int8_t iq4_codebook[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* E2M1 numbers times two, so that they are integers; the scale is halved in turn. */
static const int8_t e2m1_doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void scale_codes(const uint8_t *q, const int8_t *codebook, float scale, float *values) {
    for (int i = 0; i < 16; i++) {
        values[i] = scale * (float)codebook[q[i] & 15];
        values[i + 16] = scale * (float)codebook[q[i] >> 4];
    }
}

void blk_decode_iq4_nl(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 18, values += 32) {
        scale_codes(blocks + 2, iq4_codebook, blk_load_half(blocks), values);
    }
}

void blk_decode_iq4_xs(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 136, values += 256) {
        const float d = blk_load_half(blocks);
        const uint16_t high = load_u16(blocks + 2);
        for (int sub = 0; sub < 8; sub++) {
            const int low = blocks[4 + sub / 2] >> (sub % 2 * 4) & 15;
            const int scale = (low | (high >> (2 * sub) & 3) << 4) - 32;
            scale_codes(blocks + 8 + 16 * sub, iq4_codebook, d * (float)scale, values + 32 * sub);
        }
    }
}

/* 2^(e - 128): half of the E8M0 scale. The two smallest are subnormal in f32. */
static float decode_halved_e8m0(uint8_t e) {
    return blk_bits_to_float(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

void blk_decode_mxfp4(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 17, values += 32) {
        scale_codes(blocks + 1, e2m1_doubled, decode_halved_e8m0(blocks[0]), values);
    }
}

/* Digit `place` (0 = most significant) of a byte that stands for the fraction byte/256 in base 3. */
static int take_base_3(uint8_t byte, int place) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    const uint8_t shifted = (uint8_t)(byte * power[place]);
    return shifted * 3 >> 8;
}

/* Digit after digit, each of all `n_bytes` bytes in turn; returns the end of what was written. */
static float *spread_base_3(const uint8_t *bytes, int n_bytes, int n_digits, float d, float *values) {
    for (int place = 0; place < n_digits; place++) {
        for (int i = 0; i < n_bytes; i++) {
            *values++ = (float)(take_base_3(bytes[i], place) - 1) * d;
        }
    }
    return values;
}

void blk_decode_tq1_0(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 54) {
        const float d = blk_load_half(blocks + 52);
        values = spread_base_3(blocks, 32, 5, d, values);
        values = spread_base_3(blocks + 32, 16, 5, d, values);
        values = spread_base_3(blocks + 48, 4, 4, d, values);
    }
}

void blk_decode_tq2_0(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 66, values += 256) {
        const float d = blk_load_half(blocks + 64);
        for (int run = 0; run < 8; run++) {
            const uint8_t *q = blocks + run / 4 * 32;
            for (int l = 0; l < 32; l++) {
                values[32 * run + l] = (float)((q[l] >> (run % 4 * 2) & 3) - 1) * d;
            }
        }
    }
}
