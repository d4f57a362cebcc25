/* panels.h — the panel layout: a matrix of a block type with sixteen rows interleaved, so that one vector load feeds sixteen rows.
 *
 * Nothing is computed: every bit of the standard blocks has its place in the panels, and the way back gives the very same bytes.
 * formats/doc/panels.md is the document; this is its one implementation, for files (dtype 4096 + type of P64) and for kernels.
 *
 *     panel: | d | minima | 6- or 8-bit scales | quants: block 0, block 1, … | further bits: block 0, … |
 *
 * Sixteen rows make a panel, 32 elements of a row a block; element k of row r lies in byte 4 r + k % 4 of vector k / 4 of its
 * block. Every section begins at a multiple of 64 bytes. Quants are 4 bits (vectors 0..3 in the low nibbles, 4..7 in the high
 * ones), 8 bits (offset by 128), or 2 bits; the fifth bit, or the fifth and sixth, follow in a section of their own. Rows behind
 * the last are zero, as is all padding; ternary digits there are 1, which decodes to zero.
 *
 * Threading: pure functions, thread-safe; panels may be packed, and but for ternary unpacked, by several threads at once.
 * Memory:    caller's buffers; nothing is allocated.
 */
#ifndef QUOIN_PANELS_H
#define QUOIN_PANELS_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/blocks.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BLK_PANEL_ROWS = 16, BLK_PANEL_BLOCK = 32, BLK_PANEL_SUPER = 256, BLK_PANEL_ALIGN = 64 };

/* The dtype of a tensor of type T that is kept as panels is BLK_PANEL_DTYPE + T. */
#define BLK_PANEL_DTYPE 4096u
#define BLK_NO_PANELS UINT32_MAX

/* How the scales of a panel are stored. */
enum {
    BLK_SCALE_HALF = 1,      /* f16 d per block */
    BLK_SCALE_HALF_MIN = 2,  /* f16 d and f16 minimum per block */
    BLK_SCALE_SUPER_MIN = 3, /* f16 d and dmin per 256, 6-bit scale and minimum per block */
    BLK_SCALE_SUPER_16 = 4,  /* f16 d per 256, signed 8-bit scale per 16 elements */
    BLK_SCALE_ONE = 5        /* one f32 for the whole tensor, in 64 bytes in front of the first panel */
};

/* BLK_PANEL_TYPES(X): X(type, name, bits, scales, zero_shift, min_sign)
 * value = d * (q - 2^zero_shift) + min_sign * minimum; zero_shift 31 means that nothing is taken off. */
#define BLK_NO_ZERO 31
#define BLK_PANEL_TYPES(X)                                        \
    X(Q4_0, q4_0, 4, BLK_SCALE_HALF, 3, 0)                        \
    X(Q5_0, q5_0, 5, BLK_SCALE_HALF, 4, 0)                        \
    X(Q8_0, q8_0, 8, BLK_SCALE_HALF, 7, 0)                        \
    X(Q4_1, q4_1, 4, BLK_SCALE_HALF_MIN, BLK_NO_ZERO, 1)          \
    X(Q5_1, q5_1, 5, BLK_SCALE_HALF_MIN, BLK_NO_ZERO, 1)          \
    X(Q4_K_SOA, q4_k_soa, 4, BLK_SCALE_HALF_MIN, BLK_NO_ZERO, -1) \
    X(Q4_K, q4_k, 4, BLK_SCALE_SUPER_MIN, BLK_NO_ZERO, -1)        \
    X(Q5_K, q5_k, 5, BLK_SCALE_SUPER_MIN, BLK_NO_ZERO, -1)        \
    X(Q6_K, q6_k, 6, BLK_SCALE_SUPER_16, 5, 0)                    \
    X(TERNARY, ternary, 2, BLK_SCALE_ONE, 0, 0)

enum {
#define X(TYPE, name, bits, scales, zero, sign) BLK_PANEL_##TYPE,
    BLK_PANEL_TYPES(X)
#undef X
    BLK_N_PANEL_TYPES
};

typedef struct blk_panel_kind {
    blk_type type;
    const char *name;    /* of the dtype: "Q4_0 panels" */
    uint32_t bits;       /* of a quant: 2, 4, 5, 6 or 8 */
    uint32_t scales;     /* BLK_SCALE_* */
    uint32_t zero_shift;
    int32_t min_sign;    /* +1, -1, or 0 without minima */
} blk_panel_kind;

/* The facts of each type that has panels, indexed by BLK_PANEL_*. */
extern const blk_panel_kind blk_panel_kinds[BLK_N_PANEL_TYPES];

/* A matrix as panels. Offsets are bytes from the start of a panel; 0 where the section does not exist. */
typedef struct blk_panels {
    uint32_t kind;       /* BLK_PANEL_* */
    uint32_t n_rows, n_cols;
    uint32_t n_panels;   /* ceil(n_rows / 16) */
    uint32_t n_blocks;   /* ceil(n_cols / 32) */
    uint32_t min_at;     /* minima: f16 [blocks or superblocks][16]; d stands at 0 in the same shape */
    uint32_t sub_at;     /* u8 or i8 [blocks][16], or [2 * blocks][16] */
    uint32_t submin_at;  /* u8 [blocks][16] */
    uint32_t quants_at;
    uint32_t high_at;
    uint64_t panel_bytes; /* a multiple of 64 */
    float scale;         /* BLK_SCALE_ONE */
    const uint8_t *data; /* [n_panels] panels, 64-byte aligned; null until it is set */
} blk_panels;

/* The number of this type in BLK_PANEL_*, or BLK_NO_PANELS. */
uint32_t blk_panel_find(blk_type type);
/* The same for a dtype of a file: BLK_NO_PANELS when it is none of panels. */
uint32_t blk_panel_of_dtype(uint32_t dtype);

/* Lays out a matrix of n_rows rows of n_cols elements; data stays null, scale 0. False when it has no panels: rows that are no
 * multiple of the type's block, or sizes that do not fit (2^31 rows or elements of a row, 2^32 bytes of a panel). */
bool blk_panels_init(blk_panels *out, uint32_t kind, uint64_t n_rows, uint64_t n_cols);

/* Bytes of the whole: what stands in front of the panels, and the panels. Never wraps after blk_panels_init. */
uint64_t blk_panels_head(const blk_panels *p);
uint64_t blk_panels_bytes(const blk_panels *p);

/* Points p->data into `whole` and reads the scale. */
void blk_panels_attach(blk_panels *p, const uint8_t *whole);

/* Fills panels [first, last) at `panels` (of panel 0) from the standard blocks of a tensor; the matrix begins at element
 * `first_element` of it, the first of a block. */
void blk_panels_pack(const blk_panels *p, uint8_t *panels, uint32_t first, uint32_t last, const uint8_t *tensor,
                     uint64_t first_element);

/* The way back: writes the standard blocks of the rows of panels [first, last) to `rows`, which stands for row 16 * first.
 * Ternary has no rows that begin at a byte: there it is all panels at once, scale included. */
void blk_panels_unpack(const blk_panels *p, uint32_t first, uint32_t last, uint8_t *rows);

/* One row decoded, as blk_decode gives it. values: [n_cols]. */
void blk_panels_decode_row(const blk_panels *p, uint32_t row, float *values);

/* Looks through a panel for a scale or minimum that is NaN or infinite; *out_element is then the first element of a block that
 * has one, in the order of the tensor. */
bool blk_panels_find_nonfinite(const blk_panels *p, uint32_t panel, uint64_t *out_element);

/* Looks through a panel for a bit that no packing sets: padding, bits beyond the sixth of a scale, a ternary digit of 3.
 * *out_at is the offset of its byte in the panel. */
bool blk_panels_find_stray(const blk_panels *p, uint32_t panel, uint64_t *out_at);

#ifdef __cplusplus
}
#endif
#endif
