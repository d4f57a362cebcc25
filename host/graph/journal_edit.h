/* journal_edit.h — statements become the frames of one transaction.
 *
 * An add that is there already, and a remove of what is not there, are counted and written nowhere. A remove takes every quin
 * of the statement, whatever its metadata.
 *
 * Threading: one thread at a time.
 */
#ifndef HOST_GRAPH_JOURNAL_EDIT_H
#define HOST_GRAPH_JOURNAL_EDIT_H
#include <quoin/ntriples.h>

#include "graph/journal_file.h"
#include "graph/journal_state.h"
#include "graph/key_set.h"
#include "graph/volume.h"

/* Zero it, set volume, state, writer and metadata; free afterwards. */
typedef struct journal_edit {
    graph_volume *volume;        /* the base */
    const journal_state *state;  /* what the journal made of it before this transaction */
    journal_writer *writer;      /* in a transaction */
    uint64_t metadata;           /* of what is added */
    uint64_t n_changed;          /* frames of quins */
    uint64_t n_idle;             /* statements that change nothing */
    uint64_t n_terms;
    key_set bound;               /* keys whose text this transaction holds */
    char *room;                  /* [NTRIPLES_TERM_ROOM], made when needed */
} journal_edit;

qn_status journal_edit_add(journal_edit *edit, const ntriples_statement *statement, error_context *err);
qn_status journal_edit_remove(journal_edit *edit, const ntriples_statement *statement, error_context *err);
void journal_edit_free(journal_edit *edit);

#endif
