/* q42_legacy_raw.c — version 1: whole blocks one after another, with sidecars (sections 2, 5.1 and 12.1 of the format's document). */
#include <string.h>

#include "common/endian.h"
#include "q42_files_internal.h"

#define COUNT_AT 16u
#define QUINS_AT 160u
#define BIDX_HEAD 16u
#define OBJECT_AT 16u

static uint64_t range_word(const q42_raw *raw, uint64_t block, unsigned word) {
    return load_u64(raw->bidx.data + BIDX_HEAD + 16 * block + 8 * word);
}

q42_range q42_raw_range(const q42_raw *raw, uint64_t block) {
    q42_range range = {0, UINT64_MAX};
    if (raw->bidx.size > 0) {
        range = (q42_range){range_word(raw, block, 0), range_word(raw, block, 1)};
    }
    return range;
}

static fmt_status check_counts(fmt_span blocks, uint64_t n_blocks, fmt_diag *diag) {
    if (blocks.size % Q42_BLOCK_BYTES != 0 || n_blocks == 0) {
        const diag_place here = {blocks.size, FMT_NO_INDEX, (n_blocks + 1) * Q42_BLOCK_BYTES, blocks.size};
        return files_refuse(diag, Q42F_R_RAW_SIZE, here, "the file has %llu bytes", (unsigned long long)blocks.size);
    }
    for (uint64_t i = 0; i < n_blocks; i++) {
        const uint64_t at = i * Q42_BLOCK_BYTES + COUNT_AT, n_quins = load_u64(blocks.data + at);
        if (n_quins < 1 || n_quins > Q42_BLOCK_QUINS) {
            const diag_place here = {at, i, Q42_BLOCK_QUINS, n_quins};
            return files_refuse(diag, Q42F_R_RAW_COUNT, here, "block %llu says %llu quins", (unsigned long long)i,
                                (unsigned long long)n_quins);
        }
    }
    return FMT_OK;
}

static fmt_status check_index(const q42_raw *raw, fmt_diag *diag) {
    const fmt_span bidx = raw->bidx;
    const bool has_head = bidx.size >= BIDX_HEAD && memcmp(bidx.data, "BIDX", 4) == 0 && load_u32(bidx.data + 4) == 1;
    const uint64_t n_ranges = has_head ? load_u32(bidx.data + 8) : 0;
    if (!has_head || n_ranges != raw->n_blocks || bidx.size != BIDX_HEAD + 16 * n_ranges) {
        const diag_place here = {8, FMT_NO_INDEX, raw->n_blocks, n_ranges};
        return files_refuse(diag, Q42F_R_RAW_INDEX, here, "the index tells of %llu blocks in %llu bytes, %llu are there",
                            (unsigned long long)n_ranges, (unsigned long long)bidx.size,
                            (unsigned long long)raw->n_blocks);
    }
    q42_range before = {0, 0};
    for (uint64_t i = 0; i < n_ranges; i++) {
        const q42_range range = q42_raw_range(raw, i);
        if (range.least > range.most || range.least < before.least || range.most < before.most) {
            const diag_place here = {BIDX_HEAD + 16 * i, i, before.least, range.least};
            return files_refuse(diag, Q42F_R_RAW_INDEX, here, "range %llu is %016llx to %016llx", (unsigned long long)i,
                                (unsigned long long)range.least, (unsigned long long)range.most);
        }
        before = range;
    }
    return FMT_OK;
}

fmt_status q42_raw_open(fmt_span blocks, fmt_span lexicon, fmt_span bidx, q42_raw *out_raw, fmt_diag *diag) {
    q42_raw raw = {.span = blocks, .n_blocks = blocks.size / Q42_BLOCK_BYTES, .bidx = bidx};
    fmt_status status = check_counts(blocks, raw.n_blocks, diag);
    if (status == FMT_OK && bidx.size > 0) {
        status = check_index(&raw, diag);
    }
    if (status == FMT_OK && lexicon.size > 0) {
        status = q42_lexicon_open(lexicon, 0, &raw.lexicon, diag);
    }
    if (status == FMT_OK) {
        *out_raw = raw;
    }
    return status;
}

static uint64_t object_at(const q42_block *block, uint32_t slot) {
    return load_u64(block->quins + (uint64_t)slot * Q42_QUIN_BYTES + OBJECT_AT);
}

static fmt_status check_order(const q42_raw *raw, const q42_block *block, fmt_diag *diag) {
    const uint64_t at = block->index * Q42_BLOCK_BYTES + QUINS_AT;
    for (uint32_t slot = 1; slot < block->n_quins; slot++) {
        if (object_at(block, slot) < object_at(block, slot - 1)) {
            const diag_place here = {at + (uint64_t)slot * Q42_QUIN_BYTES, block->index, object_at(block, slot - 1),
                                     object_at(block, slot)};
            return files_refuse(diag, Q42F_R_RAW_ORDER, here, "block %llu, slot %u: the object falls",
                                (unsigned long long)block->index, slot);
        }
    }
    const q42_range range = q42_raw_range(raw, block->index);
    const uint64_t first = object_at(block, 0), last = object_at(block, block->n_quins - 1);
    if (first != range.least || last != range.most) {
        const bool is_first = first != range.least;
        const diag_place here = {at, block->index, is_first ? range.least : range.most, is_first ? first : last};
        return files_refuse(diag, Q42F_R_RAW_RANGE, here, "block %llu holds objects %016llx to %016llx",
                            (unsigned long long)block->index, (unsigned long long)first, (unsigned long long)last);
    }
    return FMT_OK;
}

fmt_status q42_raw_read_block(const q42_raw *raw, uint64_t index, q42_block *out_block, fmt_diag *diag) {
    const uint8_t *at = raw->span.data + index * Q42_BLOCK_BYTES;
    const q42_block block = {index, load_u64(at), (uint32_t)load_u64(at + COUNT_AT), at + QUINS_AT};
    const fmt_status status = raw->bidx.size > 0 ? check_order(raw, &block, diag) : FMT_OK;
    if (status == FMT_OK) {
        *out_block = block;
    }
    return status;
}

/* First block from which on `word` of the ranges is at least (or, with is_above, above) `value`. */
static uint64_t find_block(const q42_raw *raw, unsigned word, uint64_t value, bool is_above) {
    uint64_t low = 0, high = raw->n_blocks;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2, found = range_word(raw, middle, word);
        const bool is_before = is_above ? found <= value : found < value;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

void q42_raw_object_blocks(const q42_raw *raw, uint64_t least, uint64_t most, uint64_t *out_begin, uint64_t *out_end) {
    *out_begin = 0;
    *out_end = raw->n_blocks;
    if (raw->bidx.size > 0) {
        const uint64_t begin = find_block(raw, 1, least, false), end = find_block(raw, 0, most, true);
        *out_begin = begin;
        *out_end = end > begin ? end : begin;
    }
}
