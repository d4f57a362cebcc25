/* blk_soa.c — Q4_K_SOA: Q4_K with its sixteen scales multiplied out to halves (P64 14.1).
 *
 *   byte 0 q[128] (as in Q4_K)   128 d_sub[8]   144 m_sub[8]        value = d_sub * q - m_sub
 */
#include "blk_impl.h"

#include <math.h>
#include <stddef.h>

#define Q4_K_BYTES 144
#define SOA_BYTES 160
#define SOA_D_AT 128
#define SOA_M_AT 144

void blk_decode_q4_k_soa(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += SOA_BYTES, values += 256) {
        for (int sub = 0; sub < 8; sub++) {
            const float d = blk_load_half(blocks + SOA_D_AT + 2 * sub);
            const float m = blk_load_half(blocks + SOA_M_AT + 2 * sub);
            const uint8_t *q = blocks + sub / 2 * 32;
            for (int l = 0; l < 32; l++) {
                values[32 * sub + l] = d * (float)(q[l] >> (sub % 2 * 4) & 15) - m;
            }
        }
    }
}

/* False when a product is no finite half: then the tensor must stay Q4_K. */
static bool rearrange_block(const uint8_t *q4_k, uint8_t *soa) {
    const float d = blk_load_half(q4_k);
    const float dmin = blk_load_half(q4_k + 2);
    bool fits = true;
    for (unsigned sub = 0; sub < 8; sub++) {
        uint8_t sc, m;
        blk_unpack_k4_scale(q4_k + 4, sub, &sc, &m);
        fits &= blk_store_half(soa + SOA_D_AT + 2 * sub, d * (float)sc);
        fits &= blk_store_half(soa + SOA_M_AT + 2 * sub, dmin * (float)m);
    }
    memcpy(soa, q4_k + 16, 128);
    return fits;
}

fmt_status blk_q4_k_to_soa(const void *q4_k, uint64_t count, void *out_soa, uint64_t *out_index) {
    if (count % 256 != 0) {
        return FMT_BAD_ARG;
    }
    const uint8_t *from = q4_k;
    uint8_t *to = out_soa;
    for (uint64_t b = 0; b < count / 256; b++) {
        if (!rearrange_block(from + b * Q4_K_BYTES, to + b * SOA_BYTES)) {
            if (out_index != NULL) {
                *out_index = b * 256;
            }
            return FMT_LIMIT;
        }
    }
    return FMT_OK;
}

/* 0..15, from the *rounded* scale and minimum. A scale that rounded to zero makes every element -m, whatever q is. */
static uint8_t choose_nibble(float value, float d, float m) {
    if (d == 0.0f) {
        return 0;
    }
    const float q = roundf((value + m) / d);
    return q > 15.0f ? 15 : q > 0.0f ? (uint8_t)q : 0;
}

static bool encode_sub_block(const float *values, int sub, uint8_t *soa) {
    float lo = values[0];
    float hi = values[0];
    bool fits = true;
    for (int l = 0; l < 32; l++) {
        fits &= blk_is_finite(values[l]);
        lo = values[l] < lo ? values[l] : lo;
        hi = values[l] > hi ? values[l] : hi;
    }
    fits &= blk_store_half(soa + SOA_D_AT + 2 * sub, hi > lo ? (hi - lo) / 15.0f : 1.0f);
    fits &= blk_store_half(soa + SOA_M_AT + 2 * sub, -lo);
    if (!fits) {
        return false;
    }
    const float d = blk_load_half(soa + SOA_D_AT + 2 * sub);
    const float m = blk_load_half(soa + SOA_M_AT + 2 * sub);
    uint8_t *q = soa + sub / 2 * 32;
    for (int l = 0; l < 32; l++) {
        const uint8_t nibble = choose_nibble(values[l], d, m);
        q[l] = (uint8_t)(sub % 2 == 0 ? nibble : q[l] | nibble << 4);
    }
    return true;
}

uint64_t blk_encode_q4_k_soa(const float *values, uint64_t n_blocks, uint8_t *blocks) {
    for (uint64_t b = 0; b < n_blocks; b++) {
        for (int sub = 0; sub < 8; sub++) {
            if (!encode_sub_block(values + 256 * b + 32 * sub, sub, blocks + SOA_BYTES * b)) {
                return b;
            }
        }
    }
    return n_blocks;
}
