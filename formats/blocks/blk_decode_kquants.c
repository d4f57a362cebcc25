/* blk_decode_kquants.c — superblocks of 256 with small integer scales for their sub-blocks.
 *
 *          byte 0 ...                                          value
 *   Q2_K   scales[16] q[64] d dmin                             (d * (scale & 15)) * q - dmin * (scale >> 4)
 *   Q3_K   high[32] q[64] scales[12] d                         (d * (scale - 32)) * (q - 4)
 *   Q4_K   d dmin scales[12] q[128]                            (d * scale) * q - dmin * min
 *   Q5_K   d dmin scales[12] high[32] q[128]                   the same
 *   Q6_K   low[128] high[64] scales[16] d                      (d * scale) * (q - 32)
 *   Q8_K   d (f32) q[256] sums[16] (i16, a helper, not read)   d * q
 *
 * d and dmin are halves except in Q8_K. The brackets show the order of the roundings to f32.
 */
#include "blk_impl.h"

void blk_unpack_k4_scale(const uint8_t packed[12], unsigned j, uint8_t *out_scale, uint8_t *out_min) {
    if (j < 4) {
        *out_scale = packed[j] & 63;
        *out_min = packed[j + 4] & 63;
    } else {
        *out_scale = (uint8_t)((packed[j + 4] & 15) | packed[j - 4] >> 6 << 4);
        *out_min = (uint8_t)(packed[j + 4] >> 4 | packed[j] >> 6 << 4);
    }
}

/* In Q2_K, Q3_K and Q6_K 128 elements share 32 bytes of bit pairs: element e has bits 2 * (e / 32) of byte e % 32. So a
 * sub-block of 16 lies in 16 bytes, all at the same shift. */
static int find_pair_byte(int sub) {
    return sub / 8 * 32 + sub % 2 * 16;
}

static int find_pair_shift(int sub) {
    return sub % 8 / 2 * 2;
}

void blk_decode_q2_k(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 84, values += 256) {
        const float d = blk_load_half(blocks + 80);
        const float dmin = blk_load_half(blocks + 82);
        for (int sub = 0; sub < 16; sub++) {
            const float scale = d * (float)(blocks[sub] & 15);
            const float min = dmin * (float)(blocks[sub] >> 4);
            const uint8_t *q = blocks + 16 + find_pair_byte(sub);
            const int shift = find_pair_shift(sub);
            for (int l = 0; l < 16; l++) {
                values[16 * sub + l] = scale * (float)(q[l] >> shift & 3) - min;
            }
        }
    }
}

/* Scale `sub` (0..15) of Q3_K, -32..31: four low bits in bytes 0..7, two high bits in bytes 8..11. */
static int take_q3_k_scale(const uint8_t *scales, int sub) {
    const int low = sub < 8 ? scales[sub] & 15 : scales[sub - 8] >> 4;
    const int high = scales[8 + sub % 4] >> (sub / 4 * 2) & 3;
    return (low | high << 4) - 32;
}

void blk_decode_q3_k(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 110, values += 256) {
        const float d = blk_load_half(blocks + 108);
        for (int sub = 0; sub < 16; sub++) {
            const float scale = d * (float)take_q3_k_scale(blocks + 96, sub);
            const uint8_t *high = blocks + sub % 2 * 16;
            const uint8_t *q = blocks + 32 + find_pair_byte(sub);
            const int shift = find_pair_shift(sub);
            for (int l = 0; l < 16; l++) {
                const int value = (q[l] >> shift & 3) | (high[l] >> (sub / 2) & 1) << 2;
                values[16 * sub + l] = scale * (float)(value - 4);
            }
        }
    }
}

void blk_decode_q4_k(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 144, values += 256) {
        const float d = blk_load_half(blocks);
        const float dmin = blk_load_half(blocks + 2);
        for (unsigned sub = 0; sub < 8; sub++) {
            uint8_t sc, m;
            blk_unpack_k4_scale(blocks + 4, sub, &sc, &m);
            const float scale = d * (float)sc;
            const float min = dmin * (float)m;
            const uint8_t *q = blocks + 16 + sub / 2 * 32;
            for (int l = 0; l < 32; l++) {
                values[32 * sub + (unsigned)l] = scale * (float)(q[l] >> (sub % 2 * 4) & 15) - min;
            }
        }
    }
}

void blk_decode_q5_k(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 176, values += 256) {
        const float d = blk_load_half(blocks);
        const float dmin = blk_load_half(blocks + 2);
        const uint8_t *high = blocks + 16;
        for (unsigned sub = 0; sub < 8; sub++) {
            uint8_t sc, m;
            blk_unpack_k4_scale(blocks + 4, sub, &sc, &m);
            const float scale = d * (float)sc;
            const float min = dmin * (float)m;
            const uint8_t *q = blocks + 48 + sub / 2 * 32;
            for (int l = 0; l < 32; l++) {
                const int value = (q[l] >> (sub % 2 * 4) & 15) | (high[l] >> sub & 1) << 4;
                values[32 * sub + (unsigned)l] = scale * (float)value - min;
            }
        }
    }
}

void blk_decode_q6_k(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 210, values += 256) {
        const float d = blk_load_half(blocks + 208);
        for (int sub = 0; sub < 16; sub++) {
            const float scale = d * (float)(int8_t)blocks[192 + sub];
            /* 128 elements share 64 bytes of nibbles: the low ones are the first half of the elements. */
            const uint8_t *low = blocks + sub / 8 * 64 + sub % 4 * 16;
            const uint8_t *high = blocks + 128 + find_pair_byte(sub);
            const int low_shift = sub % 8 / 4 * 4;
            const int high_shift = find_pair_shift(sub);
            for (int l = 0; l < 16; l++) {
                const int value = (low[l] >> low_shift & 15) | (high[l] >> high_shift & 3) << 4;
                values[16 * sub + l] = scale * (float)(value - 32);
            }
        }
    }
}

void blk_decode_q8_k(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 292, values += 256) {
        const float d = blk_bits_to_float(load_u32(blocks));
        for (int e = 0; e < 256; e++) {
            values[e] = d * (float)(int8_t)blocks[4 + e];
        }
    }
}
