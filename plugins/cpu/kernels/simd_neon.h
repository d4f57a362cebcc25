/* simd_neon.h — the vocabulary of simd_c.h in AArch64 NEON, with or without the dot product: sixteen lanes are four registers. */
#ifndef CPU_SIMD_H
#define CPU_SIMD_H
#include <arm_neon.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD_TILE_PANELS 1
#define SIMD_TILE_TOKENS 1
#define SIMD_TILE_BLOCKS 16
#define SIMD_FLOAT_PANELS 1
#define SIMD_FLOAT_TOKENS 6
#define SIMD_QUAD_VECTORS 1
#define SIMD_VALUE_VECTORS 1
#define SIMD_INLINE static inline __attribute__((always_inline, unused))

typedef struct { float32x4_t v[4]; } vf;
typedef struct { int32x4_t v[4]; } vi;
typedef struct { uint8x16_t v[4]; } vb;

/* One operation on each quarter i of the result r. */
#define SIMD_QUARTERS(type, expression) \
    type r;                             \
    r.v[0] = expression(0);             \
    r.v[1] = expression(1);             \
    r.v[2] = expression(2);             \
    r.v[3] = expression(3);             \
    return r

/* --- f32 -------------------------------------------------------------------------------------------------------------- */

#define Q(i) vld1q_f32(p + 4 * (i))
SIMD_INLINE vf vf_load(const float *p) { SIMD_QUARTERS(vf, Q); }
#undef Q
SIMD_INLINE void vf_store(float *p, vf a) {
    vst1q_f32(p, a.v[0]);
    vst1q_f32(p + 4, a.v[1]);
    vst1q_f32(p + 8, a.v[2]);
    vst1q_f32(p + 12, a.v[3]);
}
SIMD_INLINE vf vf_load_part(const float *p, uint32_t n) {
    float lanes[16] = {0};
    memcpy(lanes, p, n * sizeof(float));
    return vf_load(lanes);
}
SIMD_INLINE void vf_store_part(float *p, vf a, uint32_t n) {
    float lanes[16];
    vf_store(lanes, a);
    memcpy(p, lanes, n * sizeof(float));
}
#define Q(i) vdupq_n_f32(x)
SIMD_INLINE vf vf_set1(float x) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vaddq_f32(a.v[i], b.v[i])
SIMD_INLINE vf vf_add(vf a, vf b) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vsubq_f32(a.v[i], b.v[i])
SIMD_INLINE vf vf_sub(vf a, vf b) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vmulq_f32(a.v[i], b.v[i])
SIMD_INLINE vf vf_mul(vf a, vf b) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vdivq_f32(a.v[i], b.v[i])
SIMD_INLINE vf vf_div(vf a, vf b) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vmaxq_f32(a.v[i], b.v[i])
SIMD_INLINE vf vf_max(vf a, vf b) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vminq_f32(a.v[i], b.v[i])
SIMD_INLINE vf vf_min(vf a, vf b) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vabsq_f32(a.v[i])
SIMD_INLINE vf vf_abs(vf a) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vbslq_f32(vdupq_n_u32(0x80000000u), b.v[i], a.v[i])
SIMD_INLINE vf vf_copysign(vf a, vf b) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vfmaq_f32(c.v[i], a.v[i], b.v[i])
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vfmsq_f32(c.v[i], a.v[i], b.v[i])
SIMD_INLINE vf vf_fnma(vf a, vf b, vf c) { SIMD_QUARTERS(vf, Q); }
#undef Q
SIMD_INLINE float vf_sum(vf a) { return vaddvq_f32(vaddq_f32(vaddq_f32(a.v[0], a.v[1]), vaddq_f32(a.v[2], a.v[3]))); }
SIMD_INLINE float vf_max_lane(vf a) { return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.v[0], a.v[1]), vmaxq_f32(a.v[2], a.v[3]))); }
#define Q(i) vrndnq_f32(a.v[i])
SIMD_INLINE vf vf_round(vf a) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vmulq_f32(a.v[i], vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n.v[i]), vdupq_n_s32(127)), 23)))
SIMD_INLINE vf vf_scale2(vf a, vf n) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a.v[i]), vcgeq_f32(x.v[i], vdupq_n_f32(least))))
SIMD_INLINE vf vf_keep_ge(vf a, vf x, float least) { SIMD_QUARTERS(vf, Q); }
#undef Q

/* --- Other element types ---------------------------------------------------------------------------------------------- */

#define Q(i) vcvt_f32_f16(vreinterpret_f16_u16(vreinterpret_u16_u8(vld1_u8((const uint8_t *)p + 8 * (i)))))
SIMD_INLINE vf vf_from_f16(const void *p) { SIMD_QUARTERS(vf, Q); }
#undef Q
SIMD_INLINE vf vf_set1_f16(const void *p) {
    uint16_t h;
    memcpy(&h, p, sizeof h);
    const float32x4_t four = vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h)));
    const vf r = {{four, four, four, four}};
    return r;
}
#define Q(i) vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8((const uint8_t *)p + 8 * (i))), 16))
SIMD_INLINE vf vf_from_bf16(const void *p) { SIMD_QUARTERS(vf, Q); }
#undef Q
SIMD_INLINE void vf_to_f16(uint16_t *p, vf a) {
    for (int i = 0; i < 4; i++) {
        vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(a.v[i])));
    }
}
SIMD_INLINE void vf_to_bf16(uint16_t *p, vf a) {
    for (int i = 0; i < 4; i++) {
        const uint32x4_t bits = vreinterpretq_u32_f32(a.v[i]);
        const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
        const uint32x4_t up = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
        const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
        vst1_u16(p + 4 * i, vshrn_n_u32(vbslq_u32(vceqq_f32(a.v[i], a.v[i]), up, quiet), 16));
    }
}
SIMD_INLINE vf vf_from_u8(const uint8_t *p) {
    const uint8x16_t q = vld1q_u8(p);
    const uint16x8_t low = vmovl_u8(vget_low_u8(q));
    const uint16x8_t high = vmovl_u8(vget_high_u8(q));
    const vf r = {{vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(low))),
                   vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(high)))}};
    return r;
}
SIMD_INLINE vf vf_from_i8(const uint8_t *p) {
    const int8x16_t q = vreinterpretq_s8_u8(vld1q_u8(p));
    const int16x8_t low = vmovl_s8(vget_low_s8(q));
    const int16x8_t high = vmovl_s8(vget_high_s8(q));
    const vf r = {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
                   vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))}};
    return r;
}
#define Q(i) vcvtq_f32_s32(a.v[i])
SIMD_INLINE vf vf_from_vi(vi a) { SIMD_QUARTERS(vf, Q); }
#undef Q
SIMD_INLINE int32_t vf_to_i8(int8_t *p, vf a) {
    int32x4_t q[4];
    for (int i = 0; i < 4; i++) {
        q[i] = vcvtnq_s32_f32(a.v[i]);
    }
    const int16x8_t low = vcombine_s16(vqmovn_s32(q[0]), vqmovn_s32(q[1]));
    const int16x8_t high = vcombine_s16(vqmovn_s32(q[2]), vqmovn_s32(q[3]));
    vst1q_s8(p, vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)));
    return vaddvq_s32(vaddq_s32(vaddq_s32(q[0], q[1]), vaddq_s32(q[2], q[3])));
}
/* Rows become columns, four by four. */
SIMD_INLINE void vf_transpose(vf *rows) {
    vf columns[16];
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const float32x4x2_t a = vtrnq_f32(rows[4 * i].v[j], rows[4 * i + 1].v[j]);
            const float32x4x2_t b = vtrnq_f32(rows[4 * i + 2].v[j], rows[4 * i + 3].v[j]);
            columns[4 * j].v[i] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
            columns[4 * j + 1].v[i] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
            columns[4 * j + 2].v[i] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
            columns[4 * j + 3].v[i] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
        }
    }
    memcpy(rows, columns, sizeof columns);
}
SIMD_INLINE vf vf_sums(vf *rows) {
    float32x4_t t[16];
    vf r;
    for (int i = 0; i < 16; i++) {
        t[i] = vaddq_f32(vaddq_f32(rows[i].v[0], rows[i].v[1]), vaddq_f32(rows[i].v[2], rows[i].v[3]));
    }
    for (int i = 0; i < 4; i++) {
        r.v[i] = vpaddq_f32(vpaddq_f32(t[4 * i], t[4 * i + 1]), vpaddq_f32(t[4 * i + 2], t[4 * i + 3]));
    }
    return r;
}

#define Q(i) vld1q_f32(p)
SIMD_INLINE vf vf_load4(const float *p) { SIMD_QUARTERS(vf, Q); }
#undef Q
SIMD_INLINE void vf_quads_f16(const uint8_t *row, uint64_t stride, vf *low, vf *high) {
    for (int i = 0; i < 4; i++) {
        const float16x8_t eight = vreinterpretq_f16_u8(vld1q_u8(row + (uint64_t)i * stride));
        low->v[i] = vcvt_f32_f16(vget_low_f16(eight));
        high->v[i] = vcvt_f32_f16(vget_high_f16(eight));
    }
}
SIMD_INLINE void vf_quads_f32(const uint8_t *row, uint64_t stride, vf *low, vf *high) {
    for (int i = 0; i < 4; i++) {
        low->v[i] = vreinterpretq_f32_u8(vld1q_u8(row + (uint64_t)i * stride));
        high->v[i] = vreinterpretq_f32_u8(vld1q_u8(row + (uint64_t)i * stride + 16));
    }
}
#define Q(i) vpaddq_f32(vpaddq_f32(rows[0].v[i], rows[1].v[i]), vpaddq_f32(rows[2].v[i], rows[3].v[i]))
SIMD_INLINE vf vf_sums4(const vf *rows) { SIMD_QUARTERS(vf, Q); }
#undef Q

/* --- Bytes ------------------------------------------------------------------------------------------------------------ */

#define Q(i) vld1q_u8(p + 16 * (i))
SIMD_INLINE vb vb_load(const uint8_t *p) { SIMD_QUARTERS(vb, Q); }
#undef Q
SIMD_INLINE void vb_store(uint8_t *p, vb a) {
    vst1q_u8(p, a.v[0]);
    vst1q_u8(p + 16, a.v[1]);
    vst1q_u8(p + 32, a.v[2]);
    vst1q_u8(p + 48, a.v[3]);
}
#define Q(i) vandq_u8(a.v[i], vdupq_n_u8(15))
SIMD_INLINE vb vb_low4(vb a) { SIMD_QUARTERS(vb, Q); }
#undef Q
#define Q(i) vshrq_n_u8(a.v[i], 4)
SIMD_INLINE vb vb_high4(vb a) { SIMD_QUARTERS(vb, Q); }
#undef Q
SIMD_INLINE vb vb_load_halves(const uint8_t *a, const uint8_t *b) {
    const vb r = {{vld1q_u8(a), vld1q_u8(a + 16), vld1q_u8(b), vld1q_u8(b + 16)}};
    return r;
}
#define Q(i) vreinterpretq_f32_u8(a.v[i])
SIMD_INLINE vf vf_of_bits(vb a) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define Q(i) vreinterpretq_u8_f32(a.v[i])
SIMD_INLINE vb vb_of_bits(vf a) { SIMD_QUARTERS(vb, Q); }
#undef Q
#define Q(i) veorq_u8(a.v[i], vdupq_n_u8(0x80))
SIMD_INLINE vb vb_flip(vb a) { SIMD_QUARTERS(vb, Q); }
#undef Q
/* Shifts by a count that may go either way: to the left when it is positive. */
#define Q(i) vorrq_u8(a.v[i], vandq_u8(vshlq_u8(h.v[i], vdupq_n_s8((int8_t)shift)), vdupq_n_u8(mask)))
SIMD_INLINE vb vb_or_masked_(vb a, vb h, int shift, uint8_t mask) { SIMD_QUARTERS(vb, Q); }
#undef Q
#define vb_or_bit(a, h, n) vb_or_masked_(a, h, 4 - (n), 16)
#define vb_or_two(a, h, n) vb_or_masked_(a, h, 4 - 2 * (n), 48)
#define Q(i) vandq_u8(vshlq_u8(h.v[i], vdupq_n_s8((int8_t)-shift)), vdupq_n_u8(3))
SIMD_INLINE vb vb_two_(vb h, int shift) { SIMD_QUARTERS(vb, Q); }
#undef Q
#define vb_two(h, n) vb_two_(h, 2 * (n))
#define Q(i) vcvtq_f32_u32(vandq_u32(vshlq_u32(vreinterpretq_u32_u8(a.v[i]), vdupq_n_s32(-shift)), vdupq_n_u32(255)))
SIMD_INLINE vf vb_byte_(vb a, int shift) { SIMD_QUARTERS(vf, Q); }
#undef Q
#define vb_byte(a, n) vb_byte_(a, 8 * (n))

SIMD_INLINE int32_t four_bytes(const void *a) {
    int32_t value;
    memcpy(&value, a, sizeof value);
    return value;
}

/* Quants as signed bytes: 8-bit ones lose their zero point here, others are small enough as they are. */
SIMD_INLINE int8x16_t signed_quants(uint8x16_t w, const uint32_t bits) {
    return vreinterpretq_s8_u8(bits == 8 ? veorq_u8(w, vdupq_n_u8(0x80)) : w);
}

SIMD_INLINE vi vi_dot(const vb *w, const int8_t *a, int32_t neg, const int n_vectors, const uint32_t bits, const uint32_t zero_shift) {
    const int32_t start = zero_shift == 31 || bits == 8 ? 0 : neg * (1 << (zero_shift & 7));
    vi r = {{vdupq_n_s32(start), vdupq_n_s32(start), vdupq_n_s32(start), vdupq_n_s32(start)}};
#ifdef SIMD_HAS_DOTPROD
#pragma GCC unroll 8
    for (int v = 0; v < n_vectors; v++) {
        const int8x16_t four = vreinterpretq_s8_s32(vdupq_n_s32(four_bytes(a + 4 * v)));
        for (int i = 0; i < 4; i++) {
            r.v[i] = vdotq_s32(r.v[i], signed_quants(w[v].v[i], bits), four);
        }
    }
#else
    for (int i = 0; i < 4; i++) {
        int32x4_t low = vdupq_n_s32(0);
        int32x4_t high = low;
#pragma GCC unroll 8
        for (int v = 0; v < n_vectors; v++) {
            const int8x16_t four = vreinterpretq_s8_s32(vdupq_n_s32(four_bytes(a + 4 * v)));
            const int8x16_t q = signed_quants(w[v].v[i], bits);
            low = vpadalq_s16(low, vmull_s8(vget_low_s8(q), vget_low_s8(four)));
            high = vpadalq_s16(high, vmull_s8(vget_high_s8(q), vget_high_s8(four)));
        }
        r.v[i] = vaddq_s32(r.v[i], vpaddq_s32(low, high));
    }
#endif
    return r;
}

#define SIMD_PREFETCH_NEAR(p) __builtin_prefetch((p), 0, 3)
#define SIMD_PREFETCH_FAR(p) __builtin_prefetch((p), 0, 2)

#endif
