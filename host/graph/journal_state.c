/* journal_state.c — the end of a journal: all frames sorted by quin, the last word kept. */
#include "graph/journal_state.h"

#include <stdlib.h>
#include <string.h>

static int compare_decisions(const void *a, const void *b) {
    const journal_decision *x = a, *y = b;
    const int order = q42_quin_compare(&x->quin, &y->quin);
    if (order != 0) {
        return order;
    }
    if (x->ordinal != y->ordinal) {
        return x->ordinal < y->ordinal ? -1 : 1;
    }
    return (int)x->is_added - (int)y->is_added; /* in one transaction the add is the last word */
}

static int compare_terms(const void *a, const void *b) {
    const journal_term *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static void collect(const q42_journal *journal, journal_state *state) {
    q42_journal_walk walk = {0};
    q42_journal_entry entry;
    while (q42_journal_next(journal, &walk, &entry)) {
        if (entry.type == Q42_JOURNAL_ADD || entry.type == Q42_JOURNAL_REMOVE) {
            state->decisions[state->n_decisions++] =
                (journal_decision){entry.quin, entry.ordinal, entry.type == Q42_JOURNAL_ADD};
        } else if (entry.type == Q42_JOURNAL_TERM) {
            state->terms[state->n_terms++] = (journal_term){entry.key, entry.text};
        }
    }
}

static void keep_last_words(journal_state *state) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < state->n_decisions; i++) {
        const journal_decision *d = &state->decisions[i];
        if (i + 1 < state->n_decisions && q42_quin_compare(&d->quin, &d[1].quin) == 0) {
            continue;
        }
        state->n_added += d->is_added;
        state->n_removed += !d->is_added;
        state->decisions[kept++] = *d;
    }
    state->n_decisions = kept;
}

static qn_status keep_each_term_once(journal_state *state, const char *path, error_context *err) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < state->n_terms; i++) {
        const journal_term *term = &state->terms[i], *last = kept > 0 ? &state->terms[kept - 1] : NULL;
        if (last == NULL || last->key != term->key) {
            state->terms[kept++] = *term;
        } else if (last->text.size != term->text.size ||
                   memcmp(last->text.data, term->text.data, (size_t)term->text.size) != 0) {
            return FAIL(err, QN_BAD_FILE, "%s: the terms %.*s and %.*s have the same hash; rename one of them", path,
                        (int)(last->text.size < 200 ? last->text.size : 200), last->text.data,
                        (int)(term->text.size < 200 ? term->text.size : 200), term->text.data);
        }
    }
    state->n_terms = kept;
    return QN_OK;
}

qn_status journal_state_build(const q42_journal *journal, const char *path, journal_state *out_state,
                              error_context *err) {
    journal_state state = {0};
    state.decisions = calloc(journal->n_adds + journal->n_removes + 1, sizeof *state.decisions);
    state.terms = calloc(journal->n_terms + 1, sizeof *state.terms);
    if (state.decisions == NULL || state.terms == NULL) {
        journal_state_free(&state);
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for its changes", path);
    }
    collect(journal, &state);
    qsort(state.decisions, state.n_decisions, sizeof *state.decisions, compare_decisions);
    qsort(state.terms, state.n_terms, sizeof *state.terms, compare_terms);
    keep_last_words(&state);
    const qn_status status = keep_each_term_once(&state, path, err);
    if (status < 0) {
        journal_state_free(&state);
        return status;
    }
    *out_state = state;
    return QN_OK;
}

void journal_state_free(journal_state *state) {
    free(state->decisions);
    free(state->terms);
    memset(state, 0, sizeof *state);
}

static int compare_to_quin(const void *key, const void *item) {
    return q42_quin_compare(key, &((const journal_decision *)item)->quin);
}

const journal_decision *journal_state_find(const journal_state *state, const q42_quin *quin) {
    return state->n_decisions == 0 ? NULL
                                   : bsearch(quin, state->decisions, state->n_decisions, sizeof *state->decisions,
                                             compare_to_quin);
}

const journal_term *journal_state_find_term(const journal_state *state, uint64_t key) {
    const journal_term wanted = {key, {NULL, 0}};
    return state->n_terms == 0 ? NULL
                               : bsearch(&wanted, state->terms, state->n_terms, sizeof *state->terms, compare_terms);
}
