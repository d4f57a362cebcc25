/* attend_few.h — attention of few queries that share a K/V head. Included after a simd header and attend_state.h.
 *
 * Cells come in chunks small enough for the near caches: all heads read a chunk one after another, and what is known of each head so far
 * (maximum, sum of weights, sums of values) goes from chunk to chunk. While a chunk is worked on, the next one is asked for.
 * Scores: a vector holds four elements of each of four keys, so that all but the last two steps of a dot product stay in their lanes; four
 * vectors make sixteen cells. Keys in Q8_0 become columns of sixteen cells for integer dots where the query is quantised too.
 */
#ifndef CPU_ATTEND_FEW_H
#define CPU_ATTEND_FEW_H

enum {
    HEADS_AT_ONCE = 4,  /* in registers */
    HEADS_OF_CHUNK = 8, /* that go over a chunk together */
    SCORE_STRIDE = CPU_FEW_CELLS + 16 /* the last vector of a range may reach beyond */
};

/* What is asked for ahead of time: bytes in the order of memory, as many as the loops read meanwhile. */
typedef struct ahead {
    const uint8_t *at; /* null: nothing */
    uint32_t bytes;    /* for each vector of keys */
} ahead;

SIMD_INLINE void ask_ahead(ahead *a, uint32_t bytes) {
    if (a->at == NULL) {
        return;
    }
    for (uint32_t i = 0; i < bytes; i += 64) {
        SIMD_PREFETCH_FAR(a->at + i);
    }
    a->at += bytes;
}

/* --- Scores ------------------------------------------------------------------------------------------------------------- */

/* Sixteen keys in F16 or F32, a multiple of eight elements long, for n heads: scores[h * SCORE_STRIDE + c]. */
SIMD_INLINE void score_keys(const float *q, uint32_t dim, const uint8_t *row, uint64_t stride, float *scores, ahead *next,
                            const uint32_t n, const qn_format format) {
    vf sums[HEADS_AT_ONCE][4];
#pragma GCC unroll 4
    for (uint32_t first = 0; first < 4; first += SIMD_QUAD_VECTORS) { /* vector j holds cells j, 4 + j, 8 + j and 12 + j */
        vf acc[HEADS_AT_ONCE][SIMD_QUAD_VECTORS];
#pragma GCC unroll 4
        for (uint32_t h = 0; h < n; h++) {
#pragma GCC unroll 4
            for (uint32_t j = 0; j < SIMD_QUAD_VECTORS; j++) {
                acc[h][j] = vf_set1(0);
            }
        }
        for (uint32_t d = 0; d < dim; d += 8) {
            ask_ahead(next, SIMD_QUAD_VECTORS * next->bytes);
            vf low[SIMD_QUAD_VECTORS];
            vf high[SIMD_QUAD_VECTORS];
#pragma GCC unroll 4
            for (uint32_t j = 0; j < SIMD_QUAD_VECTORS; j++) {
                const uint8_t *const at = row + (first + j) * stride + (format == QN_FORMAT_F16 ? 2 : 4) * (uint64_t)d;
                if (format == QN_FORMAT_F16) {
                    vf_quads_f16(at, 4 * stride, &low[j], &high[j]);
                } else {
                    vf_quads_f32(at, 4 * stride, &low[j], &high[j]);
                }
            }
#pragma GCC unroll 4
            for (uint32_t h = 0; h < n; h++) {
                const vf x = vf_load4(q + h * dim + d);
                const vf y = vf_load4(q + h * dim + d + 4);
#pragma GCC unroll 4
                for (uint32_t j = 0; j < SIMD_QUAD_VECTORS; j++) {
                    acc[h][j] = vf_fma(high[j], y, vf_fma(low[j], x, acc[h][j]));
                }
            }
        }
#pragma GCC unroll 4
        for (uint32_t h = 0; h < n; h++) {
#pragma GCC unroll 4
            for (uint32_t j = 0; j < SIMD_QUAD_VECTORS; j++) {
                sums[h][first + j] = acc[h][j];
            }
        }
    }
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
        vf_store(scores + h * SCORE_STRIDE, vf_sums4(sums[h]));
    }
}

static void score_f16(const float *q, uint32_t dim, const uint8_t *row, uint64_t stride, float *scores, ahead *next,
                      uint32_t n_heads) {
    switch (n_heads) {
    case 4: score_keys(q, dim, row, stride, scores, next, 4, QN_FORMAT_F16); break;
    case 3: score_keys(q, dim, row, stride, scores, next, 3, QN_FORMAT_F16); break;
    case 2: score_keys(q, dim, row, stride, scores, next, 2, QN_FORMAT_F16); break;
    default: score_keys(q, dim, row, stride, scores, next, 1, QN_FORMAT_F16); break;
    }
}

static void score_f32(const float *q, uint32_t dim, const uint8_t *row, uint64_t stride, float *scores, ahead *next,
                      uint32_t n_heads) {
    switch (n_heads) {
    case 4: score_keys(q, dim, row, stride, scores, next, 4, QN_FORMAT_F32); break;
    case 3: score_keys(q, dim, row, stride, scores, next, 3, QN_FORMAT_F32); break;
    case 2: score_keys(q, dim, row, stride, scores, next, 2, QN_FORMAT_F32); break;
    default: score_keys(q, dim, row, stride, scores, next, 1, QN_FORMAT_F32); break;
    }
}

/* Scales of the blocks at `offset` of n rows, and zeros. */
SIMD_INLINE vf load_scales(const void *base, uint64_t stride, uint64_t offset, uint32_t first_cell, uint32_t n) {
    uint16_t half[16] = {0};
    for (uint32_t c = 0; c < n; c++) {
        memcpy(&half[c], (const uint8_t *)state_row(base, stride, first_cell + c) + offset, sizeof half[c]);
    }
    return vf_from_f16(half);
}

/* One block of sixteen keys, four digits to a lane, with block b of each head's quantised query. */
SIMD_INLINE void add_block(const vb *keys, vf scales, const uint8_t *acts, uint32_t n_blocks, uint32_t b, vf *sums, const uint32_t n) {
#pragma GCC unroll 8
    for (uint32_t h = 0; h < n; h++) {
        const cpu_act8 q = cpu_act8_view(acts + h * cpu_act8_stride(n_blocks), n_blocks);
        const vi dots = vi_dot(keys, q.q + 32 * (size_t)b, q.neg[b], 8, 8, 7);
        sums[h] = vf_fma(vf_mul(vf_from_vi(dots), scales), vf_set1(q.scale[b]), sums[h]);
    }
}

/* The same for keys in Q8_0 and quantised queries: a lane is a cell, so that nothing is added across lanes. */
SIMD_INLINE void score_blocks(const cpu_kv *kv, const uint8_t *acts, uint32_t first_cell, uint32_t n_cells, float *scores, const uint32_t n) {
    const uint32_t n_blocks = kv->head_dim / 32;
    vf sums[HEADS_OF_CHUNK];
#pragma GCC unroll 8
    for (uint32_t h = 0; h < n; h++) {
        sums[h] = vf_set1(0);
    }
    for (uint32_t b = 0; b < n_blocks; b += 2) {
        const bool is_pair = b + 1 < n_blocks;
        vf rows[16];
        vb keys[16];
        for (uint32_t c = 0; c < 16; c++) { /* lanes beyond the cells hold the last one's score, which nobody reads */
            const uint8_t *const row = (const uint8_t *)state_row(kv->k, kv->k_stride, first_cell + (c < n_cells ? c : n_cells - 1)) + 34 * b;
            rows[c] = vf_of_bits(vb_load_halves(row + 2, is_pair ? row + 36 : row + 2));
        }
        vf_transpose(rows);
        for (uint32_t i = 0; i < 16; i++) {
            keys[i] = vb_flip(vb_of_bits(rows[i]));
        }
        add_block(keys, load_scales(kv->k, kv->k_stride, 34 * b, first_cell, n_cells), acts, n_blocks, b, sums, n);
        if (is_pair) {
            add_block(keys + 8, load_scales(kv->k, kv->k_stride, 34 * b + 34, first_cell, n_cells), acts, n_blocks, b + 1, sums, n);
        }
    }
#pragma GCC unroll 8
    for (uint32_t h = 0; h < n; h++) {
        vf_store(scores + h * SCORE_STRIDE, sums[h]);
    }
}

static void score_q8_0(const cpu_kv *kv, const uint8_t *acts, uint32_t first_cell, uint32_t n_cells, float *scores, uint32_t n_heads) {
    const uint64_t act_stride = cpu_act8_stride(kv->head_dim / 32);
    uint32_t h = 0;
    if (n_heads == 8) {
        score_blocks(kv, acts, first_cell, n_cells, scores, 8);
        return;
    }
    for (; h + 3 <= n_heads; h += 3) {
        score_blocks(kv, acts + h * act_stride, first_cell, n_cells, scores + h * SCORE_STRIDE, 3);
    }
    for (; h < n_heads; h++) {
        score_blocks(kv, acts + h * act_stride, first_cell, n_cells, scores + h * SCORE_STRIDE, 1);
    }
}

/* Queries as the loops read them, and room for sixteen keys. */
typedef struct key_work {
    const float *q;
    uint8_t *rows;
    uint32_t dim; /* of q and rows when keys are decoded: a multiple of sixteen */
    bool decodes; /* keys to F32, zeros behind them */
} key_work;

static key_work prepare_keys(const cpu_kv *kv, const float *q, uint32_t n_heads, void *room) {
    key_work w = {q, room, kv->head_dim, (kv->k_format != QN_FORMAT_F16 && kv->k_format != QN_FORMAT_F32) || kv->head_dim % 8 != 0};
    if (w.decodes) {
        w.dim = (kv->head_dim + 15) / 16 * 16;
        float *const padded = (float *)room + 16 * (size_t)w.dim;
        for (uint32_t h = 0; h < n_heads; h++) {
            memset(padded + (size_t)h * w.dim, 0, w.dim * sizeof *padded);
            memcpy(padded + (size_t)h * w.dim, q + (size_t)h * kv->head_dim, kv->head_dim * sizeof *padded);
        }
        w.q = padded;
    }
    return w;
}

/* Up to sixteen keys as whole rows that the loops may read: where they are, or in w->rows; beyond the cells the last one stands again. */
static const uint8_t *take_keys(const cpu_kv *kv, const key_work *w, uint32_t first_cell, uint32_t n_cells, uint64_t *stride) {
    const uint64_t bytes = w->decodes ? 4 * (uint64_t)w->dim : state_bytes(w->dim, kv->k_format);
    if (!w->decodes && n_cells == 16) {
        *stride = kv->k_stride;
        return state_row(kv->k, kv->k_stride, first_cell);
    }
    for (uint32_t c = 0; c < 16; c++) {
        const void *const row = state_row(kv->k, kv->k_stride, first_cell + (c < n_cells ? c : n_cells - 1));
        uint8_t *const to = w->rows + c * bytes;
        if (!w->decodes) {
            memcpy(to, row, bytes);
            continue;
        }
        for (uint32_t d = 0; d < w->dim; d += 16) {
            const uint32_t n = kv->head_dim - d < 16 ? kv->head_dim - d : 16;
            vf_store((float *)(void *)to + d, load_state_part(row, d, n, kv->k_format));
        }
    }
    *stride = bytes;
    return w->rows;
}

/* Scores of up to sixteen cells for all heads of the chunk. */
static void score_cells(const cpu_kv *kv, const key_work *w, uint32_t first_cell, uint32_t n_cells, uint32_t n_heads, float *scores,
                        ahead *next) {
    uint64_t stride;
    const uint8_t *const rows = take_keys(kv, w, first_cell, n_cells, &stride);
    next->bytes = (n_heads > HEADS_AT_ONCE ? 2 : 4) * state_bytes(32, kv->k_format) / 4;
    for (uint32_t h = 0; h < n_heads; h += HEADS_AT_ONCE) {
        const uint32_t left = n_heads - h;
        const uint32_t n = left < HEADS_AT_ONCE ? left : HEADS_AT_ONCE;
        if (kv->k_format == QN_FORMAT_F16 && !w->decodes) {
            score_f16(w->q + (size_t)h * w->dim, w->dim, rows, stride, scores + h * SCORE_STRIDE, next, n);
        } else {
            score_f32(w->q + (size_t)h * w->dim, w->dim, rows, stride, scores + h * SCORE_STRIDE, next, n);
        }
    }
}

/* --- Weights ------------------------------------------------------------------------------------------------------------ */

/* Scales n scores and caps them. */
static void cap_scores(const cpu_kv *kv, float *scores, uint32_t n) {
    const vf factor = vf_set1(kv->scale);
    const vf cap = vf_set1(kv->softcap);
    for (uint32_t i = 0; i < n; i += 16) {
        const vf s = vf_mul(vf_load(scores + i), factor);
        vf_store(scores + i, kv->softcap > 0 ? vf_mul(cap, tanh_lanes(vf_div(s, cap))) : s);
    }
}

/* Turns n scores (before scaling) into weights against the maximum so far, zeros behind them; stats become (maximum, sum). Returns what
 * earlier sums are multiplied with. */
static float weigh(const cpu_kv *kv, float *scores, uint32_t n, float *stats, bool is_first) {
    const bool is_plain = kv->scale > 0 && !(kv->softcap > 0); /* the largest before scaling is the largest */
    const float factor = is_plain ? kv->scale : 1;
    if (!is_plain) {
        cap_scores(kv, scores, n);
    }
    for (uint32_t i = n; i % 16 != 0; i++) {
        scores[i] = minus_infinity;
    }
    vf max = vf_set1(minus_infinity);
    for (uint32_t i = 0; i < n; i += 16) {
        max = vf_max(vf_load(scores + i), max);
    }
    const float most = vf_max_lane(max) * factor;
    const float top = !is_first && stats[0] > most ? stats[0] : most;
    vf sum = vf_set1(0);
    for (uint32_t i = 0; i < n; i += 16) {
        const vf w = exp_lanes(vf_fma(vf_load(scores + i), vf_set1(factor), vf_set1(-top)));
        sum = vf_add(sum, w);
        vf_store(scores + i, w);
    }
    const float shrink = is_first ? 0 : stats[0] == top ? 1 : expf(stats[0] - top);
    stats[1] = (is_first ? 0 : stats[1] * shrink) + vf_sum(sum);
    stats[0] = top;
    return shrink;
}

/* --- Values ------------------------------------------------------------------------------------------------------------- */

/* Sums of values of one head so far, in the measure of the new weights. n: columns. */
SIMD_INLINE vf begin_sum(const float *sums, float shrink, bool is_first, uint32_t n) {
    return is_first ? vf_set1(0) : vf_mul(load_lanes(sums, n), vf_set1(shrink));
}

SIMD_INLINE void store_lanes(float *p, vf x, uint32_t n) {
    if (n == 16) {
        vf_store(p, x);
    } else {
        vf_store_part(p, x, n);
    }
}

/* What add_values needs besides registers. */
typedef struct value_job {
    const cpu_cells *cells;
    uint32_t n_ranges;
    bool is_first;
    const float *weights; /* rows SCORE_STRIDE apart */
    const float *shrink;  /* one a head */
    float *sums;          /* rows of value_dim */
} value_job;

/* n_vectors * 16 value columns from `d` on, for n heads. width: columns of the last vector. */
SIMD_INLINE void add_values(const cpu_kv *kv, const value_job *job, uint32_t d, uint32_t width, ahead *next, const uint32_t n,
                            const uint32_t n_vectors, const qn_format format) {
    vf acc[HEADS_AT_ONCE][SIMD_VALUE_VECTORS];
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n_vectors; i++) {
            acc[h][i] = begin_sum(job->sums + h * kv->value_dim + d + 16 * i, job->shrink[h], job->is_first, width);
        }
    }
    const float *weights = job->weights;
    for (uint32_t r = 0; r < job->n_ranges; r++) {
        const uint8_t *row = state_row(kv->v, kv->v_stride, job->cells[r].first);
        for (uint32_t c = 0; c < job->cells[r].n; c++, weights++, row += kv->v_stride) {
            ask_ahead(next, state_bytes(16 * n_vectors, format));
            vf v[SIMD_VALUE_VECTORS];
#pragma GCC unroll 4
            for (uint32_t i = 0; i < n_vectors; i++) {
                v[i] = n_vectors == SIMD_VALUE_VECTORS && width == 16 ? load_state(row, d + 16 * i, format)
                                                                      : load_state_part(row, d, width, format);
            }
#pragma GCC unroll 4
            for (uint32_t h = 0; h < n; h++) {
                const vf w = vf_set1(weights[h * SCORE_STRIDE]);
#pragma GCC unroll 4
                for (uint32_t i = 0; i < n_vectors; i++) {
                    acc[h][i] = vf_fma(v[i], w, acc[h][i]);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n_vectors; i++) {
            store_lanes(job->sums + h * kv->value_dim + d + 16 * i, acc[h][i], width);
        }
    }
}

/* Adds up to sixteen cells to sums of one or two blocks of value columns: a scale goes into the weights, not into each value. */
SIMD_INLINE void add_value_blocks(const cpu_kv *kv, uint32_t first_cell, uint32_t n_cells, const float *weights, uint64_t offset,
                                  vf (*acc)[4], ahead *next, const uint32_t n, const uint32_t n_blocks) {
    float scaled[HEADS_AT_ONCE][2][16];
#pragma GCC unroll 2
    for (uint32_t b = 0; b < n_blocks; b++) {
        const vf scales = load_scales(kv->v, kv->v_stride, offset + 34 * b, first_cell, n_cells);
#pragma GCC unroll 4
        for (uint32_t h = 0; h < n; h++) {
            vf_store(scaled[h][b], vf_mul(vf_load(weights + h * SCORE_STRIDE), scales));
        }
    }
    for (uint32_t c = 0; c < n_cells; c++) {
        const uint8_t *const row = (const uint8_t *)state_row(kv->v, kv->v_stride, first_cell + c) + offset;
        ask_ahead(next, 34 * n_blocks);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 2 * n_blocks; i++) {
            const vf v = vf_from_i8(row + i / 2 * 34 + 2 + i % 2 * 16);
#pragma GCC unroll 4
            for (uint32_t h = 0; h < n; h++) {
                acc[h][i] = vf_fma(v, vf_set1(scaled[h][i / 2][c]), acc[h][i]);
            }
        }
    }
}

/* add_values for Q8_0: n_blocks blocks of 32 columns from `d` on. */
SIMD_INLINE void add_blocks(const cpu_kv *kv, const value_job *job, uint32_t d, ahead *next, const uint32_t n, const uint32_t n_blocks) {
    vf acc[HEADS_AT_ONCE][4];
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 2 * n_blocks; i++) {
            acc[h][i] = begin_sum(job->sums + h * kv->value_dim + d + 16 * i, job->shrink[h], job->is_first, 16);
        }
    }
    const float *weights = job->weights;
    for (uint32_t r = 0; r < job->n_ranges; r++) {
        for (uint32_t c = 0; c < job->cells[r].n; c += 16) {
            const uint32_t left = job->cells[r].n - c;
            add_value_blocks(kv, job->cells[r].first + c, left < 16 ? left : 16, weights + c, d / 32 * 34, acc, next, n, n_blocks);
        }
        weights += job->cells[r].n;
    }
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 2 * n_blocks; i++) {
            vf_store(job->sums + h * kv->value_dim + d + 16 * i, acc[h][i]);
        }
    }
}

SIMD_INLINE void add_heads(const cpu_kv *kv, const value_job *job, ahead *next, const uint32_t n, const qn_format format) {
    uint32_t d = 0;
    if (format == QN_FORMAT_Q8_0) {
        for (; d + 64 <= kv->value_dim; d += 64) {
            add_blocks(kv, job, d, next, n, 2);
        }
        if (d < kv->value_dim) {
            add_blocks(kv, job, d, next, n, 1);
        }
        return;
    }
    for (; d + 16 * SIMD_VALUE_VECTORS <= kv->value_dim; d += 16 * SIMD_VALUE_VECTORS) {
        add_values(kv, job, d, 16, next, n, SIMD_VALUE_VECTORS, format);
    }
    for (; d < kv->value_dim; d += 16) {
        const uint32_t left = kv->value_dim - d;
        add_values(kv, job, d, left < 16 ? left : 16, next, n, 1, format);
    }
}

#define VALUES_OF_FORMAT(format)                                                                            \
    static void add_heads_##format(const cpu_kv *kv, const value_job *job, ahead *next, uint32_t n_heads) { \
        switch (n_heads) {                                                                                  \
        case 4: add_heads(kv, job, next, 4, QN_FORMAT_##format); break;                                     \
        case 3: add_heads(kv, job, next, 3, QN_FORMAT_##format); break;                                     \
        case 2: add_heads(kv, job, next, 2, QN_FORMAT_##format); break;                                     \
        default: add_heads(kv, job, next, 1, QN_FORMAT_##format); break;                                    \
        }                                                                                                   \
    }
VALUES_OF_FORMAT(F32)
VALUES_OF_FORMAT(F16)
VALUES_OF_FORMAT(BF16)
VALUES_OF_FORMAT(Q8_0)

static void add_any(const cpu_kv *kv, const value_job *job, ahead *next, uint32_t n_heads) {
    switch (kv->v_format) {
    case QN_FORMAT_F32: add_heads_F32(kv, job, next, n_heads); break;
    case QN_FORMAT_F16: add_heads_F16(kv, job, next, n_heads); break;
    case QN_FORMAT_BF16: add_heads_BF16(kv, job, next, n_heads); break;
    default: add_heads_Q8_0(kv, job, next, n_heads); break;
    }
}

/* --- A chunk of cells --------------------------------------------------------------------------------------------------- */

/* At most HEADS_OF_CHUNK heads. */
static void attend_heads(const cpu_kv *kv, const cpu_few *few, const cpu_cells *cells, uint32_t n_ranges, void *scratch) {
    float *const scores = scratch;
    const key_work work = prepare_keys(kv, few->q, few->n_heads, (uint8_t *)scratch + CPU_SCORES_BYTES);
    float shrink[HEADS_OF_CHUNK];
    ahead next = {few->k_next, 0};
    uint32_t total = 0;
    for (uint32_t r = 0; r < n_ranges; r++) {
        for (uint32_t c = 0; c < cells[r].n; c += 16) {
            const uint32_t n = cells[r].n - c < 16 ? cells[r].n - c : 16;
            if (few->acts != NULL) {
                score_q8_0(kv, few->acts, cells[r].first + c, n, scores + total + c, few->n_heads);
                ask_ahead(&next, n * state_bytes(kv->head_dim, kv->k_format));
            } else {
                score_cells(kv, &work, cells[r].first + c, n, few->n_heads, scores + total + c, &next);
            }
        }
        total += cells[r].n;
    }
    for (uint32_t h = 0; h < few->n_heads; h++) {
        shrink[h] = weigh(kv, scores + h * SCORE_STRIDE, total, few->stats + 2 * h, few->is_first);
    }
    next.at = few->v_next;
    for (uint32_t h = 0; h < few->n_heads; h += HEADS_AT_ONCE) {
        const uint32_t left = few->n_heads - h;
        const value_job job = {cells, n_ranges, few->is_first, scores + h * SCORE_STRIDE, shrink + h, few->sums + h * kv->value_dim};
        add_any(kv, &job, &next, left < HEADS_AT_ONCE ? left : HEADS_AT_ONCE);
        next.at = NULL;
    }
}

static void attend_few(const cpu_kv *kv, const cpu_few *few, const cpu_cells *cells, uint32_t n_ranges, void *scratch) {
    cpu_few some = *few;
    for (uint32_t h = 0; h < few->n_heads; h += HEADS_OF_CHUNK) {
        const uint32_t left = few->n_heads - h;
        some.n_heads = left < HEADS_OF_CHUNK ? left : HEADS_OF_CHUNK;
        attend_heads(kv, &some, cells, n_ranges, scratch);
        some.q += HEADS_OF_CHUNK * (size_t)kv->head_dim;
        some.acts = few->acts == NULL ? NULL : (const uint8_t *)some.acts + HEADS_OF_CHUNK * cpu_act8_stride(kv->head_dim / 32);
        some.sums += HEADS_OF_CHUNK * (size_t)kv->value_dim;
        some.stats += 2 * HEADS_OF_CHUNK;
        some.k_next = NULL;
        some.v_next = NULL;
    }
}

static void attend_merge(const float *sums, uint64_t sums_stride, const float *stats, uint64_t stats_stride, uint32_t n_parts,
                         uint32_t value_dim, float *y) {
    float max = stats[0];
    float total = 0;
    for (uint32_t p = 1; p < n_parts; p++) {
        max = stats[p * stats_stride] > max ? stats[p * stats_stride] : max;
    }
    for (uint32_t p = 0; p < n_parts; p++) {
        total += stats[p * stats_stride + 1] * expf(stats[p * stats_stride] - max);
    }
    for (uint32_t d = 0; d < value_dim; d += 16) {
        const uint32_t n = value_dim - d < 16 ? value_dim - d : 16;
        vf acc = vf_set1(0);
        for (uint32_t p = 0; p < n_parts; p++) {
            acc = vf_fma(load_lanes(sums + p * sums_stride + d, n), vf_set1(expf(stats[p * stats_stride] - max) / total), acc);
        }
        if (n == 16) {
            vf_store(y + d, acc);
        } else {
            vf_store_part(y + d, acc, n);
        }
    }
}

#endif
