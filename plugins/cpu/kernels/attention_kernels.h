/* attention_kernels.h — softmax attention over cells. Included by one file per instruction set, after its simd header.
 *
 * attend_few: few queries that share a K/V head. Each key is read once for up to four heads; sixteen partial sums are added
 * across lanes at a time. Keys in Q8_0 become columns of sixteen cells for integer dots where the query is quantised too. attend_tile: many queries; keys are turned into panels so that scores and results are matrix products
 * (float_tile.h), with a running maximum and sum per query. */
#include "kernels.h"
#include "float_tile.h"
#include "simd_math.h"

enum { AHEAD_CELLS = 32, HEADS_AT_ONCE = 4, SCORE_STRIDE = CPU_CHUNK_CELLS + 16 /* the last vector of a range may reach beyond */ };

static const float minus_infinity = -INFINITY;

/* Sixteen elements; with Q8_0 i is a multiple of sixteen, and the product of scale and digit is exact. */
SIMD_INLINE vf load_state(const void *row, uint32_t i, const qn_format format) {
    if (format == QN_FORMAT_Q8_0) {
        const uint8_t *const block = (const uint8_t *)row + i / 32 * 34;
        return vf_mul(vf_from_i8(block + 2 + i % 32), vf_set1_f16(block));
    }
    return format == QN_FORMAT_F32 ? vf_load((const float *)row + i)
         : format == QN_FORMAT_F16 ? vf_from_f16((const uint16_t *)row + i) : vf_from_bf16((const uint16_t *)row + i);
}

/* The first n (1..16) elements; the others are zero. */
SIMD_INLINE vf load_state_part(const void *row, uint32_t i, uint32_t n, const qn_format format) {
    uint16_t half[16] = {0};
    if (n == 16 || format == QN_FORMAT_Q8_0) { /* whose heads are whole blocks */
        return load_state(row, i, format);
    }
    if (format == QN_FORMAT_F32) {
        return vf_load_part((const float *)row + i, n);
    }
    memcpy(half, (const uint16_t *)row + i, 2 * (size_t)n);
    return format == QN_FORMAT_F16 ? vf_from_f16(half) : vf_from_bf16(half);
}

SIMD_INLINE const void *state_row(const void *base, uint64_t stride, uint32_t cell) {
    return (const uint8_t *)base + cell * stride;
}

/* Bytes of n elements, n being a multiple of 32 with Q8_0. */
SIMD_INLINE uint32_t state_bytes(uint32_t n, const qn_format format) {
    return format == QN_FORMAT_F32 ? 4 * n : format == QN_FORMAT_Q8_0 ? n / 32 * 34 : 2 * n;
}

SIMD_INLINE vf load_lanes(const float *p, uint32_t n) {
    return n == 16 ? vf_load(p) : vf_load_part(p, n);
}

/* Asks for the first `bytes` bytes of the row that will be read AHEAD_CELLS cells later; it need not exist. Rows of one head are
 * too short and too far apart for the hardware to see the stream. */
SIMD_INLINE void prefetch_row(const void *row, uint64_t stride, uint32_t bytes) {
    const uintptr_t at = (uintptr_t)row + AHEAD_CELLS * stride;
    for (uint32_t i = 0; i < bytes; i += 64) {
        SIMD_PREFETCH_NEAR((const uint8_t *)at + i);
    }
}

/* --- Few queries -------------------------------------------------------------------------------------------------------- */

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

/* --- A tile of queries -------------------------------------------------------------------------------------------------- */

/* The worker's scratch during a tile; all strides are multiples of sixteen. */
typedef struct tile_store {
    float *q;       /* [rows][q_stride] */
    float *sums;    /* [rows][v_stride] */
    float *stats;   /* [rows][2]: maximum, sum of weights */
    float *scores;  /* [SIMD_FLOAT_TOKENS][CPU_CHUNK_CELLS]: of the rows that are worked on */
    float *keys;    /* [cells / 16][head_dim][16] */
    float *values;  /* [value_dim / 16][cells][16] */
    uint32_t q_stride, v_stride, n_rows;
} tile_store;

SIMD_INLINE uint32_t to_lanes(uint32_t n) {
    return (n + 15) / 16 * 16;
}

static tile_store lay_out(const cpu_kv *kv, const cpu_query_tile *tile, void *scratch) {
    tile_store s = {.q_stride = to_lanes(kv->head_dim), .v_stride = to_lanes(kv->value_dim), .n_rows = tile->n_tokens * tile->n_heads};
    s.q = scratch;
    s.sums = s.q + (size_t)s.n_rows * s.q_stride;
    s.stats = s.sums + (size_t)s.n_rows * s.v_stride;
    s.scores = s.stats + to_lanes(2 * s.n_rows);
    s.keys = s.scores + (size_t)SIMD_FLOAT_TOKENS * CPU_CHUNK_CELLS;
    s.values = s.keys + (size_t)CPU_CHUNK_CELLS * s.q_stride;
    return s;
}

/* Queries are scaled here, once, and not score by score. */
static void begin_tile(const cpu_kv *kv, const cpu_query_tile *tile, const tile_store *s) {
    for (uint32_t r = 0; r < s->n_rows; r++) {
        const float *const q = tile->q + r / tile->n_heads * tile->q_stride + (size_t)(r % tile->n_heads) * kv->head_dim;
        for (uint32_t d = 0; d < kv->head_dim; d++) {
            s->q[(size_t)r * s->q_stride + d] = q[d] * kv->scale;
        }
        memset(s->sums + (size_t)r * s->v_stride, 0, s->v_stride * sizeof *s->sums);
        s->stats[2 * r] = minus_infinity;
        s->stats[2 * r + 1] = 0;
    }
}

/* Sixteen keys become columns; keys that do not exist become zeros. */
SIMD_INLINE void pack_keys(const cpu_kv *kv, const void *const *rows, float *to, const qn_format format) {
    for (uint32_t d = 0; d < kv->head_dim; d += 16) {
        const uint32_t n = kv->head_dim - d < 16 ? kv->head_dim - d : 16;
        vf lanes[16];
        for (uint32_t c = 0; c < 16; c++) {
            lanes[c] = rows[c] == NULL ? vf_set1(0) : load_state_part(rows[c], d, n, format);
        }
        vf_transpose(lanes);
        for (uint32_t i = 0; i < n; i++) {
            vf_store(to + 16 * (size_t)(d + i), lanes[i]);
        }
    }
}

SIMD_INLINE void pack_cells(const cpu_kv *kv, const cpu_cells *cells, uint32_t n_ranges, const tile_store *s, const qn_format k_format,
                            const qn_format v_format) {
    const void *rows[16];
    uint32_t at = 0;
    for (uint32_t r = 0; r < n_ranges; r++) {
        for (uint32_t c = 0; c < cells[r].n; c++, at++) {
            const uint32_t cell = cells[r].first + c;
            const void *const v = state_row(kv->v, kv->v_stride, cell);
            for (uint32_t d = 0; d < kv->value_dim; d += 16) {
                const uint32_t n = kv->value_dim - d < 16 ? kv->value_dim - d : 16;
                vf_store(s->values + ((size_t)d / 16 * CPU_CHUNK_CELLS + at) * 16, load_state_part(v, d, n, v_format));
            }
            rows[at % 16] = state_row(kv->k, kv->k_stride, cell);
            if (at % 16 == 15) {
                pack_keys(kv, rows, s->keys + (size_t)(at / 16) * kv->head_dim * 16, k_format);
            }
        }
    }
    if (at % 16 != 0) {
        for (uint32_t i = at % 16; i < 16; i++) {
            rows[i] = NULL;
        }
        pack_keys(kv, rows, s->keys + (size_t)(at / 16) * kv->head_dim * 16, k_format);
    }
}

static void pack_chunk(const cpu_kv *kv, const cpu_cells *cells, uint32_t n_ranges, const tile_store *s) {
    if (kv->k_format == QN_FORMAT_F16 && kv->v_format == QN_FORMAT_F16) {
        pack_cells(kv, cells, n_ranges, s, QN_FORMAT_F16, QN_FORMAT_F16);
    } else if (kv->k_format == QN_FORMAT_Q8_0 && kv->v_format == QN_FORMAT_Q8_0) {
        pack_cells(kv, cells, n_ranges, s, QN_FORMAT_Q8_0, QN_FORMAT_Q8_0);
    } else {
        pack_cells(kv, cells, n_ranges, s, kv->k_format, kv->v_format);
    }
}

/* So many of the first cells that no row of [row, row + n) sees one behind them. */
static uint32_t count_visible(const cpu_query_tile *tile, const cpu_cells *cells, uint32_t n_ranges, uint32_t row, uint32_t n) {
    int64_t high = INT32_MIN;
    for (uint32_t token = row / tile->n_heads; token <= (row + n - 1) / tile->n_heads; token++) {
        high = tile->positions[token] > high ? tile->positions[token] : high;
    }
    uint32_t visible = 0;
    uint32_t at = 0;
    for (uint32_t r = 0; r < n_ranges; r++) {
        const int64_t seen = high + 1 - cells[r].position;
        if (seen > 0) {
            visible = at + (seen < cells[r].n ? (uint32_t)seen : cells[r].n);
        }
        at += cells[r].n;
    }
    return visible;
}

/* Of the first n_cells scores, those of cells that the token does not see become minus infinity, and the rest of the last vector. */
static void hide_cells(const cpu_query_tile *tile, uint32_t token, const cpu_cells *cells, uint32_t n_cells, float *scores) {
    const int64_t position = tile->positions[token];
    const int64_t low = tile->window == 0 ? 0 : position - tile->window + 1;
    uint32_t at = 0;
    for (uint32_t r = 0; at < n_cells; r++) {
        const int64_t first = cells[r].position;
        const int64_t n = cells[r].n < n_cells - at ? cells[r].n : n_cells - at;
        const int64_t begin = low - first < 0 ? 0 : low - first > n ? n : low - first;
        const int64_t end = position + 1 - first < begin ? begin : position + 1 - first > n ? n : position + 1 - first;
        for (int64_t i = 0; i < begin; i++) {
            scores[at + i] = minus_infinity;
        }
        for (int64_t i = end; i < n; i++) {
            scores[at + i] = minus_infinity;
        }
        at += (uint32_t)n;
    }
    for (; at % 16 != 0; at++) {
        scores[at] = minus_infinity;
    }
}

static void cap_row(float cap, uint32_t n_cells, float *scores) {
    for (uint32_t i = 0; i < n_cells; i += 16) {
        vf_store(scores + i, vf_mul(vf_set1(cap), tanh_lanes(vf_div(vf_load(scores + i), vf_set1(cap)))));
    }
}

/* Caps the scores of a row, hides cells, and turns them into weights against the new maximum. */
static void weigh_row(const cpu_kv *kv, const cpu_query_tile *tile, const cpu_cells *cells, uint32_t n_cells, const tile_store *s,
                      uint32_t row, float *scores) {
    float *const sums = s->sums + (size_t)row * s->v_stride;
    float *const stats = s->stats + 2 * row;
    vf max = vf_set1(minus_infinity);
    if (kv->softcap > 0) {
        cap_row(kv->softcap, n_cells, scores);
    }
    hide_cells(tile, row / tile->n_heads, cells, n_cells, scores);
    for (uint32_t i = 0; i < n_cells; i += 16) {
        max = vf_max(vf_load(scores + i), max);
    }
    const float most = vf_max_lane(max);
    const float top = most > stats[0] ? most : stats[0];
    if (top == minus_infinity) { /* nothing visible so far */
        memset(scores, 0, to_lanes(n_cells) * sizeof *scores);
        return;
    }
    vf sum = vf_set1(0);
    for (uint32_t i = 0; i < n_cells; i += 16) {
        const vf w = exp_lanes(vf_sub(vf_load(scores + i), vf_set1(top)));
        sum = vf_add(sum, w);
        vf_store(scores + i, w);
    }
    const float shrink = expf(stats[0] - top);
    for (uint32_t d = 0; shrink != 1.0f && d < s->v_stride; d += 16) {
        vf_store(sums + d, vf_mul(vf_load(sums + d), vf_set1(shrink)));
    }
    stats[1] = stats[1] * shrink + vf_sum(sum);
    stats[0] = top;
}

/* Rows [row, row + n), one tile of the products, against the first n_cells cells of the chunk: their scores stay in the first-level
 * cache. */
static void attend_rows(const cpu_kv *kv, const cpu_query_tile *tile, const cpu_cells *cells, uint32_t n_cells, const tile_store *s,
                        uint32_t row, uint32_t n) {
    const float_job score = {.panels = s->keys, .panel_floats = (size_t)kv->head_dim * 16, .n_panels = (n_cells + 15) / 16,
                             .n_cols = kv->head_dim, .x = s->q + (size_t)row * s->q_stride, .x_stride = s->q_stride, .n_tokens = n,
                             .y = s->scores, .y_stride = CPU_CHUNK_CELLS, .n_rows = CPU_CHUNK_CELLS, .is_first = true};
    const float_job add = {.panels = s->values, .panel_floats = (size_t)CPU_CHUNK_CELLS * 16, .n_panels = s->v_stride / 16,
                           .n_cols = n_cells, .x = s->scores, .x_stride = CPU_CHUNK_CELLS, .n_tokens = n,
                           .y = s->sums + (size_t)row * s->v_stride, .y_stride = s->v_stride, .n_rows = s->v_stride};
    run_float_job(&score);
    for (uint32_t r = 0; r < n; r++) {
        weigh_row(kv, tile, cells, n_cells, s, row + r, s->scores + (size_t)r * CPU_CHUNK_CELLS);
    }
    run_float_job(&add);
}

static void attend_tile(const cpu_kv *kv, const cpu_query_tile *tile, const cpu_cells *cells, uint32_t n_ranges, void *scratch) {
    const tile_store s = lay_out(kv, tile, scratch);
    if (tile->is_first) {
        begin_tile(kv, tile, &s);
    }
    pack_chunk(kv, cells, n_ranges, &s);
    for (uint32_t row = 0; row < s.n_rows; row += SIMD_FLOAT_TOKENS) {
        const uint32_t n = s.n_rows - row < SIMD_FLOAT_TOKENS ? s.n_rows - row : SIMD_FLOAT_TOKENS;
        const uint32_t n_cells = count_visible(tile, cells, n_ranges, row, n);
        if (n_cells > 0) {
            attend_rows(kv, tile, cells, n_cells, &s, row, n);
        }
    }
    for (uint32_t r = 0; tile->is_last && r < s.n_rows; r++) {
        float *const y = tile->y + r / tile->n_heads * tile->y_stride + (size_t)(r % tile->n_heads) * kv->value_dim;
        const float *const sums = s.sums + (size_t)r * s.v_stride;
        const float total = s.stats[2 * r + 1];
        for (uint32_t d = 0; d < kv->value_dim; d++) {
            y[d] = sums[d] / total;
        }
    }
}

void CPU_ISA(cpu_attention_install)(cpu_ops *ops) {
    ops->attention_isa = CPU_ISA_NAME;
    ops->attend_few = attend_few;
    ops->attend_merge = attend_merge;
    ops->attend_tile = attend_tile;
}
