/* subject_scan.h — all facts about several subjects, in one pass over the blocks that may hold one of them.
 *
 * The index of subjects (PIDX) leaves out a block for one subject about every second time; asked one by one, each subject would read
 * half of a large volume. In one pass a block is decoded at most once, whoever is sought.
 *
 * Threading: one thread at a time per scan.
 * Memory:    one decoded block (40 KiB) in the struct; the subjects are borrowed.
 */
#ifndef HOST_GROUND_SUBJECT_SCAN_H
#define HOST_GROUND_SUBJECT_SCAN_H
#include "graph/block_walk.h"
#include "ground/ground_volume.h"

typedef struct subject_scan {
    const ground_volume *gv;
    const uint64_t *subjects; /* [n_subjects] ascending */
    uint32_t n_subjects;
    block_walk walk;
    walk_stats stats;
    bool has_block, is_sanctuary;
    q42_block block;
    uint32_t slot;
    uint64_t *n_states;       /* [FACT_N_STATES], may be null: what was passed over */
    uint8_t room[Q42_BLOCK_BYTES];
} subject_scan;

/* `subjects` ascending, each once. */
void subject_scan_begin(subject_scan *scan, const ground_volume *gv, const uint64_t *subjects, uint32_t n_subjects, uint64_t *n_states);

/* The next live fact, its tier, and which subject it is about. QN_NOT_FOUND without words after the last. */
qn_status subject_scan_next(subject_scan *scan, q42_quin *out_quin, uint32_t *out_tier, uint32_t *out_subject, error_context *err);

/* Sorts ids and drops repeated ones; returns how many are left. */
uint32_t subject_scan_sort(uint64_t *ids, uint32_t n);

#endif
