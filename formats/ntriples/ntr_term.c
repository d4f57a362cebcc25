/* ntr_term.c — one term: scanned, and rebuilt when its text is not canonical. */
#include <string.h>

#include "ntr_internal.h"

#define XSD_STRING "http://www.w3.org/2001/XMLSchema#string"

bool ntr_check_length(ntr_reader *r, uint64_t size, const uint8_t *begin) {
    r->length = size;
    return size <= NTRIPLES_MAX_TERM || ntr_fail(r, NTR_R_TERM_TOO_LONG, begin);
}

/* Who wants canonical text only gets no memory to rebuild in. */
static bool check_may_rebuild(ntr_reader *r, bool rebuild, const uint8_t *begin) {
    return !rebuild || r->out != NULL || ntr_fail(r, NTR_R_TERM, begin);
}

static bool is_datatype_string(const char *iri, uint64_t size) {
    return size == sizeof "<" XSD_STRING ">" - 1 && memcmp(iri, "<" XSD_STRING ">", size) == 0;
}

bool ntr_read_iri(ntr_reader *r, ntriples_term *out_term) {
    const uint8_t *begin = r->at;
    bool rebuild = false;
    if (!ntr_scan_iri(r, &rebuild) || !check_may_rebuild(r, rebuild, begin)) {
        return false;
    }
    const char *text = rebuild ? r->out : (const char *)begin;
    const uint64_t size = rebuild ? ntr_append_unescaped(r->out, 0, begin, r->at, false) : (uint64_t)(r->at - begin);
    if (!ntr_check_length(r, size, begin)) {
        return false;
    }
    if (!ntr_has_scheme((const uint8_t *)text + 1, size - 2)) {
        return ntr_fail(r, NTR_R_IRI_RELATIVE, begin);
    }
    *out_term = (ntriples_term){text, (uint32_t)size, NTRIPLES_IRI, 0};
    return true;
}

bool ntr_read_blank(ntr_reader *r, ntriples_term *out_term) {
    const uint8_t *begin = r->at;
    if (r->end - begin < 2 || begin[1] != ':') {
        return ntr_fail(r, NTR_R_LABEL, begin);
    }
    r->at += 2;
    if (!ntr_scan_label(r)) {
        return false;
    }
    const bool rebuild = r->blank_prefix.size > 0;
    const uint64_t size = (uint64_t)(r->at - begin) + r->blank_prefix.size;
    if (!check_may_rebuild(r, rebuild, begin) || !ntr_check_length(r, size, begin)) {
        return false;
    }
    if (rebuild) {
        uint64_t n = ntr_append(r->out, 0, begin, 2);
        n = ntr_append(r->out, n, r->blank_prefix.data, r->blank_prefix.size);
        ntr_append(r->out, n, begin + 2, (uint64_t)(r->at - begin) - 2);
    }
    *out_term = (ntriples_term){rebuild ? r->out : (const char *)begin, (uint32_t)size, NTRIPLES_BLANK, 0};
    return true;
}

/* The parts of a literal as they stand in the input. */
typedef struct literal_parts {
    const uint8_t *begin, *quote; /* opening and closing quotation mark */
    const uint8_t *tag;           /* @ of the language tag, or null */
    const uint8_t *datatype;      /* < of the datatype, or null */
    bool rebuild;
    bool is_string;               /* the datatype is xsd:string, which is left out */
} literal_parts;

/* A datatype must be absolute; that of strings is recognised. */
static bool settle_datatype(ntr_reader *r, literal_parts *parts, bool is_escaped) {
    const char *text = (const char *)parts->datatype;
    uint64_t size = (uint64_t)(r->at - parts->datatype);
    if (is_escaped) {
        if (!check_may_rebuild(r, true, parts->begin)) {
            return false;
        }
        size = ntr_append_unescaped(r->out, 0, parts->datatype, r->at, false);
        text = r->out;
    }
    if (!ntr_check_length(r, size, parts->begin)) {
        return false;
    }
    if (!ntr_has_scheme((const uint8_t *)text + 1, size - 2)) {
        return ntr_fail(r, NTR_R_IRI_RELATIVE, parts->datatype);
    }
    parts->is_string = is_datatype_string(text, size);
    return true;
}

/* White space may stand between the quoted text and what belongs to it; canonical text has none. */
static bool scan_suffix(ntr_reader *r, literal_parts *parts) {
    const uint8_t *at = ntr_skip_blanks(r->at, r->end);
    const uint64_t left = (uint64_t)(r->end - at);
    if (left > 0 && *at == '@') {
        parts->rebuild |= at != r->at;
        parts->tag = at;
        r->at = at + 1;
        return ntr_scan_language(r);
    }
    if (left == 0 || *at != '^') {
        return true;
    }
    if (left < 2 || at[1] != '^') {
        return ntr_fail(r, NTR_R_DATATYPE, at);
    }
    bool is_escaped = false;
    parts->datatype = ntr_skip_blanks(at + 2, r->end);
    parts->rebuild |= at != r->at || parts->datatype != at + 2;
    r->at = parts->datatype;
    if (r->at == r->end || *r->at != '<') {
        return ntr_fail(r, NTR_R_DATATYPE, r->at);
    }
    if (!ntr_scan_iri(r, &is_escaped)) {
        return false;
    }
    parts->rebuild |= is_escaped;
    return settle_datatype(r, parts, is_escaped);
}

static uint64_t rebuild_literal(ntr_reader *r, const literal_parts *parts, uint64_t *out_close) {
    *out_close = ntr_append_unescaped(r->out, 0, parts->begin, parts->quote, true);
    uint64_t size = ntr_append(r->out, *out_close, "\"", 1);
    if (parts->tag != NULL) {
        size = ntr_append(r->out, size, parts->tag, (uint64_t)(r->at - parts->tag));
    } else if (parts->datatype != NULL && !parts->is_string) {
        size = ntr_append(r->out, size, "^^", 2);
        size = ntr_append_unescaped(r->out, size, parts->datatype, r->at, false);
    }
    return size;
}

bool ntr_read_literal(ntr_reader *r, ntriples_term *out_term) {
    literal_parts parts = {.begin = r->at};
    if (!ntr_scan_quoted(r, &parts.rebuild)) {
        return false;
    }
    parts.quote = r->at - 1;
    if (!scan_suffix(r, &parts) || !check_may_rebuild(r, parts.rebuild, parts.begin)) {
        return false;
    }
    uint64_t close = (uint64_t)(parts.quote - parts.begin);
    uint64_t size = parts.is_string ? close + 1 : (uint64_t)(r->at - parts.begin);
    if (parts.rebuild) {
        size = rebuild_literal(r, &parts, &close);
    }
    if (!ntr_check_length(r, size, parts.begin)) {
        return false;
    }
    const char *text = parts.rebuild ? r->out : (const char *)parts.begin;
    *out_term = (ntriples_term){text, (uint32_t)size, NTRIPLES_LITERAL, (uint32_t)close};
    return true;
}

bool ntr_read_any(ntr_reader *r, uint32_t kinds, ntr_rule_no rule, ntriples_term *out_term) {
    const uint8_t first = r->at < r->end ? *r->at : 0;
    if (first == '<' && r->end - r->at >= 2 && r->at[1] == '<') {
        return ntr_fail(r, NTR_R_TRIPLE_TERM, r->at);
    }
    if (first == '<' && (kinds & 1u << NTRIPLES_IRI) != 0) {
        return ntr_read_iri(r, out_term);
    }
    if (first == '_' && (kinds & 1u << NTRIPLES_BLANK) != 0) {
        return ntr_read_blank(r, out_term);
    }
    if (first == '"' && (kinds & 1u << NTRIPLES_LITERAL) != 0) {
        return ntr_read_literal(r, out_term);
    }
    return ntr_fail(r, rule, r->at);
}
