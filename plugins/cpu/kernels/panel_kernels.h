/* panel_kernels.h — matrix products with weights in panels, and the quantising of activations for them. Included by one file per
 * instruction set, after its simd header and with CPU_ISA(name) defined. The layout is described in cpu_ops.h.
 *
 * GEMV reads a panel once, a block at a time, and keeps sixteen results in one vector. GEMM unpacks a chunk of columns of a few
 * panels to bytes (or f32) in the worker's scratch, where they stay in a near cache while all tokens pass by.
 */
#include "kernels.h"

enum { CHUNK_BLOCKS = SIMD_TILE_BLOCKS, PREFETCH_FAR_BYTES = 8192, PREFETCH_NEAR_BYTES = 2048 };

#define UNROLL_8(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
#define UNROLL_4(STEP) STEP(0) STEP(1) STEP(2) STEP(3)

/* --- Unpacking -------------------------------------------------------------------------------------------------------- */

SIMD_INLINE uint32_t low_bits_of(const uint32_t bits) {
    return bits == 5 || bits == 6 ? 4 : bits;
}

/* The quants of one block as eight vectors of bytes. */
SIMD_INLINE void load_block(const uint8_t *quants, const uint8_t *high, const uint32_t bits, vb *w) {
    if (bits == 8) {
#define STEP(v) w[v] = vb_load(quants + 64 * v);
        UNROLL_8(STEP)
#undef STEP
        return;
    }
    if (bits == 2) {
        const vb a = vb_load(quants);
        const vb b = vb_load(quants + 64);
#define STEP(v) w[v] = vb_two(a, v); w[v + 4] = vb_two(b, v);
        UNROLL_4(STEP)
#undef STEP
        return;
    }
#define STEP(v) { const vb b = vb_load(quants + 64 * v); w[v] = vb_low4(b); w[v + 4] = vb_high4(b); }
    UNROLL_4(STEP)
#undef STEP
    if (bits == 5) {
        const vb h = vb_load(high);
#define STEP(v) w[v] = vb_or_bit(w[v], h, v);
        UNROLL_8(STEP)
#undef STEP
    } else if (bits == 6) {
        const vb a = vb_load(high);
        const vb b = vb_load(high + 64);
#define STEP(v) w[v] = vb_or_two(w[v], a, v); w[v + 4] = vb_or_two(w[v + 4], b, v);
        UNROLL_4(STEP)
#undef STEP
    }
}

SIMD_INLINE const uint8_t *quants_of(const cpu_panels *w, const uint8_t *panel, uint32_t block, const uint32_t bits) {
    return panel + w->quants_at + (size_t)block * 64 * low_bits_of(bits);
}

SIMD_INLINE const uint8_t *high_of(const cpu_panels *w, const uint8_t *panel, uint32_t block, const uint32_t bits) {
    return panel + w->high_at + (size_t)block * 64 * (bits - low_bits_of(bits));
}

SIMD_INLINE void prefetch_block(const uint8_t *at, const uint32_t bits) {
    for (uint32_t line = 0; line < bits + 1; line++) {
        SIMD_PREFETCH_FAR(at + PREFETCH_FAR_BYTES + 64 * line);
        SIMD_PREFETCH_NEAR(at + PREFETCH_NEAR_BYTES + 64 * line);
    }
}

SIMD_INLINE uint32_t rows_in(const cpu_panels *w, uint32_t panel) {
    const uint32_t left = w->n_rows - panel * CPU_PANEL_ROWS;
    return left < CPU_PANEL_ROWS ? left : CPU_PANEL_ROWS;
}

SIMD_INLINE vf load_rows(const float *p, uint32_t rows) {
    return rows == CPU_PANEL_ROWS ? vf_load(p) : vf_load_part(p, rows);
}

SIMD_INLINE void store_rows(float *p, vf a, uint32_t rows) {
    if (rows == CPU_PANEL_ROWS) {
        vf_store(p, a);
    } else {
        vf_store_part(p, a, rows);
    }
}

#include "gemv_kernels.h"

/* --- GEMM: a chunk of columns of one panel, unpacked ------------------------------------------------------------------- */

/* Bytes and scales of up to CHUNK_BLOCKS blocks of one panel. */
typedef struct chunk {
    uint8_t q[CHUNK_BLOCKS][8][64];
    float scale[CHUNK_BLOCKS][2][16]; /* of each half; the first for both unless scales stand per sixteen */
    float min[CHUNK_BLOCKS][16];      /* added as it stands */
} chunk;
_Static_assert(SIMD_TILE_PANELS * sizeof(chunk) <= CPU_GEMM_SCRATCH, "chunks fit into the scratch");

/* Scales of one block as f32; `second` holds those of its second half, `min` is added as it stands. */
typedef struct block_scales {
    vf first, second, min;
} block_scales;

SIMD_INLINE block_scales read_scales(const cpu_panels *w, const uint8_t *panel, uint32_t b, const uint32_t scales, const int32_t min_sign) {
    const size_t at = 32 * (size_t)(scales == CPU_SCALE_SUPER_MIN || scales == CPU_SCALE_SUPER_16 ? b / 8 : b);
    block_scales s;
    s.first = scales == CPU_SCALE_ONE ? vf_set1(w->scale) : vf_from_f16(panel + at);
    s.second = s.first;
    s.min = vf_set1(0);
    if (scales == CPU_SCALE_SUPER_16) {
        s.second = vf_mul(s.first, vf_from_i8(panel + w->sub_at + 32 * (size_t)b + 16));
        s.first = vf_mul(s.first, vf_from_i8(panel + w->sub_at + 32 * (size_t)b));
    }
    if (scales == CPU_SCALE_HALF_MIN || scales == CPU_SCALE_SUPER_MIN) {
        vf m = vf_from_f16(panel + w->min_at + at);
        if (scales == CPU_SCALE_SUPER_MIN) {
            s.second = s.first = vf_mul(s.first, vf_from_u8(panel + w->sub_at + 16 * (size_t)b));
            m = vf_mul(m, vf_from_u8(panel + w->submin_at + 16 * (size_t)b));
        }
        s.min = min_sign < 0 ? vf_sub(vf_set1(0), m) : m;
    }
    return s;
}

SIMD_INLINE void unpack_scales(const cpu_panels *w, const uint8_t *panel, uint32_t b, chunk *to, uint32_t i, const uint32_t scales,
                               const int32_t min_sign) {
    const block_scales s = read_scales(w, panel, b, scales, min_sign);
    vf_store(to->scale[i][0], s.first);
    if (scales == CPU_SCALE_SUPER_16) {
        vf_store(to->scale[i][1], s.second);
    }
    if (scales == CPU_SCALE_HALF_MIN || scales == CPU_SCALE_SUPER_MIN) {
        vf_store(to->min[i], s.min);
    }
}

SIMD_INLINE void unpack_chunk(const cpu_panels *w, const uint8_t *panel, uint32_t first, uint32_t n, chunk *to, const uint32_t bits,
                              const uint32_t scales, const int32_t min_sign) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = first + i;
        vb q[8];
        prefetch_block(panel + (size_t)b * 64 * (bits + 1), bits);
        load_block(quants_of(w, panel, b, bits), high_of(w, panel, b, bits), bits, q);
#define STEP(v) vb_store(to->q[i][v], q[v]);
        UNROLL_8(STEP)
#undef STEP
        unpack_scales(w, panel, b, to, i, scales, min_sign);
    }
}

static void unpack(const cpu_panels *w, const uint8_t *panel, uint32_t first, uint32_t n, chunk *to) {
    switch (w->kind) {
#define X(FORMAT, name, bits, scales, zero, sign) \
    case BLK_PANEL_##FORMAT: unpack_chunk(w, panel, first, n, to, bits, scales, sign); break;
        CPU_PANEL_FORMATS(X)
#undef X
    default: break;
    }
}

/* A tile of output: its tokens' activation rows and where it goes. */
typedef struct tile {
    const uint8_t *rows[SIMD_TILE_TOKENS]; /* of activations */
    float *y[SIMD_TILE_TOKENS];            /* at the first row of the first panel */
    const float *start;                    /* bias, where the chunk is the first; otherwise null: y is continued */
    bool is_first;
    uint32_t first_block, n_blocks;        /* of the chunk */
    uint32_t row_blocks;                   /* of a whole activation row */
    uint32_t n_rows;                       /* outputs that exist, of all panels of the tile */
    const uint8_t *ahead, *ahead_end;      /* weights that will be unpacked next: each tile asks for a few lines */
    uint32_t ahead_lines;
} tile;

SIMD_INLINE uint32_t panel_rows(const tile *t, uint32_t panel) {
    const uint32_t left = t->n_rows - panel * CPU_PANEL_ROWS;
    return left < CPU_PANEL_ROWS ? left : CPU_PANEL_ROWS;
}

SIMD_INLINE vf tile_start(const tile *t, uint32_t panel, uint32_t token) {
    const uint32_t rows = panel_rows(t, panel);
    if (!t->is_first) {
        return load_rows(t->y[token] + panel * CPU_PANEL_ROWS, rows);
    }
    return t->start == NULL ? vf_set1(0) : load_rows(t->start + panel * CPU_PANEL_ROWS, rows);
}

#ifdef SIMD_TILE_SOURCE
#include SIMD_TILE_SOURCE
#else
/* One panel, one token: the dot of whole blocks does all the work. */
SIMD_INLINE void run_tile(const tile *t, const chunk *c, const uint32_t n_panels, const uint32_t n_tokens, const uint32_t bits,
                          const uint32_t scales, const uint32_t zero_shift) {
    for (uint32_t p = 0; p < n_panels; p++) {
        for (uint32_t k = 0; k < n_tokens; k++) {
            const cpu_act8 x = cpu_act8_view(t->rows[k], t->row_blocks);
            vf acc = tile_start(t, p, k);
            for (uint32_t i = 0; i < t->n_blocks; i++) {
                const uint32_t b = t->first_block + i;
                const int8_t *const a = x.q + (size_t)b * CPU_BLOCK;
                vb q[8];
#define STEP(v) q[v] = vb_load(c[p].q[i][v]);
                UNROLL_8(STEP)
#undef STEP
                if (scales == CPU_SCALE_SUPER_16) {
                    const vf t0 = vf_from_vi(vi_dot(q, a, x.neg16[2 * b], 4, bits, zero_shift));
                    const vf t1 = vf_from_vi(vi_dot(q + 4, a + 16, x.neg16[2 * b + 1], 4, bits, zero_shift));
                    const vf sum = vf_fma(t1, vf_load(c[p].scale[i][1]), vf_mul(t0, vf_load(c[p].scale[i][0])));
                    acc = vf_fma(sum, vf_set1(x.scale[b]), acc);
                } else {
                    const vf sum = vf_from_vi(vi_dot(q, a, x.neg[b], 8, bits, zero_shift));
                    acc = vf_fma(vf_mul(sum, vf_load(c[p].scale[i][0])), vf_set1(x.scale[b]), acc);
                }
                if (scales == CPU_SCALE_HALF_MIN || scales == CPU_SCALE_SUPER_MIN) {
                    acc = vf_fma(vf_load(c[p].min[i]), vf_set1(x.sum[b]), acc);
                }
            }
            store_rows(t->y[k] + p * CPU_PANEL_ROWS, acc, panel_rows(t, p));
        }
    }
}
#endif

SIMD_INLINE void prefetch_ahead(tile *t) {
    for (uint32_t i = 0; i < t->ahead_lines && t->ahead < t->ahead_end; i++) {
        SIMD_PREFETCH_FAR(t->ahead);
        t->ahead += 64;
    }
}

/* All tokens of a step against one unpacked chunk. */
SIMD_INLINE void run_tokens(tile *t, const chunk *c, const uint8_t *acts, uint64_t act_stride, uint32_t n_tokens, const cpu_out *out,
                            uint32_t first_panel, const uint32_t n_panels, const uint32_t bits, const uint32_t scales,
                            const uint32_t zero_shift) {
    for (uint32_t token = 0; token < n_tokens;) {
        const uint32_t left = n_tokens - token;
        const uint32_t n = left >= SIMD_TILE_TOKENS ? SIMD_TILE_TOKENS : left >= 2 && SIMD_TILE_TOKENS > 2 && n_panels > 1 ? 2 : 1;
        for (uint32_t k = 0; k < n; k++) {
            t->rows[k] = acts + (token + k) * act_stride;
            t->y[k] = out->y + (token + k) * out->stride + (size_t)first_panel * CPU_PANEL_ROWS;
        }
        prefetch_ahead(t);
        if (n == SIMD_TILE_TOKENS) {
            run_tile(t, c, n_panels, SIMD_TILE_TOKENS, bits, scales, zero_shift);
        } else if (n == 2 && n_panels > 1) {
            run_tile(t, c, n_panels, 2, bits, scales, zero_shift);
        } else {
            run_tile(t, c, n_panels, 1, bits, scales, zero_shift);
        }
        token += n;
    }
}

/* Formats whose tiles are equal but for the zero point share one: `bits` matters only where products are added in 16 bits. */
SIMD_INLINE void run_kind(const blk_panel_kind *kind, tile *t, const chunk *c, const void *acts, uint64_t act_stride, uint32_t n_tokens,
                          const cpu_out *out, uint32_t first_panel, const uint32_t n_panels) {
#define RUN(bits, scales, zero) run_tokens(t, c, acts, act_stride, n_tokens, out, first_panel, n_panels, bits, scales, zero)
#ifdef SIMD_HAS_VNNI
    const uint32_t bits = 4;
#else
    const uint32_t bits = kind->bits;
#endif
    if (kind->scales == CPU_SCALE_SUPER_16) {
        RUN(6, CPU_SCALE_SUPER_16, kind->zero_shift);
    } else if (kind->min_sign != 0 && bits <= 4) {
        RUN(4, CPU_SCALE_HALF_MIN, CPU_NO_ZERO);
    } else if (kind->min_sign != 0) {
        RUN(5, CPU_SCALE_HALF_MIN, CPU_NO_ZERO);
    } else if (bits <= 4) {
        RUN(4, CPU_SCALE_HALF, kind->zero_shift);
    } else if (bits == 5) {
        RUN(5, CPU_SCALE_HALF, kind->zero_shift);
    } else {
        RUN(8, CPU_SCALE_HALF, kind->zero_shift);
    }
#undef RUN
}

/* Unpacks panels [first, first + n_panels) chunk by chunk, all of the same length, and gives each to all tokens. */
SIMD_INLINE void gemm_panels(const cpu_panels *w, uint32_t first, const uint32_t n_panels, uint32_t n_ahead, const void *acts,
                             uint64_t act_stride, uint32_t n_tokens, const cpu_out *out, chunk *chunks) {
    const uint32_t n_chunks = (w->n_blocks + CHUNK_BLOCKS - 1) / CHUNK_BLOCKS;
    const uint32_t length = (w->n_blocks + n_chunks - 1) / n_chunks;
    const uint32_t n_tiles = (n_tokens + SIMD_TILE_TOKENS - 1) / SIMD_TILE_TOKENS * n_chunks;
    tile t = {.row_blocks = w->n_blocks, .n_rows = w->n_rows - first * CPU_PANEL_ROWS,
              .start = out->bias == NULL ? NULL : out->bias + (size_t)first * CPU_PANEL_ROWS,
              .ahead = w->data + (first + n_panels) * w->panel_bytes,
              .ahead_end = w->data + (first + n_panels + n_ahead) * w->panel_bytes,
              .ahead_lines = (uint32_t)((n_ahead * w->panel_bytes / 64 + n_tiles - 1) / n_tiles)};
    for (uint32_t b = 0; b < w->n_blocks; b += length) {
        t.is_first = b == 0;
        t.first_block = b;
        t.n_blocks = w->n_blocks - b < length ? w->n_blocks - b : length;
        for (uint32_t i = 0; i < n_panels; i++) {
            unpack(w, w->data + (first + i) * w->panel_bytes, b, t.n_blocks, &chunks[i]);
        }
        run_kind(&blk_panel_kinds[w->kind], &t, chunks, acts, act_stride, n_tokens, out, first, n_panels);
    }
}

static void panel_gemm(const cpu_panels *w, uint32_t first, uint32_t last, const void *acts, uint64_t act_stride, uint32_t n_tokens,
                       const cpu_out *out, void *scratch) {
    uint32_t p = first;
#if SIMD_TILE_PANELS == 2
    for (; p + 2 <= last; p += 2) {
        gemm_panels(w, p, 2, last - p - 2 < 2 ? last - p - 2 : 2, acts, act_stride, n_tokens, out, scratch);
    }
#endif
    for (; p < last; p++) {
        gemm_panels(w, p, 1, last - p - 1 < 1 ? 0 : 1, acts, act_stride, n_tokens, out, scratch);
    }
}

/* --- GEMM with f32 activations ------------------------------------------------------------------------------------------ */

#include "float_tile.h"

enum { FLOAT_BLOCKS = FLOAT_COLS / CPU_BLOCK };
_Static_assert((int)FLOAT_BLOCKS <= (int)CHUNK_BLOCKS &&
                   sizeof(chunk) + (FLOAT_COPY + FLOAT_PANELS * FLOAT_COLS * CPU_PANEL_ROWS) * sizeof(float) <= CPU_GEMM_SCRATCH,
               "a chunk and the panels that it expands to fit into the scratch");

/* One block of sixteen rows as f32: [32][16]. */
SIMD_INLINE void expand_block(const chunk *c, uint32_t i, float *to, const uint32_t scales, const uint32_t zero_shift) {
    const vf zero = vf_set1(zero_shift == CPU_NO_ZERO ? 0.0f : (float)(1 << (zero_shift & 7)));
    const vf min = scales == CPU_SCALE_HALF_MIN || scales == CPU_SCALE_SUPER_MIN ? vf_load(c->min[i]) : vf_set1(0);
#define PUT(v, n) vf_store(to + 16 * (4 * (v) + (n)), vf_fma(vf_sub(vb_byte(q, n), zero), d, min));
#define STEP(v) {                                                                              \
        const vb q = vb_load(c->q[i][v]);                                                      \
        const vf d = vf_load(c->scale[i][scales == CPU_SCALE_SUPER_16 && (v) >= 4 ? 1 : 0]);   \
        PUT(v, 0) PUT(v, 1) PUT(v, 2) PUT(v, 3)                                                \
    }
    UNROLL_8(STEP)
#undef STEP
#undef PUT
}

static void expand_chunk(uint32_t kind, const chunk *c, uint32_t n, float *to) {
    for (uint32_t i = 0; i < n; i++) {
        switch (kind) {
#define X(FORMAT, name, bits, scales, zero, sign) \
        case BLK_PANEL_##FORMAT: expand_block(c, i, to + (size_t)i * CPU_BLOCK * 16, scales, zero); break;
            CPU_PANEL_FORMATS(X)
#undef X
        default: break;
        }
    }
}

/* One token: weights become f32 in registers and are used at once. x is read in whole blocks but for the last. */
SIMD_INLINE void gemv_f32_panel(const cpu_panels *w, const uint8_t *panel, const float *x, vf *acc, const uint32_t bits,
                                const uint32_t scales, const uint32_t zero_shift, const int32_t min_sign) {
    const vf zero = vf_set1(zero_shift == CPU_NO_ZERO ? 0.0f : (float)(1 << (zero_shift & 7)));
    for (uint32_t b = 0; b < w->n_blocks; b++) {
        const float *at = x + (size_t)b * CPU_BLOCK;
        float last[CPU_BLOCK] = {0};
        const uint32_t left = w->n_cols - b * CPU_BLOCK;
        if (left < CPU_BLOCK) {
            memcpy(last, at, left * sizeof *last);
            at = last;
        }
        vb q[8];
        prefetch_block(panel + (size_t)b * 64 * (bits + 1), bits);
        load_block(quants_of(w, panel, b, bits), high_of(w, panel, b, bits), bits, q);
        const block_scales s = read_scales(w, panel, b, scales, min_sign);
#define ADD(v, n) acc[n] = vf_fma(vf_fma(vf_sub(vb_byte(q[v], n), zero), (v) < 4 ? s.first : s.second, s.min), vf_set1(at[4 * (v) + (n)]), acc[n]);
#define STEP(v) ADD(v, 0) ADD(v, 1) ADD(v, 2) ADD(v, 3)
        UNROLL_8(STEP)
#undef STEP
#undef ADD
    }
}

static void gemv_f32(const cpu_panels *w, uint32_t first, uint32_t last, const float *x, const cpu_out *out) {
    for (uint32_t p = first; p < last; p++) {
        const uint8_t *const panel = w->data + p * w->panel_bytes;
        const uint32_t rows = rows_in(w, p);
        vf acc[4] = {vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0)};
        if (out->bias != NULL) {
            acc[0] = load_rows(out->bias + (size_t)p * CPU_PANEL_ROWS, rows);
        }
        switch (w->kind) {
#define X(FORMAT, name, bits, scales, zero, sign) \
        case BLK_PANEL_##FORMAT: gemv_f32_panel(w, panel, x, acc, bits, scales, zero, sign); break;
            CPU_PANEL_FORMATS(X)
#undef X
        default: break;
        }
        store_rows(out->y + (size_t)p * CPU_PANEL_ROWS, vf_add(vf_add(acc[0], acc[1]), vf_add(acc[2], acc[3])), rows);
    }
}

static void panel_gemm_f32(const cpu_panels *w, uint32_t first, uint32_t last, const float *x, uint64_t x_stride, uint32_t n_tokens,
                           const cpu_out *out, void *scratch) {
    chunk *const c = scratch;
    float *const copy = (float *)(void *)(c + 1);
    float *const values = copy + FLOAT_COPY;
    if (n_tokens == 1) {
        gemv_f32(w, first, last, x, out);
        return;
    }
    for (uint32_t p = first; p < last; p += FLOAT_PANELS) {
        const uint32_t n_panels = last - p < FLOAT_PANELS ? last - p : FLOAT_PANELS;
        for (uint32_t b = 0; b < w->n_blocks; b += FLOAT_BLOCKS) {
            const uint32_t n = w->n_blocks - b < FLOAT_BLOCKS ? w->n_blocks - b : FLOAT_BLOCKS;
            const uint32_t columns = w->n_cols - b * CPU_BLOCK < n * CPU_BLOCK ? w->n_cols - b * CPU_BLOCK : n * CPU_BLOCK;
            for (uint32_t i = 0; i < n_panels; i++) {
                unpack(w, w->data + (p + i) * w->panel_bytes, b, n, c);
                expand_chunk(w->kind, c, n, values + (size_t)i * FLOAT_COLS * 16);
            }
            const float_job job = {.panels = values, .panel_floats = FLOAT_COLS * 16, .n_panels = n_panels, .n_cols = columns,
                                   .x = x + (size_t)b * CPU_BLOCK, .x_stride = x_stride, .x_copy = copy, .n_tokens = n_tokens,
                                   .y = out->y + (size_t)p * CPU_PANEL_ROWS, .y_stride = out->stride,
                                   .n_rows = w->n_rows - p * CPU_PANEL_ROWS, .is_first = b == 0,
                                   .start = out->bias == NULL ? NULL : out->bias + (size_t)p * CPU_PANEL_ROWS};
            run_float_job(&job);
        }
    }
}

/* --- Quantising activations --------------------------------------------------------------------------------------------- */

/* A block whose largest value is so small that 127 / max is no finite number: exact enough through double. */
static void quantize_tiny(const float *x, uint32_t n, float max, int8_t *q, int32_t *sum) {
    sum[0] = sum[1] = 0;
    for (uint32_t i = 0; i < n; i++) {
        q[i] = (int8_t)nearbyint((double)x[i] * (127.0 / (double)max));
        sum[i / 16] += q[i];
    }
}

static void quantize(const float *x, uint32_t n, void *row) {
    const uint32_t n_blocks = (n + CPU_BLOCK - 1) / CPU_BLOCK;
    const cpu_act8 view = cpu_act8_view(row, n_blocks);
    int8_t *const q = row;
    float *const scale = (float *)(void *)(q + (size_t)n_blocks * CPU_BLOCK);
    int32_t *const neg = (int32_t *)(void *)(scale + 2 * (size_t)n_blocks);
    for (uint32_t b = 0; b < n_blocks; b++) {
        const float *const at = x + (size_t)b * CPU_BLOCK;
        const uint32_t left = n - b * CPU_BLOCK;
        const vf x0 = left >= 16 ? vf_load(at) : vf_load_part(at, left);
        const vf x1 = left >= 32 ? vf_load(at + 16) : left > 16 ? vf_load_part(at + 16, left - 16) : vf_set1(0);
        const float max = vf_max_lane(vf_max(vf_abs(x0), vf_abs(x1)));
        int32_t sum[2];
        if (max > 0 && max < 0x1p-100f) {
            memset(q + (size_t)b * CPU_BLOCK, 0, CPU_BLOCK);
            quantize_tiny(at, left < CPU_BLOCK ? left : CPU_BLOCK, max, q + (size_t)b * CPU_BLOCK, sum);
        } else {
            const vf inverse = vf_set1(max > 0 ? 127.0f / max : 0);
            sum[0] = vf_to_i8(q + (size_t)b * CPU_BLOCK, vf_mul(x0, inverse));
            sum[1] = vf_to_i8(q + (size_t)b * CPU_BLOCK + 16, vf_mul(x1, inverse));
        }
        scale[b] = max / 127.0f;
        scale[n_blocks + b] = scale[b] * (float)(sum[0] + sum[1]);
        neg[b] = -(sum[0] + sum[1]);
        neg[n_blocks + 2 * b] = -sum[0];
        neg[n_blocks + 2 * b + 1] = -sum[1];
    }
    (void)view;
}

void CPU_ISA(cpu_panel_install)(cpu_ops *ops) {
    ops->panel_isa = CPU_ISA_NAME;
#define X(FORMAT, name, bits, scales, zero, sign) ops->panel_gemv[BLK_PANEL_##FORMAT] = gemv_##name;
    CPU_PANEL_FORMATS(X)
#undef X
    ops->panel_gemm = panel_gemm;
    ops->panel_gemm_f32 = panel_gemm_f32;
    ops->quantize = quantize;
}
