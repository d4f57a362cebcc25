/* collision_search.c — the first term with a key, and the first other one. */
#include "graph/collision_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/term_encoder.h"

typedef struct found_term {
    uint32_t input;
    rdf_place place;
    uint32_t size;
    char *text; /* [NTRIPLES_TERM_ROOM] */
} found_term;

typedef struct search {
    const ingest_options *options;
    uint64_t key;
    rdf_reader *reader; /* the input in work */
    uint32_t input;
    uint32_t n_found;   /* 2: done */
    found_term found[2];
    char *room;         /* [NTRIPLES_TERM_ROOM] */
} search;

static void keep_term(search *s, const ntriples_statement *statement, uint32_t term, fmt_str text) {
    found_term *found = &s->found[s->n_found];
    const found_term *first = &s->found[0];
    if (s->n_found == 1 && first->size == text.size && memcmp(first->text, text.data, text.size) == 0) {
        return;
    }
    memcpy(found->text, text.data, text.size);
    found->size = (uint32_t)text.size;
    found->input = s->input;
    found->place = rdf_reader_find_term(s->reader, statement, term);
    s->n_found++;
}

static qn_status look_at(void *ctx, const ntriples_statement *statement, error_context *err) {
    search *s = ctx;
    (void)err;
    for (uint32_t i = 0; i < statement->n_terms && s->n_found < 2; i++) {
        const encoded_term term = term_encode(&statement->terms[i], i, s->options->terms, s->room);
        if (term.id == s->key && term.text.data != NULL) {
            keep_term(s, statement, i, term.text);
        }
    }
    return s->n_found < 2 ? QN_OK : QN_CANCELLED;
}

static qn_status pass_reject(void *ctx, const rdf_reject *reject, error_context *err) {
    (void)ctx;
    (void)reject;
    (void)err;
    return QN_OK;
}

static void read_inputs(search *s) {
    error_context ignored = {0};
    for (s->input = 0; s->input < s->options->n_inputs && s->n_found < 2; s->input++) {
        if (strcmp(s->options->inputs[s->input], "-") != 0 &&
            ingest_open_input(s->options, s->input, &s->reader, &ignored) == QN_OK) {
            (void)rdf_reader_each(s->reader, look_at, s, pass_reject, &ignored);
            rdf_reader_close(s->reader);
        }
    }
}

static void describe(const search *s, char *out, size_t size) {
    const found_term *a = &s->found[1], *b = &s->found[0];
    const char *const *inputs = s->options->inputs;
    const bool is_same = a->input == b->input;
    snprintf(out, size, "%.200s: line %" PRIu64 ", column %" PRIu64 " (the other: %.120s%sline %" PRIu64 ", column %" PRIu64 ")",
             inputs[a->input], a->place.line, a->place.column, is_same ? "" : inputs[b->input], is_same ? "" : ": ",
             b->place.line, b->place.column);
}

qn_status collision_put_place(const ingest_options *options, uint64_t key, qn_status status, error_context *err) {
    char text[480];
    search s = {.options = options, .key = key, .room = malloc(NTRIPLES_TERM_ROOM)};
    s.found[0].text = malloc(NTRIPLES_TERM_ROOM);
    s.found[1].text = malloc(NTRIPLES_TERM_ROOM);
    if (s.room != NULL && s.found[0].text != NULL && s.found[1].text != NULL) {
        read_inputs(&s);
    }
    if (s.n_found == 2) {
        describe(&s, text, sizeof text);
        error_put_path(err, status, text);
    } else {
        error_put_path(err, status, "line and column are not known, since an input cannot be read again");
    }
    free(s.room);
    free(s.found[0].text);
    free(s.found[1].text);
    return status;
}
