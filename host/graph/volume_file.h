/* volume_file.h — one file of a volume on its way: a q42_writer with its spools, and the atomic file that it ends in.
 *
 * Threading: one thread at a time per file.
 * Memory:    `memory` bytes for spools; owned until volume_file_close.
 * Errors:    qn_status; QN_IO when the disk is full.
 */
#ifndef HOST_GRAPH_VOLUME_FILE_H
#define HOST_GRAPH_VOLUME_FILE_H
#include <quoin/q42_write.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "graph/spool.h"

typedef struct volume_file {
    q42_writer *writer;
    spool spools[Q42_N_SPOOLS];
    const char *path; /* borrowed, for messages */
} volume_file;

qn_status volume_file_open(volume_file *file, const char *path, const q42_write_options *options, uint64_t memory,
                           error_context *err);
void volume_file_close(volume_file *file); /* a zeroed file is legal */

qn_status volume_file_add_term(volume_file *file, const q42_term *term, error_context *err);
qn_status volume_file_add_block(volume_file *file, const q42_built_block *block, error_context *err);

/* Writes everything into `target`, which the caller then commits or aborts. digest may be null: SHA-256 of the file. */
qn_status volume_file_finish(volume_file *file, atomic_file *target, q42_write_report *out_report,
                             uint8_t digest[Q42_DIGEST_BYTES], error_context *err);

#endif
