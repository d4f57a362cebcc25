/* label_search.c — a pass over the lexicon with a prompt in hand. */
#include "ground/label_search.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TAIL = 40 }; /* bytes of "@language" behind a literal's value */

typedef struct label_pass {
    const prompt_words *words;
    label_matches *out;
} label_pass;

/* Heaviest first, then by place, then by id: a total order, since ids are distinct. */
static bool is_before(const term_match *a, const term_match *b) {
    if (a->weight != b->weight) {
        return a->weight > b->weight;
    }
    return a->place != b->place ? a->place < b->place : a->id < b->id;
}

static void keep(label_matches *out, const term_match *match) {
    uint32_t at = out->n;
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->items[i].id == match->id) {
            return; /* by its IRI, which weighs more than its name */
        }
    }
    while (at > 0 && is_before(match, &out->items[at - 1])) {
        at--;
    }
    out->n_left += out->n == LABEL_MAX_MATCHES;
    if (at == LABEL_MAX_MATCHES) {
        return;
    }
    const uint32_t n_moved = (out->n < LABEL_MAX_MATCHES ? out->n : LABEL_MAX_MATCHES - 1) - at;
    memmove(&out->items[at + 1], &out->items[at], n_moved * sizeof *match);
    out->items[at] = *match;
    out->n += out->n < LABEL_MAX_MATCHES;
}

static bool try_words(const label_pass *pass, uint64_t id, fmt_str name, bool is_literal, bool cuts_case) {
    term_match match = {.id = id, .is_literal = is_literal};
    word_reader reader;
    word_reader_init(&reader, name.data, name.size);
    reader.cuts_case = cuts_case;
    reader.has_escapes = is_literal;
    if (!prompt_words_match(pass->words, &reader, &match.words, &match.place)) {
        return false;
    }
    match.weight = prompt_words_weigh(pass->words, &match.words);
    keep(pass->out, &match);
    return true;
}

fmt_str iri_local_name(const char *iri, uint64_t size) {
    uint64_t end = size, at;
    while (end > 0 && (iri[end - 1] == '/' || iri[end - 1] == '#')) {
        end--;
    }
    for (at = end; at > 0 && strchr("/#:", iri[at - 1]) == NULL; at--) {
    }
    return (fmt_str){iri + at, end - at};
}

static bool looks_like_iri(const char *text, uint64_t size) {
    for (uint64_t i = 0; i < size && (unsigned char)text[i] > ' '; i++) {
        if (text[i] == ':') {
            return i > 0 && ((size - i > 2 && text[i + 1] == '/' && text[i + 2] == '/') || (i == 3 && memcmp(text, "urn", 3) == 0) ||
                             (i == 3 && memcmp(text, "did", 3) == 0));
        }
    }
    return false;
}

uint64_t label_cut_language(const char *text, uint64_t size) {
    uint64_t at = size;
    while (at > 0 && ((text[at - 1] | 32) >= 'a' ? (text[at - 1] | 32) <= 'z' : text[at - 1] == '-')) {
        at--;
    }
    return at > 1 && size - at >= 2 && text[at - 1] == '@' ? at - 1 : size;
}

/* The value of "text" or "text"@en; data null when it has a datatype, or is too long for a name. */
static fmt_str literal_name(const char *text, uint64_t size) {
    const char *tail = text + size;
    while (tail > text + 1 && tail[-1] != '"' && text + size - tail < MOST_TAIL) {
        tail--;
    }
    const bool is_sound = tail > text + 1 && tail[-1] == '"' && (tail == text + size || *tail == '@');
    return is_sound ? (fmt_str){text + 1, (uint64_t)(tail - text - 2)} : (fmt_str){NULL, 0};
}

static void try_iri(const label_pass *pass, uint64_t id, const char *iri, uint64_t size) {
    const fmt_str name = iri_local_name(iri, size);
    if (name.size == 0 || name.size > LABEL_MAX_BYTES || try_words(pass, id, name, false, false)) {
        return;
    }
    try_words(pass, id, name, false, true); /* birthPlace, where the prompt says birth place */
}

static void try_literal(const label_pass *pass, uint64_t id, fmt_str name) {
    if (name.data != NULL && name.size > 0 && name.size <= LABEL_MAX_BYTES) {
        try_words(pass, id, name, true, false);
    }
}

static void try_term(const label_pass *pass, term_convention terms, uint64_t id, const char *text, uint64_t size) {
    if (terms == TERMS_SURFACE) {
        if (size > 2 && text[0] == '<') {
            try_iri(pass, id, text + 1, size - 2);
        } else if (size > 2 && text[0] == '"') {
            try_literal(pass, id, literal_name(text, size));
        }
    } else if (looks_like_iri(text, size)) {
        try_iri(pass, id, text, size);
    } else if (size < 2 || memcmp(text, "_:", 2) != 0) {
        try_literal(pass, id, (fmt_str){text, label_cut_language(text, size)});
    }
}

static void add_iris(const ground_volume *gv, const label_pass *pass) {
    for (uint32_t i = 0; i < pass->words->n_iris; i++) {
        const fmt_str iri = pass->words->iris[i];
        term_match match = {.id = ground_volume_iri_id(gv, iri.data, iri.size), .place = i};
        word_set_put(&match.words, pass->words->iri_words[i]);
        match.weight = prompt_words_weigh(pass->words, &match.words);
        if (match.id != 0) {
            keep(pass->out, &match);
        }
    }
}

qn_status label_search(const ground_volume *gv, const prompt_words *words, label_matches *out, error_context *err) {
    const label_pass pass = {words, out};
    const term_convention terms = graph_volume_terms(gv->volume);
    graph_term_walk walk = {.file = 0};
    q42_term term;
    qn_status status = QN_NOT_FOUND;
    char *room = malloc(Q42_MAX_TERM);
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    memset(out, 0, sizeof *out);
    add_iris(gv, &pass);
    while (words->n_words > 0 && (status = graph_volume_next_term(gv->volume, &walk, &term, err)) == QN_OK) {
        out->n_terms++;
        if (term.kind == Q42_TERM_TRIPLE) {
            continue;
        }
        const bool is_whole = term.prefix.size == 0; /* then it can be read where it lies */
        const uint64_t size = is_whole ? term.text.size : graph_term_copy(&term, room);
        try_term(&pass, terms, term.hash, is_whole ? term.text.data : room, size);
    }
    free(room);
    return status == QN_NOT_FOUND ? QN_OK : status;
}
