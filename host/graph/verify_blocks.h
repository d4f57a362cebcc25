/* verify_blocks.h — all blocks and all lexicon pages of one file, in parallel; what takes them in order is joined after
 * each wave.
 *
 * Threading: uses the team; one at a time.
 * Memory:    a window of blocks, whatever the size of the volume.
 */
#ifndef HOST_GRAPH_VERIFY_BLOCKS_H
#define HOST_GRAPH_VERIFY_BLOCKS_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "base/team.h"
#include "graph/id_sorter.h"

/* Where the work has come to, over all files; is_cancelled once the progress function said so. */
typedef struct verify_progress {
    progress_fn *show; /* may be null */
    void *ctx;
    uint64_t done, total; /* bytes */
    bool is_cancelled;
} verify_progress;
void verify_progress_add(verify_progress *progress, uint64_t bytes);

typedef struct blocks_job {
    const q42_volume *volume;
    team *workers;
    q42_want wants;
    bool has_chain;          /* compute the root over payloads */
    id_sorter *ids;          /* every id that must have a term; may be null. A lane for each worker */
    verify_progress *progress;
} blocks_job;

typedef struct blocks_result {
    q42_finding decode, tail, fidx, pidx; /* the first of each in order of the blocks */
    q42_chain chain;                      /* ended, unless cancelled */
} blocks_result;

/* QN_NO_HOST_MEM, or QN_OK with the findings. */
qn_status verify_blocks(const blocks_job *job, blocks_result *out_result, error_context *err);

typedef struct lexicon_result {
    q42_finding form, keys; /* the first of each in order of the pages */
} lexicon_result;

/* Every page; each key that a quin may name goes into `keys` (may be null). */
void verify_lexicon(const q42_lexicon *lexicon, team *workers, id_sorter *keys, lexicon_result *out_result);

#endif
