/* legacy_file.h — files of older writers, opened with what stands beside them: version 1 blocks, framed transport, bare quins.
 *
 *     X.q42       version 1 blocks; X.q42.lex and X.q42.bidx are used when they are there
 *     X.c.q42     frames; X.q42.lex is used when it is there
 *     bare quins  no sidecars
 *
 * Keys of such a lexicon are whole 64-bit hashes: the ids of the new kind are their lower 60 bits.
 *
 * Threading: reentrant once opened.
 * Memory:    mappings; legacy_file_each takes 384 KiB for frames.
 */
#ifndef HOST_GRAPH_LEGACY_FILE_H
#define HOST_GRAPH_LEGACY_FILE_H
#include <quoin/q42_files.h>

#include "base/error.h"
#include "base/mapped_file.h"

typedef struct legacy_file {
    q42_file_kind kind; /* Q42_FILE_RAW, _FRAMED or _FLAT */
    mapped_file file, lexicon_file, bidx_file; /* sidecars: zero when absent */
    q42_raw raw;         /* of version 1 blocks */
    q42_lexicon lexicon; /* form Q42_LEXICON_NONE without one */
} legacy_file;

/* `kind` as q42_detect said; bare quins only when the user asked for them. To be closed. */
qn_status legacy_file_open(const char *path, q42_file_kind kind, legacy_file *out_file, error_context *err);
void legacy_file_close(legacy_file *file);

/* Where a quin stands, for messages. */
typedef struct quin_place {
    const char *path;
    uint64_t block; /* or chunk; FMT_NO_INDEX for bare quins */
    uint64_t slot;
} quin_place;
typedef qn_status quin_take_fn(void *ctx, const q42_quin *quin, const quin_place *place, error_context *err);

/* Gives every quin as it is stored, in file order. Whatever `take` answers below 0 ends it. */
qn_status legacy_file_each(const legacy_file *file, quin_take_fn *take, void *ctx, error_context *err);

#endif
