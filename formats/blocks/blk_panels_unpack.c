/* blk_panels_unpack.c — from panels back to standard blocks, bit by bit, and to f32. */
#include <quoin/panels.h>

#include "blk_impl.h"
#include "blk_panels.h"

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* --- Out of a panel --------------------------------------------------------------------------------------------------- */

static inline uint32_t get_lane(const uint8_t *vectors, uint32_t v, uint32_t r) {
    uint32_t lane;
    memcpy(&lane, vectors + 64 * v + 4 * r, sizeof lane);
    return lane;
}

/* One row's quants of one block, four elements a word. `bits` is a constant where it is called. */
static ALWAYS_INLINE void get_row(const uint32_t bits, const uint8_t *low, const uint8_t *high, uint32_t r, uint32_t q[8]) {
    for (uint32_t v = 0; v < 8 && bits == 8; v++) {
        q[v] = get_lane(low, v, r);
    }
    for (uint32_t v = 0; v < 8 && bits == 2; v++) {
        q[v] = get_lane(low, v / 4, r) >> v % 4 * 2 & 0x03030303u;
    }
    for (uint32_t v = 0; v < 8 && bits >= 4 && bits <= 6; v++) {
        q[v] = get_lane(low, v % 4, r) >> v / 4 * 4 & 0x0f0f0f0fu;
    }
    for (uint32_t v = 0; v < 8 && bits == 5; v++) {
        q[v] |= (get_lane(high, 0, r) >> v & 0x01010101u) << 4;
    }
    for (uint32_t v = 0; v < 8 && bits == 6; v++) {
        q[v] |= (get_lane(high, v / 4, r) >> v % 4 * 2 & 0x03030303u) << 4;
    }
}

static ALWAYS_INLINE void get_quants(const blk_panels *p, const blk_panel_kind *kind, const uint8_t *panel, uint32_t r,
                                     uint32_t block, uint32_t q[8]) {
    const uint32_t low_bits = blk_panel_low_bits(kind);
    const uint8_t *low = panel + p->quants_at + (uint64_t)block * 64 * low_bits;
    const uint8_t *high = panel + p->high_at + (uint64_t)block * 64 * (kind->bits - low_bits);
    switch (kind->bits) {
    case 2: get_row(2, low, high, r, q); break;
    case 4: get_row(4, low, high, r, q); break;
    case 5: get_row(5, low, high, r, q); break;
    case 6: get_row(6, low, high, r, q); break;
    default: get_row(8, low, high, r, q); break;
    }
}

static void get_block(const blk_panels *p, const blk_panel_kind *kind, const uint8_t *panel, uint32_t r, uint32_t block,
                      row_block *out) {
    uint32_t q[8];
    get_quants(p, kind, panel, r, block, q);
    memcpy(out->q, q, sizeof out->q);
    if (kind->scales == BLK_SCALE_ONE) {
        return;
    }
    const uint32_t at = (blk_has_super_scales(kind) ? block / 8 : block) * BLK_PANEL_ROWS + r;
    out->d = load_u16(panel + 2 * at);
    out->m = p->min_at != 0 ? load_u16(panel + p->min_at + 2 * at) : 0;
    if (kind->scales == BLK_SCALE_SUPER_MIN) {
        out->sub[0] = panel[p->sub_at + block * BLK_PANEL_ROWS + r];
        out->submin = panel[p->submin_at + block * BLK_PANEL_ROWS + r];
    } else if (kind->scales == BLK_SCALE_SUPER_16) {
        out->sub[0] = panel[p->sub_at + 2 * block * BLK_PANEL_ROWS + r];
        out->sub[1] = panel[p->sub_at + (2 * block + 1) * BLK_PANEL_ROWS + r];
    }
}

/* --- Into the standard blocks ----------------------------------------------------------------------------------------- */

static void put_nibbles(const uint64_t *q, uint8_t *at) {
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t word = (q[i] & EACH_BYTE(15)) | (q[i + 2] & EACH_BYTE(15)) << 4;
        memcpy(at + 8 * i, &word, sizeof word);
    }
}

/* Bit 4 of thirty-two bytes, as the four bytes of the simple types' fifth bits. */
static void put_fifth_bits(const uint64_t *q, uint8_t *at) {
    for (uint32_t i = 0; i < 4; i++) {
        at[i] = (uint8_t)((q[i] >> 4 & EACH_BYTE(1)) * UINT64_C(0x0102040810204080) >> 56);
    }
}

static void put_simple(blk_type type, const row_block *b, uint8_t *at) {
    store_u16(at, b->d);
    switch (type) {
    case BLK_Q4_0: put_nibbles(b->q, at + 2); break;
    case BLK_Q4_1:
        store_u16(at + 2, b->m);
        put_nibbles(b->q, at + 4);
        break;
    case BLK_Q5_0:
        put_fifth_bits(b->q, at + 2);
        put_nibbles(b->q, at + 6);
        break;
    case BLK_Q5_1:
        store_u16(at + 2, b->m);
        put_fifth_bits(b->q, at + 4);
        put_nibbles(b->q, at + 8);
        break;
    default: /* Q8_0 */
        for (uint32_t i = 0; i < 4; i++) {
            const uint64_t word = b->q[i] ^ EACH_BYTE(0x80);
            memcpy(at + 2 + 8 * i, &word, sizeof word);
        }
        break;
    }
}

/* Two sub-blocks of a superblock share thirty-two bytes, one in the low nibbles and one in the high ones. */
static void put_pair(const row_block *low, const row_block *high, uint8_t *at) {
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t word = (low->q[i] & EACH_BYTE(15)) | (high->q[i] & EACH_BYTE(15)) << 4;
        memcpy(at + 8 * i, &word, sizeof word);
    }
}

static void put_k4_scales(const row_block *b, uint8_t *s) {
    for (uint32_t j = 0; j < 4; j++) {
        s[j] = (uint8_t)(b[j].sub[0] | b[j + 4].sub[0] >> 4 << 6);
        s[j + 4] = (uint8_t)(b[j].submin | b[j + 4].submin >> 4 << 6);
        s[j + 8] = (uint8_t)((b[j + 4].sub[0] & 15) | (b[j + 4].submin & 15) << 4);
    }
}

static void put_k4(blk_type type, const row_block *b, uint8_t *at) {
    store_u16(at, b[0].d);
    store_u16(at + 2, b[0].m);
    put_k4_scales(b, at + 4);
    for (uint32_t g = 0; g < 4; g++) {
        put_pair(&b[2 * g], &b[2 * g + 1], at + (type == BLK_Q5_K ? 48 : 16) + 32 * g);
    }
    for (uint32_t i = 0; type == BLK_Q5_K && i < 4; i++) {
        uint64_t word = 0;
        for (uint32_t j = 0; j < 8; j++) {
            word |= (b[j].q[i] >> 4 & EACH_BYTE(1)) << j;
        }
        memcpy(at + 16 + 8 * i, &word, sizeof word);
    }
}

static void put_soa(const row_block *b, uint8_t *at) {
    for (uint32_t j = 0; j < 8; j++) {
        store_u16(at + 128 + 2 * j, b[j].d);
        store_u16(at + 144 + 2 * j, b[j].m);
    }
    for (uint32_t g = 0; g < 4; g++) {
        put_pair(&b[2 * g], &b[2 * g + 1], at + 32 * g);
    }
}

static void put_q6_k(const row_block *b, uint8_t *at) {
    for (uint32_t half = 0; half < 2; half++) {
        const row_block *h = b + 4 * half;
        put_pair(&h[0], &h[2], at + 64 * half);
        put_pair(&h[1], &h[3], at + 64 * half + 32);
        for (uint32_t i = 0; i < 4; i++) {
            uint64_t word = 0;
            for (uint32_t j = 0; j < 4; j++) {
                word |= (h[j].q[i] >> 4 & EACH_BYTE(3)) << 2 * j;
            }
            memcpy(at + 128 + 32 * half + 8 * i, &word, sizeof word);
        }
    }
    for (uint32_t j = 0; j < 8; j++) {
        memcpy(at + 192 + 2 * j, b[j].sub, 2);
    }
    store_u16(at + 208, b[0].d);
}

static void unpack_row(const blk_panels *p, const blk_panel_kind *kind, const blk_info *info, const uint8_t *panel, uint32_t r,
                       uint8_t *row) {
    row_block b[8] = {{.d = 0}};
    const uint32_t step = info->block_elems / BLK_PANEL_BLOCK;
    for (uint32_t block = 0; block < p->n_blocks; block += step, row += info->block_bytes) {
        for (uint32_t j = 0; j < step; j++) {
            get_block(p, kind, panel, r, block + j, &b[j]);
        }
        switch (kind->type) {
        case BLK_Q4_K: case BLK_Q5_K: put_k4(kind->type, b, row); break;
        case BLK_Q4_K_SOA: put_soa(b, row); break;
        case BLK_Q6_K: put_q6_k(b, row); break;
        default: put_simple(kind->type, b, row); break;
        }
    }
}

/* Digits run on over rows, five to a byte; the missing ones of the last byte are 0. */
static void unpack_ternary(const blk_panels *p, uint8_t *tensor) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    const blk_panel_kind *kind = &blk_panel_kinds[p->kind];
    uint64_t at = 0;
    memset(tensor + 4, 0, (size_t)(((uint64_t)p->n_rows * p->n_cols + 4) / 5));
    store_u32(tensor, blk_float_to_bits(p->scale));
    for (uint32_t row = 0; row < p->n_rows; row++) {
        const uint8_t *panel = p->data + row / BLK_PANEL_ROWS * p->panel_bytes;
        for (uint32_t k = 0; k < p->n_cols; k++, at++) {
            uint8_t q[BLK_PANEL_BLOCK];
            if (k % BLK_PANEL_BLOCK == 0) {
                uint32_t words[8];
                get_quants(p, kind, panel, row % BLK_PANEL_ROWS, k / BLK_PANEL_BLOCK, words);
                memcpy(q, words, sizeof q);
            }
            tensor[4 + at / 5] = (uint8_t)(tensor[4 + at / 5] + q[k % BLK_PANEL_BLOCK] * power[at % 5]);
        }
    }
}

void blk_panels_unpack(const blk_panels *p, uint32_t first, uint32_t last, uint8_t *rows) {
    const blk_panel_kind *kind = &blk_panel_kinds[p->kind];
    const blk_info *info = blk_get_info(kind->type);
    if (kind->type == BLK_TERNARY) {
        unpack_ternary(p, rows);
        return;
    }
    const uint64_t row_bytes = p->n_cols / info->block_elems * (uint64_t)info->block_bytes;
    for (uint32_t i = first; i < last; i++) {
        const uint32_t valid = blk_panel_valid_rows(p, i);
        for (uint32_t r = 0; r < valid; r++, rows += row_bytes) {
            unpack_row(p, kind, info, p->data + i * p->panel_bytes, r, rows);
        }
    }
}

/* --- To f32 ----------------------------------------------------------------------------------------------------------- */

/* Scale and minimum of elements [16 i, 16 i + 16) of a row. */
static void get_scales(const blk_panels *p, const blk_panel_kind *kind, const row_block *b, uint32_t i, float *d, float *m) {
    if (kind->scales == BLK_SCALE_ONE) {
        *d = p->scale;
        *m = 0;
        return;
    }
    *d = blk_half_to_float(b->d);
    *m = blk_half_to_float(b->m);
    if (kind->scales == BLK_SCALE_SUPER_MIN) {
        *d *= (float)b->sub[0];
        *m *= (float)b->submin;
    } else if (kind->scales == BLK_SCALE_SUPER_16) {
        *d *= (float)(int8_t)b->sub[i];
    }
}

void blk_panels_decode_row(const blk_panels *p, uint32_t row, float *values) {
    const blk_panel_kind *kind = &blk_panel_kinds[p->kind];
    const uint8_t *panel = p->data + row / BLK_PANEL_ROWS * p->panel_bytes;
    const int32_t zero = kind->zero_shift == BLK_NO_ZERO ? 0 : 1 << kind->zero_shift;
    for (uint32_t block = 0; block < p->n_blocks; block++) {
        row_block b = {.d = 0};
        uint8_t q[BLK_PANEL_BLOCK];
        const uint32_t first = block * BLK_PANEL_BLOCK;
        get_block(p, kind, panel, row % BLK_PANEL_ROWS, block, &b);
        memcpy(q, b.q, sizeof q);
        for (uint32_t k = 0; k < BLK_PANEL_BLOCK && first + k < p->n_cols; k++) {
            float d, m;
            get_scales(p, kind, &b, k / 16, &d, &m);
            const float product = d * (float)((int32_t)q[k] - zero);
            values[first + k] = kind->min_sign == 0 ? product : kind->min_sign > 0 ? product + m : product - m;
        }
    }
}
