/* blk_panels.c — the panel layout: its types, the sections of a panel, and what the bits in them must be. */
#include <quoin/panels.h>

#include <stddef.h>

#include "blk_impl.h"
#include "blk_panels.h"

const blk_panel_kind blk_panel_kinds[BLK_N_PANEL_TYPES] = {
#define X(TYPE, name, bits, scales, zero, sign) {BLK_##TYPE, #TYPE " panels", bits, scales, zero, sign},
    BLK_PANEL_TYPES(X)
#undef X
};

uint32_t blk_panel_find(blk_type type) {
    for (uint32_t i = 0; i < BLK_N_PANEL_TYPES; i++) {
        if (blk_panel_kinds[i].type == type) {
            return i;
        }
    }
    return BLK_NO_PANELS;
}

uint32_t blk_panel_of_dtype(uint32_t dtype) {
    return dtype >= BLK_PANEL_DTYPE ? blk_panel_find(dtype - BLK_PANEL_DTYPE) : BLK_NO_PANELS;
}

/* --- Sizes ------------------------------------------------------------------------------------------------------------ */

/* Reserves a section and gives its offset. */
static uint32_t take_section(blk_panels *p, uint64_t bytes) {
    const uint64_t at = p->panel_bytes;
    p->panel_bytes += (bytes + BLK_PANEL_ALIGN - 1) / BLK_PANEL_ALIGN * BLK_PANEL_ALIGN;
    return (uint32_t)at;
}

static void take_scales(blk_panels *p, const blk_panel_kind *kind) {
    const bool super = blk_has_super_scales(kind);
    const uint64_t halves = (uint64_t)(super ? (p->n_blocks + 7) / 8 : p->n_blocks) * BLK_PANEL_ROWS * 2;
    if (kind->scales != BLK_SCALE_ONE) {
        take_section(p, halves);
    }
    if (kind->scales == BLK_SCALE_HALF_MIN || kind->scales == BLK_SCALE_SUPER_MIN) {
        p->min_at = take_section(p, halves);
    }
    if (super) {
        p->sub_at = take_section(p, (uint64_t)p->n_blocks * BLK_PANEL_ROWS * (kind->scales == BLK_SCALE_SUPER_16 ? 2 : 1));
    }
    if (kind->scales == BLK_SCALE_SUPER_MIN) {
        p->submin_at = take_section(p, (uint64_t)p->n_blocks * BLK_PANEL_ROWS);
    }
}

bool blk_panels_init(blk_panels *out, uint32_t kind, uint64_t n_rows, uint64_t n_cols) {
    const blk_panel_kind *facts = &blk_panel_kinds[kind];
    const uint32_t block = blk_get_info(facts->type)->block_elems;
    if (n_rows == 0 || n_cols == 0 || n_rows > INT32_MAX || n_cols > INT32_MAX ||
        (facts->type != BLK_TERNARY && n_cols % block != 0)) {
        return false;
    }
    blk_panels p = {.kind = kind, .n_rows = (uint32_t)n_rows, .n_cols = (uint32_t)n_cols};
    p.n_panels = (p.n_rows + BLK_PANEL_ROWS - 1) / BLK_PANEL_ROWS;
    p.n_blocks = (p.n_cols + BLK_PANEL_BLOCK - 1) / BLK_PANEL_BLOCK;
    take_scales(&p, facts);
    const uint32_t low_bits = blk_panel_low_bits(facts);
    p.quants_at = take_section(&p, (uint64_t)p.n_blocks * 64 * low_bits);
    if (facts->bits != low_bits) {
        p.high_at = take_section(&p, (uint64_t)p.n_blocks * 64 * (facts->bits - low_bits));
    }
    *out = p;
    return p.panel_bytes <= UINT32_MAX;
}

uint64_t blk_panels_head(const blk_panels *p) {
    return blk_panel_kinds[p->kind].scales == BLK_SCALE_ONE ? BLK_PANEL_ALIGN : 0;
}

uint64_t blk_panels_bytes(const blk_panels *p) {
    return blk_panels_head(p) + p->n_panels * p->panel_bytes;
}

void blk_panels_attach(blk_panels *p, const uint8_t *whole) {
    p->data = whole + blk_panels_head(p);
    if (blk_panel_kinds[p->kind].scales == BLK_SCALE_ONE) {
        p->scale = blk_bits_to_float(load_u32(whole));
    }
}

uint32_t blk_panel_sections(const blk_panels *p, panel_section out[MAX_SECTIONS]) {
    const blk_panel_kind *kind = &blk_panel_kinds[p->kind];
    const uint32_t low_bits = blk_panel_low_bits(kind);
    const uint32_t n_halves = blk_has_super_scales(kind) ? (p->n_blocks + 7) / 8 : p->n_blocks;
    uint32_t n = 0;
    if (kind->scales != BLK_SCALE_ONE) {
        out[n++] = (panel_section){0, 2, n_halves};
    }
    if (p->min_at != 0) {
        out[n++] = (panel_section){p->min_at, 2, n_halves};
    }
    if (p->sub_at != 0) {
        out[n++] = (panel_section){p->sub_at, 1, kind->scales == BLK_SCALE_SUPER_16 ? 2 * p->n_blocks : p->n_blocks};
    }
    if (p->submin_at != 0) {
        out[n++] = (panel_section){p->submin_at, 1, p->n_blocks};
    }
    out[n++] = (panel_section){p->quants_at, 4, p->n_blocks * low_bits};
    if (p->high_at != 0) {
        out[n++] = (panel_section){p->high_at, 4, p->n_blocks * (kind->bits - low_bits)};
    }
    return n;
}

/* --- What the bits must be -------------------------------------------------------------------------------------------- */

/* The first of `size` bytes with a bit of `mask` that is not that of `value`, or `size`. */
static uint64_t find_other(const uint8_t *bytes, uint64_t size, uint8_t mask, uint8_t value) {
    unsigned other = 0;
    for (uint64_t i = 0; i < size; i++) {
        other |= (unsigned)((bytes[i] ^ value) & mask);
    }
    for (uint64_t i = 0; other != 0 && i < size; i++) {
        if (((bytes[i] ^ value) & mask) != 0) {
            return i;
        }
    }
    return size;
}

/* Padding behind the entries, the bits of `mask` in all of them, and the entries of rows that the matrix does not have. */
static bool find_in_section(const uint8_t *panel, const panel_section *s, uint32_t valid, uint8_t mask, uint8_t filler,
                            uint64_t *out_at) {
    const uint64_t group = (uint64_t)s->entry_bytes * BLK_PANEL_ROWS, used = group * s->n_groups;
    const uint64_t padding = (BLK_PANEL_ALIGN - used % BLK_PANEL_ALIGN) % BLK_PANEL_ALIGN;
    uint64_t at = find_other(panel + s->at + used, padding, 0xFF, 0);
    if (at < padding) {
        *out_at = s->at + used + at;
        return true;
    }
    at = mask == 0 ? used : find_other(panel + s->at, used, mask, 0);
    const uint64_t begin = (uint64_t)s->entry_bytes * valid;
    for (uint32_t g = 0; at == used && begin < group && g < s->n_groups; g++) {
        const uint64_t found = find_other(panel + s->at + g * group + begin, group - begin, 0xFF, filler);
        at = found < group - begin ? g * group + begin + found : used;
    }
    *out_at = s->at + at;
    return at < used;
}

/* A digit of 3, or an element behind a row's end that is not 1. Four elements of one row, k, k + 4, k + 8 and k + 12, share
 * a byte. */
static bool find_stray_digit(const blk_panels *p, const uint8_t *panel, uint64_t *out_at) {
    const uint8_t *quants = panel + p->quants_at;
    const uint64_t size = (uint64_t)p->n_blocks * 128;
    for (uint64_t i = 0; i < size; i++) {
        const uint32_t first = (uint32_t)(i / 128) * BLK_PANEL_BLOCK + (uint32_t)(i % 128 / 64) * 16 + (uint32_t)(i % 4);
        uint8_t behind = 0;
        for (uint32_t j = 0; i >= size - 128 && j < 4; j++) {
            behind |= (uint8_t)(first + 4 * j >= p->n_cols ? 3u << 2 * j : 0);
        }
        if ((quants[i] & quants[i] >> 1 & 0x55) != 0 || ((quants[i] ^ 0x55) & behind) != 0) {
            *out_at = p->quants_at + i;
            return true;
        }
    }
    return false;
}

bool blk_panels_find_stray(const blk_panels *p, uint32_t panel, uint64_t *out_at) {
    const blk_panel_kind *kind = &blk_panel_kinds[p->kind];
    const uint8_t *bytes = p->data + panel * p->panel_bytes;
    const uint32_t valid = blk_panel_valid_rows(p, panel);
    panel_section sections[MAX_SECTIONS];
    const uint32_t n = blk_panel_sections(p, sections);
    for (uint32_t i = 0; i < n; i++) {
        const bool has_six_bits = kind->scales == BLK_SCALE_SUPER_MIN && sections[i].entry_bytes == 1;
        if (find_in_section(bytes, &sections[i], valid, has_six_bits ? 0xC0 : 0, kind->bits == 2 ? 0x55 : 0, out_at)) {
            return true;
        }
    }
    return kind->bits == 2 && find_stray_digit(p, bytes, out_at);
}

/* The first of `n` halves that is NaN or infinite, or n. Judged as a whole first, so that the compiler can use vectors. */
static uint32_t find_bad_half(const uint8_t *halves, uint32_t n) {
    uint16_t bad = 0;
    for (uint32_t i = 0; i < n; i++) {
        bad = (uint16_t)(bad | ((load_u16(halves + 2 * (size_t)i) & 0x7C00u) == 0x7C00u));
    }
    for (uint32_t i = 0; bad != 0 && i < n; i++) {
        if ((load_u16(halves + 2 * (size_t)i) & 0x7C00u) == 0x7C00u) {
            return i;
        }
    }
    return n;
}

bool blk_panels_find_nonfinite(const blk_panels *p, uint32_t panel, uint64_t *out_element) {
    const blk_panel_kind *kind = &blk_panel_kinds[p->kind];
    const uint8_t *bytes = p->data + panel * p->panel_bytes;
    const uint32_t n_groups = blk_has_super_scales(kind) ? (p->n_blocks + 7) / 8 : p->n_blocks;
    const uint32_t span = blk_has_super_scales(kind) ? BLK_PANEL_SUPER : BLK_PANEL_BLOCK;
    uint64_t found = UINT64_MAX;
    if (kind->scales == BLK_SCALE_ONE) {
        return false;
    }
    for (uint32_t place = 0; place < (p->min_at != 0 ? 2u : 1u); place++) {
        const uint32_t i = find_bad_half(bytes + (place == 0 ? 0 : p->min_at), n_groups * BLK_PANEL_ROWS);
        if (i < n_groups * BLK_PANEL_ROWS) {
            const uint64_t row = panel * (uint64_t)BLK_PANEL_ROWS + i % BLK_PANEL_ROWS;
            const uint64_t element = row * p->n_cols + (uint64_t)(i / BLK_PANEL_ROWS) * span;
            found = element < found ? element : found;
        }
    }
    if (found != UINT64_MAX) {
        *out_element = found;
    }
    return found != UINT64_MAX;
}
