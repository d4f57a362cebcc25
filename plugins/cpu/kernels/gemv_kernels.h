/* gemv_kernels.h — one row of quantised activations against weights in panels. Part of panel_kernels.h: what unpacks a block stands there.
 *
 * A panel is read once, a block at a time; sixteen results stay in one vector.
 */
#ifndef CPU_GEMV_KERNELS_H
#define CPU_GEMV_KERNELS_H

SIMD_INLINE vi dot_block(const cpu_panels *w, const uint8_t *panel, const cpu_act8 *x, uint32_t block, const uint32_t bits,
                         const uint32_t zero_shift) {
    vb q[8];
    load_block(quants_of(w, panel, block, bits), high_of(w, panel, block, bits), bits, q);
    return vi_dot(q, x->q + (size_t)block * CPU_BLOCK, x->neg[block], 8, bits, zero_shift);
}

/* Scales per block: f16, with or without a minimum, or one for the tensor. */
SIMD_INLINE vf gemv_blocks(const cpu_panels *w, const uint8_t *panel, const cpu_act8 *x, vf acc, const uint32_t bits,
                           const uint32_t scales, const uint32_t zero_shift, const int32_t min_sign) {
    for (uint32_t b = 0; b < w->n_blocks; b++) {
        prefetch_block(panel + (size_t)b * 64 * (bits + 1), bits);
        const vf t = vf_from_vi(dot_block(w, panel, x, b, bits, zero_shift));
        if (scales == CPU_SCALE_ONE) {
            acc = vf_fma(t, vf_set1(x->scale[b] * w->scale), acc);
        } else {
            acc = vf_fma(vf_mul(t, vf_from_f16(panel + 32 * (size_t)b)), vf_set1(x->scale[b]), acc);
        }
        if (scales == CPU_SCALE_HALF_MIN) {
            acc = vf_fma(vf_from_f16(panel + w->min_at + 32 * (size_t)b), vf_set1((float)min_sign * x->sum[b]), acc);
        }
    }
    return acc;
}

/* Superblocks with 6-bit scales and minima per block. */
SIMD_INLINE vf gemv_super_min(const cpu_panels *w, const uint8_t *panel, const cpu_act8 *x, vf acc, const uint32_t bits) {
    for (uint32_t s = 0; s < w->n_blocks / 8; s++) {
        vf sum = vf_set1(0);
        vf minima = vf_set1(0);
        for (uint32_t b = 8 * s; b < 8 * s + 8; b++) {
            prefetch_block(panel + (size_t)b * 64 * (bits + 1), bits);
            const vf t = vf_from_vi(dot_block(w, panel, x, b, bits, CPU_NO_ZERO));
            sum = vf_fma(vf_mul(t, vf_from_u8(panel + w->sub_at + 16 * (size_t)b)), vf_set1(x->scale[b]), sum);
            minima = vf_fma(vf_from_u8(panel + w->submin_at + 16 * (size_t)b), vf_set1(x->sum[b]), minima);
        }
        acc = vf_fma(sum, vf_from_f16(panel + 32 * (size_t)s), acc);
        acc = vf_fnma(minima, vf_from_f16(panel + w->min_at + 32 * (size_t)s), acc);
    }
    return acc;
}

/* Superblocks with signed scales per sixteen elements. */
SIMD_INLINE vf gemv_super_16(const cpu_panels *w, const uint8_t *panel, const cpu_act8 *x, vf acc, const uint32_t bits,
                             const uint32_t zero_shift) {
    for (uint32_t s = 0; s < w->n_blocks / 8; s++) {
        vf sum = vf_set1(0);
        for (uint32_t b = 8 * s; b < 8 * s + 8; b++) {
            vb q[8];
            prefetch_block(panel + (size_t)b * 64 * (bits + 1), bits);
            load_block(quants_of(w, panel, b, bits), high_of(w, panel, b, bits), bits, q);
            const int8_t *const a = x->q + (size_t)b * CPU_BLOCK;
            const uint8_t *const sub = panel + w->sub_at + 32 * (size_t)b;
            const vf t0 = vf_from_vi(vi_dot(q, a, x->neg16[2 * b], 4, bits, zero_shift));
            const vf t1 = vf_from_vi(vi_dot(q + 4, a + 16, x->neg16[2 * b + 1], 4, bits, zero_shift));
            const vf t = vf_fma(t1, vf_from_i8(sub + 16), vf_mul(t0, vf_from_i8(sub)));
            sum = vf_fma(t, vf_set1(x->scale[b]), sum);
        }
        acc = vf_fma(sum, vf_from_f16(panel + 32 * (size_t)s), acc);
    }
    return acc;
}

SIMD_INLINE void gemv_panels(const cpu_panels *w, uint32_t first, uint32_t last, const void *act, const cpu_out *out,
                             const uint32_t bits, const uint32_t scales, const uint32_t zero_shift, const int32_t min_sign) {
    const cpu_act8 x = cpu_act8_view(act, w->n_blocks);
    for (uint32_t p = first; p < last; p++) {
        const uint8_t *const panel = w->data + p * w->panel_bytes;
        const uint32_t rows = rows_in(w, p);
        vf acc = out->bias == NULL ? vf_set1(0) : load_rows(out->bias + (size_t)p * CPU_PANEL_ROWS, rows);
        if (scales == CPU_SCALE_SUPER_MIN) {
            acc = gemv_super_min(w, panel, &x, acc, bits);
        } else if (scales == CPU_SCALE_SUPER_16) {
            acc = gemv_super_16(w, panel, &x, acc, bits, zero_shift);
        } else {
            acc = gemv_blocks(w, panel, &x, acc, bits, scales, zero_shift, min_sign);
        }
        store_rows(out->y + (size_t)p * CPU_PANEL_ROWS, acc, rows);
    }
}

#define X(FORMAT, name, bits, scales, zero, sign)                                                                    \
    static void gemv_##name(const cpu_panels *w, uint32_t first, uint32_t last, const void *act, const cpu_out *out) { \
        gemv_panels(w, first, last, act, out, bits, scales, zero, sign);                                              \
    }
CPU_PANEL_FORMATS(X)
#undef X

#endif
