/* subject_scan.c — blocks that may hold one of several subjects. */
#include "ground/subject_scan.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint32_t subject_scan_sort(uint64_t *ids, uint32_t n) {
    uint32_t n_left = 0;
    if (n > 0) {
        qsort(ids, n, sizeof *ids, by_id);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (n_left == 0 || ids[n_left - 1] != ids[i]) {
            ids[n_left++] = ids[i];
        }
    }
    return n_left;
}

void subject_scan_begin(subject_scan *scan, const ground_volume *gv, const uint64_t *subjects, uint32_t n_subjects, uint64_t *n_states) {
    const block_query query = {.keys = subjects, .n_keys = n_subjects, .key_field = Q42_SUBJECT};
    scan->gv = gv;
    scan->subjects = subjects;
    scan->n_subjects = n_subjects;
    scan->stats = (walk_stats){.n_walks = 0};
    scan->has_block = scan->is_sanctuary = false;
    scan->n_states = n_states;
    block_walk_begin(&scan->walk, gv->volume, NULL, &query, &scan->stats); /* a cache serves bound objects only */
}

static qn_status enter_block(subject_scan *scan, error_context *err) {
    uint32_t member;
    uint64_t block;
    const qn_status status = scan->n_subjects > 0 ? block_walk_next(&scan->walk, &member, &block, err) : QN_NOT_FOUND;
    if (status < 0) {
        return status;
    }
    fmt_diag diag;
    const q42_volume *volume = scan->walk.open;
    const fmt_status read = q42_read_block(volume, block, Q42_CHECK_ORDER, scan->room, &scan->block, &diag);
    if (read != FMT_OK) {
        return error_from_diag(err, read, &diag, graph_volume_member_path(scan->gv->volume, member));
    }
    scan->stats.n_decoded++;
    scan->is_sanctuary = (volume->header.flags & Q42_FLAG_SANCTUARY) != 0;
    scan->has_block = true;
    scan->slot = 0;
    return QN_OK;
}

static bool find_subject(const subject_scan *scan, uint64_t subject, uint32_t *out_index) {
    const uint64_t *found = bsearch(&subject, scan->subjects, scan->n_subjects, sizeof subject, by_id);
    *out_index = found != NULL ? (uint32_t)(found - scan->subjects) : 0;
    return found != NULL;
}

/* The next live fact in the block that is decoded; false at its end. */
static bool next_in_block(subject_scan *scan, q42_quin *out_quin, uint32_t *out_subject) {
    while (scan->slot < scan->block.n_quins) {
        *out_quin = q42_block_quin(&scan->block, scan->slot++);
        if (!find_subject(scan, out_quin->subject, out_subject)) {
            continue;
        }
        const fact_state state = ground_volume_judge(scan->gv, out_quin);
        if (state == FACT_LIVE) {
            return true;
        }
        if (scan->n_states != NULL) {
            scan->n_states[state]++;
        }
    }
    return false;
}

qn_status subject_scan_next(subject_scan *scan, q42_quin *out_quin, uint32_t *out_tier, uint32_t *out_subject, error_context *err) {
    while (!scan->has_block || !next_in_block(scan, out_quin, out_subject)) {
        scan->has_block = false;
        const qn_status status = enter_block(scan, err);
        if (status < 0) {
            return status;
        }
    }
    *out_tier = fact_tier(out_quin, scan->gv->is_sanctuary || scan->is_sanctuary, scan->gv->least_tier);
    return QN_OK;
}
