/* attend_few.h — attention of few queries that share a K/V head. Included after a simd header and attend_state.h.
 *
 * Each key is read once for up to four heads; sixteen partial sums are added across lanes at a time. Keys in Q8_0 become columns of
 * sixteen cells for integer dots where the query is quantised too. */
#ifndef CPU_ATTEND_FEW_H
#define CPU_ATTEND_FEW_H

enum { AHEAD_CELLS = 32, HEADS_AT_ONCE = 4, SCORE_STRIDE = CPU_CHUNK_CELLS + 16 /* the last vector of a range may reach beyond */ };

/* Asks for the first `bytes` bytes of the row that will be read AHEAD_CELLS cells later; it need not exist. Rows of one head are
 * too short and too far apart for the hardware to see the stream. */
SIMD_INLINE void prefetch_row(const void *row, uint64_t stride, uint32_t bytes) {
    const uintptr_t at = (uintptr_t)row + AHEAD_CELLS * stride;
    for (uint32_t i = 0; i < bytes; i += 64) {
        SIMD_PREFETCH_NEAR((const uint8_t *)at + i);
    }
}

/* Scores of up to sixteen cells for n heads: scores[h * SCORE_STRIDE + c]. */
SIMD_INLINE void score_cells(const cpu_kv *kv, const float *q, uint32_t first_cell, uint32_t n_cells, float *scores, const uint32_t n,
                             const qn_format format) {
    vf parts[HEADS_AT_ONCE][16];
    const uint32_t dim = kv->head_dim;
    for (uint32_t c = 0; c < 16; c++) {
        vf acc[HEADS_AT_ONCE];
#pragma GCC unroll 4
        for (uint32_t h = 0; h < n; h++) {
            acc[h] = vf_set1(0);
        }
        if (c < n_cells) {
            const void *const row = state_row(kv->k, kv->k_stride, first_cell + c);
            uint32_t d = 0;
            for (; d + 64 <= dim; d += 64) {
                prefetch_row((const uint8_t *)row + state_bytes(d, format), kv->k_stride, state_bytes(64, format));
#pragma GCC unroll 4
                for (uint32_t i = 0; i < 64; i += 16) {
                    const vf k = load_state(row, d + i, format);
#pragma GCC unroll 4
                    for (uint32_t h = 0; h < n; h++) {
                        acc[h] = vf_fma(k, vf_load(q + h * dim + d + i), acc[h]);
                    }
                }
            }
            for (; d + 16 <= dim; d += 16) {
                const vf k = load_state(row, d, format);
#pragma GCC unroll 4
                for (uint32_t h = 0; h < n; h++) {
                    acc[h] = vf_fma(k, vf_load(q + h * dim + d), acc[h]);
                }
            }
            if (d < dim) {
                const vf k = load_state_part(row, d, dim - d, format);
#pragma GCC unroll 4
                for (uint32_t h = 0; h < n; h++) {
                    acc[h] = vf_fma(k, vf_load_part(q + h * dim + d, dim - d), acc[h]);
                }
            }
        }
#pragma GCC unroll 4
        for (uint32_t h = 0; h < n; h++) {
            parts[h][c] = acc[h];
        }
    }
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
        vf_store(scores + h * SCORE_STRIDE, vf_sums(parts[h]));
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
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
        const cpu_act8 q = cpu_act8_view(acts + h * cpu_act8_stride(n_blocks), n_blocks);
        const vi dots = vi_dot(keys, q.q + 32 * (size_t)b, q.neg[b], 8, 8, 7);
        sums[h] = vf_fma(vf_mul(vf_from_vi(dots), scales), vf_set1(q.scale[b]), sums[h]);
    }
}

/* The same for keys in Q8_0 and quantised queries: a lane is a cell, so that nothing is added across lanes. */
SIMD_INLINE void score_blocks(const cpu_kv *kv, const uint8_t *acts, uint32_t first_cell, uint32_t n_cells, float *scores, const uint32_t n) {
    const uint32_t n_blocks = kv->head_dim / 32;
    vf sums[HEADS_AT_ONCE];
#pragma GCC unroll 4
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
            prefetch_row(row, kv->k_stride, is_pair ? 68 : 34);
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
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
        vf_store(scores + h * SCORE_STRIDE, sums[h]);
    }
}

/* Turns n scores (before scaling) into weights; (maximum, sum) to stats. Lanes beyond n become 0. */
static void weigh(const cpu_kv *kv, float *scores, uint32_t n, float *stats) {
    const vf factor = vf_set1(kv->scale);
    const vf cap = vf_set1(kv->softcap);
    vf max = vf_set1(minus_infinity);
    for (uint32_t i = n; i % 16 != 0; i++) {
        scores[i] = minus_infinity;
    }
    for (uint32_t i = 0; i < n; i += 16) {
        vf s = vf_mul(vf_load(scores + i), factor);
        if (kv->softcap > 0) {
            s = vf_mul(cap, tanh_lanes(vf_div(s, cap)));
            for (uint32_t lane = n - i; lane < 16; lane++) {
                float lanes[16];
                vf_store(lanes, s);
                lanes[lane] = minus_infinity;
                s = vf_load(lanes);
            }
        }
        max = vf_max(s, max);
        vf_store(scores + i, s);
    }
    stats[0] = vf_max_lane(max);
    const vf top = vf_set1(stats[0]);
    vf sum = vf_set1(0);
    for (uint32_t i = 0; i < n; i += 16) {
        const vf w = exp_lanes(vf_sub(vf_load(scores + i), top));
        sum = vf_add(sum, w);
        vf_store(scores + i, w);
    }
    stats[1] = vf_sum(sum);
}

/* Sums of n_vectors * 16 value columns from `d` on, for n heads over all ranges. width: columns of the last vector. */
SIMD_INLINE void add_values(const cpu_kv *kv, const cpu_cells *cells, uint32_t n_ranges, const float *weights, float *sums, uint32_t d,
                            uint32_t width, const uint32_t n, const uint32_t n_vectors, const qn_format format) {
    vf acc[HEADS_AT_ONCE][4];
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n_vectors; i++) {
            acc[h][i] = vf_set1(0);
        }
    }
    uint32_t at = 0;
    for (uint32_t r = 0; r < n_ranges; r++) {
        for (uint32_t c = 0; c < cells[r].n; c++, at++) {
            const void *const row = state_row(kv->v, kv->v_stride, cells[r].first + c);
            prefetch_row((const uint8_t *)row + state_bytes(d, format), kv->v_stride, state_bytes(16 * n_vectors, format));
            vf v[4];
#pragma GCC unroll 4
            for (uint32_t i = 0; i < n_vectors; i++) {
                v[i] = n_vectors == 4 ? load_state(row, d + 16 * i, format) : load_state_part(row, d, width, format);
            }
#pragma GCC unroll 4
            for (uint32_t h = 0; h < n; h++) {
                const vf w = vf_set1(weights[h * SCORE_STRIDE + at]);
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
            float *const to = sums + h * kv->value_dim + d + 16 * i;
            if (n_vectors == 4 || width == 16) {
                vf_store(to, acc[h][i]);
            } else {
                vf_store_part(to, acc[h][i], width);
            }
        }
    }
}

/* Adds up to sixteen cells to sums of one or two blocks of value columns: a scale goes into the weights, not into each value. */
SIMD_INLINE void add_value_blocks(const cpu_kv *kv, uint32_t first_cell, uint32_t n_cells, const float *weights, uint64_t offset,
                                  vf (*acc)[4], const uint32_t n, const uint32_t n_blocks) {
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
        prefetch_row(row, kv->v_stride, 34 * n_blocks);
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
SIMD_INLINE void add_blocks(const cpu_kv *kv, const cpu_cells *cells, uint32_t n_ranges, const float *weights, float *sums, uint32_t d,
                            const uint32_t n, const uint32_t n_blocks) {
    vf acc[HEADS_AT_ONCE][4];
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 2 * n_blocks; i++) {
            acc[h][i] = vf_set1(0);
        }
    }
    for (uint32_t r = 0; r < n_ranges; r++) {
        for (uint32_t c = 0; c < cells[r].n; c += 16) {
            const uint32_t left = cells[r].n - c;
            add_value_blocks(kv, cells[r].first + c, left < 16 ? left : 16, weights + c, d / 32 * 34, acc, n, n_blocks);
        }
        weights += cells[r].n;
    }
#pragma GCC unroll 4
    for (uint32_t h = 0; h < n; h++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 2 * n_blocks; i++) {
            vf_store(sums + h * kv->value_dim + d + 16 * i, acc[h][i]);
        }
    }
}

SIMD_INLINE void attend_heads(const cpu_kv *kv, const float *q, const uint8_t *acts, const cpu_cells *cells, uint32_t n_ranges, float *sums,
                              float *stats, float *scores, const uint32_t n, const qn_format k_format, const qn_format v_format) {
    uint32_t total = 0;
    for (uint32_t r = 0; r < n_ranges; r++) {
        for (uint32_t c = 0; c < cells[r].n; c += 16) {
            const uint32_t left = cells[r].n - c;
            if (k_format == QN_FORMAT_Q8_0 && acts != NULL) {
                score_blocks(kv, acts, cells[r].first + c, left < 16 ? left : 16, scores + total + c, n);
            } else {
                score_cells(kv, q, cells[r].first + c, left < 16 ? left : 16, scores + total + c, n, k_format);
            }
        }
        total += cells[r].n;
    }
    for (uint32_t h = 0; h < n; h++) {
        weigh(kv, scores + h * SCORE_STRIDE, total, stats + 2 * h);
    }
    uint32_t d = 0;
    for (; v_format == QN_FORMAT_Q8_0 && d + 64 <= kv->value_dim; d += 64) {
        add_blocks(kv, cells, n_ranges, scores, sums, d, n, 2);
    }
    if (v_format == QN_FORMAT_Q8_0 && d < kv->value_dim) {
        add_blocks(kv, cells, n_ranges, scores, sums, d, n, 1);
        return;
    }
    for (; d + 64 <= kv->value_dim; d += 64) {
        add_values(kv, cells, n_ranges, scores, sums, d, 16, n, 4, v_format);
    }
    for (; d < kv->value_dim; d += 16) {
        const uint32_t left = kv->value_dim - d;
        add_values(kv, cells, n_ranges, scores, sums, d, left < 16 ? left : 16, n, 1, v_format);
    }
}

#define FEW_OF_FORMAT(format)                                                                                                      \
    static void attend_few_##format(const cpu_kv *kv, const float *q, const uint8_t *acts, uint32_t n_heads, const cpu_cells *cells, \
                                    uint32_t n_ranges, float *sums, float *stats, float *scores) {                                  \
        switch (n_heads) {                                                                                                         \
        case 4: attend_heads(kv, q, acts, cells, n_ranges, sums, stats, scores, 4, QN_FORMAT_##format, QN_FORMAT_##format); break;        \
        case 3: attend_heads(kv, q, acts, cells, n_ranges, sums, stats, scores, 3, QN_FORMAT_##format, QN_FORMAT_##format); break;        \
        case 2: attend_heads(kv, q, acts, cells, n_ranges, sums, stats, scores, 2, QN_FORMAT_##format, QN_FORMAT_##format); break;        \
        default: attend_heads(kv, q, acts, cells, n_ranges, sums, stats, scores, 1, QN_FORMAT_##format, QN_FORMAT_##format); break;       \
        }                                                                                                                          \
    }
FEW_OF_FORMAT(F32)
FEW_OF_FORMAT(F16)
FEW_OF_FORMAT(BF16)
FEW_OF_FORMAT(Q8_0)

/* Keys and values of different formats: one head at a time. */
static void attend_one_mixed(const cpu_kv *kv, const float *q, const uint8_t *acts, const cpu_cells *cells, uint32_t n_ranges, float *sums,
                             float *stats, float *scores) {
    attend_heads(kv, q, acts, cells, n_ranges, sums, stats, scores, 1, kv->k_format, kv->v_format);
}

static void attend_few(const cpu_kv *kv, const float *q, const void *acts, uint32_t n_heads, const cpu_cells *cells, uint32_t n_ranges,
                       float *sums, float *stats, void *scratch) {
    const bool mixed = kv->k_format != kv->v_format;
    for (uint32_t h = 0; h < n_heads;) {
        const uint32_t left = n_heads - h;
        const uint32_t n = mixed ? 1 : left < HEADS_AT_ONCE ? left : HEADS_AT_ONCE;
        const float *const from = q + h * kv->head_dim;
        float *const to = sums + h * kv->value_dim;
        const uint8_t *const act = acts == NULL ? NULL : (const uint8_t *)acts + h * cpu_act8_stride(kv->head_dim / 32);
        if (mixed) {
            attend_one_mixed(kv, from, act, cells, n_ranges, to, stats + 2 * h, scratch);
        } else if (kv->k_format == QN_FORMAT_F16) {
            attend_few_F16(kv, from, act, n, cells, n_ranges, to, stats + 2 * h, scratch);
        } else if (kv->k_format == QN_FORMAT_F32) {
            attend_few_F32(kv, from, act, n, cells, n_ranges, to, stats + 2 * h, scratch);
        } else if (kv->k_format == QN_FORMAT_Q8_0) {
            attend_few_Q8_0(kv, from, act, n, cells, n_ranges, to, stats + 2 * h, scratch);
        } else {
            attend_few_BF16(kv, from, act, n, cells, n_ranges, to, stats + 2 * h, scratch);
        }
        h += n;
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
