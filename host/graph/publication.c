/* publication.c — the scan behind the right to publish. */
#include "graph/publication.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of the entry hashes to its key: graph_volume_find_term has just made sure of that. */
static bool is_graph_name(void *ctx, uint64_t context) {
    error_context quiet = {0};
    q42_term term;
    return graph_volume_find_term(ctx, context, &term, &quiet) >= 0 && term.kind == Q42_TERM_STRING;
}

qn_status publication_flags(graph_volume *volume, uint16_t *out_flags, error_context *err) {
    uint16_t flags = graph_volume_root(volume)->header.flags;
    if (graph_volume_is_set(volume)) {
        for (uint32_t i = 0; i < graph_volume_n_members(volume); i++) {
            const q42_volume *member;
            const qn_status status = graph_volume_member(volume, i, &member, err);
            if (status < 0) {
                return status;
            }
            const uint16_t both = flags & member->header.flags, any = flags | member->header.flags;
            flags = (uint16_t)((flags & ~(Q42_FLAG_COMMONS | Q42_FLAG_SANCTUARY)) | (both & Q42_FLAG_COMMONS) |
                               (any & Q42_FLAG_SANCTUARY));
        }
    }
    *out_flags = flags;
    return QN_OK;
}

qn_status publication_begin(graph_volume *volume, q42_publication *out_tally, error_context *err) {
    q42_publication tally = {.is_name = is_graph_name, .is_name_ctx = volume};
    const qn_status status = publication_flags(volume, &tally.flags, err);
    if (status >= 0) {
        *out_tally = tally;
    }
    return status;
}

static qn_status scan_member(const q42_volume *member, uint8_t *room, progress_fn *progress, void *progress_ctx,
                             q42_publication *tally, error_context *err) {
    for (uint64_t i = 0; i < member->header.block_count; i++) {
        q42_block block;
        fmt_diag diag;
        if (q42_read_block(member, i, Q42_CHECK_READ, room, &block, &diag) == FMT_OK && block.n_quins > 0) {
            q42_publication_add(tally, &block);
        } else {
            q42_publication_add_bad_block(tally, i);
        }
        if (progress != NULL && !progress(progress_ctx, i, member->header.block_count)) {
            return FAIL(err, QN_CANCELLED, "interrupted");
        }
    }
    return QN_OK;
}

qn_status publication_scan(graph_volume *volume, progress_fn *progress, void *progress_ctx,
                           q42_publication *out_tally, error_context *err) {
    q42_publication tally;
    qn_status status = publication_begin(volume, &tally, err);
    uint8_t *room = malloc(Q42_BLOCK_BYTES);
    if (status >= 0 && room == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    for (uint32_t i = 0; status >= 0 && i < graph_volume_n_members(volume); i++) {
        const q42_volume *member;
        status = graph_volume_member(volume, i, &member, err);
        status = status < 0 ? status : scan_member(member, room, progress, progress_ctx, &tally, err);
    }
    free(room);
    status = status < 0 ? status : graph_volume_check_files(volume, err);
    if (status >= 0) {
        *out_tally = tally;
    }
    return status;
}

const char *publication_describe(const q42_witness *w, char out[PUBLICATION_WITNESS_SIZE]) {
    char what[96];
    switch (w->why) {
    case Q42_WHY_LABEL: snprintf(what, sizeof what, ", context %016" PRIx64, w->quin.context); break;
    case Q42_WHY_TIER:
    case Q42_WHY_LANE: snprintf(what, sizeof what, ", metadata %016" PRIx64, w->quin.metadata); break;
    case Q42_WHY_BLOCK: snprintf(out, PUBLICATION_WITNESS_SIZE, "block %" PRIu64, w->block); return out;
    default: out[0] = '\0'; return out;
    }
    snprintf(out, PUBLICATION_WITNESS_SIZE, "block %" PRIu64 ", slot %u: subject %016" PRIx64 "%s", w->block, w->slot,
             w->quin.subject, what);
    return out;
}
