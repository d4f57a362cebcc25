/* blk_panels_pack.c — from standard blocks to panels, in portable C; blk_pack.h has the quicker ways of whole panels.
 *
 * One function a type, made of the same inline parts with the type as a constant: packing happens while a user waits, and should
 * cost little more than reading and writing the bytes.
 */
#include <quoin/panels.h>

#include "blk_impl.h"
#include "blk_pack.h"
#include "blk_panels.h"

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* --- Reading the standard blocks -------------------------------------------------------------------------------------- */

static ALWAYS_INLINE void read_nibbles(const uint8_t *at, uint64_t *q) {
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t x = load_u64(at + 8 * i);
        q[i] = x & EACH_BYTE(15);
        q[i + 2] = x >> 4 & EACH_BYTE(15);
    }
}

/* Eight bits become bit 4 of eight bytes. */
static ALWAYS_INLINE uint64_t spread_bits(uint8_t bits) {
    const uint64_t own = EACH_BYTE(bits) & UINT64_C(0x8040201008040201); /* bit i alone in byte i */
    return (own + EACH_BYTE(0x7f)) >> 3 & EACH_BYTE(16);
}

static ALWAYS_INLINE void add_fifth_bits(const uint8_t *at, uint64_t *q) {
    for (uint32_t i = 0; i < 4; i++) {
        q[i] |= spread_bits(at[i]);
    }
}

static ALWAYS_INLINE void read_simple(blk_type type, const uint8_t *at, row_block *out) {
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
static ALWAYS_INLINE void read_half_of_64(const uint8_t *nibbles, uint32_t j, uint64_t *q) {
    for (uint32_t i = 0; i < 4; i++) {
        q[i] = load_u64(nibbles + 32 * (j / 2) + 8 * i) >> 4 * (j % 2) & EACH_BYTE(15);
    }
}

static ALWAYS_INLINE void read_q4_k_scales(const uint8_t *s, uint32_t j, row_block *out) {
    if (j < 4) {
        out->sub[0] = s[j] & 63u;
        out->submin = s[j + 4] & 63u;
    } else {
        out->sub[0] = (uint8_t)((s[j + 4] & 15u) | (s[j - 4] >> 6) << 4);
        out->submin = (uint8_t)(s[j + 4] >> 4 | (s[j] >> 6) << 4);
    }
}

static ALWAYS_INLINE void read_q6_k(const uint8_t *at, uint32_t j, row_block *out) {
    const uint8_t *const low = at + 64 * (j / 4) + 32 * (j % 2);
    const uint8_t *const high = at + 128 + 32 * (j / 4);
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t nibbles = load_u64(low + 8 * i) >> (j % 4 < 2 ? 0 : 4) & EACH_BYTE(15);
        out->q[i] = nibbles | (load_u64(high + 8 * i) >> 2 * (j % 4) & EACH_BYTE(3)) << 4;
    }
    memcpy(out->sub, at + 192 + 2 * j, 2);
    out->d = load_u16(at + 208);
}

static ALWAYS_INLINE void read_super(blk_type type, const uint8_t *at, uint32_t j, row_block *out) {
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

/* Block j of its superblock, where there are superblocks, at `at`. The type is a constant where it is called. */
static ALWAYS_INLINE void read_block(const blk_type type, const bool is_super, const uint8_t *at, uint32_t j, row_block *out) {
    if (is_super) {
        read_super(type, at, j, out);
    } else {
        read_simple(type, at, out);
    }
}

/* --- Writing panels --------------------------------------------------------------------------------------------------- */

static ALWAYS_INLINE void put_lane(uint8_t *vectors, uint32_t v, uint32_t r, uint32_t lane) {
    memcpy(vectors + 64 * v + 4 * r, &lane, sizeof lane);
}

/* One row's quants: four elements are one 32-bit lane of a vector; the row's lane is r. */
static ALWAYS_INLINE void put_quants(const uint32_t bits, const row_block *row, uint32_t r, uint8_t *low, uint8_t *high) {
    uint32_t q[8];
    memcpy(q, row->q, sizeof q);
    for (uint32_t v = 0; v < 8 && bits == 8; v++) {
        put_lane(low, v, r, q[v]);
    }
    for (uint32_t v = 0; v < 2 && bits == 2; v++) {
        put_lane(low, v, r, q[4 * v] | q[4 * v + 1] << 2 | q[4 * v + 2] << 4 | q[4 * v + 3] << 6);
    }
    for (uint32_t v = 0; v < 4 && bits >= 4 && bits <= 6; v++) {
        put_lane(low, v, r, (q[v] & 0x0f0f0f0fu) | (q[v + 4] & 0x0f0f0f0fu) << 4);
    }
    if (bits == 5) {
        uint32_t x = 0;
        for (uint32_t v = 0; v < 8; v++) {
            x |= (q[v] >> 4 & 0x01010101u) << v;
        }
        put_lane(high, 0, r, x);
    }
    for (uint32_t v = 0; v < 2 && bits == 6; v++) {
        put_lane(high, v, r, (q[4 * v] >> 4 & 0x03030303u) | (q[4 * v + 1] >> 4 & 0x03030303u) << 2 |
                                 (q[4 * v + 2] >> 4 & 0x03030303u) << 4 | (q[4 * v + 3] >> 4 & 0x03030303u) << 6);
    }
}

static ALWAYS_INLINE void put_scales(const uint32_t scales, const blk_panels *p, uint8_t *panel, uint32_t block, uint32_t r,
                                     const row_block *row) {
    const bool is_super = scales == BLK_SCALE_SUPER_MIN || scales == BLK_SCALE_SUPER_16;
    const uint32_t at = 2 * ((is_super ? block / 8 : block) * BLK_PANEL_ROWS + r);
    store_u16(panel + at, row->d);
    if (scales == BLK_SCALE_HALF_MIN || scales == BLK_SCALE_SUPER_MIN) {
        store_u16(panel + p->min_at + at, row->m);
    }
    if (scales == BLK_SCALE_SUPER_MIN) {
        panel[p->sub_at + block * BLK_PANEL_ROWS + r] = row->sub[0];
        panel[p->submin_at + block * BLK_PANEL_ROWS + r] = row->submin;
    } else if (scales == BLK_SCALE_SUPER_16) {
        panel[p->sub_at + 2 * block * BLK_PANEL_ROWS + r] = row->sub[0];
        panel[p->sub_at + (2 * block + 1) * BLK_PANEL_ROWS + r] = row->sub[1];
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

/* Everything that stays what packing does not write: padding, and in the last panel the rows that the matrix does not have. */
static void clear_panel(const blk_panels *p, uint32_t i, uint8_t *panel) {
    if (blk_panel_valid_rows(p, i) < BLK_PANEL_ROWS) {
        memset(panel, 0, (size_t)p->panel_bytes);
    } else {
        clear_padding(p, panel);
    }
}

/* `rows` is where row 0 of the matrix begins, row_bytes the distance of rows. */
static ALWAYS_INLINE void pack_panel(const blk_type type, const uint32_t bits, const uint32_t scales, const bool is_super,
                                     const blk_panels *p, uint32_t i, uint8_t *panel, const uint8_t *rows, uint64_t row_bytes,
                                     uint32_t block_bytes) {
    const uint32_t valid = blk_panel_valid_rows(p, i), low_bits = bits == 5 || bits == 6 ? 4 : bits;
    const uint8_t *first = rows + (uint64_t)i * BLK_PANEL_ROWS * row_bytes;
    for (uint32_t block = 0; block < p->n_blocks; block++) {
        const uint8_t *at = first + (uint64_t)(is_super ? block / 8 : block) * block_bytes;
        uint8_t *low = panel + p->quants_at + (uint64_t)block * 64 * low_bits;
        uint8_t *high = panel + p->high_at + (uint64_t)block * 64 * (bits - low_bits);
        for (uint32_t r = 0; r < valid; r++, at += row_bytes) {
            row_block row = {.d = 0};
            read_block(type, is_super, at, block % 8, &row);
            put_scales(scales, p, panel, block, r, &row);
            put_quants(bits, &row, r, low, high);
        }
    }
}

/* Digits run on over rows; `first` is the element of the tensor that begins the row. */
static void pack_ternary_row(const blk_panels *p, uint8_t *panel, uint32_t r, const uint8_t *tensor, uint64_t first) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    const uint8_t *at = tensor + 4 + first / 5;
    uint32_t digit = (uint32_t)(first % 5), rest = *at / power[digit];
    for (uint32_t block = 0; block < p->n_blocks; block++) {
        row_block row;
        uint8_t q[BLK_PANEL_BLOCK];
        const uint32_t left = p->n_cols - block * BLK_PANEL_BLOCK, count = left < BLK_PANEL_BLOCK ? left : BLK_PANEL_BLOCK;
        memset(q, 1, sizeof q);
        for (uint32_t k = 0; k < count; k++, digit++, rest /= 3) {
            if (digit == 5) {
                digit = 0;
                rest = *++at;
            }
            q[k] = (uint8_t)(rest % 3);
        }
        memcpy(row.q, q, sizeof q);
        put_quants(2, &row, r, panel + p->quants_at + (uint64_t)block * 128, NULL);
    }
}

static void pack_ternary(const blk_panels *p, uint32_t i, uint8_t *panel, const uint8_t *tensor, uint64_t first_element) {
    const uint32_t valid = blk_panel_valid_rows(p, i);
    memset(panel, 0x55, (size_t)p->panel_bytes);
    for (uint32_t r = 0; r < valid; r++) {
        pack_ternary_row(p, panel, r, tensor, first_element + ((uint64_t)i * BLK_PANEL_ROWS + r) * p->n_cols);
    }
}

static bool is_packed(const blk_pack_path *path, const blk_panels *p, uint32_t i, uint8_t *panel, const uint8_t *rows,
                      uint64_t row_bytes) {
    return path->pack != NULL && blk_panel_valid_rows(p, i) == BLK_PANEL_ROWS &&
           path->pack(p, panel, rows + (uint64_t)i * BLK_PANEL_ROWS * row_bytes, row_bytes);
}

void blk_pack_by(const blk_pack_path *path, const blk_panels *p, uint8_t *panels, uint32_t first, uint32_t last,
                 const uint8_t *tensor, uint64_t first_element) {
    const blk_info *const info = blk_get_info(blk_panel_kinds[p->kind].type);
    const uint64_t row_bytes = p->n_cols / info->block_elems * (uint64_t)info->block_bytes;
    const uint8_t *const rows = tensor + first_element / info->block_elems * info->block_bytes;
    for (uint32_t i = first; i < last; i++) {
        uint8_t *const panel = panels + i * p->panel_bytes;
        if (info->type == BLK_TERNARY) {
            pack_ternary(p, i, panel, tensor, first_element);
            continue;
        }
        clear_panel(p, i, panel);
        if (is_packed(path, p, i, panel, rows, row_bytes)) {
            continue;
        }
        switch (p->kind) {
#define PACK(TYPE, bits, scales, is_super)                                                                             \
    case BLK_PANEL_##TYPE:                                                                                             \
        pack_panel(BLK_##TYPE, bits, scales, is_super, p, i, panel, rows, row_bytes, info->block_bytes);               \
        break;
            PACK(Q4_0, 4, BLK_SCALE_HALF, false)
            PACK(Q5_0, 5, BLK_SCALE_HALF, false)
            PACK(Q8_0, 8, BLK_SCALE_HALF, false)
            PACK(Q4_1, 4, BLK_SCALE_HALF_MIN, false)
            PACK(Q5_1, 5, BLK_SCALE_HALF_MIN, false)
            PACK(Q4_K_SOA, 4, BLK_SCALE_HALF_MIN, true)
            PACK(Q4_K, 4, BLK_SCALE_SUPER_MIN, true)
            PACK(Q5_K, 5, BLK_SCALE_SUPER_MIN, true)
            PACK(Q6_K, 6, BLK_SCALE_SUPER_16, true)
#undef PACK
        default: break;
        }
    }
}
