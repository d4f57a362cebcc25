/* q42_dag.c — the nodes of the DAG section (section 7 of the format's document). */
#include <string.h>

#include "q42_internal.h"

fmt_status q42_dag_count(const q42_volume *volume, uint64_t *out_count, fmt_diag *diag) {
    const q42_section section = volume->header.dag;
    const bool has_count = section.length >= Q42_DAG_COUNT_BYTES;
    const uint64_t count = has_count ? load_u64(q42_section_data(volume->span, section)) : 0;
    if (section.length > 0 && (!has_count || count > (section.length - Q42_DAG_COUNT_BYTES) / Q42_DAG_NODE_BYTES)) {
        return q42_refuse(diag, Q42_R_DAG_SECTION, ((diag_place){section.offset, FMT_NO_INDEX, section.length, count}),
                          "the DAG says %llu nodes in %llu bytes", (ull)count, (ull)section.length);
    }
    *out_count = count;
    return FMT_OK;
}

const uint8_t *q42_dag_bytes(const q42_volume *volume, uint64_t node) {
    return q42_section_data(volume->span, volume->header.dag) + Q42_DAG_COUNT_BYTES + node * Q42_DAG_NODE_BYTES;
}

q42_dag_node q42_dag_get(const q42_volume *volume, uint64_t node) {
    const uint8_t *at = q42_dag_bytes(volume, node);
    q42_dag_node found = {.author = load_u64(at + Q42_DAG_AUTHOR_AT),
                          .timestamp_ms = load_u64(at + Q42_DAG_TIMESTAMP_AT),
                          .message_hash = load_u32(at + Q42_DAG_MESSAGE_AT),
                          .flags = load_u32(at + Q42_DAG_FLAGS_AT)};
    memcpy(found.parent, at + Q42_DAG_PARENT_AT, Q42_DIGEST_BYTES);
    memcpy(found.quins_digest, at + Q42_DAG_QUINS_AT, Q42_DIGEST_BYTES);
    return found;
}
