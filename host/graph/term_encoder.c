/* term_encoder.c — two conventions of term texts. */
#include "graph/term_encoder.h"

#include <string.h>

static encoded_term encode_text(fmt_str text) {
    return (encoded_term){q42_hash(text.data, text.size), text};
}

/* did:q42: and something behind it. */
static bool is_did(fmt_str text) {
    return text.size > 8 && memcmp(text.data, "did:q42:", 8) == 0;
}

static encoded_term encode_bare_iri(const ntriples_term *term, uint32_t position) {
    const fmt_str text = {term->text + 1, term->size - 2u};
    if (is_did(text) && (position == NTRIPLES_SUBJECT || position == NTRIPLES_OBJECT)) {
        return (encoded_term){q42_hash(text.data + 8, text.size - 8) | Q42_POINTER_BIT, text};
    }
    return encode_text(text);
}

/* The value, and behind it @language; a datatype is lost. Never longer than the surface text. */
static encoded_term encode_bare_literal(const ntriples_term *term, char *room) {
    const fmt_str language = ntriples_language(term);
    uint32_t size = ntriples_decode(term, room);
    if (language.size > 0) {
        room[size++] = '@';
        memcpy(room + size, language.data, language.size);
        size += (uint32_t)language.size;
    }
    return encode_text((fmt_str){room, size});
}

static encoded_term encode_bare(const ntriples_term *term, uint32_t position, char *room) {
    const uint32_t skipped = position == NTRIPLES_GRAPH ? 2 : 0;
    switch (term->kind) {
    case NTRIPLES_IRI: return encode_bare_iri(term, position);
    case NTRIPLES_BLANK: return encode_text((fmt_str){term->text + skipped, term->size - skipped});
    default: return encode_bare_literal(term, room);
    }
}

encoded_term term_encode(const ntriples_term *term, uint32_t position, term_convention terms, char *room) {
    uint64_t id;
    if (position == NTRIPLES_OBJECT && ntriples_inline_object(term, &id)) {
        return (encoded_term){id, {NULL, 0}};
    }
    return terms == TERMS_BARE ? encode_bare(term, position, room)
                               : encode_text((fmt_str){term->text, term->size});
}
