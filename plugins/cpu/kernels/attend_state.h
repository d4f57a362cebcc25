/* attend_state.h — rows of keys and values in the formats that a state may have. Included after a simd header and kernels.h. */
#ifndef CPU_ATTEND_STATE_H
#define CPU_ATTEND_STATE_H

static const float minus_infinity = -INFINITY;

/* Sixteen elements; with Q8_0 i is a multiple of sixteen, and the product of scale and digit is exact. */
SIMD_INLINE vf load_state(const void *row, uint32_t i, const qn_format format) {
    if (format == QN_FORMAT_Q8_0) {
        const uint8_t *const block = (const uint8_t *)row + i / 32 * 34;
        return vf_mul(vf_from_i8(block + 2 + i % 32), vf_set1_f16(block));
    }
    return format == QN_FORMAT_F32 ? vf_load((const float *)row + i)
         : format == QN_FORMAT_F16 ? vf_from_f16((const uint16_t *)row + i) : vf_from_bf16((const uint16_t *)row + i);
}

/* The first n (1..16) elements; the others are zero. */
SIMD_INLINE vf load_state_part(const void *row, uint32_t i, uint32_t n, const qn_format format) {
    uint16_t half[16] = {0};
    if (n == 16 || format == QN_FORMAT_Q8_0) { /* whose heads are whole blocks */
        return load_state(row, i, format);
    }
    if (format == QN_FORMAT_F32) {
        return vf_load_part((const float *)row + i, n);
    }
    memcpy(half, (const uint16_t *)row + i, 2 * (size_t)n);
    return format == QN_FORMAT_F16 ? vf_from_f16(half) : vf_from_bf16(half);
}

SIMD_INLINE const void *state_row(const void *base, uint64_t stride, uint32_t cell) {
    return (const uint8_t *)base + cell * stride;
}

/* Bytes of n elements, n being a multiple of 32 with Q8_0. */
SIMD_INLINE uint32_t state_bytes(uint32_t n, const qn_format format) {
    return format == QN_FORMAT_F32 ? 4 * n : format == QN_FORMAT_Q8_0 ? n / 32 * 34 : 2 * n;
}

SIMD_INLINE vf load_lanes(const float *p, uint32_t n) {
    return n == 16 ? vf_load(p) : vf_load_part(p, n);
}

#endif
