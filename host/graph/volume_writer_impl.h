/* volume_writer_impl.h — what the files of the volume writer share.
 *
 * Threading, memory, errors: as volume_writer.h says.
 */
#ifndef HOST_GRAPH_VOLUME_WRITER_IMPL_H
#define HOST_GRAPH_VOLUME_WRITER_IMPL_H
#include "base/atomic_file.h"
#include "graph/block_stream.h"
#include "graph/quin_merge.h"
#include "graph/set_leftovers.h"
#include "graph/set_members.h"
#include "graph/term_merge.h"
#include "graph/volume_file.h"
#include "graph/volume_lane.h"

struct volume_writer {
    volume_writer_options options;
    team *workers;
    volume_lane *lanes; /* [n_lanes] */
    uint32_t n_lanes;
    uint64_t reserve;   /* bytes for everything but the lanes */
    atomic_file target;
    set_members replaced;              /* of a set at the target: removed after the commit */
    set_aside aside;                   /* its root, while the members are exchanged */
    run_list quin_runs, term_runs;     /* of all lanes, when they are sorted */
    spill_file quin_spill, term_spill; /* of merges on the way */
    uint64_t n_quins;                  /* an upper bound, for progress */
    bool has_collision; /* two texts have one key: */
    uint64_t collision;
    volume_report report;
};

/* Shares of the reserve; merging runs and building blocks go on at the same time. */
static inline uint64_t spool_memory(const volume_writer *w) {
    return w->reserve / 2;
}
static inline uint64_t block_memory(const volume_writer *w) {
    return w->reserve / 4;
}

/* Gives every merged term to `take`; probes that no run has a text for make *out_is_label true. */
typedef qn_status term_take_fn(void *ctx, const q42_term *term, error_context *err);
qn_status volume_writer_merge_terms(volume_writer *w, term_take_fn *take, void *ctx, bool *out_is_label,
                                    error_context *err);
/* Gives every block to `take`, as block_stream.h says. */
qn_status volume_writer_merge_quins(volume_writer *w, block_take_fn *take, void *ctx, error_context *err);

/* Options of the format's writer for one file. */
q42_write_options volume_writer_file_options(const volume_writer *w, bool is_sanctuary);

/* Just before the target is committed: keeps a list of the members that are replaced. */
void volume_writer_set_aside(volume_writer *w);

/* Writes a set: shards, segments, and the root into w->target, which is committed last. */
qn_status volume_set_write(volume_writer *w, error_context *err);

#endif
