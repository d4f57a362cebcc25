/* journal_state.h — what a journal makes of its volume: which quins it adds and which it takes away, after all transactions.
 *
 * In each transaction the removes take effect before the adds; a quin is the same only in all its words. What the last
 * transaction that names a quin says about it holds.
 *
 * Threading: immutable once built.
 * Memory:    64 bytes for each frame of a quin, 24 for each term; owned by the state. Texts point into the journal's mapping.
 */
#ifndef HOST_GRAPH_JOURNAL_STATE_H
#define HOST_GRAPH_JOURNAL_STATE_H
#include <quoin/q42_files.h>

#include "base/error.h"

typedef struct journal_decision {
    q42_quin quin;
    uint64_t ordinal; /* of the transaction */
    bool is_added;    /* otherwise it is removed */
} journal_decision;

typedef struct journal_term {
    uint64_t key;
    fmt_str text;
} journal_term;

typedef struct journal_state {
    journal_decision *decisions; /* [n_decisions], in the order of q42_quin_compare, each quin once */
    uint64_t n_decisions;
    journal_term *terms;         /* [n_terms], ascending by key, each key once */
    uint64_t n_terms;
    uint64_t n_added, n_removed;
} journal_state;

/* QN_BAD_FILE when the journal gives one key two texts. To be freed. */
qn_status journal_state_build(const q42_journal *journal, const char *path, journal_state *out_state,
                              error_context *err);
void journal_state_free(journal_state *state); /* a zeroed one is legal */

/* Null when the journal says nothing about it. */
const journal_decision *journal_state_find(const journal_state *state, const q42_quin *quin);
const journal_term *journal_state_find_term(const journal_state *state, uint64_t key);

#endif
