/* term_merge.h — many sorted runs of lexicon entries as one, each key once.
 *
 * Threading: one thread at a time per merge.
 * Memory:    a buffer for each run in a file; owned until term_merge_destroy.
 * Errors:    QN_IO, QN_NO_HOST_MEM; QN_BAD_INPUT when one key has two texts, with both.
 */
#ifndef HOST_GRAPH_TERM_MERGE_H
#define HOST_GRAPH_TERM_MERGE_H
#include "graph/spill_run.h"

typedef struct term_merge term_merge;

#define TERM_MERGE_BUFFER (128u << 10) /* bytes for a run in a file: more than one entry can have */

/* Runs are borrowed for the life of the merge. */
qn_status term_merge_create(const sorted_run *runs, uint32_t n_runs, term_merge **out_merge, error_context *err);
/* The next entry; its text is valid until the next call. A probe comes back when no run had a text for its key. QN_NOT_FOUND without words
 * after the last. */
qn_status term_merge_next(term_merge *merge, lexicon_entry *out_entry, error_context *err);
void term_merge_destroy(term_merge *merge); /* null is legal */

/* Merges the first `n` runs of the list into one at the end of `into` and puts it behind the others. *out_key: the key that was merged
 * last, which after QN_BAD_INPUT has two texts. */
qn_status term_merge_reduce(run_list *list, uint32_t n, spill_file *into, uint64_t *out_key, error_context *err);

/* Writes a sorted table as a run. */
qn_status term_run_write(const term_table *table, spill_file *into, sorted_run *out_run, error_context *err);

/* The error for one key with two texts. */
qn_status refuse_collision(const lexicon_entry *a, const lexicon_entry *b, error_context *err);

#endif
