/* convention.c — three ways to make an id of a term: by its surface text, by its bare text, by version 1's tokens. */
#include "graph/convention.h"

#include <stdlib.h>
#include <string.h>

#include "common/fnv.h"

#define DID "did:q42:"

static bool is_string_term(const q42_term *term, char *text, char *scratch) {
    ntriples_term read;
    fmt_diag diag;
    const uint32_t size = graph_term_copy(term, text);
    return ntriples_read_term((fmt_str){text, size}, scratch, &read, NULL, &diag) == FMT_OK;
}

qn_status convention_detect(graph_volume *volume, term_convention *out_terms, error_context *err) {
    char *room = malloc(2 * NTRIPLES_TERM_ROOM);
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    graph_term_walk walk = {.file = 0};
    q42_term term;
    qn_status status;
    bool is_surface = true;
    while (is_surface && (status = graph_volume_next_term(volume, &walk, &term, err)) == QN_OK) {
        is_surface = term.kind != Q42_TERM_STRING || is_string_term(&term, room, room + NTRIPLES_TERM_ROOM);
    }
    free(room);
    if (is_surface && status != QN_NOT_FOUND) {
        return status;
    }
    *out_terms = is_surface ? TERMS_SURFACE : TERMS_BARE;
    return QN_OK;
}

/* "text" or text@en, without escapes. */
static fmt_str make_bare_text(const ntriples_term *term, uint32_t place, char *room) {
    if (term->kind == NTRIPLES_BLANK && place != NTRIPLES_GRAPH) {
        return (fmt_str){term->text, term->size};
    }
    uint32_t size = ntriples_decode(term, room);
    const fmt_str language = term->kind == NTRIPLES_LITERAL ? ntriples_language(term) : (fmt_str){"", 0};
    if (language.size > 0) {
        room[size++] = '@';
        memcpy(room + size, language.data, (size_t)language.size);
        size += (uint32_t)language.size;
    }
    return (fmt_str){room, size};
}

static bool is_did(fmt_str text) {
    return text.size > sizeof DID - 1 && memcmp(text.data, DID, sizeof DID - 1) == 0;
}

/* A did:q42 identifier is a pointer in the places where bit 63 says so. */
static uint64_t hash_bare(fmt_str text, const ntriples_term *term, uint32_t place) {
    const bool is_pointer = term->kind == NTRIPLES_IRI && is_did(text) &&
                            (place == NTRIPLES_SUBJECT || place == NTRIPLES_OBJECT);
    return is_pointer ? q42_hash(text.data + sizeof DID - 1, text.size - (sizeof DID - 1)) | Q42_POINTER_BIT
                      : q42_hash(text.data, text.size);
}

/* Version 1 hashed what stood between the quotation marks as it was written, without language or datatype, in 64 bits. */
static uint64_t hash_token(const ntriples_term *term, char *room, fmt_str *out_text) {
    if (term->kind == NTRIPLES_LITERAL) {
        *out_text = ntriples_escaped_value(term);
    } else if (term->kind == NTRIPLES_BLANK) {
        *out_text = (fmt_str){term->text, term->size};
    } else {
        *out_text = (fmt_str){room, ntriples_decode(term, room)};
    }
    return fnv1a64(out_text->data, out_text->size);
}

uint64_t convention_id(term_convention terms, const ntriples_term *term, uint32_t place, char *room, fmt_str *out_text) {
    uint64_t id;
    if (terms == TERMS_TOKEN) {
        return hash_token(term, room, out_text);
    }
    if (place == NTRIPLES_OBJECT && ntriples_inline_object(term, &id)) {
        *out_text = (fmt_str){"", 0};
        return id;
    }
    if (terms == TERMS_SURFACE) {
        *out_text = (fmt_str){term->text, term->size};
        return q42_hash(term->text, term->size);
    }
    *out_text = make_bare_text(term, place, room);
    return hash_bare(*out_text, term, place);
}
