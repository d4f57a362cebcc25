/* verify_volume.h — every check of a Q42 volume or a whole volume set (section 9.2 of the format's document, and more).
 *
 *     structure  opened, object-sorted, a root that is there
 *     blocks     every block decodes, counts, orders, parities, unused slots; DAG and root
 *     lexicon    entries and their keys
 *     indexes    BIDX, FIDX, PIDX are there and well formed
 *     full       all of these; FIDX and PIDX against the blocks; every term that a quin names stands in the lexicon
 *
 * Threading: uses the team; one verification at a time.
 * Memory:    bounded by options.memory and a window of blocks; pages of the files that were read are given back.
 */
#ifndef HOST_GRAPH_VERIFY_VOLUME_H
#define HOST_GRAPH_VERIFY_VOLUME_H
#include <quoin/q42.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/team.h"
#include "graph/verify_report.h"

/* A note about one of the files; borrowed for the call. */
typedef void verify_note_fn(void *ctx, const char *path, const fmt_diag *note);

typedef struct verify_volume_options {
    fmt_mode mode;
    q42_level level;
    uint64_t memory;       /* bytes for sorting ids; 0: 256 MiB */
    verify_note_fn *note;  /* may be null */
    void *note_ctx;
    progress_fn *progress; /* may be null; false ends it with QN_CANCELLED */
    void *progress_ctx;
} verify_volume_options;

/* QN_OK whatever the verdict. An error when the volume itself cannot be opened (rule and offset as in every refusal),
 * on I/O errors, without memory, or when cancelled; the list then holds what is known so far. The caller frees it
 * either way. */
qn_status verify_volume(const char *path, const verify_volume_options *options, team *workers,
                        volume_report_list *out_list, error_context *err);

/* Whether the lexicon holds the entry that says that its terms are N-Triples. It is counted as an entry and is no term.
 */
bool verify_has_mark(const q42_lexicon *lexicon);

#endif
