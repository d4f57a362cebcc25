/* rows_kernels.h — matrix products with weights that are read in place: F32, F16 and BF16 by the vector units, every other format
 * through the decoder that the caller hands in. Included by one file per instruction set, after its simd header. */
#include "kernels.h"
#include "float_tile.h"

#ifndef SIMD_GEMV_ROWS
#define SIMD_GEMV_ROWS 4
#endif

/* Rows that are read side by side, and how far ahead each is asked for. */
enum { ROWS_AT_ONCE = SIMD_GEMV_ROWS, ROWS_AHEAD = 4096 };

SIMD_INLINE vf load_elements(const uint8_t *row, uint32_t k, const qn_format format) {
    return format == QN_FORMAT_F32 ? vf_load((const float *)(const void *)row + k)
         : format == QN_FORMAT_F16 ? vf_from_f16(row + 2 * (size_t)k) : vf_from_bf16(row + 2 * (size_t)k);
}

SIMD_INLINE vf load_elements_part(const uint8_t *row, uint32_t k, uint32_t n, const qn_format format) {
    uint16_t half[16] = {0};
    if (format == QN_FORMAT_F32) {
        return vf_load_part((const float *)(const void *)row + k, n);
    }
    memcpy(half, row + 2 * (size_t)k, 2 * (size_t)n);
    return format == QN_FORMAT_F16 ? vf_from_f16(half) : vf_from_bf16(half);
}

/* --- GEMV --------------------------------------------------------------------------------------------------------------- */

/* n (1..ROWS_AT_ONCE) rows that follow each other, against one x. */
SIMD_INLINE void dot_rows(const uint8_t *row, uint64_t row_bytes, const float *x, uint32_t n_cols, float *y, const uint32_t n,
                          const qn_format format) {
    vf acc[2][ROWS_AT_ONCE];
    const uint32_t bytes = format == QN_FORMAT_F32 ? 4 : 2;
    const uint64_t distance = row_bytes < ROWS_AHEAD ? row_bytes : ROWS_AHEAD;
    uint32_t k = 0;
#pragma GCC unroll 8
    for (uint32_t r = 0; r < n; r++) {
        acc[0][r] = acc[1][r] = vf_set1(0);
    }
    for (; k + 32 <= n_cols; k += 32) {
        const vf x0 = vf_load(x + k);
        const vf x1 = vf_load(x + k + 16);
        const uint64_t ahead = (uint64_t)k * bytes + distance;
        const uint64_t next = ahead < row_bytes ? ahead : ahead + (n - 1) * row_bytes; /* behind a row's end: of those that follow */
#pragma GCC unroll 8
        for (uint32_t r = 0; r < n; r++) {
            const uint8_t *const at = row + r * row_bytes;
            SIMD_PREFETCH_FAR(at + next);
            if (format == QN_FORMAT_F32) {
                SIMD_PREFETCH_FAR(at + next + 64);
            }
            acc[0][r] = vf_fma(load_elements(at, k, format), x0, acc[0][r]);
            acc[1][r] = vf_fma(load_elements(at, k + 16, format), x1, acc[1][r]);
        }
    }
    for (; k < n_cols; k += 16) {
        const uint32_t left = n_cols - k < 16 ? n_cols - k : 16;
        const vf x0 = left == 16 ? vf_load(x + k) : vf_load_part(x + k, left);
#pragma GCC unroll 8
        for (uint32_t r = 0; r < n; r++) {
            const uint8_t *const at = row + r * row_bytes;
            const vf w = left == 16 ? load_elements(at, k, format) : load_elements_part(at, k, left, format);
            acc[0][r] = vf_fma(w, x0, acc[0][r]);
        }
    }
#pragma GCC unroll 8
    for (uint32_t r = 0; r < n; r++) {
        y[r] = vf_sum(vf_add(acc[0][r], acc[1][r]));
    }
}

SIMD_INLINE void gemv_format(const cpu_rows *w, uint32_t first, uint32_t last, const float *x, float *y, const qn_format format) {
    const uint8_t *const data = w->data + w->first_element * (format == QN_FORMAT_F32 ? 4 : 2);
    uint32_t r = first;
    for (; r + ROWS_AT_ONCE <= last; r += ROWS_AT_ONCE) {
        dot_rows(data + r * w->row_bytes, w->row_bytes, x, w->n_cols, y + r, ROWS_AT_ONCE, format);
    }
    for (; r < last; r++) {
        dot_rows(data + r * w->row_bytes, w->row_bytes, x, w->n_cols, y + r, 1, format);
    }
}

static void rows_gemv(const cpu_rows *w, uint32_t first, uint32_t last, const float *x, const cpu_out *out, cpu_decode_fn *decode,
                      void *scratch) {
    switch (w->format) {
    case QN_FORMAT_F32: gemv_format(w, first, last, x, out->y, QN_FORMAT_F32); break;
    case QN_FORMAT_F16: gemv_format(w, first, last, x, out->y, QN_FORMAT_F16); break;
    case QN_FORMAT_BF16: gemv_format(w, first, last, x, out->y, QN_FORMAT_BF16); break;
    default:
        for (uint32_t r = first; r < last; r++) {
            decode(w, r, 0, w->n_cols, scratch);
            dot_rows(scratch, 0, x, w->n_cols, out->y + r, 1, QN_FORMAT_F32);
        }
        break;
    }
    for (uint32_t r = first; out->bias != NULL && r < last; r++) {
        out->y[r] += out->bias[r];
    }
}

/* --- GEMM: sixteen rows become a panel of f32 --------------------------------------------------------------------------- */

/* Columns [k, k + n) of up to sixteen rows; rows that do not exist give zeros. */
SIMD_INLINE void pack_format(const uint8_t *row, uint64_t row_bytes, uint32_t n_rows, uint32_t k, uint32_t n, float *to,
                             const qn_format format) {
    for (uint32_t i = 0; i < n; i += 16) {
        const uint32_t left = n - i < 16 ? n - i : 16;
        vf rows[16];
        for (uint32_t r = 0; r < 16; r++) {
            const uint8_t *const at = row + r * row_bytes;
            SIMD_PREFETCH_FAR(at + (size_t)(k + i + FLOAT_COLS) * (format == QN_FORMAT_F32 ? 4 : 2)); /* the next columns */
            rows[r] = r >= n_rows ? vf_set1(0) : left == 16 ? load_elements(at, k + i, format) : load_elements_part(at, k + i, left, format);
        }
        vf_transpose(rows);
        for (uint32_t c = 0; c < left; c++) {
            vf_store(to + 16 * (size_t)(i + c), rows[c]);
        }
    }
}

static void pack_rows(const cpu_rows *w, uint32_t first_row, uint32_t k, uint32_t n, float *to, cpu_decode_fn *decode, float *line) {
    const uint32_t n_rows = w->n_rows - first_row < 16 ? w->n_rows - first_row : 16;
    const uint8_t *const row = w->data + w->first_element * (w->format == QN_FORMAT_F32 ? 4 : 2) + first_row * w->row_bytes;
    switch (w->format) {
    case QN_FORMAT_F32: pack_format(row, w->row_bytes, n_rows, k, n, to, QN_FORMAT_F32); break;
    case QN_FORMAT_F16: pack_format(row, w->row_bytes, n_rows, k, n, to, QN_FORMAT_F16); break;
    case QN_FORMAT_BF16: pack_format(row, w->row_bytes, n_rows, k, n, to, QN_FORMAT_BF16); break;
    default:
        for (uint32_t r = 0; r < 16; r++) {
            if (r < n_rows) {
                decode(w, first_row + r, k, n, line);
            }
            for (uint32_t c = 0; c < n; c++) {
                to[16 * (size_t)c + r] = r < n_rows ? line[c] : 0;
            }
        }
        break;
    }
}

_Static_assert((FLOAT_COLS + FLOAT_COPY + FLOAT_PANELS * FLOAT_COLS * 16) * sizeof(float) <= CPU_GEMM_SCRATCH, "all of it fits");

static void rows_gemm(const cpu_rows *w, uint32_t first, uint32_t last, const float *x, uint64_t x_stride, uint32_t n_tokens,
                      const cpu_out *out, cpu_decode_fn *decode, void *scratch) {
    float *const line = scratch;
    float *const copy = line + FLOAT_COLS;
    float *const panels = copy + FLOAT_COPY;
    for (uint32_t p = first; p < last; p += FLOAT_PANELS) {
        const uint32_t n_panels = last - p < FLOAT_PANELS ? last - p : FLOAT_PANELS;
        for (uint32_t k = 0; k < w->n_cols; k += FLOAT_COLS) {
            const uint32_t n = w->n_cols - k < FLOAT_COLS ? w->n_cols - k : FLOAT_COLS;
            for (uint32_t i = 0; i < n_panels; i++) {
                pack_rows(w, (p + i) * 16, k, n, panels + (size_t)i * FLOAT_COLS * 16, decode, line);
            }
            const float_job job = {.panels = panels, .panel_floats = FLOAT_COLS * 16, .n_panels = n_panels, .n_cols = n,
                                   .x = x + k, .x_stride = x_stride, .x_copy = copy, .n_tokens = n_tokens, .y = out->y + (size_t)p * 16,
                                   .y_stride = out->stride, .n_rows = w->n_rows - p * 16, .is_first = k == 0,
                                   .start = out->bias == NULL ? NULL : out->bias + (size_t)p * 16};
            run_float_job(&job);
        }
    }
}

void CPU_ISA(cpu_rows_install)(cpu_ops *ops) {
    ops->rows_isa = CPU_ISA_NAME;
    ops->rows_gemv = rows_gemv;
    ops->rows_gemm = rows_gemm;
}
