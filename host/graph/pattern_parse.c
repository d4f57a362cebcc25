/* pattern_parse.c — patterns of three or four places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/pattern.h"
#include "graph/pattern_terms.h"
#include "graph/text_reader.h"

#define RDF_TYPE "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

uint32_t query_find_variable(const query_text *query, const char *name, uint64_t size) {
    if (size > 0 && name[0] == '?') {
        name++;
        size--;
    }
    for (uint32_t i = 0; i < query->n_variables; i++) {
        const char *known = query->variables[i];
        if (known != NULL && strlen(known) == size && memcmp(known, name, size) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* A null name makes a variable that nothing else can ask for. */
static qn_status add_variable(query_text *query, const char *name, uint64_t size, pattern_slot *slot,
                              error_context *err) {
    slot->kind = SLOT_VARIABLE;
    slot->variable = name != NULL ? query_find_variable(query, name, size) : UINT32_MAX;
    if (slot->variable != UINT32_MAX) {
        return QN_OK;
    }
    if (query->n_variables == QUERY_MAX_VARIABLES) {
        return FAIL(err, QN_BAD_INPUT, "more than %d variables", QUERY_MAX_VARIABLES);
    }
    char *copy = NULL;
    if (name != NULL) {
        copy = strndup(name, size);
        if (copy == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
    }
    slot->variable = query->n_variables;
    query->variables[query->n_variables++] = copy;
    return QN_OK;
}

static qn_status keep_term(const ntriples_term *term, pattern_slot *slot, error_context *err) {
    char *copy = malloc(term->size);
    if (copy == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    memcpy(copy, term->text, term->size);
    slot->kind = SLOT_TERM;
    slot->term = *term;
    slot->term.text = copy;
    return QN_OK;
}

static qn_status read_variable(query_text *query, text_reader *r, pattern_slot *slot) {
    const char *begin = r->at++;
    const uint64_t size = text_reader_name_size(r);
    if (size == 0) {
        return text_reader_refuse(r, begin, "a variable needs a name behind %c", *begin);
    }
    const qn_status status = add_variable(query, r->at, size, slot, r->err);
    r->at += size;
    return status;
}

static qn_status check_place(text_reader *r, const char *begin, uint32_t place, ntriples_kind kind) {
    if (kind == NTRIPLES_LITERAL && place != NTRIPLES_OBJECT) {
        return text_reader_refuse(r, begin, "a literal can only be an object, the third place");
    }
    if (kind == NTRIPLES_BLANK && place == NTRIPLES_PREDICATE) {
        return text_reader_refuse(r, begin, "a blank node cannot be a predicate; for any predicate write ?p");
    }
    return QN_OK;
}

static qn_status read_slot(query_text *query, text_reader *r, uint32_t place, pattern_slot *slot) {
    const char *begin = r->at;
    ntriples_term term;
    if (*begin == '?' || *begin == '$') {
        return read_variable(query, r, slot);
    }
    if (place == NTRIPLES_GRAPH && text_reader_take_word(r, "DEFAULT")) {
        slot->kind = SLOT_DEFAULT_GRAPH;
        return QN_OK;
    }
    char *room = malloc(2 * NTRIPLES_TERM_ROOM);
    if (room == NULL) {
        return FAIL(r->err, QN_NO_HOST_MEM, "out of memory");
    }
    qn_status status;
    if (place == NTRIPLES_PREDICATE && text_reader_take_word(r, "a")) {
        fmt_diag diag;
        status = ntriples_make_iri((fmt_str){RDF_TYPE, sizeof RDF_TYPE - 1}, room, &term, &diag) == FMT_OK
                     ? QN_OK : FAIL(r->err, QN_INTERNAL, "%s", diag.text);
    } else {
        status = pattern_read_term(query, r, room, &term);
    }
    if (status == QN_OK) {
        status = check_place(r, begin, place, term.kind);
    }
    if (status == QN_OK) {
        status = keep_term(&term, slot, r->err);
    }
    free(room);
    return status;
}

static bool is_at_end(text_reader *r) {
    text_reader_skip_blanks(r);
    if (r->at < r->end && *r->at == '.') { /* the full stop of N-Quads */
        const char *stop = r->at++;
        text_reader_skip_blanks(r);
        if (r->at < r->end) {
            r->at = stop;
        }
    }
    return r->at == r->end;
}

static qn_status read_places(query_text *query, text_reader *r, query_pattern *pattern, uint32_t *out_n) {
    uint32_t n = 0;
    for (; !is_at_end(r); n++) {
        if (n == N_PLACES) {
            return text_reader_refuse(r, r->at, "a pattern ends after subject, predicate, object and graph");
        }
        const qn_status status = read_slot(query, r, n, &pattern->slots[n]);
        if (status < 0) {
            return status;
        }
    }
    *out_n = n;
    return QN_OK;
}

static void free_pattern(query_pattern *pattern) {
    for (uint32_t i = 0; i < N_PLACES; i++) {
        if (pattern->slots[i].kind == SLOT_TERM) {
            free((char *)(uintptr_t)pattern->slots[i].term.text);
        }
    }
}

qn_status query_add_pattern(query_text *query, const char *text, error_context *err) {
    if (query->n_patterns == QUERY_MAX_PATTERNS) {
        return FAIL(err, QN_BAD_INPUT, "more than %d patterns", QUERY_MAX_PATTERNS);
    }
    query_pattern *pattern = &query->patterns[query->n_patterns++]; /* counted at once: query_text_free frees what it holds */
    *pattern = (query_pattern){.source = text};
    char what[32];
    snprintf(what, sizeof what, "pattern %u", query->n_patterns);
    text_reader r;
    text_reader_begin(&r, what, text, err);
    uint32_t n = 0;
    const qn_status status = read_places(query, &r, pattern, &n);
    if (status < 0) {
        return status;
    }
    if (n < 3) {
        return text_reader_refuse(&r, r.end, "%u of 3 places; a pattern is one argument with subject, predicate, object and "
                                  "perhaps a graph, each a term or ?name", n);
    }
    return n == N_PLACES ? QN_OK : add_variable(query, NULL, 0, &pattern->slots[NTRIPLES_GRAPH], err);
}

void query_text_free(query_text *query) {
    for (uint32_t i = 0; i < query->n_patterns; i++) {
        free_pattern(&query->patterns[i]);
    }
    for (uint32_t i = 0; i < query->n_variables; i++) {
        free(query->variables[i]);
    }
    *query = (query_text){.n_patterns = 0};
}
