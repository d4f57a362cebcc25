/* phrase_automaton.c — a trie, whose missing edges are filled along the longest suffixes. */
#include "sentinel/phrase_automaton.h"

#include <stdlib.h>
#include <string.h>

static unsigned char fold(char byte, bool folds_case) {
    const unsigned char c = (unsigned char)byte;
    return folds_case && c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

static qn_status count(const phrase_text *phrases, size_t n, size_t *out_bytes, error_context *err) {
    *out_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (phrases[i].size == 0) {
            return FAIL(err, QN_BAD_INPUT, "phrase %zu is empty: it would end every text", i + 1);
        }
        if (phrases[i].size > PHRASES_MOST_BYTES - *out_bytes) {
            return FAIL(err, QN_LIMIT, "the phrases have more than %u bytes together", PHRASES_MOST_BYTES);
        }
        *out_bytes += phrases[i].size;
    }
    return QN_OK;
}

/* Column 0 is for bytes of no phrase. */
static void choose_columns(phrase_automaton *a, const phrase_text *phrases, size_t n, bool folds_case) {
    a->n_columns = 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t at = 0; at < phrases[i].size; at++) {
            uint16_t *column = &a->column[fold(phrases[i].bytes[at], folds_case)];
            if (*column == 0) {
                *column = (uint16_t)a->n_columns++;
            }
        }
    }
    for (unsigned c = 'A'; c <= 'Z' && folds_case; c++) {
        a->column[c] = a->column[c + 32];
    }
}

/* Edge 0 means none while the trie is built: no edge of a trie leads to its root. */
static void add_phrase(phrase_automaton *a, const phrase_text *phrase, uint32_t number) {
    uint32_t state = 0;
    for (size_t at = 0; at < phrase->size; at++) {
        uint32_t *edge = &a->next[(size_t)state * a->n_columns + a->column[(unsigned char)phrase->bytes[at]]];
        if (*edge == 0) {
            *edge = a->n_states++;
        }
        state = *edge;
    }
    if (a->found[state] == PHRASE_NONE) {
        a->found[state] = number;
    }
}

/* Breadth first, so that the suffix of a state, which is shorter, is complete when the state is reached. */
static void fill_edges(phrase_automaton *a, uint32_t *queue, uint32_t *suffix) {
    uint32_t n = 0;
    for (uint32_t c = 0; c < a->n_columns; c++) {
        if (a->next[c] != 0) {
            queue[n++] = a->next[c];
        }
    }
    for (uint32_t at = 0; at < n; at++) {
        uint32_t *edges = a->next + (size_t)queue[at] * a->n_columns;
        const uint32_t *shorter = a->next + (size_t)suffix[queue[at]] * a->n_columns;
        if (a->found[queue[at]] == PHRASE_NONE) {
            a->found[queue[at]] = a->found[suffix[queue[at]]];
        }
        for (uint32_t c = 0; c < a->n_columns; c++) {
            if (edges[c] == 0) {
                edges[c] = shorter[c];
            } else {
                suffix[edges[c]] = shorter[c];
                queue[n++] = edges[c];
            }
        }
    }
}

qn_status phrase_automaton_make(const phrase_text *phrases, size_t n, bool folds_case, phrase_automaton *out, error_context *err) {
    size_t bytes = 0;
    *out = (phrase_automaton){.n_states = 1};
    QN_TRY(count(phrases, n, &bytes, err), err, "reading the phrases");
    choose_columns(out, phrases, n, folds_case);
    out->next = calloc((bytes + 1) * out->n_columns, sizeof *out->next);
    out->found = malloc((bytes + 1) * sizeof *out->found);
    uint32_t *work = calloc(2 * (bytes + 1), sizeof *work);
    if (out->next == NULL || out->found == NULL || work == NULL) {
        free(work);
        phrase_automaton_free(out);
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for %zu phrases of %zu bytes", n, bytes);
    }
    memset(out->found, 0xff, (bytes + 1) * sizeof *out->found);
    for (size_t i = 0; i < n; i++) {
        add_phrase(out, &phrases[i], (uint32_t)i);
    }
    fill_edges(out, work, work + bytes + 1);
    free(work);
    return QN_OK;
}

void phrase_automaton_free(phrase_automaton *a) {
    free(a->next);
    free(a->found);
    *a = (phrase_automaton){0};
}

uint32_t phrase_automaton_walk(const phrase_automaton *a, uint32_t state, const char *bytes, size_t n, uint32_t *out_found) {
    *out_found = PHRASE_NONE;
    for (size_t i = 0; i < n; i++) {
        state = a->next[(size_t)state * a->n_columns + a->column[(unsigned char)bytes[i]]];
        if (*out_found == PHRASE_NONE) {
            *out_found = a->found[state];
        }
    }
    return state;
}
