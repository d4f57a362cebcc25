/* blk_nonfinite.c — the search for NaN and infinity: in the elements of float types, in the scales of block types. */
#include "blk_impl.h"

#include <stddef.h>

#define F16_EXPONENT 0x7C00u
#define BF16_EXPONENT 0x7F80u
#define F32_EXPONENT 0x7F800000u
#define F64_EXPONENT UINT64_C(0x7FF0000000000000)

/* Where a block keeps its scales: `n_halves` halves beginning at byte `at`. */
typedef struct scale_place {
    blk_type type;
    uint16_t at;
    uint16_t n_halves;
} scale_place;

static const scale_place places[] = {
    {BLK_Q4_0, 0, 1},    {BLK_Q4_1, 0, 2},   {BLK_Q5_0, 0, 1},   {BLK_Q5_1, 0, 2},    {BLK_Q8_0, 0, 1},
    {BLK_Q8_1, 0, 2},    {BLK_Q2_K, 80, 2},  {BLK_Q3_K, 108, 1}, {BLK_Q4_K, 0, 2},    {BLK_Q5_K, 0, 2},
    {BLK_Q6_K, 208, 1},  {BLK_IQ2_XXS, 0, 1}, {BLK_IQ2_XS, 0, 1}, {BLK_IQ3_XXS, 0, 1}, {BLK_IQ1_S, 0, 1},
    {BLK_IQ4_NL, 0, 1},  {BLK_IQ3_S, 0, 1},  {BLK_IQ2_S, 0, 1},  {BLK_IQ4_XS, 0, 1},  {BLK_TQ1_0, 52, 1},
    {BLK_TQ2_0, 64, 1},  {BLK_Q4_K_SOA, 128, 16},
};

static const scale_place *find_place(blk_type type) {
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i].type == type) {
            return &places[i];
        }
    }
    return NULL;
}

static bool is_bad_f32(const uint8_t *at) {
    return (load_u32(at) & F32_EXPONENT) == F32_EXPONENT;
}

/* IQ1_M spreads its half over the top four bits of the four 16-bit words at byte 48. */
static bool is_bad_iq1_m(const uint8_t *block) {
    unsigned half = 0;
    for (unsigned i = 0; i < 4; i++) {
        half |= (unsigned)(load_u16(block + 48 + 2 * i) >> 12) << (4 * i);
    }
    return (half & F16_EXPONENT) == F16_EXPONENT;
}

/* The first bad block of a type whose scales are not plain halves, or n_blocks. */
static uint64_t find_in_odd_blocks(blk_type type, const uint8_t *blocks, uint64_t n_blocks, uint32_t block_bytes) {
    for (uint64_t b = 0; b < n_blocks; b++, blocks += block_bytes) {
        if ((type == BLK_Q8_K && is_bad_f32(blocks)) || (type == BLK_MXFP4 && blocks[0] == 0xFF) ||
            (type == BLK_IQ1_M && is_bad_iq1_m(blocks))) {
            return b;
        }
    }
    return n_blocks;
}

/* Runs are first judged as a whole, without a branch a block or an element. */
#define RUN 512

/* n_halves is a constant where it is called. */
static inline bool run_has_bad_scale(const uint8_t *scales, uint64_t n_blocks, uint32_t block_bytes, unsigned n_halves) {
    unsigned bad = 0;
    for (uint64_t b = 0; b < n_blocks; b++, scales += block_bytes) {
        for (unsigned i = 0; i < n_halves; i++) {
            bad |= (load_u16(scales + 2 * i) & F16_EXPONENT) == F16_EXPONENT;
        }
    }
    return bad != 0;
}

static bool has_bad_scale(const scale_place *place, const uint8_t *blocks, uint64_t n_blocks, uint32_t block_bytes) {
    switch (place->n_halves) {
    case 1: return run_has_bad_scale(blocks + place->at, n_blocks, block_bytes, 1);
    case 2: return run_has_bad_scale(blocks + place->at, n_blocks, block_bytes, 2);
    default: return run_has_bad_scale(blocks + place->at, n_blocks, block_bytes, place->n_halves);
    }
}

static uint64_t find_in_half_scales(const scale_place *place, const uint8_t *blocks, uint64_t n_blocks,
                                    uint32_t block_bytes) {
    for (uint64_t begin = 0; begin < n_blocks; begin += RUN) {
        const uint64_t length = n_blocks - begin < RUN ? n_blocks - begin : RUN;
        if (!has_bad_scale(place, blocks + begin * block_bytes, length, block_bytes)) {
            continue;
        }
        for (uint64_t b = begin; b < begin + length; b++) {
            if (has_bad_scale(place, blocks + b * block_bytes, 1, block_bytes)) {
                return b;
            }
        }
    }
    return n_blocks;
}

/* Plain types, so that the compiler can use vectors. */

static bool run_has_bad_16(const uint8_t *at, uint64_t n, uint16_t exponent) {
    uint16_t bad = 0; /* as wide as the elements, so that they need no widening */
    for (uint64_t i = 0; i < n; i++) {
        bad = (uint16_t)(bad | ((load_u16(at + 2 * i) & exponent) == exponent));
    }
    return bad != 0;
}

static bool run_has_bad_32(const uint8_t *at, uint64_t n) {
    unsigned bad = 0;
    for (uint64_t i = 0; i < n; i++) {
        bad |= (load_u32(at + 4 * i) & F32_EXPONENT) == F32_EXPONENT;
    }
    return bad != 0;
}

static bool run_has_bad_64(const uint8_t *at, uint64_t n) {
    unsigned bad = 0;
    for (uint64_t i = 0; i < n; i++) {
        bad |= (load_u64(at + 8 * i) & F64_EXPONENT) == F64_EXPONENT;
    }
    return bad != 0;
}

static bool run_has_bad(blk_type type, const uint8_t *at, uint64_t n) {
    switch (type) {
    case BLK_F16: return run_has_bad_16(at, n, F16_EXPONENT);
    case BLK_BF16: return run_has_bad_16(at, n, BF16_EXPONENT);
    case BLK_F32: return run_has_bad_32(at, n);
    case BLK_F64: return run_has_bad_64(at, n);
    default: return false; /* integers */
    }
}

static uint64_t find_in_elements(blk_type type, const uint8_t *at, uint64_t n, uint32_t bytes) {
    for (uint64_t begin = 0; begin < n; begin += RUN) {
        const uint64_t length = n - begin < RUN ? n - begin : RUN;
        if (!run_has_bad(type, at + begin * bytes, length)) {
            continue;
        }
        for (uint64_t i = begin; i < begin + length; i++) {
            if (run_has_bad(type, at + i * bytes, 1)) {
                return i;
            }
        }
    }
    return n;
}

bool blk_find_nonfinite(blk_type type, const void *tensor, uint64_t first, uint64_t count, uint64_t *out_index) {
    const blk_info *info = blk_get_info(type);
    if (info == NULL || count == 0) {
        return false;
    }
    if (type == BLK_TERNARY) {
        *out_index = 0;
        return is_bad_f32(tensor);
    }
    const uint64_t n_blocks = count / info->block_elems + (count % info->block_elems != 0);
    const uint8_t *blocks = (const uint8_t *)tensor + first / info->block_elems * info->block_bytes;
    const scale_place *place = find_place(type);
    const uint64_t found = place != NULL             ? find_in_half_scales(place, blocks, n_blocks, info->block_bytes)
                           : info->block_elems == 1 ? find_in_elements(type, blocks, n_blocks, info->block_bytes)
                                                    : find_in_odd_blocks(type, blocks, n_blocks, info->block_bytes);
    if (found == n_blocks) {
        return false;
    }
    *out_index = first + found * info->block_elems;
    return true;
}
