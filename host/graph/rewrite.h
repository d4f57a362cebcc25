/* rewrite.h — a volume written anew: compacted, with a journal's changes, or from what older writers left.
 *
 *     first pass    every quin is looked at: may Commons stay, is Sanctuary needed, which kinds of terms are used
 *     second pass   every quin that stays goes to the writer, and with it the terms that it uses
 *
 * A term that no statement uses is not written: nothing is left of it in the new file. Every kind of lexicon entry is kept, and what a
 * triple used as a term is made of. Blocks are full, sorted, each quin once; indexes, DAG and parity are new.
 *
 * Threading: one call at a time per request; the writer uses the team.
 * Memory:    that of the writer (options.memory) and 1 MiB.
 * Errors:    qn_status; the message names file, block and slot. Nothing is left behind.
 */
#ifndef HOST_GRAPH_REWRITE_H
#define HOST_GRAPH_REWRITE_H
#include "base/progress.h"
#include "base/team.h"
#include "graph/journal_state.h"
#include "graph/legacy_file.h"
#include "graph/publication.h"
#include "graph/volume.h"
#include "graph/volume_writer.h"

typedef struct rewrite_request {
    graph_volume *volume;       /* one of the two */
    const legacy_file *legacy;
    const journal_state *state; /* null: no journal */
    const char *output;
    team *workers;
    uint64_t memory;            /* bytes */
    uint64_t segment_bytes;     /* 0: one file */
    bool is_forced;             /* replace the output */
    bool fixes_parity;          /* a wrong parity is computed anew and counted; otherwise refused */
    bool wants_commons;         /* declare it, if the quins allow */
    bool drops_commons;         /* what was declared for the source does not hold for what is added */
    bool is_dry;                /* only the first pass; nothing is written */
    progress_fn *progress;      /* may be null */
    void *progress_ctx;
} rewrite_request;

typedef struct rewrite_report {
    uint64_t n_read;          /* quins of the source */
    uint64_t n_fixed;         /* whose parity was wrong */
    uint64_t n_added, n_removed; /* by the journal */
    uint64_t n_terms_before;  /* entries of the source's lexicons, the mark not counted */
    uint64_t n_unresolved;    /* ids without a term, once for each place where they stand */
    uint16_t flags_before;    /* of the source: those of all its files */
    bool lost_commons;        /* it was declared, and the quins forbid it now */
    q42_publication tally;    /* of what stays */
    volume_report written;    /* zero after a dry run */
} rewrite_report;

/* QN_BAD_INPUT when Commons is asked for and the quins forbid it. */
qn_status rewrite_run(const rewrite_request *request, rewrite_report *out_report, error_context *err);

#endif
