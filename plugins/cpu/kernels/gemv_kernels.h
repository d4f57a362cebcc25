/* gemv_kernels.h — one row of quantised activations against weights in panels. Part of panel_kernels.h, where a block is unpacked.
 *
 * Every byte of the weights is used once, so all depends on how many cache lines are under way at a time. A few panels are read side by
 * side, which are as many streams for the processor's own prefetching, and each block asks for the lines of one that comes later: into
 * the second level well ahead, into the first level just ahead. Behind the end of a row that is the start of the panels that come next.
 * A panel's result is summed in the same order however many stand beside it.
 */
#ifndef CPU_GEMV_KERNELS_H
#define CPU_GEMV_KERNELS_H

#ifndef SIMD_GEMV_PANELS
#define SIMD_GEMV_PANELS 4
#endif

/* Of each panel, as measured: quants that are whole bytes or nibbles take less. Whole bytes are so few instructions per line that the
 * second level is near enough. */
enum { GEMV_FAR_BYTES = 3072, GEMV_FAR_BYTES_WHOLE = 2048, GEMV_NEAR_BLOCKS = 2 };

/* Panels that are read side by side, and what has been summed of each. */
typedef struct gemv_run {
    const uint8_t *panel[SIMD_GEMV_PANELS];
    vf acc[SIMD_GEMV_PANELS];
    vf sum[SIMD_GEMV_PANELS], minima[SIMD_GEMV_PANELS]; /* of a superblock */
} gemv_run;

/* Lines behind this address are reached by constants, not by sums of their own, of which there would be more than registers. */
#define KEEP_IN_REGISTER(address) __asm__("" : "+r"(address))

/* --- Prefetch --------------------------------------------------------------------------------------------------------- */

SIMD_INLINE void fetch_line(const uint8_t *at, const bool near) {
    if (near) {
        SIMD_PREFETCH_NEAR(at);
    } else {
        SIMD_PREFETCH_FAR(at);
    }
}

SIMD_INLINE void fetch_scales(const cpu_panels *w, const uint8_t *panel, uint32_t b, const uint32_t scales, const bool near) {
    if (scales == CPU_SCALE_HALF || scales == CPU_SCALE_HALF_MIN) {
        fetch_line(panel + 32 * (size_t)b, near);
    }
    if (scales == CPU_SCALE_HALF_MIN) {
        fetch_line(panel + w->min_at + 32 * (size_t)b, near);
    }
    if (scales == CPU_SCALE_SUPER_MIN) {
        fetch_line(panel + w->sub_at + 16 * (size_t)b, near);
        fetch_line(panel + w->submin_at + 16 * (size_t)b, near);
    }
    if (scales == CPU_SCALE_SUPER_16) {
        fetch_line(panel + w->sub_at + 32 * (size_t)b, near);
    }
    if ((scales == CPU_SCALE_SUPER_MIN || scales == CPU_SCALE_SUPER_16) && b % 8 == 0) {
        fetch_line(panel + 4 * (size_t)b, near);
        fetch_line(panel + w->min_at + 4 * (size_t)b, near); /* without minima the same line */
    }
}

SIMD_INLINE void fetch_block(const cpu_panels *w, const uint8_t *panel, uint32_t b, const uint32_t bits, const uint32_t scales,
                             const bool near) {
    const uint8_t *quants = quants_of(w, panel, b, bits);
    const uint8_t *high = high_of(w, panel, b, bits);
    KEEP_IN_REGISTER(quants);
    for (uint32_t line = 0; line < low_bits_of(bits); line++) {
        fetch_line(quants + 64 * line, near);
    }
    if (bits != low_bits_of(bits)) {
        KEEP_IN_REGISTER(high);
    }
    for (uint32_t line = 0; line < bits - low_bits_of(bits); line++) {
        fetch_line(high + 64 * line, near);
    }
    fetch_scales(w, panel, b, scales, near);
}

/* What comes `distance` (at most a row of) blocks after block b of a panel that stands beside n - 1 others. */
SIMD_INLINE void fetch_ahead(const cpu_panels *w, const uint8_t *panel, uint32_t b, uint32_t distance, const uint32_t n,
                             const uint32_t bits, const uint32_t scales, const bool near) {
    const bool is_next = b + distance >= w->n_blocks;
    const uint32_t at = is_next ? b + distance - w->n_blocks : b + distance;
    fetch_block(w, panel + (is_next ? n * w->panel_bytes : 0), at, bits, scales, near);
}

/* --- Blocks ----------------------------------------------------------------------------------------------------------- */

SIMD_INLINE vi dot_block(const cpu_panels *w, const uint8_t *panel, const cpu_act8 *x, uint32_t block, const uint32_t bits,
                         const uint32_t zero_shift) {
    vb q[8];
    load_block(quants_of(w, panel, block, bits), high_of(w, panel, block, bits), bits, q);
    return vi_dot(q, x->q + (size_t)block * CPU_BLOCK, x->neg[block], 8, bits, zero_shift);
}

/* Scales per block: f16, with or without a minimum, or one for the tensor. */
SIMD_INLINE vf add_block(const cpu_panels *w, const uint8_t *panel, const cpu_act8 *x, uint32_t b, vf acc, const uint32_t bits,
                         const uint32_t scales, const uint32_t zero_shift, const int32_t min_sign) {
    const vf t = vf_from_vi(dot_block(w, panel, x, b, bits, zero_shift));
    if (scales == CPU_SCALE_ONE) {
        return vf_fma(t, vf_set1(x->scale[b] * w->scale), acc);
    }
    acc = vf_fma(vf_mul(t, vf_from_f16(panel + 32 * (size_t)b)), vf_set1(x->scale[b]), acc);
    if (scales == CPU_SCALE_HALF_MIN) {
        acc = vf_fma(vf_from_f16(panel + w->min_at + 32 * (size_t)b), vf_set1((float)min_sign * x->sum[b]), acc);
    }
    return acc;
}

/* A block of a superblock with 6-bit scales and minima per block. */
SIMD_INLINE void add_block_min(const cpu_panels *w, const uint8_t *panel, const cpu_act8 *x, uint32_t b, vf *sum, vf *minima,
                               const uint32_t bits) {
    const vf t = vf_from_vi(dot_block(w, panel, x, b, bits, CPU_NO_ZERO));
    *sum = vf_fma(vf_mul(t, vf_from_u8(panel + w->sub_at + 16 * (size_t)b)), vf_set1(x->scale[b]), *sum);
    *minima = vf_fma(vf_from_u8(panel + w->submin_at + 16 * (size_t)b), vf_set1(x->sum[b]), *minima);
}

/* A block of a superblock with signed scales per sixteen elements. */
SIMD_INLINE vf add_block_16(const cpu_panels *w, const uint8_t *panel, const cpu_act8 *x, uint32_t b, vf sum, const uint32_t bits,
                            const uint32_t zero_shift) {
    vb q[8];
    load_block(quants_of(w, panel, b, bits), high_of(w, panel, b, bits), bits, q);
    const int8_t *const a = x->q + (size_t)b * CPU_BLOCK;
    const uint8_t *const sub = panel + w->sub_at + 32 * (size_t)b;
    const vf t0 = vf_from_vi(vi_dot(q, a, x->neg16[2 * b], 4, bits, zero_shift));
    const vf t1 = vf_from_vi(vi_dot(q + 4, a + 16, x->neg16[2 * b + 1], 4, bits, zero_shift));
    const vf t = vf_fma(t1, vf_from_i8(sub + 16), vf_mul(t0, vf_from_i8(sub)));
    return vf_fma(t, vf_set1(x->scale[b]), sum);
}

/* Superblock s of `n` panels is complete: its own scales, and nothing summed of the next. */
SIMD_INLINE void end_superblock(const cpu_panels *w, gemv_run *r, uint32_t s, const uint32_t n, const uint32_t scales) {
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; i++) {
        r->acc[i] = vf_fma(r->sum[i], vf_from_f16(r->panel[i] + 32 * (size_t)s), r->acc[i]);
        if (scales == CPU_SCALE_SUPER_MIN) {
            r->acc[i] = vf_fnma(r->minima[i], vf_from_f16(r->panel[i] + w->min_at + 32 * (size_t)s), r->acc[i]);
        }
        r->sum[i] = r->minima[i] = vf_set1(0);
    }
}

/* --- Panels ----------------------------------------------------------------------------------------------------------- */

SIMD_INLINE void run_blocks(const cpu_panels *w, gemv_run *r, const cpu_act8 *x, const uint32_t n, const uint32_t bits,
                            const uint32_t scales, const uint32_t zero_shift, const int32_t min_sign) {
    const uint32_t far = (bits % 4 == 0 ? GEMV_FAR_BYTES_WHOLE : GEMV_FAR_BYTES) / (64 * bits + 32);
    const uint32_t distance = far < w->n_blocks ? far : w->n_blocks;
    const uint32_t near = GEMV_NEAR_BLOCKS < w->n_blocks ? GEMV_NEAR_BLOCKS : w->n_blocks;
    for (uint32_t b = 0; b < w->n_blocks; b++) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < n; i++) {
            fetch_ahead(w, r->panel[i], b, distance, n, bits, scales, false);
            if (bits < 8) {
                fetch_ahead(w, r->panel[i], b, near, n, bits, scales, true);
            }
            if (scales == CPU_SCALE_SUPER_MIN) {
                add_block_min(w, r->panel[i], x, b, &r->sum[i], &r->minima[i], bits);
            } else if (scales == CPU_SCALE_SUPER_16) {
                r->sum[i] = add_block_16(w, r->panel[i], x, b, r->sum[i], bits, zero_shift);
            } else {
                r->acc[i] = add_block(w, r->panel[i], x, b, r->acc[i], bits, scales, zero_shift, min_sign);
            }
        }
        if ((scales == CPU_SCALE_SUPER_MIN || scales == CPU_SCALE_SUPER_16) && b % 8 == 7) {
            end_superblock(w, r, b / 8, n, scales);
        }
    }
}

/* Panels [p, p + n). */
SIMD_INLINE void run_panels(const cpu_panels *w, uint32_t p, const cpu_act8 *x, const cpu_out *out, const uint32_t n,
                            const uint32_t bits, const uint32_t scales, const uint32_t zero_shift, const int32_t min_sign) {
    gemv_run r;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; i++) {
        r.panel[i] = w->data + (p + i) * w->panel_bytes;
        r.acc[i] = out->bias == NULL ? vf_set1(0) : load_rows(out->bias + (size_t)(p + i) * CPU_PANEL_ROWS, rows_in(w, p + i));
        r.sum[i] = r.minima[i] = vf_set1(0);
    }
    run_blocks(w, &r, x, n, bits, scales, zero_shift, min_sign);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; i++) {
        store_rows(out->y + (size_t)(p + i) * CPU_PANEL_ROWS, r.acc[i], rows_in(w, p + i));
    }
}

SIMD_INLINE void gemv_panels(const cpu_panels *w, uint32_t first, uint32_t last, const void *act, const cpu_out *out,
                             const uint32_t bits, const uint32_t scales, const uint32_t zero_shift, const int32_t min_sign) {
    const cpu_act8 x = cpu_act8_view(act, w->n_blocks);
    uint32_t p = first;
    for (; p + SIMD_GEMV_PANELS <= last; p += SIMD_GEMV_PANELS) {
        run_panels(w, p, &x, out, SIMD_GEMV_PANELS, bits, scales, zero_shift, min_sign);
    }
#if SIMD_GEMV_PANELS > 2
    for (; p + 2 <= last; p += 2) {
        run_panels(w, p, &x, out, 2, bits, scales, zero_shift, min_sign);
    }
#endif
    for (; p < last; p++) {
        run_panels(w, p, &x, out, 1, bits, scales, zero_shift, min_sign);
    }
}

#define X(FORMAT, name, bits, scales, zero, sign)                                                                    \
    static void gemv_##name(const cpu_panels *w, uint32_t first, uint32_t last, const void *act, const cpu_out *out) { \
        gemv_panels(w, first, last, act, out, bits, scales, zero, sign);                                              \
    }
CPU_PANEL_FORMATS(X)
#undef X

#endif
