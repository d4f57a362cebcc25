/* spill_run.h — sorted runs of quins or of lexicon entries, in memory or in a spill file, and lists of them.
 *
 *     quins     records of 3 to 5 words: object, subject, predicate [, context [, metadata]]; what is left out is 0
 *     entries   key u64, size u32, kind u32, text
 *
 * Threading: one thread at a time per list.
 * Memory:    a list owns its array until run_list_free.
 */
#ifndef HOST_GRAPH_SPILL_RUN_H
#define HOST_GRAPH_SPILL_RUN_H
#include <stdbool.h>
#include <stdint.h>

#include "graph/spill_file.h"
#include "graph/term_table.h"

/* Sorted records in a file (file not null) or in memory. */
typedef struct sorted_run {
    const spill_file *file;
    uint64_t offset, bytes;
    uint32_t width;          /* words a quin; 0 for entries */
    const uint64_t *records; /* quins in memory: bytes / 8 / width of them */
    const term_table *table; /* entries in memory: sorted */
} sorted_run;

typedef struct run_list {
    sorted_run *items;
    uint32_t n, capacity;
} run_list;

bool run_list_add(run_list *list, const sorted_run *run); /* false without memory */
void run_list_free(run_list *list);

#endif
