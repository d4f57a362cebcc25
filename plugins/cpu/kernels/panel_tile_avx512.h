/* panel_tile_avx512.h — the GEMM tile of panel_kernels.h for AVX-512: up to two panels and six tokens, whose integer and f32
 * accumulators all stay in registers. A vector of quants is loaded once for all tokens, four activations once for both panels. */

/* Adds vectors [first, first + 4) of block i to the integer accumulators. */
SIMD_INLINE void dot_half_tile(const tile *t, const chunk *c, uint32_t i, const int first, vi acc[2][SIMD_TILE_TOKENS],
                               const uint32_t n_panels, const uint32_t n_tokens, const uint32_t bits) {
    const size_t at = (size_t)(t->first_block + i) * CPU_BLOCK;
#pragma GCC unroll 4
    for (int v = first; v < first + 4; v++) {
        vb w[2];
#pragma GCC unroll 2
        for (uint32_t p = 0; p < n_panels; p++) {
            w[p] = vb_load(c[p].q[i][v]);
        }
#pragma GCC unroll 6
        for (uint32_t k = 0; k < n_tokens; k++) {
            const vi a = _mm512_set1_epi32(four_bytes(t->rows[k] + at + 4 * v));
#pragma GCC unroll 2
            for (uint32_t p = 0; p < n_panels; p++) {
                acc[p][k] = vi_dot4(acc[p][k], w[p], a, bits);
            }
        }
    }
}

SIMD_INLINE vi load_start(const uint8_t *neg, const uint32_t zero_shift) {
    return zero_shift == CPU_NO_ZERO ? _mm512_setzero_si512()
                                     : _mm512_sllv_epi32(_mm512_set1_epi32(four_bytes(neg)), _mm512_set1_epi32((int)zero_shift));
}

SIMD_INLINE void start_tile(const tile *t, uint32_t b, uint32_t half, vi acc[2][SIMD_TILE_TOKENS], const uint32_t n_panels,
                            const uint32_t n_tokens, const uint32_t scales, const uint32_t zero_shift) {
    /* Sections of an activation row: quants, scale, sum, neg, neg16 (cpu_act8_view). */
    const size_t at = (size_t)t->row_blocks * (CPU_BLOCK + 8) + 4 * (size_t)b;
    const size_t at16 = (size_t)t->row_blocks * (CPU_BLOCK + 12) + 8 * (size_t)b + 4 * half;
#pragma GCC unroll 6
    for (uint32_t k = 0; k < n_tokens; k++) {
        const vi start = load_start(t->rows[k] + (scales == CPU_SCALE_SUPER_16 ? at16 : at), zero_shift);
#pragma GCC unroll 2
        for (uint32_t p = 0; p < n_panels; p++) {
            acc[p][k] = start;
        }
    }
}

SIMD_INLINE vf row_value(const uint8_t *at) {
    float value;
    memcpy(&value, at, sizeof value);
    return vf_set1(value);
}

/* Scales the integers of block i and adds them to the results. */
SIMD_INLINE void fold_tile(const tile *t, const chunk *c, uint32_t i, vi acc[2][SIMD_TILE_TOKENS], const vi low[2][SIMD_TILE_TOKENS],
                           vf sum[2][SIMD_TILE_TOKENS], const uint32_t n_panels, const uint32_t n_tokens, const uint32_t scales) {
    const size_t at = (size_t)t->row_blocks * CPU_BLOCK + 4 * (size_t)(t->first_block + i);
    const bool has_min = scales == CPU_SCALE_HALF_MIN || scales == CPU_SCALE_SUPER_MIN;
#pragma GCC unroll 2
    for (uint32_t p = 0; p < n_panels; p++) {
        const vf scale = vf_load(c[p].scale[i][0]);
#pragma GCC unroll 6
        for (uint32_t k = 0; k < n_tokens; k++) {
            vf x = vf_mul(vf_from_vi(scales == CPU_SCALE_SUPER_16 ? low[p][k] : acc[p][k]), scale);
            if (scales == CPU_SCALE_SUPER_16) {
                x = vf_fma(vf_from_vi(acc[p][k]), vf_load(c[p].scale[i][1]), x);
            }
            sum[p][k] = vf_fma(x, row_value(t->rows[k] + at), sum[p][k]);
            if (has_min) {
                sum[p][k] = vf_fma(vf_load(c[p].min[i]), row_value(t->rows[k] + at + 4 * (size_t)t->row_blocks), sum[p][k]);
            }
        }
    }
}

SIMD_INLINE void run_tile(const tile *t, const chunk *c, const uint32_t n_panels, const uint32_t n_tokens, const uint32_t bits,
                          const uint32_t scales, const uint32_t zero_shift) {
    vf sum[2][SIMD_TILE_TOKENS];
#pragma GCC unroll 2
    for (uint32_t p = 0; p < n_panels; p++) {
#pragma GCC unroll 6
        for (uint32_t k = 0; k < n_tokens; k++) {
            sum[p][k] = tile_start(t, p, k);
        }
    }
    for (uint32_t i = 0; i < t->n_blocks; i++) {
        const uint32_t b = t->first_block + i;
        vi acc[2][SIMD_TILE_TOKENS];
        vi low[2][SIMD_TILE_TOKENS];
        start_tile(t, b, 0, acc, n_panels, n_tokens, scales, zero_shift);
        dot_half_tile(t, c, i, 0, acc, n_panels, n_tokens, bits);
        if (scales == CPU_SCALE_SUPER_16) {
#pragma GCC unroll 2
            for (uint32_t p = 0; p < n_panels; p++) {
#pragma GCC unroll 6
                for (uint32_t k = 0; k < n_tokens; k++) {
                    low[p][k] = acc[p][k];
                }
            }
            start_tile(t, b, 1, acc, n_panels, n_tokens, scales, zero_shift);
        }
        dot_half_tile(t, c, i, 4, acc, n_panels, n_tokens, bits);
        fold_tile(t, c, i, acc, low, sum, n_panels, n_tokens, scales);
    }
#pragma GCC unroll 2
    for (uint32_t p = 0; p < n_panels; p++) {
#pragma GCC unroll 6
        for (uint32_t k = 0; k < n_tokens; k++) {
            store_rows(t->y[k] + p * CPU_PANEL_ROWS, sum[p][k], panel_rows(t, p));
        }
    }
}
