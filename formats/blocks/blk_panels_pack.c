/* blk_panels_pack.c — from standard blocks to panels. */
#include <quoin/panels.h>

#include "blk_impl.h"
#include "blk_panels.h"

/* --- Reading the standard blocks -------------------------------------------------------------------------------------- */

static void read_nibbles(const uint8_t *at, uint64_t *q) {
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t x = load_u64(at + 8 * i);
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

static void read_simple(blk_type type, const uint8_t *at, row_block *out) {
    out->d = load_u16(at);
    switch (type) {
    case BLK_Q4_0: read_nibbles(at + 2, out->q); break;
    case BLK_Q4_1:
        out->m = load_u16(at + 2);
        read_nibbles(at + 4, out->q);
        break;
    case BLK_Q5_0:
        read_nibbles(at + 6, out->q);
        add_fifth_bits(at + 2, out->q);
        break;
    case BLK_Q5_1:
        out->m = load_u16(at + 2);
        read_nibbles(at + 8, out->q);
        add_fifth_bits(at + 4, out->q);
        break;
    default: /* Q8_0 */
        for (uint32_t i = 0; i < 4; i++) {
            out->q[i] = load_u64(at + 2 + 8 * i) ^ EACH_BYTE(0x80);
        }
        break;
    }
}

/* Sub-block j of a Q4_K or Q5_K superblock, or of Q4_K_SOA: 32 nibbles out of 64. */
static void read_half_of_64(const uint8_t *nibbles, uint32_t j, uint64_t *q) {
    for (uint32_t i = 0; i < 4; i++) {
        q[i] = load_u64(nibbles + 32 * (j / 2) + 8 * i) >> 4 * (j % 2) & EACH_BYTE(15);
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
        const uint64_t nibbles = load_u64(low + 8 * i) >> (j % 4 < 2 ? 0 : 4) & EACH_BYTE(15);
        out->q[i] = nibbles | (load_u64(high + 8 * i) >> 2 * (j % 4) & EACH_BYTE(3)) << 4;
    }
    memcpy(out->sub, at + 192 + 2 * j, 2);
    out->d = load_u16(at + 208);
}

static void read_super(blk_type type, const uint8_t *at, uint32_t j, row_block *out) {
    if (type == BLK_Q4_K_SOA) {
        read_half_of_64(at, j, out->q);
        out->d = load_u16(at + 128 + 2 * j);
        out->m = load_u16(at + 144 + 2 * j);
        return;
    }
    if (type == BLK_Q6_K) {
        read_q6_k(at, j, out);
        return;
    }
    out->d = load_u16(at);
    out->m = load_u16(at + 2);
    read_q4_k_scales(at + 4, j, out);
    read_half_of_64(at + (type == BLK_Q5_K ? 48 : 16), j, out->q);
    for (uint32_t i = 0; type == BLK_Q5_K && i < 4; i++) {
        out->q[i] |= (load_u64(at + 16 + 8 * i) >> j & EACH_BYTE(1)) << 4;
    }
}

static void read_ternary(const uint8_t *tensor, uint64_t first, uint32_t count, row_block *out) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    uint8_t q[BLK_PANEL_BLOCK];
    memset(q, 1, sizeof q);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = first + i;
        q[i] = (uint8_t)(tensor[4 + at / 5] / power[at % 5] % 3);
    }
    memcpy(out->q, q, sizeof q);
}

/* Block `block` of row `row`; rows and elements beyond the matrix are harmless. */
static void read_block(const blk_panels *p, const blk_info *info, const uint8_t *tensor, uint64_t first_element, uint32_t row,
                       uint32_t block, row_block *out) {
    const blk_type type = info->type;
    if (row >= p->n_rows) {
        memset(out, 0, sizeof *out);
        memset(out->q, type == BLK_TERNARY ? 1 : 0, sizeof out->q);
        return;
    }
    const uint64_t element = first_element + (uint64_t)row * p->n_cols + (uint64_t)block * BLK_PANEL_BLOCK;
    if (type == BLK_TERNARY) {
        const uint32_t left = p->n_cols - block * BLK_PANEL_BLOCK;
        read_ternary(tensor, element, left < BLK_PANEL_BLOCK ? left : BLK_PANEL_BLOCK, out);
        return;
    }
    const uint8_t *const at = tensor + element / info->block_elems * info->block_bytes;
    if (info->block_elems == BLK_PANEL_BLOCK) {
        read_simple(type, at, out);
    } else {
        read_super(type, at, block % 8, out);
    }
}

/* --- Writing and reading panels --------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* One row's quants: four elements are one 32-bit lane of a vector; the row's lane is r. `bits` is a constant where it is called. */
static ALWAYS_INLINE void put_row(const uint32_t bits, const uint32_t *q, uint32_t r, uint32_t (*low)[BLK_PANEL_ROWS],
                           uint32_t (*high)[BLK_PANEL_ROWS]) {
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
    uint32_t low_lanes[8][BLK_PANEL_ROWS];
    uint32_t high_lanes[2][BLK_PANEL_ROWS];
    const uint32_t low_bits = bits == 5 || bits == 6 ? 4 : bits;
    for (uint32_t r = 0; r < BLK_PANEL_ROWS; r++) {
        uint32_t q[8];
        memcpy(q, rows[r].q, sizeof q);
        put_row(bits, q, r, low_lanes, high_lanes);
    }
    memcpy(quants, low_lanes, 64 * (size_t)low_bits);
    if (bits != low_bits) {
        memcpy(high, high_lanes, 64 * (size_t)(bits - low_bits));
    }
}

static void put_quants(const blk_panel_kind *kind, const row_block *rows, uint8_t *quants, uint8_t *high) {
    switch (kind->bits) {
    case 2: put_rows(2, rows, quants, high); break;
    case 4: put_rows(4, rows, quants, high); break;
    case 5: put_rows(5, rows, quants, high); break;
    case 6: put_rows(6, rows, quants, high); break;
    default: put_rows(8, rows, quants, high); break;
    }
}

static void put_scales(const blk_panels *p, const blk_panel_kind *kind, uint8_t *panel, uint32_t block, const row_block *rows) {
    if (kind->scales == BLK_SCALE_ONE) {
        return;
    }
    const uint32_t at = (blk_has_super_scales(kind) ? block / 8 : block) * BLK_PANEL_ROWS;
    for (uint32_t r = 0; r < BLK_PANEL_ROWS; r++) {
        store_u16(panel + 2 * (at + r), rows[r].d);
        if (p->min_at != 0) {
            store_u16(panel + p->min_at + 2 * (at + r), rows[r].m);
        }
        if (kind->scales == BLK_SCALE_SUPER_MIN) {
            panel[p->sub_at + block * BLK_PANEL_ROWS + r] = rows[r].sub[0];
            panel[p->submin_at + block * BLK_PANEL_ROWS + r] = rows[r].submin;
        } else if (kind->scales == BLK_SCALE_SUPER_16) {
            panel[p->sub_at + (2 * block) * BLK_PANEL_ROWS + r] = rows[r].sub[0];
            panel[p->sub_at + (2 * block + 1) * BLK_PANEL_ROWS + r] = rows[r].sub[1];
        }
    }
}

static void clear_padding(const blk_panels *p, uint8_t *panel) {
    panel_section sections[MAX_SECTIONS];
    const uint32_t n = blk_panel_sections(p, sections);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t used = (uint64_t)sections[i].entry_bytes * BLK_PANEL_ROWS * sections[i].n_groups;
        memset(panel + sections[i].at + used, 0, (size_t)((BLK_PANEL_ALIGN - used % BLK_PANEL_ALIGN) % BLK_PANEL_ALIGN));
    }
}

void blk_panels_pack(const blk_panels *p, uint8_t *panels, uint32_t first, uint32_t last, const uint8_t *tensor,
                     uint64_t first_element) {
    const blk_panel_kind *const kind = &blk_panel_kinds[p->kind];
    const uint32_t low_bits = blk_panel_low_bits(kind);
    const blk_info *const info = blk_get_info(kind->type);
    row_block rows[BLK_PANEL_ROWS];
    memset(rows, 0, sizeof rows);
    for (uint32_t i = first; i < last; i++) {
        uint8_t *const panel = panels + i * p->panel_bytes;
        clear_padding(p, panel);
        for (uint32_t block = 0; block < p->n_blocks; block++) {
            for (uint32_t r = 0; r < BLK_PANEL_ROWS; r++) {
                read_block(p, info, tensor, first_element, i * BLK_PANEL_ROWS + r, block, &rows[r]);
            }
            put_scales(p, kind, panel, block, rows);
            put_quants(kind, rows, panel + p->quants_at + (uint64_t)block * 64 * low_bits,
                       p->high_at == 0 ? NULL : panel + p->high_at + (uint64_t)block * 64 * (kind->bits - low_bits));
        }
    }
}
