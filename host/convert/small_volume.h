/* small_volume.h — a Q42 volume that fits in memory: statements and terms in any order, then the file in one go.
 *
 * Repeated statements and terms are written once; two texts under one key are refused with both. Terms are plain
 * strings: the volume carries no mark of surface terms. The same statements give the same bytes.
 *
 * Threading: one thread at a time per volume.
 * Memory:    owned by the volume until small_volume_free: 48 bytes a statement, 24 a term and the terms' texts; writing
 *            takes the finished file's size besides.
 * Errors:    fmt_status; FMT_NO_SPACE without memory.
 *
 *     small_volume volume = {0};
 *     small_volume_add_term(&volume, text, &hash, &diag);
 *     small_volume_add_quin(&volume, &quin, &diag);
 *     small_volume_write(&volume, timestamp_ms, &sink, &report, &diag);
 *     small_volume_free(&volume);
 */
#ifndef HOST_SMALL_VOLUME_H
#define HOST_SMALL_VOLUME_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>
#include <quoin/q42_write.h>

#include "base/text_buffer.h"

typedef struct small_volume {
    q42_quin *quins;
    uint64_t n_quins, quins_room;
    struct small_term *terms;
    uint64_t n_terms, terms_room;
    text_buffer texts;
    bool is_literal; /* blocks are stored as they are: bytes that do not depend on the compressor either */
} small_volume;

/* Keeps a copy of the text; *out_hash is its key. FMT_LIMIT: over 65,535 bytes. */
fmt_status small_volume_add_term(small_volume *volume, fmt_str text, uint64_t *out_hash, fmt_diag *diag);

fmt_status small_volume_add_quin(small_volume *volume, const q42_quin *quin, fmt_diag *diag);

/* Sorts statements and terms and drops repetitions. FMT_BAD_ARG: a key with two texts. */
fmt_status small_volume_settle(small_volume *volume, fmt_diag *diag);
/* Term `index` of a settled volume, ascending by key; borrowed until the next call that adds one. */
fmt_str small_volume_term(const small_volume *volume, uint64_t index, uint64_t *out_hash);

/* Settles the volume and gives the whole file to the sink. FMT_BAD_ARG: a key with two texts. */
fmt_status small_volume_write(small_volume *volume, uint64_t timestamp_ms, const q42_sink *sink,
                              q42_write_report *out_report, fmt_diag *diag);

void small_volume_free(small_volume *volume);

#endif
