/* blk_half.c — half and bfloat16 conversions, in integer arithmetic so that every machine gives the same bits. */
#include "blk_impl.h"

float blk_f16_to_f32(uint16_t half) {
    return blk_half_to_float(half);
}

/* Below the smallest normal half the step is 2^-24 whatever the exponent: shift the mantissa right until its unit is
 * that step, and round on the bits that fell off. */
static uint32_t round_to_subnormal(uint32_t magnitude) {
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) {
        return 0; /* below 2^-25: less than half a step */
    }
    const uint32_t mantissa = (magnitude & 0x007FFFFFu) | 0x00800000u;
    const uint32_t shift = 126 - exponent;
    const uint32_t kept = mantissa >> shift;
    const uint32_t lost = mantissa & ((1u << shift) - 1);
    const uint32_t middle = 1u << (shift - 1);
    return kept + (lost > middle || (lost == middle && (kept & 1) != 0));
}

uint16_t blk_f32_to_f16(float value) {
    const uint32_t bits = blk_float_to_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    uint32_t half;
    if (magnitude > 0x7F800000u) {
        half = 0x7E00u | (magnitude >> 13 & 0x01FFu);
    } else if (magnitude >= 0x477FF000u) {
        half = 0x7C00u; /* 65520 and above */
    } else if (magnitude < 0x38800000u) {
        half = round_to_subnormal(magnitude);
    } else {
        half = (magnitude - 0x38000000u + 0x0FFFu + (magnitude >> 13 & 1)) >> 13;
    }
    return (uint16_t)(sign | half);
}

float blk_bf16_to_f32(uint16_t bf16) {
    return blk_bits_to_float((uint32_t)bf16 << 16);
}

uint16_t blk_f32_to_bf16(float value) {
    const uint32_t bits = blk_float_to_bits(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
        return (uint16_t)(bits >> 16 | 0x0040u);
    }
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}
