/* volume_lane.h — one worker's share of a load: its terms and quins in memory, and the sorted runs that did not fit.
 *
 * Threading: one thread at a time per lane; different lanes at the same time.
 * Memory:    at most `share` bytes, and a short-lived buffer while it spills.
 * Errors:    as volume_writer.h says of its lanes.
 */
#ifndef HOST_GRAPH_VOLUME_LANE_H
#define HOST_GRAPH_VOLUME_LANE_H
#include "graph/spill_run.h"
#include "graph/volume_writer.h"

#define LANE_LEAST_SHARE (256u << 10)

struct volume_lane {
    uint64_t share;          /* bytes */
    bool keeps_duplicates;
    term_table terms;
    memory_region quins;     /* records of `width` words, see spill_run.h */
    uint64_t n_quins;
    uint32_t width;          /* 3, 4 or 5 */
    spill_file spill;
    run_list quin_runs, term_runs; /* in the spill file */
    uint64_t n_dropped;      /* repetitions */
    bool needs_sanctuary;    /* a tier or a lane asked for it */
    bool has_probes;         /* a context looks like a label */
};

/* `target` is borrowed: the path beside which it spills. On error the lane is closed. */
qn_status volume_lane_open(volume_lane *lane, const char *target, uint64_t share, bool keeps_duplicates,
                           error_context *err);
void volume_lane_close(volume_lane *lane); /* a zeroed lane is legal */

/* Sorts what is in memory and drops repetitions. After this only the next two and close are legal. */
void volume_lane_sort(volume_lane *lane);
sorted_run volume_lane_quins(const volume_lane *lane);
sorted_run volume_lane_terms(const volume_lane *lane);

#endif
