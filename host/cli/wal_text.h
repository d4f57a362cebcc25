/* wal_text.h — logs of governed commits as lines or JSON.
 *
 * Threading: the command line is one thread.
 */
#ifndef HOST_WAL_TEXT_H
#define HOST_WAL_TEXT_H
#include <jansson.h>

#include "base/error.h"
#include "graph/volume.h"
#include "wal/wal_set.h"
#include "wal/wal_state.h"

#define WAL_TIME_SIZE 32u

/* 2026-11-30T11:00:00Z, or the number when that is no date of ours. Returns out. */
const char *wal_text_time(uint64_t ms, char out[WAL_TIME_SIZE]);

/* Files, numbers, checkpoint and agreements of a log; null without memory. */
json_t *wal_text_describe(const wal_set *set, const wal_state *state);
/* The same as lines. QN_IO without words when standard output is closed. */
qn_status wal_text_print(const wal_set *set, const wal_state *state, error_context *err);

/* Every record: as a line, or with a list fills that. */
qn_status wal_text_records(const wal_set *set, json_t *list, error_context *err);
/* The quins that hold, in N-Quads. Terms are looked up in the log, then in the volume when that is not null. */
qn_status wal_text_quins(const wal_set *set, const wal_state *state, graph_volume *volume, json_t *list, error_context *err);

#endif
