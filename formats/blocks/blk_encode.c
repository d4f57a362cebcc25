/* blk_encode.c — which encoder a type has, and the types whose encoding is one formula. */
#include "blk_impl.h"

#include <math.h>
#include <stddef.h>

static blk_encode_fn *find_encoder(blk_type type) {
    switch (type) {
    case BLK_F16: return blk_encode_f16;
    case BLK_BF16: return blk_encode_bf16;
    case BLK_Q8_0: return blk_encode_q8_0;
    case BLK_Q4_0: return blk_encode_q4_0;
    case BLK_Q4_1: return blk_encode_q4_1;
    case BLK_Q4_K: return blk_encode_q4_k;
    case BLK_Q6_K: return blk_encode_q6_k;
    case BLK_Q4_K_SOA: return blk_encode_q4_k_soa;
    default: return NULL;
    }
}

fmt_status blk_encode(blk_type type, const float *values, uint64_t count, void *out, uint64_t *out_index) {
    if (type == BLK_TERNARY) {
        return blk_encode_ternary(values, count, out, out_index);
    }
    blk_encode_fn *encode = find_encoder(type);
    if (encode == NULL) {
        return FMT_UNSUPPORTED;
    }
    const uint32_t elems = blk_get_info(type)->block_elems;
    if (count % elems != 0) {
        return FMT_BAD_ARG;
    }
    const uint64_t done = encode(values, count / elems, out);
    if (done == count / elems) {
        return FMT_OK;
    }
    if (out_index != NULL) {
        *out_index = done * elems;
    }
    return FMT_LIMIT;
}

uint64_t blk_encode_f16(const float *values, uint64_t n_blocks, uint8_t *blocks) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        if (!blk_store_half(blocks + 2 * i, values[i])) {
            return i;
        }
    }
    return n_blocks;
}

uint64_t blk_encode_bf16(const float *values, uint64_t n_blocks, uint8_t *blocks) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        const uint16_t bf16 = blk_f32_to_bf16(values[i]);
        if ((bf16 & 0x7F80) == 0x7F80) {
            return i;
        }
        store_u16(blocks + 2 * i, bf16);
    }
    return n_blocks;
}

/* The element with the largest magnitude, the first of several; false when an element is not finite. */
static bool find_extreme(const float *values, float *out_extreme) {
    float extreme = 0.0f;
    for (int i = 0; i < 32; i++) {
        if (!blk_is_finite(values[i])) {
            return false;
        }
        if (fabsf(values[i]) > fabsf(extreme)) {
            extreme = values[i];
        }
    }
    *out_extreme = extreme;
    return true;
}

/* 1 / d, or 0 where that is no finite number: d is then so small that its half is zero, and the digits do not matter.
 * */
static float invert_scale(float d) {
    const float inverse = 1.0f / d;
    return d != 0.0f && blk_is_finite(inverse) ? inverse : 0.0f;
}

uint64_t blk_encode_q8_0(const float *values, uint64_t n_blocks, uint8_t *blocks) {
    for (uint64_t b = 0; b < n_blocks; b++, values += 32, blocks += 34) {
        float extreme;
        if (!find_extreme(values, &extreme) || !blk_store_half(blocks, fabsf(extreme) / 127.0f)) {
            return b;
        }
        const float inverse = invert_scale(fabsf(extreme) / 127.0f);
        for (int i = 0; i < 32; i++) {
            blocks[2 + i] = (uint8_t)(int8_t)roundf(values[i] * inverse);
        }
    }
    return n_blocks;
}

static uint8_t clamp_nibble(float value) {
    return value > 15.0f ? 15 : value > 0.0f ? (uint8_t)value : 0;
}

/* P64 14.3: the unrounded scale chooses the digits; product and sum are rounded one by one. */
uint64_t blk_encode_q4_0(const float *values, uint64_t n_blocks, uint8_t *blocks) {
    for (uint64_t b = 0; b < n_blocks; b++, values += 32, blocks += 18) {
        float extreme;
        if (!find_extreme(values, &extreme) || !blk_store_half(blocks, extreme / -8.0f)) {
            return b;
        }
        const float inverse = invert_scale(extreme / -8.0f);
        for (int i = 0; i < 16; i++) {
            const uint8_t low = clamp_nibble(floorf(values[i] * inverse + 8.5f));
            const uint8_t high = clamp_nibble(floorf(values[i + 16] * inverse + 8.5f));
            blocks[2 + i] = (uint8_t)(low | high << 4);
        }
    }
    return n_blocks;
}

uint64_t blk_encode_q4_1(const float *values, uint64_t n_blocks, uint8_t *blocks) {
    for (uint64_t b = 0; b < n_blocks; b++, values += 32, blocks += 20) {
        float lo = values[0];
        float hi = values[0];
        bool fits = true;
        for (int i = 0; i < 32; i++) {
            fits &= blk_is_finite(values[i]);
            lo = values[i] < lo ? values[i] : lo;
            hi = values[i] > hi ? values[i] : hi;
        }
        fits &= blk_store_half(blocks, (hi - lo) / 15.0f);
        fits &= blk_store_half(blocks + 2, lo);
        if (!fits) {
            return b;
        }
        const float inverse = invert_scale((hi - lo) / 15.0f);
        for (int i = 0; i < 16; i++) {
            const uint8_t low = clamp_nibble((values[i] - lo) * inverse + 0.5f);
            const uint8_t high = clamp_nibble((values[i + 16] - lo) * inverse + 0.5f);
            blocks[4 + i] = (uint8_t)(low | high << 4);
        }
    }
    return n_blocks;
}
