/* blk_panels.h — what the files of the panel layout share: the unpacked form of a block, and the sections of a panel.
 *
 * Threading: pure.
 */
#ifndef BLK_PANELS_H
#define BLK_PANELS_H
#include <quoin/panels.h>

/* One row's block of 32: quants as stored (offset to unsigned), eight to a word, and its scales in the panel's shape. */
typedef struct row_block {
    uint64_t q[BLK_PANEL_BLOCK / 8];
    uint16_t d, m;       /* f16 bits; of the superblock where there is one */
    uint8_t sub[2], submin;
} row_block;

/* The same byte eight times. */
#define EACH_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/* A section of a panel: groups of sixteen entries, one of each row. */
typedef struct panel_section {
    uint32_t at;
    uint32_t entry_bytes;
    uint32_t n_groups;
} panel_section;

enum { MAX_SECTIONS = 6 };

uint32_t blk_panel_sections(const blk_panels *p, panel_section out[MAX_SECTIONS]);

static inline bool blk_has_super_scales(const blk_panel_kind *kind) {
    return kind->scales == BLK_SCALE_SUPER_MIN || kind->scales == BLK_SCALE_SUPER_16;
}

static inline uint32_t blk_panel_low_bits(const blk_panel_kind *kind) {
    return kind->bits == 5 || kind->bits == 6 ? 4 : kind->bits;
}

/* Rows of a panel that are rows of the matrix. */
static inline uint32_t blk_panel_valid_rows(const blk_panels *p, uint32_t panel) {
    const uint32_t left = p->n_rows - panel * BLK_PANEL_ROWS;
    return left < BLK_PANEL_ROWS ? left : BLK_PANEL_ROWS;
}

#endif
