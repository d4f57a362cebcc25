/* volume_writer.h — a Q42 volume or volume set written from statements in any order, in bounded memory.
 *
 *     terms    kept by key; two texts under one key are refused with both names
 *     quins    sorted in memory; runs that do not fit go to spill files in the target's folder and are merged
 *     finish   merges, drops repetitions, builds full blocks on all workers, writes beside the target and renames
 *
 * The bytes depend on the statements alone: not on their order, on the number of threads, or on the memory. Spill files have no
 * names, or are removed on every way out; a process that is killed leaves the old target or none, and of a set at most members that
 * the next writer to that target takes away (set_leftovers.h).
 *
 * Threading: each worker of a load has its own volume_lane; lanes run at the same time. The rest: one thread at a time.
 * Memory:    options.memory bounds everything that the writer allocates.
 * Errors:    qn_status; QN_IO when the disk is full, with nothing left behind.
 *
 *     volume_writer *writer;
 *     QN_TRY(volume_writer_create(path, &options, workers, &writer, err), err, "%s", path);
 *     volume_lane *lane = volume_writer_lane(writer, worker);
 *     volume_lane_add_term(lane, hash, text, place, err); volume_lane_add_quin(lane, &quin, err);
 *     QN_TRY(volume_writer_commit(writer, &report, err), err, "%s", path);
 *     volume_writer_destroy(writer);
 */
#ifndef HOST_GRAPH_VOLUME_WRITER_H
#define HOST_GRAPH_VOLUME_WRITER_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>
#include <quoin/q42_write.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/team.h"

#define VOLUME_LEAST_SEGMENT (128u << 10) /* bytes: room for the largest term and for one block */

typedef struct volume_writer volume_writer;
typedef struct volume_lane volume_lane;

typedef struct volume_writer_options {
    uint64_t memory;          /* bytes; at least 32 MiB */
    uint64_t timestamp_ms;    /* volume_timestamp() when the caller has none of its own */
    uint64_t author;
    uint64_t segment_bytes;   /* 0: one file; otherwise (VOLUME_LEAST_SEGMENT at least) a volume set whose files are at most this long */
    uint64_t generation;      /* of a set's manifest */
    bool is_forced;           /* replace an existing target; the companion of a model is refused all the same */
    bool is_commons, is_sanctuary;
    bool is_marked;           /* put Q42_SURFACE_MARK into the lexicon */
    bool is_flat;             /* 1-tagged lexicon, for triples and Webizen identities */
    bool keeps_duplicates;
    progress_fn *progress;    /* may be null; called during commit */
    void *progress_ctx;
} volume_writer_options;

typedef struct volume_report {
    uint64_t n_quins, n_duplicates, n_terms, n_blocks, bytes;
    uint32_t n_files;         /* 1, or all files of a set */
    uint16_t flags;
    bool sanctuary_was_needed; /* a quin asked for it */
} volume_report;

/* Now in milliseconds, or SOURCE_DATE_EPOCH. QN_BAD_INPUT when that is no number. */
qn_status volume_timestamp(uint64_t *out_ms, error_context *err);

qn_status volume_writer_create(const char *path, const volume_writer_options *options, team *workers,
                               volume_writer **out_writer, error_context *err);
/* One for each worker of the team. */
volume_lane *volume_writer_lane(volume_writer *writer, uint32_t worker);

/* Remembers a string under its key. The text is copied when it is new. A key that has another text: QN_BAD_INPUT, naming both (in
 * this lane at once, between lanes at commit). */
qn_status volume_lane_add_term(volume_lane *lane, uint64_t hash, const char *text, uint64_t size, error_context *err);
/* An entry of another kind (flat lexicons). */
qn_status volume_lane_add_entry(volume_lane *lane, const q42_term *term, error_context *err);
/* QN_BAD_INPUT when the quin's parity is wrong. */
qn_status volume_lane_add_quin(volume_lane *lane, const q42_quin *quin, error_context *err);

/* Everything added so far becomes the target. After an error nothing is left behind. */
qn_status volume_writer_commit(volume_writer *writer, volume_report *out_report, error_context *err);
/* True when the commit failed since two texts have one key, which *out_key receives. */
bool volume_writer_collision(const volume_writer *writer, uint64_t *out_key);
/* Ends it, committed or not; null is legal. */
void volume_writer_destroy(volume_writer *writer);

#endif
