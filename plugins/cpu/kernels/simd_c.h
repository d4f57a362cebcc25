/* simd_c.h — the sixteen-lane vocabulary of the kernels, in portable C with the vectors that gcc and clang lower to what the machine has
 * (arrays with loops would do too, but unrolled sixteen times they take minutes to compile). It is also the description of what the same names do in
 * simd_avx2.h, simd_avx512.h and simd_neon.h: vf sixteen f32, vi sixteen i32, vb sixty-four bytes (four to a lane).
 *
 * A kernel source is compiled once per instruction set; its functions are named by CPU_KERNEL and stay inside their file.
 */
#ifndef CPU_SIMD_H
#define CPU_SIMD_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <quoin/blocks.h>

#define SIMD_TILE_PANELS 1
#define SIMD_TILE_TOKENS 1
#define SIMD_TILE_BLOCKS 16
#define SIMD_FLOAT_PANELS 1
#define SIMD_FLOAT_TOKENS 2
#define SIMD_QUAD_VECTORS 1  /* of keys, and of values, that the registers hold at once for four heads */
#define SIMD_VALUE_VECTORS 1
#define SIMD_INLINE static inline __attribute__((always_inline, unused))

typedef float vf __attribute__((vector_size(64)));
typedef int32_t vi __attribute__((vector_size(64)));
typedef uint32_t vu __attribute__((vector_size(64)));
typedef uint8_t vb __attribute__((vector_size(64)));

#define SIMD_EACH for (int i_ = 0; i_ < 16; i_++)
/* A loop that is worth keeping a loop: it is no hot path, and unrolled it only costs code. */
#if defined(__clang__)
#define SIMD_LOOP _Pragma("clang loop unroll(disable)") SIMD_EACH
#else
#define SIMD_LOOP _Pragma("GCC unroll 1") SIMD_EACH
#endif

/* --- f32 -------------------------------------------------------------------------------------------------------------- */

SIMD_INLINE vf vf_load(const float *p) { vf r; memcpy(&r, p, sizeof r); return r; }
SIMD_INLINE void vf_store(float *p, vf a) { memcpy(p, &a, sizeof a); }
/* The first n (1..15) lanes; the others are zero, or not stored. */
SIMD_INLINE vf vf_load_part(const float *p, uint32_t n) { vf r = {0}; memcpy(&r, p, n * sizeof(float)); return r; }
SIMD_INLINE void vf_store_part(float *p, vf a, uint32_t n) { memcpy(p, &a, n * sizeof(float)); }
SIMD_INLINE vf vf_set1(float x) { return (vf){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
SIMD_INLINE vf vf_add(vf a, vf b) { return a + b; }
SIMD_INLINE vf vf_sub(vf a, vf b) { return a - b; }
SIMD_INLINE vf vf_mul(vf a, vf b) { return a * b; }
SIMD_INLINE vf vf_div(vf a, vf b) { return a / b; }
/* Lanes of a where the mask is all ones, of b where it is zero. */
SIMD_INLINE vf vf_select(vi mask, vf a, vf b) { return (vf)((mask & (vi)a) | (~mask & (vi)b)); }
SIMD_INLINE vf vf_max(vf a, vf b) { return vf_select(a > b, a, b); }
SIMD_INLINE vf vf_min(vf a, vf b) { return vf_select(a < b, a, b); }
SIMD_INLINE vf vf_abs(vf a) { return (vf)((vu)a & 0x7FFFFFFFu); }
/* |a| with the sign of b. */
SIMD_INLINE vf vf_copysign(vf a, vf b) { return (vf)(((vu)a & 0x7FFFFFFFu) | ((vu)b & 0x80000000u)); }
/* a * b + c, rounded once or twice. */
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { return c + a * b; }
/* c - a * b */
SIMD_INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
SIMD_INLINE float vf_sum(vf a) {
    float v[16];
    memcpy(v, &a, sizeof v);
    for (int n = 8; n > 0; n /= 2) {
        for (int i = 0; i < n; i++) { v[i] += v[i + n]; }
    }
    return v[0];
}
SIMD_INLINE float vf_max_lane(vf a) {
    float v[16];
    memcpy(v, &a, sizeof v);
    float m = v[0];
    SIMD_LOOP m = v[i_] > m ? v[i_] : m;
    return m;
}
/* Rounds to the nearest whole number: below 2^22 by the sum with 1.5 * 2^23, which leaves no room for a fraction. */
SIMD_INLINE vf vf_round(vf a) {
    const vf magic = vf_set1(12582912.0f);
    return vf_select(vf_abs(a) < vf_set1(4194304.0f), vf_copysign((a + magic) - magic, a), a);
}
/* a * 2^n for whole n that keep the result normal. */
SIMD_INLINE vf vf_scale2(vf a, vf n) {
    const vi exponent = __builtin_convertvector(n, vi) + 127;
    return a * (vf)(exponent << 23);
}
/* a where x >= least, otherwise 0. */
SIMD_INLINE vf vf_keep_ge(vf a, vf x, float least) { return (vf)((x >= vf_set1(least)) & (vi)a); }

/* --- Other element types ---------------------------------------------------------------------------------------------- */

SIMD_INLINE vf vf_from_f16(const void *p) {
    uint16_t h[16];
    float v[16];
    memcpy(h, p, sizeof h);
    SIMD_LOOP v[i_] = blk_f16_to_f32(h[i_]);
    return vf_load(v);
}
/* One f16 in every lane. */
SIMD_INLINE vf vf_set1_f16(const void *p) {
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return vf_set1(blk_f16_to_f32(h));
}
SIMD_INLINE vf vf_from_bf16(const void *p) {
    uint16_t h[16];
    float v[16];
    memcpy(h, p, sizeof h);
    SIMD_LOOP v[i_] = blk_bf16_to_f32(h[i_]);
    return vf_load(v);
}
SIMD_INLINE void vf_to_f16(uint16_t *p, vf a) {
    float v[16];
    memcpy(v, &a, sizeof v);
    SIMD_LOOP p[i_] = blk_f32_to_f16(v[i_]);
}
SIMD_INLINE void vf_to_bf16(uint16_t *p, vf a) {
    float v[16];
    memcpy(v, &a, sizeof v);
    SIMD_LOOP p[i_] = blk_f32_to_bf16(v[i_]);
}
SIMD_INLINE vf vf_from_u8(const uint8_t *p) { float v[16]; SIMD_LOOP v[i_] = p[i_]; return vf_load(v); }
SIMD_INLINE vf vf_from_i8(const uint8_t *p) { float v[16]; SIMD_LOOP v[i_] = (int8_t)p[i_]; return vf_load(v); }
SIMD_INLINE vf vf_from_vi(vi a) { return __builtin_convertvector(a, vf); }
/* Stores sixteen values, rounded to nearest even, as signed bytes (they lie in -127..127) and returns their sum. */
SIMD_INLINE int32_t vf_to_i8(int8_t *p, vf a) {
    float v[16];
    int32_t sum = 0;
    memcpy(v, &a, sizeof v);
    SIMD_LOOP {
        const float x = nearbyintf(v[i_]);
        p[i_] = (int8_t)(x >= -127 && x <= 127 ? x : 0); /* a NaN gives 0 */
        sum += p[i_];
    }
    return sum;
}
/* Rows become columns. */
SIMD_INLINE void vf_transpose(vf *rows) {
    float v[16][16], t[16][16];
    memcpy(v, rows, sizeof v);
    SIMD_LOOP {
        for (int j = 0; j < 16; j++) { t[j][i_] = v[i_][j]; }
    }
    memcpy(rows, t, sizeof t);
}
/* Lane i: the sum of rows[i]. */
SIMD_INLINE vf vf_sums(vf *rows) { float v[16]; SIMD_LOOP v[i_] = vf_sum(rows[i_]); return vf_load(v); }

/* Four floats in every quarter (group of four lanes). */
SIMD_INLINE vf vf_load4(const float *p) { float v[16]; SIMD_LOOP v[i_] = p[i_ % 4]; return vf_load(v); }
/* Of four rows, `stride` bytes apart, quarter q gets elements 0 to 3 (low) and 4 to 7 (high) of row q. */
SIMD_INLINE void vf_quads_f32(const uint8_t *row, uint64_t stride, vf *low, vf *high) {
    float v[2][16];
    for (int q = 0; q < 4; q++) {
        memcpy(v[0] + 4 * q, row + (uint64_t)q * stride, 16);
        memcpy(v[1] + 4 * q, row + (uint64_t)q * stride + 16, 16);
    }
    *low = vf_load(v[0]);
    *high = vf_load(v[1]);
}
SIMD_INLINE void vf_quads_f16(const uint8_t *row, uint64_t stride, vf *low, vf *high) {
    uint16_t h[2][16];
    for (int q = 0; q < 4; q++) {
        memcpy(h[0] + 4 * q, row + (uint64_t)q * stride, 8);
        memcpy(h[1] + 4 * q, row + (uint64_t)q * stride + 8, 8);
    }
    *low = vf_from_f16(h[0]);
    *high = vf_from_f16(h[1]);
}
/* Lane 4q + j: the sum of quarter q of rows[j]. */
SIMD_INLINE vf vf_sums4(const vf *rows) {
    float v[4][16], s[16];
    memcpy(v, rows, sizeof v);
    SIMD_LOOP {
        const float *const quarter = v[i_ % 4] + i_ / 4 * 4;
        s[i_] = (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
    }
    return vf_load(s);
}

/* --- Bytes: quants of sixteen rows, four elements each ------------------------------------------------------------------ */

SIMD_INLINE vb vb_load(const uint8_t *p) { vb r; memcpy(&r, p, sizeof r); return r; }
SIMD_INLINE void vb_store(uint8_t *p, vb a) { memcpy(p, &a, sizeof a); }
SIMD_INLINE vb vb_low4(vb a) { return a & 15; }
SIMD_INLINE vb vb_high4(vb a) { return a >> 4; }
/* Thirty-two bytes of a, then thirty-two of b; the same bits as floats and back; bytes as digits with an offset of 128. */
SIMD_INLINE vb vb_load_halves(const uint8_t *a, const uint8_t *b) { uint8_t v[64]; memcpy(v, a, 32); memcpy(v + 32, b, 32); return vb_load(v); }
SIMD_INLINE vf vf_of_bits(vb a) { return (vf)a; }
SIMD_INLINE vb vb_of_bits(vf a) { return (vb)a; }
SIMD_INLINE vb vb_flip(vb a) { return a ^ 0x80; }
/* Adds bit n (0..7, a literal) of h as bit 4. */
#define vb_or_bit(a, h, n) ((a) | ((((h) >> (n)) & 1) << 4))
/* Bits 2n and 2n + 1 (n 0..3, a literal) of h; the same added as bits 4 and 5. */
#define vb_two(h, n) (((h) >> (2 * (n))) & 3)
#define vb_or_two(a, h, n) ((a) | ((((h) >> (2 * (n))) & 3) << 4))
/* Byte n (0..3, a literal) of each lane as f32. */
#define vb_byte(a, n) __builtin_convertvector((vi)(((vu)(a) >> (8 * (n))) & 255u), vf)

/* sum over `n_vectors` vectors of (w - 2^zero_shift) * a, per lane; neg is minus the sum of the 4 * n_vectors activations.
 * `bits` of a quant and zero_shift are compile-time constants; zero_shift 31 means no zero point. */
SIMD_INLINE vi vi_dot(const vb *w, const int8_t *a, int32_t neg, const int n_vectors, const uint32_t bits, const uint32_t zero_shift) {
    vi r = {0};
    (void)bits;
    r += zero_shift == 31 ? 0 : neg * (1 << (zero_shift & 7));
#if defined(__clang__)
#pragma clang loop unroll(disable)
#else
#pragma GCC unroll 1
#endif
    for (int v = 0; v < n_vectors; v++) {
        const vu lanes = (vu)w[v];
        r += (vi)(lanes & 255u) * a[4 * v] + (vi)(lanes >> 8 & 255u) * a[4 * v + 1] + (vi)(lanes >> 16 & 255u) * a[4 * v + 2] +
             (vi)(lanes >> 24) * a[4 * v + 3];
    }
    return r;
}

#define SIMD_PREFETCH_NEAR(p) ((void)(p))
#define SIMD_PREFETCH_FAR(p) ((void)(p))

#endif
