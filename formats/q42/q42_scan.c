/* q42_scan.c — the quins that match a pattern (section 16 of the format's document). */
#include <string.h>

#include "q42_internal.h"

void q42_scan_begin(q42_scan *scan, const q42_volume *volume, const q42_pattern *pattern, uint8_t *room) {
    const q42_scan begun = {.volume = volume, .pattern = *pattern, .checks = Q42_CHECK_READ, .room = room};
    *scan = begun;
    scan->end_block = volume->header.block_count;
    if ((pattern->bound & Q42_BOUND_OBJECT) != 0) {
        q42_object_blocks(volume, pattern->object.least, pattern->object.most, &scan->next_block, &scan->end_block);
    }
    scan->first_block = scan->next_block;
    scan->stats.n_blocks = scan->end_block - scan->next_block;
}

void q42_scan_use_room(q42_scan *scan, uint8_t *room) {
    if (scan->has_block) {
        memcpy(room, scan->room, Q42_BLOCK_BYTES);
        scan->block.quins = room + Q42_BLOCK_QUINS_AT;
    }
    scan->room = room;
}

/* ---------------------------------------------------------------------------------------- choosing a block */

static const struct {
    uint32_t bit;
    q42_field field;
} bound_fields[] = {
    {Q42_BOUND_SUBJECT, Q42_SUBJECT}, {Q42_BOUND_PREDICATE, Q42_PREDICATE}, {Q42_BOUND_CONTEXT, Q42_CONTEXT}};

static uint64_t bound_value(const q42_pattern *pattern, q42_field field) {
    return field == Q42_SUBJECT ? pattern->subject : field == Q42_PREDICATE ? pattern->predicate : pattern->context;
}

static bool is_outside_fidx(const q42_scan *scan, uint64_t block) {
    for (uint32_t i = 0; i < 3 && (scan->volume->header.flags & Q42_FLAG_FIELD_RANGES) != 0; i++) {
        if ((scan->pattern.bound & bound_fields[i].bit) != 0) {
            const q42_range range = q42_field_range(scan->volume, block, bound_fields[i].field);
            const uint64_t value = bound_value(&scan->pattern, bound_fields[i].field);
            if (value < range.least || value > range.most) {
                return true;
            }
        }
    }
    return false;
}

static fmt_status is_outside_pidx(const q42_scan *scan, uint64_t block, bool *out_is_outside, fmt_diag *diag) {
    fmt_status status = FMT_OK;
    *out_is_outside = false;
    for (uint32_t i = 0; i < 3 && (scan->volume->header.flags & Q42_FLAG_FIELD_POSTINGS) != 0; i++) {
        if ((scan->pattern.bound & bound_fields[i].bit) != 0 && status == FMT_OK && !*out_is_outside) {
            bool may_hold = true;
            status = q42_postings_test(scan->volume, block, bound_fields[i].field,
                                       bound_value(&scan->pattern, bound_fields[i].field), &may_hold, diag);
            *out_is_outside = !may_hold;
        }
    }
    return status;
}

/* First slot whose object is not below `least`; the order of the block has been checked. */
static uint32_t first_slot(const q42_block *block, uint64_t least) {
    uint32_t low = 0, high = block->n_quins;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (load_u64(block->quins + (uint64_t)middle * Q42_QUIN_BYTES + 16) < least) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Decodes the next block that the indexes do not rule out; FMT_NOT_FOUND after the last. */
static fmt_status enter_block(q42_scan *scan, fmt_diag *diag) {
    while (scan->next_block < scan->end_block) {
        const uint64_t index = scan->next_block++;
        if (is_outside_fidx(scan, index)) {
            scan->stats.n_skipped_fidx++;
            continue;
        }
        bool is_outside;
        fmt_status status = is_outside_pidx(scan, index, &is_outside, diag);
        if (status == FMT_OK && is_outside) {
            scan->stats.n_skipped_pidx++;
            continue;
        }
        status = status == FMT_OK ? q42_read_block(scan->volume, index, scan->checks, scan->room, &scan->block, diag)
                                  : status;
        if (status != FMT_OK) {
            return status;
        }
        scan->stats.n_decoded++;
        scan->has_block = true;
        const bool is_sorted = (scan->checks & Q42_CHECK_ORDER) != 0 && (scan->pattern.bound & Q42_BOUND_OBJECT) != 0;
        scan->slot = is_sorted ? first_slot(&scan->block, scan->pattern.object.least) : 0;
        scan->is_seen_below = scan->is_seen_below || scan->slot > 0;
        return FMT_OK;
    }
    return FMT_NOT_FOUND;
}

/* ------------------------------------------------------------------------------------------------ matching */

static bool is_match(const q42_pattern *p, const q42_quin *quin) {
    return ((p->bound & Q42_BOUND_SUBJECT) == 0 || quin->subject == p->subject) &&
           ((p->bound & Q42_BOUND_PREDICATE) == 0 || quin->predicate == p->predicate) &&
           ((p->bound & Q42_BOUND_CONTEXT) == 0 || quin->context == p->context) &&
           ((p->bound & Q42_BOUND_OBJECT) == 0 ||
            (quin->object >= p->object.least && quin->object <= p->object.most));
}

/* The next match in the block that is decoded; false at its end. */
static bool next_in_block(q42_scan *scan, q42_quin *out_quin) {
    const bool is_ordered = (scan->checks & Q42_CHECK_ORDER) != 0 && (scan->pattern.bound & Q42_BOUND_OBJECT) != 0;
    while (scan->slot < scan->block.n_quins) {
        const q42_quin quin = q42_block_quin(&scan->block, scan->slot++);
        if (is_ordered && quin.object > scan->pattern.object.most) {
            scan->is_seen_above = true;
            return false;
        }
        if (is_match(&scan->pattern, &quin)) {
            *out_quin = quin;
            return true;
        }
    }
    return false;
}

/* Nothing was found: unless blocks of the interval showed objects on both sides of what was asked for, its neighbours
 * are decoded and compared with BIDX. */
static fmt_status check_border(q42_scan *scan, fmt_diag *diag) {
    const uint64_t n = scan->volume->header.block_count;
    const bool has_left = !scan->is_seen_below && scan->first_block > 0;
    const bool has_right = !scan->is_seen_above && scan->end_block < n;
    fmt_status status = FMT_NOT_FOUND;
    if (has_left) {
        scan->stats.n_border++;
        status = q42_read_block(scan->volume, scan->first_block - 1, scan->checks | Q42_CHECK_ORDER, scan->room,
                                &scan->block, diag);
    }
    if (has_right && (!has_left || status == FMT_OK)) {
        scan->stats.n_border++;
        status = q42_read_block(scan->volume, scan->end_block, scan->checks | Q42_CHECK_ORDER, scan->room, &scan->block,
                                diag);
    }
    scan->is_border_checked = true;
    return status == FMT_OK ? FMT_NOT_FOUND : status;
}

fmt_status q42_scan_next(q42_scan *scan, q42_quin *out_quin, fmt_diag *diag) {
    for (;;) {
        if (scan->has_block && next_in_block(scan, out_quin)) {
            scan->n_found++;
            return FMT_OK;
        }
        scan->has_block = false;
        const fmt_status status = enter_block(scan, diag);
        if (status == FMT_NOT_FOUND && scan->n_found == 0 && !scan->is_border_checked &&
            (scan->pattern.bound & Q42_BOUND_OBJECT) != 0) {
            return check_border(scan, diag);
        }
        if (status != FMT_OK) {
            return status;
        }
    }
}
