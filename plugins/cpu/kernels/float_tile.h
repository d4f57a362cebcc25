/* float_tile.h — y[t][r] (+)= sum_k panel[k][r] x[t][k] in f32: the inner product of every GEMM with f32 activations. Weights come
 * as panels of f32, [columns][16 rows]. Included by kernel sources after a simd header. */
#ifndef CPU_FLOAT_TILE_H
#define CPU_FLOAT_TILE_H

typedef struct float_job {
    const float *panels;    /* [n_panels][n_cols][16], panel_floats apart */
    size_t panel_floats;
    uint32_t n_panels;      /* 1..SIMD_FLOAT_PANELS */
    uint32_t n_cols;
    const float *x;         /* rows x_stride apart */
    uint64_t x_stride;
    uint32_t n_tokens;
    float *y;               /* rows y_stride apart, at the first row of the first panel */
    uint64_t y_stride;
    uint32_t n_rows;        /* outputs that exist, of all panels */
    bool is_first;          /* y starts from `start` (or zero); otherwise it is continued */
    const float *start;
} float_job;

SIMD_INLINE uint32_t float_rows(const float_job *job, uint32_t panel) {
    const uint32_t left = job->n_rows - panel * 16;
    return left < 16 ? left : 16;
}

SIMD_INLINE vf float_start(const float_job *job, uint32_t panel, uint32_t token) {
    const uint32_t rows = float_rows(job, panel);
    const float *const from = job->is_first ? job->start : job->y + token * job->y_stride;
    if (from == NULL) {
        return vf_set1(0);
    }
    return rows == 16 ? vf_load(from + panel * 16) : vf_load_part(from + panel * 16, rows);
}

SIMD_INLINE void run_float_tile(const float_job *job, uint32_t token, const uint32_t n_panels, const uint32_t n_tokens) {
    vf acc[SIMD_FLOAT_PANELS][SIMD_FLOAT_TOKENS];
    const float *x[SIMD_FLOAT_TOKENS];
#pragma GCC unroll 16
    for (uint32_t t = 0; t < n_tokens; t++) {
        x[t] = job->x + (token + t) * job->x_stride;
#pragma GCC unroll 2
        for (uint32_t p = 0; p < n_panels; p++) {
            acc[p][t] = float_start(job, p, token + t);
        }
    }
    for (uint32_t k = 0; k < job->n_cols; k++) {
        vf w[SIMD_FLOAT_PANELS];
#pragma GCC unroll 2
        for (uint32_t p = 0; p < n_panels; p++) {
            w[p] = vf_load(job->panels + p * job->panel_floats + 16 * (size_t)k);
        }
#pragma GCC unroll 16
        for (uint32_t t = 0; t < n_tokens; t++) {
            const vf value = vf_set1(x[t][k]);
#pragma GCC unroll 2
            for (uint32_t p = 0; p < n_panels; p++) {
                acc[p][t] = vf_fma(w[p], value, acc[p][t]);
            }
        }
    }
#pragma GCC unroll 16
    for (uint32_t t = 0; t < n_tokens; t++) {
#pragma GCC unroll 2
        for (uint32_t p = 0; p < n_panels; p++) {
            float *const y = job->y + (token + t) * job->y_stride + p * 16;
            if (float_rows(job, p) == 16) {
                vf_store(y, acc[p][t]);
            } else {
                vf_store_part(y, acc[p][t], float_rows(job, p));
            }
        }
    }
}

SIMD_INLINE void run_float_tokens(const float_job *job, const uint32_t n_panels) {
    uint32_t token = 0;
    for (; token + SIMD_FLOAT_TOKENS <= job->n_tokens; token += SIMD_FLOAT_TOKENS) {
        run_float_tile(job, token, n_panels, SIMD_FLOAT_TOKENS);
    }
#if SIMD_FLOAT_TOKENS > 4
    for (; token + 4 <= job->n_tokens; token += 4) {
        run_float_tile(job, token, n_panels, 4);
    }
#endif
    for (; token < job->n_tokens; token++) {
        run_float_tile(job, token, n_panels, 1);
    }
}

static void run_float_job(const float_job *job) {
#if SIMD_FLOAT_PANELS == 2
    if (job->n_panels == 2) {
        run_float_tokens(job, 2);
        return;
    }
#endif
    run_float_tokens(job, 1);
}

#endif
