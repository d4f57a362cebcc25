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

/* One row's block of 32: quants as stored (offset to unsigned), eight to a word, and its scales in the panel's shape. */
typedef struct row_block {
    uint64_t q[CPU_BLOCK / 8];
    uint16_t d, m;       /* f16 bits; of the superblock where there is one */
    uint8_t sub[2], submin;
} row_block;

/* The same byte eight times. */
#define EACH_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

static uint16_t read_u16(const uint8_t *at) {
    return (uint16_t)(at[0] | at[1] << 8);
}

static uint64_t read_u64(const uint8_t *at) {
    uint64_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

static void read_nibbles(const uint8_t *at, uint64_t *q) {
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t x = read_u64(at + 8 * i);
        q[i] = x & EACH_BYTE(15);
        q[i + 2] = x >> 4 & EACH_BYTE(15);
    }
}

/* Eight bits become bit 4 of eight bytes. */
static uint64_t spread_bits(uint8_t bits) {
    const uint64_t own = EACH_BYTE(bits) & UINT64_C(0x8040201008040201); /* bit i alone in byte i */
    return (own + EACH_BYTE(0x7f)) >> 3 & EACH_BYTE(16);
}

static void add_fifth_bits(const uint8_t *at, uint64_t *q) {
    for (uint32_t i = 0; i < 4; i++) {
        q[i] |= spread_bits(at[i]);
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
        for (uint32_t i = 0; i < 4; i++) {
            out->q[i] = read_u64(at + 2 + 8 * i) ^ EACH_BYTE(0x80);
        }
        break;
    }
}

/* Sub-block j of a Q4_K or Q5_K superblock, or of Q4_K_SOA: 32 nibbles out of 64. */
static void read_half_of_64(const uint8_t *nibbles, uint32_t j, uint64_t *q) {
    for (uint32_t i = 0; i < 4; i++) {
        q[i] = read_u64(nibbles + 32 * (j / 2) + 8 * i) >> 4 * (j % 2) & EACH_BYTE(15);
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

static void read_q6_k(const uint8_t *at, uint32_t j, row_block *out) {
    const uint8_t *const low = at + 64 * (j / 4) + 32 * (j % 2);
    const uint8_t *const high = at + 128 + 32 * (j / 4);
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t nibbles = read_u64(low + 8 * i) >> (j % 4 < 2 ? 0 : 4) & EACH_BYTE(15);
        out->q[i] = nibbles | (read_u64(high + 8 * i) >> 2 * (j % 4) & EACH_BYTE(3)) << 4;
    }
    memcpy(out->sub, at + 192 + 2 * j, 2);
    out->d = read_u16(at + 208);
}

static void read_super(qn_format format, const uint8_t *at, uint32_t j, row_block *out) {
    if (format == QN_FORMAT_Q4_K_SOA) {
        read_half_of_64(at, j, out->q);
        out->d = read_u16(at + 128 + 2 * j);
        out->m = read_u16(at + 144 + 2 * j);
        return;
    }
    if (format == QN_FORMAT_Q6_K) {
        read_q6_k(at, j, out);
        return;
    }
    out->d = read_u16(at);
    out->m = read_u16(at + 2);
    read_q4_k_scales(at + 4, j, out);
    read_half_of_64(at + (format == QN_FORMAT_Q5_K ? 48 : 16), j, out->q);
    for (uint32_t i = 0; format == QN_FORMAT_Q5_K && i < 4; i++) {
        out->q[i] |= (read_u64(at + 16 + 8 * i) >> j & EACH_BYTE(1)) << 4;
    }
}

static void read_ternary(const uint8_t *tensor, uint64_t first, uint32_t count, row_block *out) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    uint8_t q[CPU_BLOCK];
    memset(q, 1, sizeof q);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = first + i;
        q[i] = (uint8_t)(tensor[4 + at / 5] / power[at % 5] % 3);
    }
    memcpy(out->q, q, sizeof q);
}

/* Block `block` of row `row`; rows and elements beyond the matrix are harmless. */
static void read_block(const cpu_panels *p, const qn_format_info *info, const uint8_t *tensor, uint64_t first_element, uint32_t row,
                       uint32_t block, row_block *out) {
    const qn_format format = info->format;
    if (row >= p->n_rows) {
        memset(out, 0, sizeof *out);
        memset(out->q, format == QN_FORMAT_TERNARY ? 1 : 0, sizeof out->q);
        return;
    }
    const uint64_t element = first_element + (uint64_t)row * p->n_cols + (uint64_t)block * CPU_BLOCK;
    if (format == QN_FORMAT_TERNARY) {
        const uint32_t left = p->n_cols - block * CPU_BLOCK;
        read_ternary(tensor, element, left < CPU_BLOCK ? left : CPU_BLOCK, out);
        return;
    }
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

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* One row's quants: four elements are one 32-bit lane of a vector; the row's lane is r. `bits` is a constant where it is called. */
static ALWAYS_INLINE void put_row(const uint32_t bits, const uint32_t *q, uint32_t r, uint32_t (*low)[CPU_PANEL_ROWS],
                           uint32_t (*high)[CPU_PANEL_ROWS]) {
    for (uint32_t v = 0; v < 8 && bits == 8; v++) {
        low[v][r] = q[v];
    }
    for (uint32_t v = 0; v < 2 && bits == 2; v++) {
        low[v][r] = q[4 * v] | q[4 * v + 1] << 2 | q[4 * v + 2] << 4 | q[4 * v + 3] << 6;
    }
    for (uint32_t v = 0; v < 4 && bits >= 4 && bits <= 6; v++) {
        low[v][r] = (q[v] & 0x0f0f0f0fu) | (q[v + 4] & 0x0f0f0f0fu) << 4;
    }
    if (bits == 5) {
        uint32_t x = 0;
        for (uint32_t v = 0; v < 8; v++) {
            x |= (q[v] >> 4 & 0x01010101u) << v;
        }
        high[0][r] = x;
    }
    for (uint32_t v = 0; v < 2 && bits == 6; v++) {
        high[v][r] = (q[4 * v] >> 4 & 0x03030303u) | (q[4 * v + 1] >> 4 & 0x03030303u) << 2 |
                     (q[4 * v + 2] >> 4 & 0x03030303u) << 4 | (q[4 * v + 3] >> 4 & 0x03030303u) << 6;
    }
}

static ALWAYS_INLINE void put_rows(const uint32_t bits, const row_block *rows, uint8_t *quants, uint8_t *high) {
    uint32_t low_lanes[8][CPU_PANEL_ROWS];
    uint32_t high_lanes[2][CPU_PANEL_ROWS];
    const uint32_t low_bits = bits == 5 || bits == 6 ? 4 : bits;
    for (uint32_t r = 0; r < CPU_PANEL_ROWS; r++) {
        uint32_t q[8];
        memcpy(q, rows[r].q, sizeof q);
        put_row(bits, q, r, low_lanes, high_lanes);
    }
    memcpy(quants, low_lanes, 64 * (size_t)low_bits);
    if (bits != low_bits) {
        memcpy(high, high_lanes, 64 * (size_t)(bits - low_bits));
    }
}

static void put_quants(const cpu_panel_kind *kind, const row_block *rows, uint8_t *quants, uint8_t *high) {
    switch (kind->bits) {
    case 2: put_rows(2, rows, quants, high); break;
    case 4: put_rows(4, rows, quants, high); break;
    case 5: put_rows(5, rows, quants, high); break;
    case 6: put_rows(6, rows, quants, high); break;
    default: put_rows(8, rows, quants, high); break;
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
    const qn_format_info *const info = qn_format_find(kind->format);
    row_block rows[CPU_PANEL_ROWS];
    memset(rows, 0, sizeof rows);
    for (uint32_t i = first; i < last; i++) {
        uint8_t *const panel = data + i * p->panel_bytes;
        for (uint32_t block = 0; block < p->n_blocks; block++) {
            for (uint32_t r = 0; r < CPU_PANEL_ROWS; r++) {
                read_block(p, info, tensor, first_element, i * CPU_PANEL_ROWS + r, block, &rows[r]);
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
    const uint32_t v = k % CPU_BLOCK / 4;
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
