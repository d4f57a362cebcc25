/* pattern_terms.c — terms as in N-Quads, and prefixed names, numbers and booleans as in Turtle. */
#include "graph/pattern_terms.h"

#include <stdlib.h>
#include <string.h>

#define XSD "http://www.w3.org/2001/XMLSchema#"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Repeats a reader's refusal with the column in the pattern; its own "line L, column C: " is left out. */
static qn_status repeat_refusal(text_reader *r, const char *base, const fmt_diag *diag) {
    const char *text = diag->text;
    if (strncmp(text, "line ", 5) == 0 && strstr(text, ": ") != NULL) {
        text = strstr(text, ": ") + 2;
    }
    const uint64_t left = (uint64_t)(r->end - base);
    return text_reader_refuse(r, base + (diag->offset < left ? diag->offset : left), "%s", text);
}

static qn_status read_plain(text_reader *r, char *room, ntriples_term *out_term) {
    fmt_diag diag;
    uint64_t used;
    const fmt_str rest = {r->at, (uint64_t)(r->end - r->at)};
    if (ntriples_read_term(rest, room, out_term, &used, &diag) != FMT_OK) {
        return repeat_refusal(r, r->at, &diag);
    }
    r->at += used;
    return QN_OK;
}

/* ---------------------------------------------------------------- prefixed names */

static bool is_prefix_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-' || c == '.' ||
           (c & 0x80) != 0;
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes of the piece of a local name that begins here, and which of them stand for it; 0 when the name has ended. */
static uint64_t local_piece(const char *at, const char *end, uint64_t *out_skip) {
    *out_skip = 0;
    if (*at == '\\' && at + 1 < end && strchr("_~.-!$&'()*+,;=/?#@%", at[1]) != NULL && at[1] != 0) {
        *out_skip = 1;
        return 2;
    }
    if (*at == '%') {
        return end - at >= 3 && is_hex(at[1]) && is_hex(at[2]) ? 3 : 0;
    }
    if (*at == '.') { /* inside a name, not at its end */
        uint64_t dots = 1;
        while (at + dots < end && at[dots] == '.') {
            dots++;
        }
        uint64_t skip;
        return at + dots < end && local_piece(at + dots, end, &skip) > 0 ? dots : 0;
    }
    return is_prefix_byte(*at) || *at == ':' ? 1 : 0;
}

static const query_prefix *find_prefix(const query_text *query, const char *name, uint64_t size) {
    for (uint32_t i = query->n_prefixes; i > 0; i--) {
        const query_prefix *p = &query->prefixes[i - 1];
        if (p->name.size == size && memcmp(p->name.data, name, size) == 0) {
            return p;
        }
    }
    return NULL;
}

static qn_status refuse_word(text_reader *r, const char *begin, const char *end) {
    return text_reader_refuse(r, begin, "\"%.*s\" is no term: write <IRI>, prefix:name, \"text\", _:label, a number or ?name",
                              (int)(end - begin < 60 ? end - begin : 60), begin);
}

/* IRI of a prefixed name into iri[NTRIPLES_TERM_ROOM]. */
static qn_status expand_name(const query_text *query, text_reader *r, char *iri, uint64_t *out_size) {
    const char *begin = r->at, *colon = begin;
    while (colon < r->end && is_prefix_byte(*colon)) {
        colon++;
    }
    if (colon == r->end || *colon != ':') {
        return refuse_word(r, begin, colon > begin ? colon : begin + (begin < r->end));
    }
    const query_prefix *prefix = find_prefix(query, begin, (uint64_t)(colon - begin));
    if (prefix == NULL) {
        return text_reader_refuse(r, begin, "the prefix \"%.*s:\" is not declared; give --prefix %.*s=IRI",
                                  (int)(colon - begin), begin, (int)(colon - begin), begin);
    }
    uint64_t size = prefix->iri.size, skip;
    memcpy(iri, prefix->iri.data, size);
    r->at = colon + 1;
    for (uint64_t n; r->at < r->end && (n = local_piece(r->at, r->end, &skip)) > 0; r->at += n) {
        if (size + n > NTRIPLES_MAX_TERM) {
            return text_reader_refuse(r, begin, "the IRI is longer than %u bytes", NTRIPLES_MAX_TERM);
        }
        memcpy(iri + size, r->at + skip, n - skip);
        size += n - skip;
    }
    *out_size = size;
    return QN_OK;
}

static qn_status read_name(const query_text *query, text_reader *r, char *room, ntriples_term *out_term) {
    const char *begin = r->at;
    uint64_t size;
    fmt_diag diag;
    const qn_status status = expand_name(query, r, room + NTRIPLES_TERM_ROOM, &size);
    if (status < 0) {
        return status;
    }
    if (ntriples_make_iri((fmt_str){room + NTRIPLES_TERM_ROOM, size}, room, out_term, &diag) != FMT_OK) {
        return text_reader_refuse(r, begin, "%s", diag.text);
    }
    return QN_OK;
}

/* ---------------------------------------------------------------- literals */

static qn_status make_typed(text_reader *r, const char *begin, fmt_str value, const char *type, char *room,
                            ntriples_term *out_term) {
    fmt_diag diag;
    if (ntriples_make_literal(value, (fmt_str){"", 0}, (fmt_str){type, strlen(type)}, room, out_term, &diag) != FMT_OK) {
        return text_reader_refuse(r, begin, "%s", diag.text);
    }
    return QN_OK;
}

/* Where the closing quotation mark stands; `end` when there is none. */
static const char *find_close(const char *at, const char *end) {
    for (at++; at < end && *at != '"'; at++) {
        at += *at == '\\' && at + 1 < end ? 1 : 0;
    }
    return at;
}

/* "text"^^p:name: the datatype is written out, then the whole is read as N-Triples. */
static qn_status read_literal(const query_text *query, text_reader *r, char *room, ntriples_term *out_term) {
    const char *begin = r->at, *close = find_close(begin, r->end);
    if (close + 3 >= r->end || memcmp(close, "\"^^", 3) != 0 || close[3] == '<') {
        return read_plain(r, room, out_term);
    }
    char *iri = malloc(NTRIPLES_TERM_ROOM), *value = malloc((size_t)(close - begin) + 1);
    fmt_diag diag;
    uint64_t size;
    ntriples_term bare;
    qn_status status = iri != NULL && value != NULL ? QN_OK : FAIL(r->err, QN_NO_HOST_MEM, "out of memory");
    if (status == QN_OK && ntriples_read_term((fmt_str){begin, (uint64_t)(close + 1 - begin)}, room, &bare, NULL, &diag) != FMT_OK) {
        status = repeat_refusal(r, begin, &diag);
    }
    r->at = close + 3;
    if (status == QN_OK) {
        status = expand_name(query, r, iri, &size);
    }
    if (status == QN_OK) {
        const fmt_str text = {value, ntriples_decode(&bare, value)};
        if (ntriples_make_literal(text, (fmt_str){"", 0}, (fmt_str){iri, size}, room, out_term, &diag) != FMT_OK) {
            status = text_reader_refuse(r, begin, "%s", diag.text);
        }
    }
    free(value);
    free(iri);
    return status;
}

/* [+-]digits, with a point and an exponent or without. */
static qn_status read_number(text_reader *r, char *room, ntriples_term *out_term) {
    const char *begin = r->at, *at = begin;
    const char *type = XSD "integer";
    at += *at == '+' || *at == '-' ? 1 : 0;
    while (at < r->end && is_digit(*at)) {
        at++;
    }
    if (at + 1 < r->end && *at == '.' && is_digit(at[1])) {
        type = XSD "decimal";
        for (at++; at < r->end && is_digit(*at); at++) {
        }
    }
    if (at < r->end && (*at == 'e' || *at == 'E')) {
        const char *exponent = at + 1 + (at + 1 < r->end && (at[1] == '+' || at[1] == '-') ? 1 : 0);
        if (exponent == r->end || !is_digit(*exponent)) {
            return text_reader_refuse(r, at, "an exponent needs digits");
        }
        type = XSD "double";
        for (at = exponent; at < r->end && is_digit(*at); at++) {
        }
    }
    r->at = at;
    return make_typed(r, begin, (fmt_str){begin, (uint64_t)(at - begin)}, type, room, out_term);
}

static bool is_number_here(const text_reader *r) {
    const char *at = r->at + (*r->at == '+' || *r->at == '-' ? 1 : 0);
    at += at + 1 < r->end && *at == '.' ? 1 : 0;
    return at < r->end && is_digit(*at);
}

qn_status pattern_read_term(const query_text *query, text_reader *r, char *room, ntriples_term *out_term) {
    const char *begin = r->at;
    if (*begin == '"') {
        return read_literal(query, r, room, out_term);
    }
    if (*begin == '<') {
        return begin + 1 < r->end && begin[1] == '<'
                   ? text_reader_refuse(r, begin, "patterns with triples as terms are not supported")
                   : read_plain(r, room, out_term);
    }
    if (*begin == '_' && begin + 1 < r->end && begin[1] == ':') {
        return read_plain(r, room, out_term);
    }
    if (is_number_here(r)) {
        return read_number(r, room, out_term);
    }
    if (text_reader_take_word(r, "true") || text_reader_take_word(r, "false")) {
        return make_typed(r, begin, (fmt_str){begin, (uint64_t)(r->at - begin)}, XSD "boolean", room, out_term);
    }
    return read_name(query, r, room, out_term);
}

qn_status query_add_prefix(query_text *query, const char *text, error_context *err) {
    text_reader r;
    text_reader_begin(&r, "--prefix", text, err);
    while (r.at < r.end && is_prefix_byte(*r.at)) {
        r.at++;
    }
    const fmt_str name = {r.begin, (uint64_t)(r.at - r.begin)};
    r.at += r.at < r.end && *r.at == ':' ? 1 : 0; /* as in Turtle's own line */
    if (r.at == r.end || *r.at != '=') {
        return text_reader_refuse(&r, r.at, "must be NAME=IRI");
    }
    r.at++;
    fmt_str iri = {r.at, (uint64_t)(r.end - r.at)};
    if (iri.size >= 2 && iri.data[0] == '<' && r.end[-1] == '>') {
        iri = (fmt_str){iri.data + 1, iri.size - 2};
    }
    if (query->n_prefixes == QUERY_MAX_PREFIXES || iri.size > NTRIPLES_MAX_TERM) {
        return FAIL(err, QN_BAD_INPUT, "more than %d prefixes, or an IRI of more than %u bytes", QUERY_MAX_PREFIXES,
                    NTRIPLES_MAX_TERM);
    }
    char *room = malloc(NTRIPLES_TERM_ROOM);
    ntriples_term term;
    fmt_diag diag;
    qn_status status = room != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    if (status == QN_OK && ntriples_make_iri(iri, room, &term, &diag) != FMT_OK) {
        status = text_reader_refuse(&r, iri.data, "%s", diag.text);
    }
    free(room);
    if (status == QN_OK) {
        query->prefixes[query->n_prefixes++] = (query_prefix){name, iri};
    }
    return status;
}
