/* simd_c.h — the sixteen-lane vocabulary of the kernels, in portable C. It is also the description of what the same names do in
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
#define SIMD_FLOAT_PANELS 1
#define SIMD_FLOAT_TOKENS 2
#define SIMD_INLINE static inline __attribute__((always_inline, unused))

typedef struct { float v[16]; } vf;
typedef struct { int32_t v[16]; } vi;
typedef struct { uint8_t v[64]; } vb;

#define SIMD_EACH for (int i_ = 0; i_ < 16; i_++)

/* --- f32 -------------------------------------------------------------------------------------------------------------- */

SIMD_INLINE vf vf_load(const float *p) { vf r; memcpy(&r, p, sizeof r); return r; }
SIMD_INLINE void vf_store(float *p, vf a) { memcpy(p, &a, sizeof a); }
/* The first n (1..15) lanes; the others are zero, or not stored. */
SIMD_INLINE vf vf_load_part(const float *p, uint32_t n) { vf r = {{0}}; memcpy(&r, p, n * sizeof(float)); return r; }
SIMD_INLINE void vf_store_part(float *p, vf a, uint32_t n) { memcpy(p, &a, n * sizeof(float)); }
SIMD_INLINE vf vf_set1(float x) { vf r; SIMD_EACH r.v[i_] = x; return r; }
SIMD_INLINE vf vf_add(vf a, vf b) { SIMD_EACH a.v[i_] += b.v[i_]; return a; }
SIMD_INLINE vf vf_sub(vf a, vf b) { SIMD_EACH a.v[i_] -= b.v[i_]; return a; }
SIMD_INLINE vf vf_mul(vf a, vf b) { SIMD_EACH a.v[i_] *= b.v[i_]; return a; }
SIMD_INLINE vf vf_div(vf a, vf b) { SIMD_EACH a.v[i_] /= b.v[i_]; return a; }
SIMD_INLINE vf vf_max(vf a, vf b) { SIMD_EACH a.v[i_] = a.v[i_] > b.v[i_] ? a.v[i_] : b.v[i_]; return a; }
SIMD_INLINE vf vf_min(vf a, vf b) { SIMD_EACH a.v[i_] = a.v[i_] < b.v[i_] ? a.v[i_] : b.v[i_]; return a; }
SIMD_INLINE vf vf_abs(vf a) { SIMD_EACH a.v[i_] = fabsf(a.v[i_]); return a; }
/* |a| with the sign of b. */
SIMD_INLINE vf vf_copysign(vf a, vf b) { SIMD_EACH a.v[i_] = copysignf(a.v[i_], b.v[i_]); return a; }
/* a * b + c, rounded once or twice. */
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { SIMD_EACH c.v[i_] += a.v[i_] * b.v[i_]; return c; }
/* c - a * b */
SIMD_INLINE vf vf_fnma(vf a, vf b, vf c) { SIMD_EACH c.v[i_] -= a.v[i_] * b.v[i_]; return c; }
SIMD_INLINE float vf_sum(vf a) {
    for (int n = 8; n > 0; n /= 2) {
        for (int i = 0; i < n; i++) { a.v[i] += a.v[i + n]; }
    }
    return a.v[0];
}
SIMD_INLINE float vf_max_lane(vf a) {
    float m = a.v[0];
    SIMD_EACH m = a.v[i_] > m ? a.v[i_] : m;
    return m;
}
/* Rounds to the nearest whole number. */
SIMD_INLINE vf vf_round(vf a) { SIMD_EACH a.v[i_] = nearbyintf(a.v[i_]); return a; }
/* a * 2^n for whole n that keep the result normal. */
SIMD_INLINE vf vf_scale2(vf a, vf n) {
    SIMD_EACH {
        const uint32_t bits = (uint32_t)(((int32_t)n.v[i_] + 127) * 0x800000);
        float two;
        memcpy(&two, &bits, sizeof two);
        a.v[i_] *= two;
    }
    return a;
}
/* a where x >= least, otherwise 0. */
SIMD_INLINE vf vf_keep_ge(vf a, vf x, float least) { SIMD_EACH a.v[i_] = x.v[i_] >= least ? a.v[i_] : 0; return a; }

/* --- Other element types ---------------------------------------------------------------------------------------------- */

SIMD_INLINE vf vf_from_f16(const void *p) {
    uint16_t h[16];
    vf r;
    memcpy(h, p, sizeof h);
    SIMD_EACH r.v[i_] = blk_f16_to_f32(h[i_]);
    return r;
}
SIMD_INLINE vf vf_from_bf16(const void *p) {
    uint16_t h[16];
    vf r;
    memcpy(h, p, sizeof h);
    SIMD_EACH r.v[i_] = blk_bf16_to_f32(h[i_]);
    return r;
}
SIMD_INLINE void vf_to_f16(uint16_t *p, vf a) { SIMD_EACH p[i_] = blk_f32_to_f16(a.v[i_]); }
SIMD_INLINE void vf_to_bf16(uint16_t *p, vf a) { SIMD_EACH p[i_] = blk_f32_to_bf16(a.v[i_]); }
SIMD_INLINE vf vf_from_u8(const uint8_t *p) { vf r; SIMD_EACH r.v[i_] = p[i_]; return r; }
SIMD_INLINE vf vf_from_i8(const uint8_t *p) { vf r; SIMD_EACH r.v[i_] = (int8_t)p[i_]; return r; }
SIMD_INLINE vf vf_from_vi(vi a) { vf r; SIMD_EACH r.v[i_] = (float)a.v[i_]; return r; }
/* Stores sixteen values, rounded to nearest even, as signed bytes (they lie in -127..127) and returns their sum. */
SIMD_INLINE int32_t vf_to_i8(int8_t *p, vf a) {
    int32_t sum = 0;
    SIMD_EACH {
        const float x = nearbyintf(a.v[i_]);
        p[i_] = (int8_t)(x >= -127 && x <= 127 ? x : 0); /* a NaN gives 0 */
        sum += p[i_];
    }
    return sum;
}
/* Rows become columns. */
SIMD_INLINE void vf_transpose(vf *rows) {
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < i; j++) {
            const float x = rows[i].v[j];
            rows[i].v[j] = rows[j].v[i];
            rows[j].v[i] = x;
        }
    }
}
/* Lane i: the sum of rows[i]. */
SIMD_INLINE vf vf_sums(vf *rows) { vf r; SIMD_EACH r.v[i_] = vf_sum(rows[i_]); return r; }

/* --- Bytes: quants of sixteen rows, four elements each ------------------------------------------------------------------ */

SIMD_INLINE vb vb_load(const uint8_t *p) { vb r; memcpy(&r, p, sizeof r); return r; }
SIMD_INLINE void vb_store(uint8_t *p, vb a) { memcpy(p, &a, sizeof a); }
SIMD_INLINE vb vb_low4(vb a) { for (int i = 0; i < 64; i++) { a.v[i] &= 15; } return a; }
SIMD_INLINE vb vb_high4(vb a) { for (int i = 0; i < 64; i++) { a.v[i] >>= 4; } return a; }
/* Adds bit n (0..7, a literal) of h as bit 4. */
SIMD_INLINE vb vb_or_bit_(vb a, vb h, int n) { for (int i = 0; i < 64; i++) { a.v[i] |= (uint8_t)((h.v[i] >> n & 1) << 4); } return a; }
#define vb_or_bit(a, h, n) vb_or_bit_(a, h, n)
/* Bits 2n and 2n + 1 (n 0..3, a literal) of h; the same added as bits 4 and 5. */
SIMD_INLINE vb vb_two_(vb h, int n) { for (int i = 0; i < 64; i++) { h.v[i] = h.v[i] >> 2 * n & 3; } return h; }
#define vb_two(h, n) vb_two_(h, n)
SIMD_INLINE vb vb_or_two_(vb a, vb h, int n) { for (int i = 0; i < 64; i++) { a.v[i] |= (uint8_t)((h.v[i] >> 2 * n & 3) << 4); } return a; }
#define vb_or_two(a, h, n) vb_or_two_(a, h, n)
/* Byte n (0..3, a literal) of each lane as f32. */
SIMD_INLINE vf vb_byte_(vb a, int n) { vf r; SIMD_EACH r.v[i_] = a.v[4 * i_ + n]; return r; }
#define vb_byte(a, n) vb_byte_(a, n)

/* sum over `n_vectors` vectors of (w - 2^zero_shift) * a, per lane; neg is minus the sum of the 4 * n_vectors activations.
 * `bits` of a quant and zero_shift are compile-time constants; zero_shift 31 means no zero point. */
SIMD_INLINE vi vi_dot(const vb *w, const int8_t *a, int32_t neg, const int n_vectors, const uint32_t bits, const uint32_t zero_shift) {
    vi r;
    (void)bits;
    SIMD_EACH r.v[i_] = zero_shift == 31 ? 0 : neg * (1 << zero_shift);
    for (int v = 0; v < n_vectors; v++) {
        SIMD_EACH {
            const uint8_t *const q = &w[v].v[4 * i_];
            r.v[i_] += q[0] * a[4 * v] + q[1] * a[4 * v + 1] + q[2] * a[4 * v + 2] + q[3] * a[4 * v + 3];
        }
    }
    return r;
}

#define SIMD_PREFETCH_NEAR(p) ((void)(p))
#define SIMD_PREFETCH_FAR(p) ((void)(p))

#endif
