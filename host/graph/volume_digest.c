/* volume_digest.c — the digest of the bytes that a volume reads, whatever has its name by now. */
#include <string.h>

#include "graph/file_digest.h"
#include "graph/volume_files.h"

/* A set's root says what its members are: each has to be that. */
static qn_status check_member(graph_volume *volume, uint32_t index, error_context *err) {
    uint8_t digest[Q42_DIGEST_BYTES];
    graph_file *member;
    QN_TRY(graph_file_get(volume, index, &member, err), err, "opening a member");
    QN_TRY(file_digest_of_span(member->file.span, member->path, NULL, NULL, digest, err), err, "hashing a member");
    return memcmp(digest, volume->records[index].digest, sizeof digest) == 0
               ? QN_OK
               : FAIL(err, QN_BAD_FILE, "%s: its SHA-256 is not the one in the set's manifest", member->path);
}

qn_status graph_volume_digest(graph_volume *volume, uint8_t out[Q42_DIGEST_BYTES], error_context *err) {
    for (uint32_t i = 0; i < volume->n_segments + volume->n_shards; i++) {
        QN_TRY(check_member(volume, i, err), err, "checking the set");
    }
    QN_TRY(file_digest_of_span(volume->root.file.span, volume->root.path, NULL, NULL, out, err), err, "hashing %s", volume->root.path);
    return graph_volume_check_files(volume, err);
}
