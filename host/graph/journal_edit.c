/* journal_edit.c — adding and removing statements. */
#include "graph/journal_edit.h"

#include <stdlib.h>
#include <string.h>

#include "graph/convention.h"

void journal_edit_free(journal_edit *edit) {
    key_set_free(&edit->bound);
    free(edit->room);
    edit->room = NULL;
}

/* ---------------------------------------------------------------- terms */

static qn_status refuse_collision(const journal_edit *edit, fmt_str one, const char *other, uint64_t other_size,
                                  error_context *err) {
    return FAIL(err, QN_BAD_INPUT, "%s: the terms %.*s and %.*s have the same hash; rename one of them",
                graph_volume_path(edit->volume), (int)(one.size < 200 ? one.size : 200), one.data,
                (int)(other_size < 200 ? other_size : 200), other);
}

/* Whether volume or journal know the key; with another text that is an error. */
static qn_status check_known(const journal_edit *edit, uint64_t key, fmt_str text, bool *out_known,
                             error_context *err) {
    q42_term term;
    const journal_term *from_journal = journal_state_find_term(edit->state, key);
    *out_known = true;
    if (from_journal != NULL) {
        const fmt_str other = from_journal->text;
        const bool is_same = other.size == text.size && memcmp(other.data, text.data, (size_t)text.size) == 0;
        return is_same ? QN_OK : refuse_collision(edit, text, other.data, other.size, err);
    }
    const qn_status status = graph_volume_find_term(edit->volume, key, &term, err);
    *out_known = status >= 0;
    if (status < 0) {
        return status == QN_NOT_FOUND ? QN_OK : status;
    }
    return graph_term_equals(&term, text.data, text.size) ? QN_OK
                                                          : refuse_collision(edit, text, term.text.data, term.text.size, err);
}

static qn_status bind_term(journal_edit *edit, uint64_t key, fmt_str text, error_context *err) {
    bool is_known = false;
    if (text.size == 0 || key_set_has(&edit->bound, key)) {
        return QN_OK;
    }
    qn_status status = check_known(edit, key, text, &is_known, err);
    if (status >= 0 && !is_known) {
        status = journal_writer_put(edit->writer, (q42_journal_entry){.type = Q42_JOURNAL_TERM, .key = key, .text = text},
                                    err);
        edit->n_terms += status >= 0;
    }
    if (status >= 0 && !key_set_add(&edit->bound, key)) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the transaction's terms");
    }
    return status;
}

/* The four ids of a statement; with `binds` the texts that are new go into the transaction. */
static qn_status find_ids(journal_edit *edit, const ntriples_statement *s, bool binds, uint64_t ids[4],
                          error_context *err) {
    const term_convention terms = graph_volume_terms(edit->volume);
    if (edit->room == NULL) {
        edit->room = malloc(NTRIPLES_TERM_ROOM);
    }
    if (edit->room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    ids[NTRIPLES_GRAPH] = Q42_DEFAULT_GRAPH;
    for (uint32_t place = 0; place < s->n_terms; place++) {
        fmt_str text;
        ids[place] = convention_id(terms, &s->terms[place], place, edit->room, &text);
        const qn_status status = binds ? bind_term(edit, ids[place], text, err) : QN_OK;
        if (status < 0) {
            return status;
        }
    }
    return QN_OK;
}

/* ---------------------------------------------------------------- statements */

static q42_pattern make_pattern(const uint64_t ids[4]) {
    const q42_pattern pattern = {
        .bound = Q42_BOUND_SUBJECT | Q42_BOUND_PREDICATE | Q42_BOUND_OBJECT | Q42_BOUND_CONTEXT,
        .subject = ids[NTRIPLES_SUBJECT], .predicate = ids[NTRIPLES_PREDICATE], .context = ids[NTRIPLES_GRAPH],
        .object = {ids[NTRIPLES_OBJECT], ids[NTRIPLES_OBJECT]}};
    return pattern;
}

static qn_status put_quin(journal_edit *edit, q42_journal_type type, const q42_quin *quin, error_context *err) {
    const qn_status status = journal_writer_put(edit->writer, (q42_journal_entry){.type = type, .quin = *quin}, err);
    edit->n_changed += status >= 0;
    return status;
}

/* Whether the base holds exactly this quin. */
static qn_status is_in_base(const journal_edit *edit, const q42_quin *quin, const uint64_t ids[4], bool *out_is_there,
                            error_context *err) {
    const q42_pattern pattern = make_pattern(ids);
    graph_scan scan;
    q42_quin found;
    qn_status status;
    *out_is_there = false;
    graph_scan_begin(&scan, edit->volume, &pattern);
    while ((status = graph_scan_next(&scan, &found, err)) >= 0 && !*out_is_there) {
        *out_is_there = q42_quin_compare(&found, quin) == 0;
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

qn_status journal_edit_add(journal_edit *edit, const ntriples_statement *statement, error_context *err) {
    uint64_t ids[4];
    bool is_there = false;
    qn_status status = find_ids(edit, statement, true, ids, err);
    if (status < 0) {
        return status;
    }
    const q42_quin quin = q42_quin_make(ids[0], ids[1], ids[2], ids[3], edit->metadata);
    const journal_decision *decision = journal_state_find(edit->state, &quin);
    if (decision != NULL) {
        is_there = decision->is_added;
    } else {
        status = is_in_base(edit, &quin, ids, &is_there, err);
    }
    if (status < 0 || is_there) {
        edit->n_idle += is_there;
        return status;
    }
    return put_quin(edit, Q42_JOURNAL_ADD, &quin, err);
}

static bool is_statement(const q42_quin *quin, const uint64_t ids[4]) {
    return quin->subject == ids[NTRIPLES_SUBJECT] && quin->predicate == ids[NTRIPLES_PREDICATE] &&
           quin->object == ids[NTRIPLES_OBJECT] && quin->context == ids[NTRIPLES_GRAPH];
}

/* First decision that is not below (object, subject, predicate, context) of the statement. */
static uint64_t find_decisions(const journal_state *state, const uint64_t ids[4]) {
    const q42_quin least = q42_quin_make(ids[0], ids[1], ids[2], ids[3], 0);
    uint64_t low = 0, high = state->n_decisions;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const bool is_below = q42_quin_compare(&state->decisions[middle].quin, &least) < 0;
        low = is_below ? middle + 1 : low;
        high = is_below ? high : middle;
    }
    return low;
}

static qn_status remove_from_journal(journal_edit *edit, const uint64_t ids[4], error_context *err) {
    const journal_state *state = edit->state;
    qn_status status = QN_OK;
    for (uint64_t i = find_decisions(state, ids);
         status >= 0 && i < state->n_decisions && is_statement(&state->decisions[i].quin, ids); i++) {
        if (state->decisions[i].is_added) {
            status = put_quin(edit, Q42_JOURNAL_REMOVE, &state->decisions[i].quin, err);
        }
    }
    return status;
}

qn_status journal_edit_remove(journal_edit *edit, const ntriples_statement *statement, error_context *err) {
    uint64_t ids[4];
    graph_scan scan;
    q42_quin found;
    const uint64_t n_before = edit->n_changed;
    qn_status status = find_ids(edit, statement, false, ids, err);
    status = status < 0 ? status : remove_from_journal(edit, ids, err);
    if (status < 0) {
        return status;
    }
    const q42_pattern pattern = make_pattern(ids);
    graph_scan_begin(&scan, edit->volume, &pattern);
    while ((status = graph_scan_next(&scan, &found, err)) >= 0) {
        if (journal_state_find(edit->state, &found) == NULL) {
            status = put_quin(edit, Q42_JOURNAL_REMOVE, &found, err);
        }
        if (status < 0) {
            return status;
        }
    }
    edit->n_idle += edit->n_changed == n_before;
    return status == QN_NOT_FOUND ? QN_OK : status;
}
