/* cpu_panels.c — the panel layout of cpu_ops.h: sizes, packing from the file's formats, and the exact way back. */
#include <string.h>

#include <quoin/blocks.h>
#include <quoin/glue.h>

#include "cpu_internal.h"

const cpu_panel_kind cpu_panel_kinds[CPU_N_PANEL_FORMATS] = {
#define X(FORMAT, name, bits, scales, zero, sign) {QN_FORMAT_##FORMAT, bits, scales, zero, sign},
    CPU_PANEL_FORMATS(X)
#undef X
};

uint32_t cpu_panel_find(qn_format format) {
    for (uint32_t i = 0; i < CPU_N_PANEL_FORMATS; i++) {
        if (cpu_panel_kinds[i].format == format) {
            return i;
        }
    }
    return CPU_NONE;
}

/* Reserves a section of a panel and gives its offset. */
static uint32_t take_section(cpu_panels *p, uint64_t bytes) {
    const uint64_t at = p->panel_bytes;
    p->panel_bytes += cpu_align(bytes, 64);
    return (uint32_t)at;
}

void cpu_panels_init(cpu_panels *p, uint32_t kind, uint32_t n_rows, uint32_t n_cols) {
    const cpu_panel_kind *const facts = &cpu_panel_kinds[kind];
    memset(p, 0, sizeof *p);
    p->kind = kind;
    p->n_rows = n_rows;
    p->n_cols = n_cols;
    p->n_panels = (n_rows + CPU_PANEL_ROWS - 1) / CPU_PANEL_ROWS;
    p->n_blocks = (n_cols + CPU_BLOCK - 1) / CPU_BLOCK;
    const bool super = facts->scales == CPU_SCALE_SUPER_MIN || facts->scales == CPU_SCALE_SUPER_16;
    const uint64_t halves = (uint64_t)(super ? (p->n_blocks + 7) / 8 : p->n_blocks) * CPU_PANEL_ROWS * 2;
    if (facts->scales != CPU_SCALE_ONE) {
        take_section(p, halves);
    }
    if (facts->scales == CPU_SCALE_HALF_MIN || facts->scales == CPU_SCALE_SUPER_MIN) {
        p->min_at = take_section(p, halves);
    }
    if (super) {
        p->sub_at = take_section(p, (uint64_t)p->n_blocks * CPU_PANEL_ROWS * (facts->scales == CPU_SCALE_SUPER_16 ? 2 : 1));
    }
    if (facts->scales == CPU_SCALE_SUPER_MIN) {
        p->submin_at = take_section(p, (uint64_t)p->n_blocks * CPU_PANEL_ROWS);
    }
    const uint32_t low_bits = facts->bits == 5 || facts->bits == 6 ? 4 : facts->bits;
    p->quants_at = take_section(p, (uint64_t)p->n_blocks * 64 * low_bits);
    if (facts->bits != low_bits) {
        p->high_at = take_section(p, (uint64_t)p->n_blocks * 64 * (facts->bits - low_bits));
    }
}

/* --- Reading the file's blocks ---------------------------------------------------------------------------------------- */

/* One row's block of 32: quants as stored (offset to unsigned), and its scales in the panel's shape. */
typedef struct row_block {
    uint8_t q[CPU_BLOCK];
    uint16_t d, m;       /* f16 bits; of the superblock where there is one */
    uint8_t sub[2], submin;
} row_block;

static uint16_t read_u16(const uint8_t *at) {
    return (uint16_t)(at[0] | at[1] << 8);
}

static void read_nibbles(const uint8_t *at, uint8_t *q) {
    for (uint32_t i = 0; i < 16; i++) {
        q[i] = at[i] & 15u;
        q[i + 16] = at[i] >> 4;
    }
}

static void add_fifth_bits(const uint8_t *at, uint8_t *q) {
    for (uint32_t i = 0; i < CPU_BLOCK; i++) {
        q[i] |= (uint8_t)((at[i / 8] >> (i % 8) & 1u) << 4);
    }
}

static void read_simple(qn_format format, const uint8_t *at, row_block *out) {
    out->d = read_u16(at);
    switch (format) {
    case QN_FORMAT_Q4_0: read_nibbles(at + 2, out->q); break;
    case QN_FORMAT_Q4_1:
        out->m = read_u16(at + 2);
        read_nibbles(at + 4, out->q);
        break;
    case QN_FORMAT_Q5_0:
        read_nibbles(at + 6, out->q);
        add_fifth_bits(at + 2, out->q);
        break;
    case QN_FORMAT_Q5_1:
        out->m = read_u16(at + 2);
        read_nibbles(at + 8, out->q);
        add_fifth_bits(at + 4, out->q);
        break;
    default: /* Q8_0 */
        for (uint32_t i = 0; i < CPU_BLOCK; i++) {
            out->q[i] = at[2 + i] ^ 0x80u;
        }
        break;
    }
}

/* Sub-block j of a Q4_K or Q5_K superblock, or of Q4_K_SOA: 32 nibbles out of 64. */
static void read_half_of_64(const uint8_t *nibbles, uint32_t j, uint8_t *q) {
    const uint8_t *const at = nibbles + 32u * (j / 2);
    for (uint32_t i = 0; i < CPU_BLOCK; i++) {
        q[i] = (j & 1u) != 0 ? at[i] >> 4 : at[i] & 15u;
    }
}

static void read_q4_k_scales(const uint8_t *s, uint32_t j, row_block *out) {
    if (j < 4) {
        out->sub[0] = s[j] & 63u;
        out->submin = s[j + 4] & 63u;
    } else {
        out->sub[0] = (uint8_t)((s[j + 4] & 15u) | (s[j - 4] >> 6) << 4);
        out->submin = (uint8_t)(s[j + 4] >> 4 | (s[j] >> 6) << 4);
    }
}

static void read_super(qn_format format, const uint8_t *at, uint32_t j, row_block *out) {
    if (format == QN_FORMAT_Q4_K_SOA) {
        read_half_of_64(at, j, out->q);
        out->d = read_u16(at + 128 + 2 * j);
        out->m = read_u16(at + 144 + 2 * j);
        return;
    }
    if (format == QN_FORMAT_Q6_K) {
        const uint8_t *const low = at + 64u * (j / 4) + 32u * (j % 2);
        const uint8_t *const high = at + 128 + 32u * (j / 4);
        for (uint32_t i = 0; i < CPU_BLOCK; i++) {
            const uint32_t nibble = j % 4 < 2 ? low[i] & 15u : low[i] >> 4;
            out->q[i] = (uint8_t)(nibble | (high[i] >> (2 * (j % 4)) & 3u) << 4);
        }
        memcpy(out->sub, at + 192 + 2 * j, 2);
        out->d = read_u16(at + 208);
        return;
    }
    out->d = read_u16(at);
    out->m = read_u16(at + 2);
    read_q4_k_scales(at + 4, j, out);
    read_half_of_64(at + (format == QN_FORMAT_Q5_K ? 48 : 16), j, out->q);
    if (format == QN_FORMAT_Q5_K) {
        for (uint32_t i = 0; i < CPU_BLOCK; i++) {
            out->q[i] |= (uint8_t)((at[16 + i] >> j & 1u) << 4);
        }
    }
}

static void read_ternary(const uint8_t *tensor, uint64_t first, uint32_t count, row_block *out) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    memset(out->q, 1, sizeof out->q);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = first + i;
        out->q[i] = (uint8_t)(tensor[4 + at / 5] / power[at % 5] % 3);
    }
}

/* Block `block` of row `row`; rows and elements beyond the matrix are harmless. */
static void read_block(const cpu_panels *p, const uint8_t *tensor, uint64_t first_element, uint32_t row, uint32_t block,
                       row_block *out) {
    const qn_format format = cpu_panel_kinds[p->kind].format;
    memset(out, 0, sizeof *out);
    if (row >= p->n_rows) {
        memset(out->q, format == QN_FORMAT_TERNARY ? 1 : 0, sizeof out->q);
        return;
    }
    const uint64_t element = first_element + (uint64_t)row * p->n_cols + (uint64_t)block * CPU_BLOCK;
    if (format == QN_FORMAT_TERNARY) {
        const uint32_t left = p->n_cols - block * CPU_BLOCK;
        read_ternary(tensor, element, left < CPU_BLOCK ? left : CPU_BLOCK, out);
        return;
    }
    const qn_format_info *const info = qn_format_find(format);
    const uint8_t *const at = tensor + element / info->block_elems * info->block_bytes;
    if (info->block_elems == CPU_BLOCK) {
        read_simple(format, at, out);
    } else {
        read_super(format, at, block % 8, out);
    }
}

/* --- Writing and reading panels --------------------------------------------------------------------------------------- */

static void put_u16(uint8_t *at, uint16_t value) {
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

/* Where byte of element k (0..31) of row r lies among the eight vectors of a block. */
static uint32_t vector_of(uint32_t k) {
    return k / 4;
}

static void put_quants(const cpu_panel_kind *kind, const row_block *rows, uint8_t *quants, uint8_t *high) {
    const uint32_t low_bits = kind->bits == 5 || kind->bits == 6 ? 4 : kind->bits;
    memset(quants, 0, 64u * low_bits);
    if (high != NULL) {
        memset(high, 0, 64u * (kind->bits - low_bits));
    }
    for (uint32_t r = 0; r < CPU_PANEL_ROWS; r++) {
        for (uint32_t k = 0; k < CPU_BLOCK; k++) {
            const uint32_t q = rows[r].q[k];
            const uint32_t v = vector_of(k);
            const uint32_t lane = 4 * r + k % 4;
            if (low_bits == 8) {
                quants[64 * v + lane] = (uint8_t)q;
            } else if (low_bits == 4) {
                quants[64 * (v % 4) + lane] |= (uint8_t)((q & 15u) << (v / 4 * 4));
            } else {
                quants[64 * (v / 4) + lane] |= (uint8_t)(q << (v % 4 * 2));
            }
            if (kind->bits == 5) {
                high[lane] |= (uint8_t)((q >> 4) << v);
            } else if (kind->bits == 6) {
                high[64 * (v / 4) + lane] |= (uint8_t)((q >> 4) << (v % 4 * 2));
            }
        }
    }
}

static void put_scales(const cpu_panels *p, const cpu_panel_kind *kind, uint8_t *panel, uint32_t block, const row_block *rows) {
    if (kind->scales == CPU_SCALE_ONE) {
        return;
    }
    const bool super = kind->scales == CPU_SCALE_SUPER_MIN || kind->scales == CPU_SCALE_SUPER_16;
    const uint32_t at = (super ? block / 8 : block) * CPU_PANEL_ROWS;
    for (uint32_t r = 0; r < CPU_PANEL_ROWS; r++) {
        put_u16(panel + 2 * (at + r), rows[r].d);
        if (p->min_at != 0) {
            put_u16(panel + p->min_at + 2 * (at + r), rows[r].m);
        }
        if (kind->scales == CPU_SCALE_SUPER_MIN) {
            panel[p->sub_at + block * CPU_PANEL_ROWS + r] = rows[r].sub[0];
            panel[p->submin_at + block * CPU_PANEL_ROWS + r] = rows[r].submin;
        } else if (kind->scales == CPU_SCALE_SUPER_16) {
            panel[p->sub_at + (2 * block) * CPU_PANEL_ROWS + r] = rows[r].sub[0];
            panel[p->sub_at + (2 * block + 1) * CPU_PANEL_ROWS + r] = rows[r].sub[1];
        }
    }
}

void cpu_panels_pack(const cpu_panels *p, uint8_t *data, uint32_t first, uint32_t last, const uint8_t *tensor,
                     uint64_t first_element) {
    const cpu_panel_kind *const kind = &cpu_panel_kinds[p->kind];
    const uint32_t low_bits = kind->bits == 5 || kind->bits == 6 ? 4 : kind->bits;
    row_block rows[CPU_PANEL_ROWS];
    for (uint32_t i = first; i < last; i++) {
        uint8_t *const panel = data + i * p->panel_bytes;
        for (uint32_t block = 0; block < p->n_blocks; block++) {
            for (uint32_t r = 0; r < CPU_PANEL_ROWS; r++) {
                read_block(p, tensor, first_element, i * CPU_PANEL_ROWS + r, block, &rows[r]);
            }
            put_scales(p, kind, panel, block, rows);
            put_quants(kind, rows, panel + p->quants_at + (uint64_t)block * 64 * low_bits,
                       p->high_at == 0 ? NULL : panel + p->high_at + (uint64_t)block * 64 * (kind->bits - low_bits));
        }
    }
}

static uint32_t get_quant(const cpu_panels *p, const cpu_panel_kind *kind, const uint8_t *panel, uint32_t r, uint32_t k) {
    const uint32_t low_bits = kind->bits == 5 || kind->bits == 6 ? 4 : kind->bits;
    const uint8_t *const quants = panel + p->quants_at + (uint64_t)(k / CPU_BLOCK) * 64 * low_bits;
    const uint8_t *const high = panel + p->high_at + (uint64_t)(k / CPU_BLOCK) * 64 * (kind->bits - low_bits);
    const uint32_t v = vector_of(k % CPU_BLOCK);
    const uint32_t lane = 4 * r + k % 4;
    switch (kind->bits) {
    case 8: return quants[64 * v + lane];
    case 2: return quants[64 * (v / 4) + lane] >> (v % 4 * 2) & 3u;
    case 4: return quants[64 * (v % 4) + lane] >> (v / 4 * 4) & 15u;
    case 5: return (quants[64 * (v % 4) + lane] >> (v / 4 * 4) & 15u) | (high[lane] >> v & 1u) << 4;
    default: return (quants[64 * (v % 4) + lane] >> (v / 4 * 4) & 15u) | (high[64 * (v / 4) + lane] >> (v % 4 * 2) & 3u) << 4;
    }
}

void cpu_panels_decode_row(const cpu_panels *p, uint32_t row, float *values) {
    const cpu_panel_kind *const kind = &cpu_panel_kinds[p->kind];
    const uint8_t *const panel = p->data + row / CPU_PANEL_ROWS * p->panel_bytes;
    const uint32_t r = row % CPU_PANEL_ROWS;
    const bool super = kind->scales == CPU_SCALE_SUPER_MIN || kind->scales == CPU_SCALE_SUPER_16;
    const int32_t zero = kind->zero_shift == CPU_NO_ZERO ? 0 : 1 << kind->zero_shift;
    float d = p->scale;
    float m = 0;
    for (uint32_t k = 0; k < p->n_cols; k++) {
        const uint32_t block = k / CPU_BLOCK;
        if (k % 16 == 0 && kind->scales != CPU_SCALE_ONE) {
            const uint32_t at = 2 * ((super ? block / 8 : block) * CPU_PANEL_ROWS + r);
            d = blk_f16_to_f32(read_u16(panel + at));
            m = p->min_at == 0 ? 0 : blk_f16_to_f32(read_u16(panel + p->min_at + at));
            if (kind->scales == CPU_SCALE_SUPER_MIN) {
                d *= (float)panel[p->sub_at + block * CPU_PANEL_ROWS + r];
                m *= (float)panel[p->submin_at + block * CPU_PANEL_ROWS + r];
            } else if (kind->scales == CPU_SCALE_SUPER_16) {
                d *= (float)(int8_t)panel[p->sub_at + k / 16 * CPU_PANEL_ROWS + r];
            }
        }
        const float product = d * (float)((int32_t)get_quant(p, kind, panel, r, k) - zero);
        values[k] = kind->min_sign == 0 ? product : kind->min_sign > 0 ? product + m : product - m;
    }
}
