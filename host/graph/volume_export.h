/* volume_export.h — a volume as N-Quads text.
 *
 * Threading: one thread at a time. Memory: options.memory for sorting; without sorting that of statement_lines.
 */
#ifndef HOST_GRAPH_VOLUME_EXPORT_H
#define HOST_GRAPH_VOLUME_EXPORT_H
#include "base/progress.h"
#include "graph/statement_lines.h"

/* False when it could not be written; then *err says why. */
typedef bool export_write_fn(void *ctx, const char *text, size_t size, error_context *err);

typedef struct export_options {
    bool is_lossy, is_sorted;
    uint64_t memory;       /* bytes, for sorting */
    const char *folder;    /* for temporary runs */
    export_write_fn *write;
    void *write_ctx;
    progress_fn *progress; /* may be null */
    void *progress_ctx;
} export_options;

typedef struct export_report {
    uint64_t n_statements, n_repeated; /* written; left out because they were written before (sorted only) */
    term_counts counts;
} export_report;

qn_status volume_export(graph_volume *volume, const export_options *options, export_report *out_report, error_context *err);

/* Quins of all members, from the heads of sets' manifests; of a single volume at most block_count * 850. For progress. */
uint64_t volume_export_expected(graph_volume *volume);

#endif
