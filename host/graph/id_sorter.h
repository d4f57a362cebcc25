/* id_sorter.h — many ids with repetitions in, each of them once and ascending out, in bounded memory.
 *
 * Each worker fills a lane. An id that the lane saw a moment ago is dropped at once; full lanes are sorted and, when
 * they stay full, go to a file without a name in the folder for temporary files.
 *
 *     id_sorter_add(sorter, worker, id)     from all workers
 *     id_sorter_sort(sorter, err)           when all have ended
 *     while (id_sorter_next(sorter, &id))   one thread
 *
 * Threading: lanes run at the same time; the rest: one thread at a time.
 * Memory:    at most `memory` bytes and 64 KiB for each run in the file, owned by the sorter.
 * Errors:    QN_NO_HOST_MEM; QN_IO when the temporary file cannot be written, told by id_sorter_sort.
 */
#ifndef HOST_GRAPH_ID_SORTER_H
#define HOST_GRAPH_ID_SORTER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct id_sorter id_sorter;

qn_status id_sorter_create(uint64_t memory, uint32_t n_lanes, id_sorter **out_sorter, error_context *err);
void id_sorter_destroy(id_sorter *sorter); /* null is legal */

/* `id` is not 0. */
void id_sorter_add(id_sorter *sorter, uint32_t lane, uint64_t id);

/* Sorts what is in the lanes and starts the walk. */
qn_status id_sorter_sort(id_sorter *sorter, error_context *err);
/* The next id; false after the last, or after a failed read: then id_sorter_status says so. */
bool id_sorter_next(id_sorter *sorter, uint64_t *out_id);
qn_status id_sorter_status(const id_sorter *sorter, error_context *err);

#endif
