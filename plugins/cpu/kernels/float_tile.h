/* float_tile.h — y[t][r] (+)= sum_k panel[k][r] x[t][k] in f32: the inner product of every GEMM with f32 activations. Weights come
 * as panels of f32, [columns][16 rows]. Included by kernel sources after a simd header. */
#ifndef CPU_FLOAT_TILE_H
#define CPU_FLOAT_TILE_H

/* A GEMM makes FLOAT_PANELS panels of FLOAT_COLS columns at a time: they stay in the second-level cache while all tokens pass by. */
enum { FLOAT_PAD = 16, FLOAT_COLS = 256, FLOAT_PANELS = 8, FLOAT_COPY = SIMD_FLOAT_TOKENS * (FLOAT_COLS + FLOAT_PAD) };

typedef struct float_job {
    const float *panels;    /* [n_panels][n_cols][16], panel_floats apart */
    size_t panel_floats;
    uint32_t n_panels;
    uint32_t n_cols;
    const float *x;         /* rows x_stride apart */
    uint64_t x_stride;
    float *x_copy;          /* [SIMD_FLOAT_TOKENS][n_cols + FLOAT_PAD], or null. Rows that are a multiple of 4 KiB apart share few sets
                               of a cache: they are copied here before they are used */
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

/* Panels [panel, panel + n_panels) and tokens [token, token + n_tokens), whose activations are at x. */
SIMD_INLINE void run_float_tile(const float_job *job, const float *x, uint64_t x_stride, uint32_t token, uint32_t panel,
                                const uint32_t n_panels, const uint32_t n_tokens) {
    vf acc[SIMD_FLOAT_PANELS][SIMD_FLOAT_TOKENS];
    const float *rows[SIMD_FLOAT_TOKENS];
    const float *const panels = job->panels + panel * job->panel_floats;
#pragma GCC unroll 16
    for (uint32_t t = 0; t < n_tokens; t++) {
        rows[t] = x + t * x_stride;
#pragma GCC unroll 2
        for (uint32_t p = 0; p < n_panels; p++) {
            acc[p][t] = float_start(job, panel + p, token + t);
        }
    }
    for (uint32_t k = 0; k < job->n_cols; k++) {
        vf w[SIMD_FLOAT_PANELS];
#pragma GCC unroll 2
        for (uint32_t p = 0; p < n_panels; p++) {
            w[p] = vf_load(panels + p * job->panel_floats + 16 * (size_t)k);
        }
#pragma GCC unroll 16
        for (uint32_t t = 0; t < n_tokens; t++) {
            const vf value = vf_set1(rows[t][k]);
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
            float *const y = job->y + (token + t) * job->y_stride + (panel + p) * 16;
            if (float_rows(job, panel + p) == 16) {
                vf_store(y, acc[p][t]);
            } else {
                vf_store_part(y, acc[p][t], float_rows(job, panel + p));
            }
        }
    }
}

SIMD_INLINE void run_float_panels(const float_job *job, uint32_t token, const uint32_t n_tokens) {
    const float *x = job->x + token * job->x_stride;
    uint64_t x_stride = job->x_stride;
    if (job->x_copy != NULL && x_stride % 1024 == 0 && n_tokens > 1) {
        for (uint32_t t = 0; t < n_tokens; t++) {
            memcpy(job->x_copy + t * (job->n_cols + FLOAT_PAD), x + t * x_stride, job->n_cols * sizeof *x);
        }
        x = job->x_copy;
        x_stride = job->n_cols + FLOAT_PAD;
    }
    uint32_t panel = 0;
#if SIMD_FLOAT_PANELS == 2
    for (; panel + 2 <= job->n_panels; panel += 2) {
        run_float_tile(job, x, x_stride, token, panel, 2, n_tokens);
    }
#endif
    for (; panel < job->n_panels; panel++) {
        run_float_tile(job, x, x_stride, token, panel, 1, n_tokens);
    }
}

static void run_float_job(const float_job *job) {
    uint32_t token = 0;
    for (; token + SIMD_FLOAT_TOKENS <= job->n_tokens; token += SIMD_FLOAT_TOKENS) {
        run_float_panels(job, token, SIMD_FLOAT_TOKENS);
    }
#if SIMD_FLOAT_TOKENS > 4
    for (; token + 4 <= job->n_tokens; token += 4) {
        run_float_panels(job, token, 4);
    }
#endif
    for (; token < job->n_tokens; token++) {
        run_float_panels(job, token, 1);
    }
}

#endif
