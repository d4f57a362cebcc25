/* volume_merge.h — the statements of several volumes in one.
 *
 * Blank nodes of different volumes are different: their labels get the prefix s<N>_, N the place of the volume from 1. Sanctuary is
 * carried over when one volume has it, Commons only when all have it.
 *
 * Threading: one thread at a time; the writer uses the team.
 * Memory:    options.memory.
 * Errors:    nothing is left of the target after one.
 */
#ifndef HOST_GRAPH_VOLUME_MERGE_H
#define HOST_GRAPH_VOLUME_MERGE_H
#include "graph/volume.h"
#include "graph/volume_writer.h"

typedef struct merge_options {
    uint64_t memory;
    uint64_t segment_bytes; /* 0: one file */
    bool is_forced;
    team *workers;
    progress_fn *progress;  /* may be null */
    void *progress_ctx;
} merge_options;

/* Volumes of different conventions are refused. */
qn_status volume_merge(graph_volume *const *volumes, uint32_t n_volumes, const char *path, const merge_options *options,
                       volume_report *out_report, error_context *err);

#endif
