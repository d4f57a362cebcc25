/* simd_avx2.h — the vocabulary of simd_c.h in AVX2, FMA and F16C: sixteen lanes are two registers. */
#ifndef CPU_SIMD_H
#define CPU_SIMD_H
#include <immintrin.h>
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

typedef struct { __m256 a, b; } vf;
typedef struct { __m256i a, b; } vi;
typedef struct { __m256i a, b; } vb;

/* --- f32 -------------------------------------------------------------------------------------------------------------- */

SIMD_INLINE vf vf_of(__m256 a, __m256 b) { const vf r = {a, b}; return r; }
SIMD_INLINE vf vf_load(const float *p) { return vf_of(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)); }
SIMD_INLINE void vf_store(float *p, vf x) { _mm256_storeu_ps(p, x.a); _mm256_storeu_ps(p + 8, x.b); }
/* All bits in lanes below n - first. */
SIMD_INLINE __m256i lanes_below(uint32_t n, int first) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n - first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
SIMD_INLINE vf vf_load_part(const float *p, uint32_t n) {
    return vf_of(_mm256_maskload_ps(p, lanes_below(n, 0)), n > 8 ? _mm256_maskload_ps(p + 8, lanes_below(n, 8)) : _mm256_setzero_ps());
}
SIMD_INLINE void vf_store_part(float *p, vf x, uint32_t n) {
    _mm256_maskstore_ps(p, lanes_below(n, 0), x.a);
    if (n > 8) {
        _mm256_maskstore_ps(p + 8, lanes_below(n, 8), x.b);
    }
}
SIMD_INLINE vf vf_set1(float x) { return vf_of(_mm256_set1_ps(x), _mm256_set1_ps(x)); }
SIMD_INLINE vf vf_add(vf x, vf y) { return vf_of(_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)); }
SIMD_INLINE vf vf_sub(vf x, vf y) { return vf_of(_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)); }
SIMD_INLINE vf vf_mul(vf x, vf y) { return vf_of(_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)); }
SIMD_INLINE vf vf_div(vf x, vf y) { return vf_of(_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)); }
SIMD_INLINE vf vf_max(vf x, vf y) { return vf_of(_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)); }
SIMD_INLINE vf vf_min(vf x, vf y) { return vf_of(_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)); }
SIMD_INLINE vf vf_abs(vf x) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return vf_of(_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b));
}
SIMD_INLINE vf vf_copysign(vf x, vf y) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const vf r = vf_abs(x);
    return vf_of(_mm256_or_ps(r.a, _mm256_and_ps(y.a, sign)), _mm256_or_ps(r.b, _mm256_and_ps(y.b, sign)));
}
SIMD_INLINE vf vf_fma(vf x, vf y, vf z) { return vf_of(_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)); }
SIMD_INLINE vf vf_fnma(vf x, vf y, vf z) { return vf_of(_mm256_fnmadd_ps(x.a, y.a, z.a), _mm256_fnmadd_ps(x.b, y.b, z.b)); }
SIMD_INLINE float vf_sum(vf x) {
    const __m256 eight = _mm256_add_ps(x.a, x.b);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}
SIMD_INLINE float vf_max_lane(vf x) {
    const __m256 eight = _mm256_max_ps(x.a, x.b);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}
SIMD_INLINE vf vf_round(vf x) {
    return vf_of(_mm256_round_ps(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                 _mm256_round_ps(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
SIMD_INLINE __m256 scale2_(__m256 x, __m256 n) {
    const __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(x, _mm256_castsi256_ps(bits));
}
SIMD_INLINE vf vf_scale2(vf x, vf n) { return vf_of(scale2_(x.a, n.a), scale2_(x.b, n.b)); }
SIMD_INLINE vf vf_keep_ge(vf r, vf x, float least) {
    const __m256 l = _mm256_set1_ps(least);
    return vf_of(_mm256_and_ps(r.a, _mm256_cmp_ps(x.a, l, _CMP_GE_OQ)), _mm256_and_ps(r.b, _mm256_cmp_ps(x.b, l, _CMP_GE_OQ)));
}

/* --- Other element types ---------------------------------------------------------------------------------------------- */

SIMD_INLINE __m128i load128(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
SIMD_INLINE __m256i load256(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
SIMD_INLINE vf vf_from_f16(const void *p) {
    return vf_of(_mm256_cvtph_ps(load128(p)), _mm256_cvtph_ps(load128((const uint8_t *)p + 16)));
}
SIMD_INLINE vf vf_set1_f16(const void *p) {
    int16_t h;
    memcpy(&h, p, sizeof h);
    const __m256 eight = _mm256_cvtph_ps(_mm_set1_epi16(h));
    return vf_of(eight, eight);
}
SIMD_INLINE vf vf_from_bf16(const void *p) {
    const __m256i a = _mm256_cvtepu16_epi32(load128(p));
    const __m256i b = _mm256_cvtepu16_epi32(load128((const uint8_t *)p + 16));
    return vf_of(_mm256_castsi256_ps(_mm256_slli_epi32(a, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(b, 16)));
}
SIMD_INLINE void vf_to_f16(uint16_t *p, vf x) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    _mm_storeu_si128((__m128i *)(void *)(p + 8), _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
SIMD_INLINE __m256i to_bf16_(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, is_nan), 16);
}
SIMD_INLINE void vf_to_bf16(uint16_t *p, vf x) {
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(to_bf16_(x.a), to_bf16_(x.b)), 0xd8);
    _mm256_storeu_si256((__m256i *)(void *)p, packed);
}
SIMD_INLINE vf vf_from_u8(const uint8_t *p) {
    const __m128i q = load128(p);
    return vf_of(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(q)), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(q, 8))));
}
SIMD_INLINE vf vf_from_i8(const uint8_t *p) {
    const __m128i q = load128(p);
    return vf_of(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(q, 8))));
}
SIMD_INLINE vf vf_from_vi(vi x) { return vf_of(_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)); }
SIMD_INLINE int32_t vf_to_i8(int8_t *p, vf x) {
    const __m256i least = _mm256_set1_epi32(-127); /* a NaN is the least integer, which does not add up */
    const __m256i a = _mm256_max_epi32(_mm256_cvtps_epi32(x.a), least);
    const __m256i b = _mm256_max_epi32(_mm256_cvtps_epi32(x.b), least);
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    _mm_storeu_si128((__m128i *)(void *)p, _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
    const __m256i eight = _mm256_add_epi32(a, b);
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
/* Eight rows of eight: singles, pairs and halves change places. */
SIMD_INLINE void transpose8_(__m256 *r) {
    __m256 t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        const __m256 low = r[i];
        r[i] = _mm256_permute2f128_ps(low, r[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(low, r[i + 4], 0x31);
    }
}
/* Sixteen rows of sixteen are four squares of eight. */
SIMD_INLINE void vf_transpose(vf *r) {
    __m256 t[4][8];
    for (int i = 0; i < 8; i++) {
        t[0][i] = r[i].a;
        t[1][i] = r[i].b;
        t[2][i] = r[i + 8].a;
        t[3][i] = r[i + 8].b;
    }
    for (int i = 0; i < 4; i++) {
        transpose8_(t[i]);
    }
    for (int i = 0; i < 8; i++) {
        r[i] = vf_of(t[0][i], t[2][i]);
        r[i + 8] = vf_of(t[1][i], t[3][i]);
    }
}
/* Sums of eight registers, one per lane. */
SIMD_INLINE __m256 sums_(const __m256 *r) {
    const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(r[0], r[1]), _mm256_hadd_ps(r[2], r[3]));
    const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(r[4], r[5]), _mm256_hadd_ps(r[6], r[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}
SIMD_INLINE vf vf_sums(vf *r) {
    __m256 t[16];
    for (int i = 0; i < 16; i++) {
        t[i] = _mm256_add_ps(r[i].a, r[i].b);
    }
    return vf_of(sums_(t), sums_(t + 8));
}

SIMD_INLINE vf vf_load4(const float *p) {
    const __m256 eight = _mm256_broadcast_ps((const __m128 *)(const void *)p);
    return vf_of(eight, eight);
}
SIMD_INLINE void vf_quads_f16(const uint8_t *row, uint64_t stride, vf *low, vf *high) {
    const __m128i a = load128(row);
    const __m128i b = load128(row + stride);
    const __m128i c = load128(row + 2 * stride);
    const __m128i d = load128(row + 3 * stride);
    *low = vf_of(_mm256_cvtph_ps(_mm_unpacklo_epi64(a, b)), _mm256_cvtph_ps(_mm_unpacklo_epi64(c, d)));
    *high = vf_of(_mm256_cvtph_ps(_mm_unpackhi_epi64(a, b)), _mm256_cvtph_ps(_mm_unpackhi_epi64(c, d)));
}
SIMD_INLINE __m256 two_rows_(const uint8_t *a, const uint8_t *b) {
    return _mm256_castsi256_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(load128(a)), load128(b), 1));
}
SIMD_INLINE void vf_quads_f32(const uint8_t *row, uint64_t stride, vf *low, vf *high) {
    *low = vf_of(two_rows_(row, row + stride), two_rows_(row + 2 * stride, row + 3 * stride));
    *high = vf_of(two_rows_(row + 16, row + stride + 16), two_rows_(row + 2 * stride + 16, row + 3 * stride + 16));
}
SIMD_INLINE vf vf_sums4(const vf *r) {
    return vf_of(_mm256_hadd_ps(_mm256_hadd_ps(r[0].a, r[1].a), _mm256_hadd_ps(r[2].a, r[3].a)),
                 _mm256_hadd_ps(_mm256_hadd_ps(r[0].b, r[1].b), _mm256_hadd_ps(r[2].b, r[3].b)));
}

/* --- Bytes ------------------------------------------------------------------------------------------------------------ */

SIMD_INLINE vb vb_of(__m256i a, __m256i b) { const vb r = {a, b}; return r; }
SIMD_INLINE vb vb_load(const uint8_t *p) { return vb_of(load256(p), load256(p + 32)); }
SIMD_INLINE void vb_store(uint8_t *p, vb x) {
    _mm256_storeu_si256((__m256i *)(void *)p, x.a);
    _mm256_storeu_si256((__m256i *)(void *)(p + 32), x.b);
}
SIMD_INLINE vb vb_low4(vb x) {
    const __m256i mask = _mm256_set1_epi8(15);
    return vb_of(_mm256_and_si256(x.a, mask), _mm256_and_si256(x.b, mask));
}
SIMD_INLINE vb vb_high4(vb x) {
    const __m256i mask = _mm256_set1_epi8(15);
    return vb_of(_mm256_and_si256(_mm256_srli_epi16(x.a, 4), mask), _mm256_and_si256(_mm256_srli_epi16(x.b, 4), mask));
}
SIMD_INLINE vb vb_load_halves(const uint8_t *a, const uint8_t *b) { return vb_of(load256(a), load256(b)); }
SIMD_INLINE vf vf_of_bits(vb x) { return vf_of(_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)); }
SIMD_INLINE vb vb_of_bits(vf x) { return vb_of(_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)); }
SIMD_INLINE vb vb_flip(vb x) {
    const __m256i top = _mm256_set1_epi8(-128);
    return vb_of(_mm256_xor_si256(x.a, top), _mm256_xor_si256(x.b, top));
}
/* Bits shift inside 16-bit lanes; the mask drops what crosses a byte. */
#define vb_bits_to_(h, shift) ((shift) >= 0 ? _mm256_slli_epi16(h, (shift) & 15) : _mm256_srli_epi16(h, -(shift) & 15))
#define vb_or_masked_(x, h, shift, mask)                                                                  \
    vb_of(_mm256_or_si256((x).a, _mm256_and_si256(vb_bits_to_((h).a, shift), _mm256_set1_epi8(mask))),     \
          _mm256_or_si256((x).b, _mm256_and_si256(vb_bits_to_((h).b, shift), _mm256_set1_epi8(mask))))
#define vb_or_bit(x, h, n) vb_or_masked_(x, h, 4 - (n), 16)
#define vb_or_two(x, h, n) vb_or_masked_(x, h, 4 - 2 * (n), 48)
#define vb_two(h, n) vb_of(_mm256_and_si256(_mm256_srli_epi16((h).a, 2 * (n)), _mm256_set1_epi8(3)), \
                           _mm256_and_si256(_mm256_srli_epi16((h).b, 2 * (n)), _mm256_set1_epi8(3)))
#define vb_byte_of_(x, n) _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(x, 8 * (n)), _mm256_set1_epi32(255)))
#define vb_byte(x, n) vf_of(vb_byte_of_((x).a, n), vb_byte_of_((x).b, n))

SIMD_INLINE int32_t four_bytes(const void *a) {
    int32_t value;
    memcpy(&value, a, sizeof value);
    return value;
}

/* Pairs of products as 16-bit sums. 8-bit quants lose their zero point first and lend their sign to the activations. */
SIMD_INLINE __m256i pairs_(__m256i w, __m256i a, const uint32_t bits) {
    if (bits < 8) {
        return _mm256_maddubs_epi16(w, a);
    }
    const __m256i q = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
    return _mm256_maddubs_epi16(_mm256_abs_epi8(q), _mm256_sign_epi8(a, q));
}

SIMD_INLINE vi vi_dot(const vb *w, const int8_t *a, int32_t neg, const int n_vectors, const uint32_t bits, const uint32_t zero_shift) {
    /* So many 16-bit sums of pairs can be added before they overflow: 15 * 127 * 2 * 8 = 30480, 31 * 127 * 2 * 4 = 31496,
     * 63 * 127 * 2 * 2 = 32004. */
    const int group = bits <= 4 ? 8 : bits == 5 ? 4 : bits == 6 ? 2 : 1;
    const __m256i one = _mm256_set1_epi16(1);
    const int32_t start = zero_shift == 31 || bits == 8 ? 0 : neg * (1 << (zero_shift & 7));
    vi r = {_mm256_set1_epi32(start), _mm256_set1_epi32(start)};
#pragma GCC unroll 8
    for (int v = 0; v < n_vectors; v += group) {
        __m256i x = _mm256_setzero_si256();
        __m256i y = x;
#pragma GCC unroll 8
        for (int i = 0; i < group; i++) { /* a group of eight goes with eight vectors only */
            const __m256i four = _mm256_set1_epi32(four_bytes(a + 4 * (v + i)));
            x = _mm256_add_epi16(x, pairs_(w[v + i].a, four, bits));
            y = _mm256_add_epi16(y, pairs_(w[v + i].b, four, bits));
        }
        r.a = _mm256_add_epi32(r.a, _mm256_madd_epi16(x, one));
        r.b = _mm256_add_epi32(r.b, _mm256_madd_epi16(y, one));
    }
    return r;
}

#define SIMD_PREFETCH_NEAR(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
#define SIMD_PREFETCH_FAR(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)

#endif
