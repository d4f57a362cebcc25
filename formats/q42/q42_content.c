/* q42_content.c — do FIDX and PIDX tell what a block holds? */
#include <string.h>

#include "q42_internal.h"

static const char *const names[] = {"subject", "predicate", "context"};

/* ------------------------------------------------------------------------------------------------------ FIDX */

fmt_status q42_check_fidx_content(const q42_volume *volume, const q42_block *block, fmt_diag *diag) {
    const bool is_there = (volume->header.flags & Q42_FLAG_FIELD_RANGES) != 0;
    for (q42_field field = Q42_SUBJECT; is_there && field <= Q42_CONTEXT; field++) {
        q42_range held = {UINT64_MAX, 0};
        for (uint32_t slot = 0; slot < block->n_quins; slot++) {
            const uint64_t value = q42_block_field(block, slot, field);
            held.least = value < held.least ? value : held.least;
            held.most = value > held.most ? value : held.most;
        }
        const q42_range told = q42_field_range(volume, block->index, field);
        if (held.least != told.least || held.most != told.most) {
            const uint64_t at = volume->header.fidx.offset + Q42_INDEX_HEADER_BYTES +
                                block->index * Q42_FIDX_ENTRY_BYTES + 16 * field;
            return q42_refuse(diag, Q42_R_FIDX_CONTENT, ((diag_place){at, block->index, held.least, told.least}),
                              "block %llu goes from %s %016llx to %016llx, its FIDX entry from %016llx to %016llx",
                              (ull)block->index, names[field], (ull)held.least, (ull)held.most, (ull)told.least,
                              (ull)told.most);
        }
    }
    return FMT_OK;
}

/* ------------------------------------------------------------------------------------------------------ PIDX */

static fmt_status refuse_value(const q42_volume *volume, uint64_t block, q42_field field, uint64_t value,
                               const char *what, fmt_diag *diag) {
    return q42_refuse(diag, Q42_R_PIDX_CONTENT, ((diag_place){volume->header.pidx.offset, block, 0, value}),
                      "block %llu: %s %016llx %s", (ull)block, names[field], (ull)value, what);
}

static fmt_status check_bloom(const q42_volume *volume, const q42_block *block, q42_field field, const uint8_t *told,
                              fmt_diag *diag) {
    uint8_t held[Q42_BLOOM_BYTES] = {0};
    for (uint32_t slot = 0; slot < block->n_quins; slot++) {
        uint32_t bits[Q42_BLOOM_HASHES];
        const uint64_t value = q42_block_field(block, slot, field);
        q42_bloom_bits(value, bits);
        for (uint32_t i = 0; i < Q42_BLOOM_HASHES; i++) {
            if ((told[bits[i] / 8] >> bits[i] % 8 & 1) == 0) {
                return refuse_value(volume, block->index, field, value, "is missing in the filter", diag);
            }
            held[bits[i] / 8] |= (uint8_t)(1u << bits[i] % 8);
        }
    }
    if (memcmp(held, told, Q42_BLOOM_BYTES) != 0) {
        return q42_refuse(diag, Q42_R_PIDX_CONTENT,
                          ((diag_place){(uint64_t)(told - volume->span.data), block->index, 0, 0}),
                          "block %llu: the filter of %ss has bits that no quin sets", (ull)block->index, names[field]);
    }
    return FMT_OK;
}

/* Index of `value` in the rising list, or of the first one above it. */
static uint32_t find_value(const uint64_t *list, uint32_t n, uint64_t value) {
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (list[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static fmt_status check_list(const q42_volume *volume, const q42_block *block, q42_field field, q42_postings *postings,
                             fmt_diag *diag) {
    uint64_t list[Q42_BLOCK_QUINS], value;
    bool is_held[Q42_BLOCK_QUINS] = {false};
    uint32_t n = 0;
    while (q42_postings_next(postings, &value)) {
        if (n == Q42_BLOCK_QUINS) {
            return refuse_value(volume, block->index, field, value, "is one value more than a block can hold", diag);
        }
        list[n++] = value;
    }
    uint32_t at = 0; /* neighbours often have the same value */
    for (uint32_t slot = 0; slot < block->n_quins; slot++) {
        value = q42_block_field(block, slot, field);
        at = at < n && list[at] == value ? at : find_value(list, n, value);
        if (at == n || list[at] != value) {
            return refuse_value(volume, block->index, field, value, "is missing in the list", diag);
        }
        is_held[at] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!is_held[i]) {
            return refuse_value(volume, block->index, field, list[i], "is listed and not held", diag);
        }
    }
    return FMT_OK;
}

fmt_status q42_check_pidx_content(const q42_volume *volume, const q42_block *block, fmt_diag *diag) {
    if ((volume->header.flags & Q42_FLAG_FIELD_POSTINGS) == 0) {
        return FMT_OK;
    }
    q42_postings lists[3];
    fmt_status status = q42_read_postings(volume, block->index, lists, diag);
    for (q42_field field = Q42_SUBJECT; status == FMT_OK && field <= Q42_CONTEXT; field++) {
        status = lists[field].bloom != NULL ? check_bloom(volume, block, field, lists[field].bloom, diag)
                                            : check_list(volume, block, field, &lists[field], diag);
    }
    return status;
}
