/* blk_pack_simd.h — packing whole panels with vectors. An instruction set's file defines the vocabulary and includes this.
 *
 * A panel is a transposition: 32-bit words of sixteen rows become lanes of one vector. So rows are turned as they lie in the file,
 * and what remains, taking nibbles and single bits apart, is done to whole vectors afterwards.
 *
 * Vocabulary: `vec` holds one word of LANES rows (16, or 8 and everything is done twice);
 *   join_32, join_16      32 or 16 bytes of each of several rows, in the order that turn_8 and turn_4 want
 *   low_32 … high_64      interleave words or pairs of them inside 128 bits
 *   cross_low, cross_high the lower or upper 128 bits of every 256 of two vectors
 *   keep, flip            bits of each byte: and, exclusive or with a constant
 *   shift_left, _right    of 16-bit lanes; choose(mask, a, b): bits of a where the mask has 1, else of b
 *   put, put_low_halves, put_high_halves (of each word), put_bytes (byte j of each word to at + 16 j)
 */
#ifndef BLK_PACK_SIMD_H
#define BLK_PACK_SIMD_H
#include "blk_impl.h"
#include "blk_pack.h"

enum { PARTS = BLK_PANEL_ROWS / LANES };

/* --- Turning ---------------------------------------------------------------------------------------------------------- */

/* Words 0..7 of rows of which each has 32 bytes at `at`. */
static inline void turn_8(const uint8_t *at, uint64_t row_bytes, vec t[8]) {
    vec x[8], pairs[8];
    for (uint32_t k = 0; k < 8; k++) {
        x[k] = join_32(at + k * row_bytes, row_bytes);
    }
    for (uint32_t k = 0; k < 4; k++) {
        pairs[2 * k] = low_32(x[2 * k], x[2 * k + 1]);
        pairs[2 * k + 1] = high_32(x[2 * k], x[2 * k + 1]);
    }
    for (uint32_t k = 0; k < 2; k++) { /* k: words 0, 1 and 4, 5, or 2, 3 and 6, 7 */
        const vec even_a = low_64(pairs[k], pairs[k + 2]), even_b = low_64(pairs[k + 4], pairs[k + 6]);
        const vec odd_a = high_64(pairs[k], pairs[k + 2]), odd_b = high_64(pairs[k + 4], pairs[k + 6]);
        t[2 * k] = cross_low(even_a, even_b);
        t[2 * k + 4] = cross_high(even_a, even_b);
        t[2 * k + 1] = cross_low(odd_a, odd_b);
        t[2 * k + 5] = cross_high(odd_a, odd_b);
    }
}

/* Words 0..3 of rows of which each has 16 bytes at `at`. */
static inline void turn_4(const uint8_t *at, uint64_t row_bytes, vec t[4]) {
    vec x[4];
    for (uint32_t k = 0; k < 4; k++) {
        x[k] = join_16(at + k * row_bytes, row_bytes);
    }
    const vec low_a = low_32(x[0], x[1]), low_b = low_32(x[2], x[3]);
    const vec high_a = high_32(x[0], x[1]), high_b = high_32(x[2], x[3]);
    t[0] = low_64(low_a, low_b);
    t[1] = high_64(low_a, low_b);
    t[2] = low_64(high_a, high_b);
    t[3] = high_64(high_a, high_b);
}

/* Of two vectors, the lower fields of each byte become one vector, the upper ones the other; a field has `shift` bits. */
static inline void exchange(vec *a, vec *b, int shift, uint8_t lower) {
    const vec low = choose(lower, *a, shift_left(*b, shift));
    *b = choose(lower, shift_right(*a, shift), *b);
    *a = low;
}

/* --- Parts of blocks -------------------------------------------------------------------------------------------------- */

/* Where a part's rows stand in a vector of the panel. */
static inline uint8_t *lanes_of(uint8_t *vectors, uint32_t v, uint32_t part) {
    return vectors + 64 * v + 4 * LANES * part;
}

static inline void put_nibble_words(const uint8_t *at, uint64_t row_bytes, uint8_t *low, uint32_t part) {
    vec t[4];
    turn_4(at, row_bytes, t);
    for (uint32_t v = 0; v < 4; v++) {
        put(lanes_of(low, v, part), t[v]);
    }
}

/* Thirty-two bytes whose low nibbles are one block and whose high nibbles another. */
static inline void put_nibble_pair(const uint8_t *at, uint64_t row_bytes, uint8_t *first, uint8_t *second, uint32_t part) {
    vec t[8];
    turn_8(at, row_bytes, t);
    for (uint32_t v = 0; v < 4; v++) {
        exchange(&t[v], &t[v + 4], 4, 0x0F);
        put(lanes_of(first, v, part), t[v]);
        put(lanes_of(second, v, part), t[v + 4]);
    }
}

/* Bit j of thirty-two bytes is the fifth bit of block j: eight by eight bits are turned. */
static inline void put_fifth_bits(const uint8_t *at, uint64_t row_bytes, uint8_t *high, uint32_t part) {
    vec t[8];
    turn_8(at, row_bytes, t);
    for (uint32_t v = 0; v < 4; v++) {
        exchange(&t[v], &t[v + 4], 4, 0x0F);
    }
    for (uint32_t v = 0; v < 8; v += v % 4 == 1 ? 3 : 1) {
        exchange(&t[v], &t[v + 2], 2, 0x33);
    }
    for (uint32_t v = 0; v < 8; v += 2) {
        exchange(&t[v], &t[v + 1], 1, 0x55);
    }
    for (uint32_t j = 0; j < 8; j++) {
        put(lanes_of(high, j, part), t[j]);
    }
}

/* Bits 2 j and the next of thirty-two bytes are the upper bits of block j of four: four by four fields are turned, twice. */
static inline void put_upper_bits(const uint8_t *at, uint64_t row_bytes, uint8_t *high, uint32_t part) {
    vec t[8];
    turn_8(at, row_bytes, t);
    for (uint32_t w = 0; w < 2; w++) {
        vec *x = t + 4 * w;
        exchange(&x[0], &x[2], 4, 0x0F);
        exchange(&x[1], &x[3], 4, 0x0F);
        exchange(&x[0], &x[1], 2, 0x33);
        exchange(&x[2], &x[3], 2, 0x33);
        for (uint32_t j = 0; j < 4; j++) {
            put(lanes_of(high + 128 * j, w, part), x[j]);
        }
    }
}

/* One half of each row. */
static inline void put_half_column(const uint8_t *at, uint64_t row_bytes, uint8_t *out) {
    for (uint32_t r = 0; r < BLK_PANEL_ROWS; r++, at += row_bytes) {
        memcpy(out + 2 * r, at, 2);
    }
}

/* d, dmin and twelve bytes of 6-bit scales and minima. */
static inline void put_k4_head(const blk_panels *p, uint8_t *panel, uint32_t super, const uint8_t *at, uint64_t row_bytes,
                               uint32_t part) {
    vec t[4];
    turn_4(at, row_bytes, t);
    uint8_t *const d = panel + (32 * super + 2 * LANES * part), *const sub = panel + p->sub_at + 128 * super + LANES * part;
    uint8_t *const submin = sub + (p->submin_at - p->sub_at);
    put_low_halves(d, t[0]);
    put_high_halves(d + p->min_at, t[0]);
    put_bytes(sub, keep(t[1], 0x3F));
    put_bytes(submin, keep(t[2], 0x3F));
    put_bytes(sub + 64, choose(0x0F, t[3], keep(shift_right(t[1], 2), 0x30)));
    put_bytes(submin + 64, choose(0x0F, shift_right(t[3], 4), keep(shift_right(t[2], 2), 0x30)));
}

/* --- Types ------------------------------------------------------------------------------------------------------------ */

/* What stands at `at` is asked for while the panel before it is packed. */
static inline void prefetch_rows(const uint8_t *at, uint64_t bytes) {
    for (uint64_t line = 0; line < bytes; line += 64) {
        _mm_prefetch((const void *)((uintptr_t)at + line), _MM_HINT_T1);
    }
}

typedef struct pack_place {
    const blk_panels *p;
    uint8_t *panel;
    const uint8_t *at; /* the block of row 0 */
    uint64_t row_bytes;
    uint32_t block; /* or superblock */
} pack_place;

static inline void pack_q8_0(const pack_place *s) {
    uint8_t *const low = s->panel + s->p->quants_at + 512 * (uint64_t)s->block;
    put_half_column(s->at, s->row_bytes, s->panel + 32 * s->block);
    for (uint32_t part = 0; part < PARTS; part++) {
        vec t[8];
        turn_8(s->at + 2 + LANES * part * s->row_bytes, s->row_bytes, t);
        for (uint32_t v = 0; v < 8; v++) {
            put(lanes_of(low, v, part), flip(t[v], 0x80));
        }
    }
}

static inline void pack_q4(const pack_place *s, bool has_min) {
    uint8_t *const low = s->panel + s->p->quants_at + 256 * (uint64_t)s->block;
    put_half_column(s->at, s->row_bytes, s->panel + 32 * s->block);
    if (has_min) {
        put_half_column(s->at + 2, s->row_bytes, s->panel + s->p->min_at + 32 * s->block);
    }
    for (uint32_t part = 0; part < PARTS; part++) {
        put_nibble_words(s->at + (has_min ? 4 : 2) + LANES * part * s->row_bytes, s->row_bytes, low, part);
    }
}

static inline void pack_k4(const pack_place *s, bool has_fifth) {
    uint8_t *const low = s->panel + s->p->quants_at + 2048 * (uint64_t)s->block;
    uint8_t *const high = s->panel + s->p->high_at + 512 * (uint64_t)s->block;
    for (uint32_t part = 0; part < PARTS; part++) {
        const uint8_t *const at = s->at + LANES * part * s->row_bytes;
        put_k4_head(s->p, s->panel, s->block, at, s->row_bytes, part);
        if (has_fifth) {
            put_fifth_bits(at + 16, s->row_bytes, high, part);
        }
        for (uint32_t g = 0; g < 4; g++) {
            put_nibble_pair(at + (has_fifth ? 48 : 16) + 32 * g, s->row_bytes, low + 512 * g, low + 512 * g + 256, part);
        }
    }
}

static inline void pack_q4_k_soa(const pack_place *s) {
    uint8_t *const low = s->panel + s->p->quants_at + 2048 * (uint64_t)s->block;
    for (uint32_t part = 0; part < PARTS; part++) {
        const uint8_t *const at = s->at + LANES * part * s->row_bytes;
        uint8_t *const d = s->panel + 256 * s->block + 2 * LANES * part;
        vec t[8];
        turn_8(at + 128, s->row_bytes, t); /* eight halves d, eight minima */
        for (uint32_t v = 0; v < 4; v++) {
            put_low_halves(d + 64 * v, t[v]);
            put_high_halves(d + 64 * v + 32, t[v]);
            put_low_halves(d + s->p->min_at + 64 * v, t[v + 4]);
            put_high_halves(d + s->p->min_at + 64 * v + 32, t[v + 4]);
        }
        for (uint32_t g = 0; g < 4; g++) {
            put_nibble_pair(at + 32 * g, s->row_bytes, low + 512 * g, low + 512 * g + 256, part);
        }
    }
}

static inline void pack_q6_k(const pack_place *s) {
    uint8_t *const low = s->panel + s->p->quants_at + 2048 * (uint64_t)s->block;
    uint8_t *const high = s->panel + s->p->high_at + 1024 * (uint64_t)s->block;
    put_half_column(s->at + 208, s->row_bytes, s->panel + 32 * s->block);
    for (uint32_t part = 0; part < PARTS; part++) {
        const uint8_t *const at = s->at + LANES * part * s->row_bytes;
        vec t[4];
        turn_4(at + 192, s->row_bytes, t);
        for (uint32_t v = 0; v < 4; v++) {
            put_bytes(s->panel + s->p->sub_at + 256 * s->block + 64 * v + LANES * part, t[v]);
        }
        for (uint32_t half = 0; half < 2; half++) {
            uint8_t *const first = low + 1024 * half;
            put_nibble_pair(at + 64 * half, s->row_bytes, first, first + 512, part);
            put_nibble_pair(at + 64 * half + 32, s->row_bytes, first + 256, first + 768, part);
            put_upper_bits(at + 128 + 32 * half, s->row_bytes, high + 512 * half, part);
        }
    }
}

bool PACK_PANEL(const blk_panels *p, uint8_t *panel, const uint8_t *rows, uint64_t row_bytes) {
    const blk_type type = blk_panel_kinds[p->kind].type;
    const blk_info *const info = blk_get_info(type);
    const uint32_t n = p->n_cols / info->block_elems;
    const uint64_t step = BLK_PANEL_ROWS * (uint64_t)info->block_bytes;
    pack_place s = {.p = p, .panel = panel, .at = rows, .row_bytes = row_bytes};
    switch (type) {
#define PACK(TYPE, how)                                                                                                \
    case BLK_##TYPE:                                                                                                   \
        for (; s.block < n; s.block++, s.at += info->block_bytes) {                                                    \
            prefetch_rows(rows + BLK_PANEL_ROWS * row_bytes + step * s.block, step);                                   \
            how;                                                                                                       \
        }                                                                                                              \
        return true;
        PACK(Q8_0, pack_q8_0(&s))
        PACK(Q4_0, pack_q4(&s, false))
        PACK(Q4_1, pack_q4(&s, true))
        PACK(Q4_K, pack_k4(&s, false))
        PACK(Q5_K, pack_k4(&s, true))
        PACK(Q6_K, pack_q6_k(&s))
        PACK(Q4_K_SOA, pack_q4_k_soa(&s))
#undef PACK
    default: return false;
    }
}

#endif
