/* volume_diff.h — statements that one volume has and another has not.
 *
 * Two volumes with our mark are merged in their order, without any text, after their lexicons have shown that no key stands for two
 * texts. Any others are written as lines of N-Quads, sorted, and the lines are compared.
 *
 * Threading: one thread at a time. Memory: `memory` for sorting, otherwise little.
 */
#ifndef HOST_GRAPH_VOLUME_DIFF_H
#define HOST_GRAPH_VOLUME_DIFF_H
#include "graph/statement_lines.h"

/* A statement of only one of them, with its line feed; borrowed. `is_added`: the second one has it. */
typedef qn_status diff_line_fn(void *ctx, bool is_added, fmt_str line, error_context *err);

typedef struct diff_options {
    uint64_t memory;     /* bytes, for sorting */
    const char *folder;  /* for temporary runs */
    bool is_lossy;       /* what is no RDF 1.1 is compared as what it looks like, otherwise it is refused */
    diff_line_fn *tell;
    void *tell_ctx;
} diff_options;

typedef struct diff_report {
    uint64_t n_added, n_removed, n_common; /* statements, each once */
    bool is_by_text;
    term_counts counts;
} diff_report;

qn_status volume_diff(graph_volume *before, graph_volume *after, const diff_options *options, diff_report *out_report,
                      error_context *err);

#endif
