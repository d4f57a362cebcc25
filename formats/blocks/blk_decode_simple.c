/* blk_decode_simple.c — blocks of 32 with one scale, or a scale and a minimum.
 *
 *   Q4_0  d q[16]          (q - 8) * d           Q4_1  d m q[16]          q * d + m
 *   Q5_0  d h[4] q[16]     (q - 16) * d          Q5_1  d m h[4] q[16]     q * d + m
 *   Q8_0  d q[32]          q * d                 Q8_1  d s q[32]          q * d      (s is not read)
 *
 * d, m and s are halves. Nibbles: the low half of byte i is element i, the high half element i + 16. h holds bit 4 of
 * element i in bit i. Every product and sum is rounded to f32.
 */
#include "blk_impl.h"

void blk_decode_q4_0(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 18, values += 32) {
        const float d = blk_load_half(blocks);
        const uint8_t *q = blocks + 2;
        for (int i = 0; i < 16; i++) {
            values[i] = (float)((q[i] & 15) - 8) * d;
            values[i + 16] = (float)((q[i] >> 4) - 8) * d;
        }
    }
}

void blk_decode_q4_1(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 20, values += 32) {
        const float d = blk_load_half(blocks);
        const float m = blk_load_half(blocks + 2);
        const uint8_t *q = blocks + 4;
        for (int i = 0; i < 16; i++) {
            values[i] = (float)(q[i] & 15) * d + m;
            values[i + 16] = (float)(q[i] >> 4) * d + m;
        }
    }
}

/* Element i of a 5-bit block, 0..31. */
static int take_5_bits(const uint8_t *q, uint32_t high, int i) {
    const int low = i < 16 ? q[i] & 15 : q[i - 16] >> 4;
    return low | (int)(high >> i & 1) << 4;
}

void blk_decode_q5_0(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 22, values += 32) {
        const float d = blk_load_half(blocks);
        const uint32_t high = load_u32(blocks + 2);
        for (int i = 0; i < 32; i++) {
            values[i] = (float)(take_5_bits(blocks + 6, high, i) - 16) * d;
        }
    }
}

void blk_decode_q5_1(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 24, values += 32) {
        const float d = blk_load_half(blocks);
        const float m = blk_load_half(blocks + 2);
        const uint32_t high = load_u32(blocks + 4);
        for (int i = 0; i < 32; i++) {
            values[i] = (float)take_5_bits(blocks + 8, high, i) * d + m;
        }
    }
}

static void scale_bytes(const uint8_t *q, float d, float *values) {
    for (int i = 0; i < 32; i++) {
        values[i] = (float)(int8_t)q[i] * d;
    }
}

void blk_decode_q8_0(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 34, values += 32) {
        scale_bytes(blocks + 2, blk_load_half(blocks), values);
    }
}

void blk_decode_q8_1(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += 36, values += 32) {
        scale_bytes(blocks + 4, blk_load_half(blocks), values);
    }
}
