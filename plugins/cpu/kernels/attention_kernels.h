/* attention_kernels.h — softmax attention over cells. Included by one file per instruction set, after its simd header.
 *
 * Few queries are in attend_few.h. attend_tile: many queries; keys are turned into panels so that scores and results are matrix products
 * (float_tile.h), with a running maximum and sum per query. */
#include "kernels.h"
#include "float_tile.h"
#include "simd_math.h"
#include "attend_state.h"
#include "attend_few.h"

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
