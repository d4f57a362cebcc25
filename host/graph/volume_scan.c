/* volume_scan.c — quins by pattern, member after member. */
#include <string.h>

#include "graph/volume.h"

void graph_scan_begin(graph_scan *scan, graph_volume *volume, const q42_pattern *pattern) {
    scan->volume = volume;
    scan->pattern = pattern != NULL ? *pattern : (q42_pattern){.bound = 0};
    scan->member = 0;
    scan->end_member = graph_volume_n_members(volume);
    scan->is_open = false;
    scan->stats = (q42_scan_stats){.n_blocks = 0};
    scan->n_members_skipped = 0;
}

static void add_stats(q42_scan_stats *sum, const q42_scan_stats *one) {
    sum->n_blocks += one->n_blocks;
    sum->n_decoded += one->n_decoded;
    sum->n_skipped_fidx += one->n_skipped_fidx;
    sum->n_skipped_pidx += one->n_skipped_pidx;
    sum->n_border += one->n_border;
}

static bool can_hold(const graph_scan *scan) {
    const q42_range objects = graph_volume_member_objects(scan->volume, scan->member);
    return (scan->pattern.bound & Q42_BOUND_OBJECT) == 0 ||
           (objects.least <= scan->pattern.object.most && objects.most >= scan->pattern.object.least);
}

/* Opens the next member that may hold something; QN_NOT_FOUND when none is left. */
static qn_status open_next(graph_scan *scan, error_context *err) {
    for (; scan->member < scan->end_member; scan->member++) {
        if (!can_hold(scan)) {
            scan->n_members_skipped++;
            continue;
        }
        const q42_volume *member;
        const qn_status status = graph_volume_member(scan->volume, scan->member, &member, err);
        if (status == QN_OK) {
            q42_scan_begin(&scan->in_member, member, &scan->pattern, scan->room);
            scan->is_open = true;
        }
        return status;
    }
    return QN_NOT_FOUND;
}

qn_status graph_scan_next(graph_scan *scan, q42_quin *out_quin, error_context *err) {
    for (;;) {
        const qn_status opened = scan->is_open ? QN_OK : open_next(scan, err);
        if (opened < 0) {
            return opened;
        }
        fmt_diag diag;
        const fmt_status status = q42_scan_next(&scan->in_member, out_quin, &diag);
        if (status == FMT_OK) {
            return QN_OK;
        }
        if (status != FMT_NOT_FOUND) {
            return error_from_diag(err, status, &diag, graph_volume_member_path(scan->volume, scan->member));
        }
        add_stats(&scan->stats, &scan->in_member.stats);
        scan->is_open = false;
        scan->member++;
    }
}
