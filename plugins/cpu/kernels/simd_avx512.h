/* simd_avx512.h — the vocabulary of simd_c.h in AVX-512 (F, BW, DQ, VL), with or without VNNI. */
#ifndef CPU_SIMD_H
#define CPU_SIMD_H
#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD_TILE_PANELS 2
#define SIMD_TILE_TOKENS 6
#define SIMD_TILE_BLOCKS 64
#define SIMD_FLOAT_PANELS 2
#define SIMD_FLOAT_TOKENS 12
#define SIMD_QUAD_VECTORS 4
#define SIMD_VALUE_VECTORS 4
#define SIMD_GEMV_ROWS 8
#define SIMD_INLINE static inline __attribute__((always_inline, unused))

typedef __m512 vf;
typedef __m512i vi;
typedef __m512i vb;

/* --- f32 -------------------------------------------------------------------------------------------------------------- */

SIMD_INLINE __mmask16 first_lanes(uint32_t n) { return (__mmask16)((1u << n) - 1u); }
SIMD_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
SIMD_INLINE void vf_store(float *p, vf a) { _mm512_storeu_ps(p, a); }
SIMD_INLINE vf vf_load_part(const float *p, uint32_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
SIMD_INLINE void vf_store_part(float *p, vf a, uint32_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), a); }
SIMD_INLINE vf vf_set1(float x) { return _mm512_set1_ps(x); }
SIMD_INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
SIMD_INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
SIMD_INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
SIMD_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
SIMD_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
SIMD_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
SIMD_INLINE vf vf_abs(vf a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
SIMD_INLINE vf vf_copysign(vf a, vf b) { return _mm512_or_ps(vf_abs(a), _mm512_and_ps(b, _mm512_set1_ps(-0.0f))); }
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
SIMD_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
SIMD_INLINE float vf_sum(vf a) { return _mm512_reduce_add_ps(a); }
SIMD_INLINE float vf_max_lane(vf a) { return _mm512_reduce_max_ps(a); }
SIMD_INLINE vf vf_round(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
SIMD_INLINE vf vf_scale2(vf a, vf n) { return _mm512_scalef_ps(a, n); }
SIMD_INLINE vf vf_keep_ge(vf a, vf x, float least) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(least), _CMP_GE_OQ), a);
}

/* --- Other element types ---------------------------------------------------------------------------------------------- */

SIMD_INLINE vf vf_from_f16(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
SIMD_INLINE vf vf_set1_f16(const void *p) {
    int16_t h;
    memcpy(&h, p, sizeof h);
    return _mm512_cvtph_ps(_mm256_set1_epi16(h));
}
SIMD_INLINE vf vf_from_bf16(const void *p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16));
}
SIMD_INLINE void vf_to_f16(uint16_t *p, vf a) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
SIMD_INLINE void vf_to_bf16(uint16_t *p, vf a) {
    const __m512i bits = _mm512_castps_si512(a);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __m512i all = _mm512_mask_mov_epi32(up, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), quiet);
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(all, 16)));
}
SIMD_INLINE vf vf_from_u8(const uint8_t *p) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p))); }
SIMD_INLINE vf vf_from_i8(const uint8_t *p) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p))); }
SIMD_INLINE vf vf_from_vi(vi a) { return _mm512_cvtepi32_ps(a); }
SIMD_INLINE int32_t vf_to_i8(int8_t *p, vf a) {
    const __m512i whole = _mm512_max_epi32(_mm512_cvtps_epi32(a), _mm512_set1_epi32(-127)); /* a NaN is the least integer, which does not add up */
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtsepi32_epi8(whole));
    return _mm512_reduce_add_epi32(whole);
}

/* Interleaves lanes of a and b, then pairs, then quarters and halves: the four rounds of a 16 x 16 transposition. */
SIMD_INLINE void vf_transpose(vf *r) {
    __m512 t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(t[i]), _mm512_castps_pd(t[i + 2])));
        r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
        r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(t[i + 1]), _mm512_castps_pd(t[i + 3])));
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

/* Four rounds that halve the lanes of a row. Where halves may stay in place a blend does the work of a shuffle, of which the processor
 * does only one at a time. */
SIMD_INLINE vf vf_sums(vf *r) {
    __m512 t[8];
    __m512 u[4];
    for (int i = 0; i < 8; i++) {
        const __m512 a = r[2 * i];
        const __m512 b = r[2 * i + 1];
        t[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xcccc, a, b), _mm512_shuffle_ps(a, b, 0x4e));
    }
    for (int i = 0; i < 4; i++) {
        u[i] = _mm512_add_ps(_mm512_shuffle_ps(t[2 * i], t[2 * i + 1], 0x88), _mm512_shuffle_ps(t[2 * i], t[2 * i + 1], 0xdd));
    }
    const __m512 v0 = _mm512_add_ps(_mm512_mask_blend_ps(0xff00, u[0], u[1]), _mm512_shuffle_f32x4(u[0], u[1], 0x4e));
    const __m512 v1 = _mm512_add_ps(_mm512_mask_blend_ps(0xff00, u[2], u[3]), _mm512_shuffle_f32x4(u[2], u[3], 0x4e));
    return _mm512_add_ps(_mm512_shuffle_f32x4(v0, v1, 0x88), _mm512_shuffle_f32x4(v0, v1, 0xdd));
}

SIMD_INLINE vf vf_load4(const float *p) { return _mm512_broadcast_f32x4(_mm_loadu_ps(p)); }
SIMD_INLINE __m256i two_rows_(const uint8_t *a, const uint8_t *b) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)a)),
                                   _mm_loadu_si128((const __m128i *)(const void *)b), 1);
}
SIMD_INLINE void vf_quads_f16(const uint8_t *row, uint64_t stride, vf *low, vf *high) {
    const __m256i even = two_rows_(row, row + 2 * stride);
    const __m256i odd = two_rows_(row + stride, row + 3 * stride);
    *low = _mm512_cvtph_ps(_mm256_unpacklo_epi64(even, odd));
    *high = _mm512_cvtph_ps(_mm256_unpackhi_epi64(even, odd));
}
SIMD_INLINE vf quads_(const uint8_t *row, uint64_t stride) {
    return _mm512_castsi512_ps(_mm512_inserti64x4(_mm512_castsi256_si512(two_rows_(row, row + stride)),
                                                  two_rows_(row + 2 * stride, row + 3 * stride), 1));
}
SIMD_INLINE void vf_quads_f32(const uint8_t *row, uint64_t stride, vf *low, vf *high) {
    *low = quads_(row, stride);
    *high = quads_(row + 16, stride);
}
SIMD_INLINE vf vf_sums4(const vf *r) {
    const vf a = _mm512_add_ps(_mm512_mask_blend_ps(0xcccc, r[0], r[1]), _mm512_shuffle_ps(r[0], r[1], 0x4e));
    const vf b = _mm512_add_ps(_mm512_mask_blend_ps(0xcccc, r[2], r[3]), _mm512_shuffle_ps(r[2], r[3], 0x4e));
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
}

/* --- Bytes ------------------------------------------------------------------------------------------------------------ */

SIMD_INLINE vb vb_load(const uint8_t *p) { return _mm512_loadu_si512(p); }
SIMD_INLINE void vb_store(uint8_t *p, vb a) { _mm512_storeu_si512(p, a); }
SIMD_INLINE vb vb_low4(vb a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
SIMD_INLINE vb vb_high4(vb a) { return _mm512_and_si512(_mm512_srli_epi16(a, 4), _mm512_set1_epi8(15)); }
SIMD_INLINE vb vb_load_halves(const uint8_t *a, const uint8_t *b) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)a)),
                              _mm256_loadu_si256((const __m256i *)(const void *)b), 1);
}
SIMD_INLINE vf vf_of_bits(vb a) { return _mm512_castsi512_ps(a); }
SIMD_INLINE vb vb_of_bits(vf a) { return _mm512_castps_si512(a); }
SIMD_INLINE vb vb_flip(vb a) { return _mm512_xor_si512(a, _mm512_set1_epi8(-128)); }
/* Bits shift inside 16-bit lanes; the mask drops what crosses a byte. 0xea: (b & c) | a. */
#define vb_bits_to_(h, shift) ((shift) >= 0 ? _mm512_slli_epi16(h, (shift) & 15) : _mm512_srli_epi16(h, -(shift) & 15))
#define vb_or_bit(a, h, n) _mm512_ternarylogic_epi32(vb_bits_to_(h, 4 - (n)), _mm512_set1_epi8(16), a, 0xea)
#define vb_two(h, n) _mm512_and_si512(_mm512_srli_epi16(h, 2 * (n)), _mm512_set1_epi8(3))
#define vb_or_two(a, h, n) _mm512_ternarylogic_epi32(vb_bits_to_(h, 4 - 2 * (n)), _mm512_set1_epi8(48), a, 0xea)
#define vb_byte(a, n) _mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32(a, 8 * (n)), _mm512_set1_epi32(255)))

SIMD_INLINE int32_t four_bytes(const void *a) {
    int32_t value;
    memcpy(&value, a, sizeof value);
    return value;
}

/* acc + products of the quants of one vector with four activations. */
SIMD_INLINE vi vi_dot4(vi acc, vb w, vi a, const uint32_t bits) {
#ifdef SIMD_HAS_VNNI
    (void)bits;
    return _mm512_dpbusd_epi32(acc, w, a);
#else
    if (bits < 8) {
        return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(w, a), _mm512_set1_epi16(1)));
    }
    /* Two products with unsigned bytes up to 255 do not fit in 16 bits: each half on its own. */
    const __m512i even = _mm512_maddubs_epi16(_mm512_and_si512(w, _mm512_set1_epi16(0x00ff)), a);
    const __m512i odd = _mm512_maddubs_epi16(_mm512_andnot_si512(_mm512_set1_epi16(0x00ff), w), a);
    const __m512i one = _mm512_set1_epi16(1);
    return _mm512_add_epi32(acc, _mm512_add_epi32(_mm512_madd_epi16(even, one), _mm512_madd_epi16(odd, one)));
#endif
}

SIMD_INLINE vi vi_start(int32_t neg, const uint32_t zero_shift) {
    return zero_shift == 31 ? _mm512_setzero_si512() : _mm512_slli_epi32(_mm512_set1_epi32(neg), zero_shift & 7);
}

SIMD_INLINE vi vi_dot(const vb *w, const int8_t *a, int32_t neg, const int n_vectors, const uint32_t bits, const uint32_t zero_shift) {
    vi even = vi_start(neg, zero_shift);
    vi odd = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int v = 0; v < n_vectors; v += 2) {
        even = vi_dot4(even, w[v], _mm512_set1_epi32(four_bytes(a + 4 * v)), bits);
        odd = vi_dot4(odd, w[v + 1], _mm512_set1_epi32(four_bytes(a + 4 * v + 4)), bits);
    }
    return _mm512_add_epi32(even, odd);
}

#define SIMD_PREFETCH_NEAR(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
#define SIMD_PREFETCH_FAR(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)

#endif
