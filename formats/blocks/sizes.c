/* sizes.c — the table of element types, and how many bytes a tensor takes. */
#include <quoin/blocks.h>

#include "common/checked.h"

#include <stddef.h>

/*   type           name          elems bytes  decode encode */
static const blk_info types[] = {
    {BLK_F32,      "F32",          1,   4,   true,  false},
    {BLK_F16,      "F16",          1,   2,   true,  true},
    {BLK_Q4_0,     "Q4_0",        32,  18,   true,  true},
    {BLK_Q4_1,     "Q4_1",        32,  20,   true,  true},
    {BLK_Q5_0,     "Q5_0",        32,  22,   true,  false},
    {BLK_Q5_1,     "Q5_1",        32,  24,   true,  false},
    {BLK_Q8_0,     "Q8_0",        32,  34,   true,  true},
    {BLK_Q8_1,     "Q8_1",        32,  36,   true,  false},
    {BLK_Q2_K,     "Q2_K",       256,  84,   true,  false},
    {BLK_Q3_K,     "Q3_K",       256, 110,   true,  false},
    {BLK_Q4_K,     "Q4_K",       256, 144,   true,  true},
    {BLK_Q5_K,     "Q5_K",       256, 176,   true,  false},
    {BLK_Q6_K,     "Q6_K",       256, 210,   true,  true},
    {BLK_Q8_K,     "Q8_K",       256, 292,   true,  false},
    {BLK_IQ2_XXS,  "IQ2_XXS",    256,  66,   false, false},
    {BLK_IQ2_XS,   "IQ2_XS",     256,  74,   false, false},
    {BLK_IQ3_XXS,  "IQ3_XXS",    256,  98,   false, false},
    {BLK_IQ1_S,    "IQ1_S",      256,  50,   false, false},
    {BLK_IQ4_NL,   "IQ4_NL",      32,  18,   true,  false},
    {BLK_IQ3_S,    "IQ3_S",      256, 110,   false, false},
    {BLK_IQ2_S,    "IQ2_S",      256,  82,   false, false},
    {BLK_IQ4_XS,   "IQ4_XS",     256, 136,   true,  false},
    {BLK_I8,       "I8",           1,   1,   true,  false},
    {BLK_I16,      "I16",          1,   2,   true,  false},
    {BLK_I32,      "I32",          1,   4,   true,  false},
    {BLK_I64,      "I64",          1,   8,   true,  false},
    {BLK_F64,      "F64",          1,   8,   true,  false},
    {BLK_IQ1_M,    "IQ1_M",      256,  56,   false, false},
    {BLK_BF16,     "BF16",         1,   2,   true,  true},
    {BLK_TQ1_0,    "TQ1_0",      256,  54,   true,  false},
    {BLK_TQ2_0,    "TQ2_0",      256,  66,   true,  false},
    {BLK_MXFP4,    "MXFP4",       32,  17,   true,  false},
    {BLK_Q4_K_SOA, "Q4_K_SOA",   256, 160,   true,  true},
    {BLK_TERNARY,  "ternary",      5,   1,   true,  true},
};

#define N_TYPES (sizeof types / sizeof types[0])
#define TERNARY_SCALE_BYTES 4

const blk_info *blk_get_info(blk_type type) {
    for (size_t i = 0; i < N_TYPES; i++) {
        if (types[i].type == type) {
            return &types[i];
        }
    }
    return NULL;
}

static char fold_case(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool equal_ignoring_case(const char *a, const char *b) {
    while (*a != '\0' && fold_case(*a) == fold_case(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

const blk_info *blk_find_name(const char *name) {
    for (size_t i = 0; i < N_TYPES; i++) {
        if (equal_ignoring_case(types[i].name, name)) {
            return &types[i];
        }
    }
    return NULL;
}

const blk_info *blk_info_at(uint32_t index) {
    return index < N_TYPES ? &types[index] : NULL;
}

/* Blocks of one row times the number of rows; the whole tensor is one row when blocks run on over rows (ternary). */
static fmt_status count_blocks(const blk_info *info, uint32_t rank, const uint64_t *dims, uint64_t *out_blocks) {
    uint64_t row = dims[0];
    uint64_t n_rows = 1;
    for (uint32_t i = 1; i < rank; i++) {
        if (!checked_mul(n_rows, dims[i], &n_rows)) {
            return FMT_LIMIT;
        }
    }
    if (info->type == BLK_TERNARY) {
        if (!checked_mul(row, n_rows, &row)) {
            return FMT_LIMIT;
        }
        n_rows = 1;
    }
    const uint64_t row_blocks = row / info->block_elems + (row % info->block_elems != 0);
    return checked_mul(row_blocks, n_rows, out_blocks) ? FMT_OK : FMT_LIMIT;
}

static bool has_legal_shape(uint32_t rank, const uint64_t *dims) {
    if (rank < 1 || rank > 4) {
        return false;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] == 0) {
            return false;
        }
    }
    return true;
}

fmt_status blk_tensor_bytes_padded(blk_type type, uint32_t rank, const uint64_t *dims, uint64_t *out_bytes) {
    const blk_info *info = blk_get_info(type);
    if (info == NULL) {
        return FMT_NOT_FOUND;
    }
    if (!has_legal_shape(rank, dims)) {
        return FMT_BAD_ARG;
    }
    uint64_t blocks;
    const fmt_status status = count_blocks(info, rank, dims, &blocks);
    if (status != FMT_OK) {
        return status;
    }
    uint64_t bytes;
    if (!checked_mul(blocks, info->block_bytes, &bytes) ||
        !checked_add(bytes, type == BLK_TERNARY ? TERNARY_SCALE_BYTES : 0, &bytes)) {
        return FMT_LIMIT;
    }
    *out_bytes = bytes;
    return FMT_OK;
}

fmt_status blk_tensor_bytes(blk_type type, uint32_t rank, const uint64_t *dims, uint64_t *out_bytes) {
    const blk_info *info = blk_get_info(type);
    if (info == NULL) {
        return FMT_NOT_FOUND;
    }
    if (!has_legal_shape(rank, dims) || (type != BLK_TERNARY && dims[0] % info->block_elems != 0)) {
        return FMT_BAD_ARG;
    }
    return blk_tensor_bytes_padded(type, rank, dims, out_bytes);
}
