/* fact_lookup.c — member after member of a volume, through its indexes. */
#include "ground/fact_lookup.h"

void fact_lookup_begin(fact_lookup *lookup, graph_volume *volume, const q42_pattern *pattern) {
    lookup->volume = volume;
    lookup->pattern = *pattern;
    lookup->member = 0;
    lookup->end_member = graph_volume_n_members(volume);
    lookup->is_open = lookup->is_sanctuary = lookup->keeps_bad_parity = false;
    lookup->n_bad_parity = lookup->n_decoded = 0;
}

static bool can_hold(const fact_lookup *lookup) {
    const q42_range objects = graph_volume_member_objects(lookup->volume, lookup->member);
    return (lookup->pattern.bound & Q42_BOUND_OBJECT) == 0 ||
           (objects.least <= lookup->pattern.object.most && objects.most >= lookup->pattern.object.least);
}

/* Opens the next member that may hold something; QN_NOT_FOUND when none is left. */
static qn_status open_next(fact_lookup *lookup, error_context *err) {
    while (lookup->member < lookup->end_member && !can_hold(lookup)) {
        lookup->member++;
    }
    if (lookup->member == lookup->end_member) {
        return QN_NOT_FOUND;
    }
    const q42_volume *member;
    const qn_status status = graph_volume_member(lookup->volume, lookup->member, &member, err);
    if (status == QN_OK) {
        q42_scan_begin(&lookup->in_member, member, &lookup->pattern, lookup->room);
        lookup->in_member.checks = Q42_CHECK_ORDER; /* parity is looked at one by one */
        lookup->is_sanctuary = (member->header.flags & Q42_FLAG_SANCTUARY) != 0;
        lookup->is_open = true;
    }
    return status;
}

qn_status fact_lookup_next(fact_lookup *lookup, q42_quin *out_quin, error_context *err) {
    for (;;) {
        const qn_status opened = lookup->is_open ? QN_OK : open_next(lookup, err);
        if (opened < 0) {
            return opened;
        }
        fmt_diag diag;
        const fmt_status status = q42_scan_next(&lookup->in_member, out_quin, &diag);
        if (status == FMT_OK) {
            if (lookup->keeps_bad_parity || out_quin->parity == q42_quin_parity(out_quin)) {
                return QN_OK;
            }
            lookup->n_bad_parity++;
            continue;
        }
        if (status != FMT_NOT_FOUND) {
            return error_from_diag(err, status, &diag, graph_volume_member_path(lookup->volume, lookup->member));
        }
        lookup->n_decoded += lookup->in_member.stats.n_decoded;
        lookup->is_open = false;
        lookup->member++;
    }
}
