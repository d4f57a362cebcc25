/* n3_terms.c — terms of Notation3 as canonical N-Triples. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"
#include "graph/iri.h"
#include "rules/n3_reader.h"

#define XSD "http://www.w3.org/2001/XMLSchema#"
#define RDF_TYPE "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

/* ---------------------------------------------------------------- places and blanks */

/* Places are asked for again and again in one long line: each walk begins where the last one ended. */
void n3_place(n3_reader *r, const char *place, uint32_t *out_line, uint32_t *out_column) {
    if (place < r->seen) {
        r->seen = r->begin;
        r->line = r->column = 1;
    }
    while (r->seen < place) {
        const unsigned size = utf8_decode((const uint8_t *)r->seen, (uint64_t)(r->end - r->seen), NULL);
        const bool is_line_end = *r->seen == '\n';
        r->line += is_line_end ? 1 : 0;
        r->column = is_line_end ? 1 : r->column + 1;
        r->seen += size > 0 ? size : 1;
    }
    *out_line = r->line;
    *out_column = r->column;
}

qn_status n3_refuse(n3_reader *r, const char *place, qn_status status, const char *format, ...) {
    char words[512];
    uint32_t line, column;
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    n3_place(r, place, &line, &column);
    return FAIL(r->err, status, "%s: line %u, column %u: %s", r->name, line, column, words);
}

void n3_skip_blanks(n3_reader *r) {
    for (; r->at < r->end; r->at++) {
        if (*r->at == '#') {
            const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
            r->at = end == NULL ? r->end - 1 : end;
        } else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r' && *r->at != '\n') {
            return;
        }
    }
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool n3_is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || (c & 0x80) != 0;
}

/* ---------------------------------------------------------------- what N-Triples makes of it */

static qn_status append(n3_reader *r, text_buffer *buffer, const char *bytes, size_t size) {
    return text_buffer_append(buffer, bytes, size) ? QN_OK : FAIL(r->err, QN_NO_HOST_MEM, "no memory for a term");
}

static fmt_str buffer_text(const text_buffer *buffer) {
    return (fmt_str){buffer->text != NULL ? buffer->text : "", buffer->size};
}

/* A refusal of the N-Triples code, with the place in this text; its own "line 1, column N: " is left out. */
static qn_status repeat_refusal(n3_reader *r, const char *place, fmt_status status, const fmt_diag *diag) {
    const char *inner = strncmp(diag->text, "line ", 5) == 0 ? strstr(diag->text, ": ") : NULL;
    return n3_refuse(r, place, status == FMT_LIMIT ? QN_LIMIT : QN_BAD_INPUT, "%s", inner == NULL ? diag->text : inner + 2);
}

static qn_status keep_term(n3_reader *r, n3_kind kind, fmt_str text, const char *place, n3_term *out_term) {
    term_ref ref;
    const qn_status status = term_pool_add(&r->document->pool, text, &ref, NULL);
    if (status < 0) {
        return n3_refuse(r, place, status, status == QN_LIMIT ? "the terms of this text, written out, are longer than 64 MiB"
                                                              : "no memory for a term");
    }
    *out_term = (n3_term){kind, term_pool_text(&r->document->pool, ref)};
    return QN_OK;
}

static qn_status keep_made(n3_reader *r, fmt_status made, const ntriples_term *term, const fmt_diag *diag, const char *place,
                           n3_term *out_term) {
    static const n3_kind kinds[] = {[NTRIPLES_IRI] = N3_IRI, [NTRIPLES_BLANK] = N3_BLANK, [NTRIPLES_LITERAL] = N3_LITERAL};
    if (made != FMT_OK) {
        return repeat_refusal(r, place, made, diag);
    }
    return keep_term(r, kinds[term->kind], (fmt_str){term->text, term->size}, place, out_term);
}

static qn_status keep_iri(n3_reader *r, const char *place, n3_term *out_term) {
    ntriples_term term;
    fmt_diag diag;
    const fmt_status made = ntriples_make_iri(buffer_text(&r->iri), r->room, &term, &diag);
    return keep_made(r, made, &term, &diag, place, out_term);
}

/* The literal whose value is in r->value. */
static qn_status keep_literal(n3_reader *r, fmt_str language, fmt_str datatype, const char *place, n3_term *out_term) {
    ntriples_term term;
    fmt_diag diag;
    const fmt_status made = ntriples_make_literal(buffer_text(&r->value), language, datatype, r->room, &term, &diag);
    return keep_made(r, made, &term, &diag, place, out_term);
}

/* ---------------------------------------------------------------- escapes */

static int hex_value(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \uXXXX or \UXXXXXXXX at r->at. */
static qn_status read_code(n3_reader *r, text_buffer *out) {
    const char *place = r->at;
    const int n_digits = place[1] == 'u' ? 4 : 8;
    uint32_t code = 0;
    uint8_t bytes[4];
    if (r->end - place < 2 + n_digits) {
        return n3_refuse(r, place, QN_BAD_INPUT, "the text ends inside an escape");
    }
    for (int i = 0; i < n_digits; i++) {
        const int digit = hex_value(place[2 + i]);
        if (digit < 0) {
            return n3_refuse(r, place, QN_BAD_INPUT, "\\%c needs %d hexadecimal digits", place[1], n_digits);
        }
        code = code << 4 | (uint32_t)digit;
    }
    const unsigned size = utf8_encode(code, bytes);
    if (size == 0) {
        return n3_refuse(r, place, QN_BAD_INPUT, "U+%X is no character", (unsigned)code);
    }
    r->at += 2 + n_digits;
    return append(r, out, (const char *)bytes, size);
}

static bool is_code_escape(const n3_reader *r) {
    return *r->at == '\\' && r->at + 1 < r->end && (r->at[1] == 'u' || r->at[1] == 'U');
}

static qn_status read_escape(n3_reader *r, text_buffer *out) {
    static const char letters[] = "tbnrf\"'\\", meanings[] = "\t\b\n\r\f\"'\\";
    if (is_code_escape(r)) {
        return read_code(r, out);
    }
    const char *found = r->at + 1 < r->end && r->at[1] != '\0' ? strchr(letters, r->at[1]) : NULL;
    if (found == NULL) {
        return n3_refuse(r, r->at, QN_BAD_INPUT, "this is no escape; there are \\t \\b \\n \\r \\f \\\" \\' \\\\ \\uXXXX \\UXXXXXXXX");
    }
    r->at += 2;
    return append(r, out, &meanings[found - letters], 1);
}

/* ---------------------------------------------------------------- IRIs and names */

qn_status n3_read_iri(n3_reader *r) {
    const char *place = r->at++;
    qn_status status = QN_OK;
    r->value.size = 0;
    while (status >= 0 && r->at < r->end && *r->at != '>') {
        if (is_code_escape(r)) {
            status = read_code(r, &r->value);
        } else if ((unsigned char)*r->at <= ' ' || strchr("<\"{}|^`\\", *r->at) != NULL) {
            return n3_refuse(r, r->at, QN_BAD_INPUT, "an IRI that begins with < ends with >, and has no blanks nor <\"{}|^`\\ in it");
        } else {
            const char *first = r->at;
            while (r->at < r->end && (unsigned char)*r->at > ' ' && strchr("<>\"{}|^`\\", *r->at) == NULL) {
                r->at++;
            }
            status = append(r, &r->value, first, (size_t)(r->at - first));
        }
    }
    if (status < 0) {
        return status;
    }
    if (r->at == r->end) {
        return n3_refuse(r, place, QN_BAD_INPUT, "this IRI has no end; a > is missing");
    }
    r->at++;
    const fmt_str iri = buffer_text(&r->value);
    if (iri_is_absolute(iri)) {
        r->iri.size = 0;
        return append(r, &r->iri, iri.data, (size_t)iri.size);
    }
    if (r->base.size == 0) {
        return n3_refuse(r, place, QN_BAD_INPUT, "<%.*s> is relative, and there is no @base", (int)(iri.size < 60 ? iri.size : 60),
                         iri.data);
    }
    return iri_resolve(buffer_text(&r->base), iri, &r->iri) ? QN_OK : FAIL(r->err, QN_NO_HOST_MEM, "no memory for an IRI");
}

static qn_status refuse_word(n3_reader *r, const char *place) {
    const char *end = place;
    while (end < r->end && end - place < 40 && (unsigned char)*end > ' ') {
        end++;
    }
    return n3_refuse(r, place, QN_BAD_INPUT, "\"%.*s\" is no term; write <IRI>, prefix:name, \"text\", _:label, a number, true or false",
                     (int)(end - place), place);
}

qn_status n3_read_prefix_name(n3_reader *r, fmt_str *out_name) {
    const char *place = r->at;
    while (r->at < r->end && (n3_is_name_byte(*r->at) || *r->at == '-' || *r->at == '.')) {
        r->at++;
    }
    if (r->at == r->end || *r->at != ':' || (r->at > place && (r->at[-1] == '.' || is_digit(*place) || strchr("-._", *place) != NULL))) {
        return refuse_word(r, place);
    }
    *out_name = (fmt_str){place, (uint64_t)(r->at - place)};
    r->at++;
    return QN_OK;
}

static const n3_prefix *find_prefix(const n3_reader *r, fmt_str name) {
    for (uint32_t i = r->n_prefixes; i > 0; i--) {
        if (texts_equal(r->prefixes[i - 1].name, name)) {
            return &r->prefixes[i - 1];
        }
    }
    return NULL;
}

/* Bytes of the piece of a local name that begins here, and how many of them do not stand for themselves; 0: the name has ended.
 * Dots count only before something else of the name. */
static size_t local_piece(const n3_reader *r, const char *at, bool is_first, size_t *out_skip) {
    const size_t left = (size_t)(r->end - at);
    *out_skip = 0;
    if (left == 0) {
        return 0;
    }
    if (*at == '\\') {
        *out_skip = 1;
        return left > 1 && at[1] != '\0' && strchr("_~.-!$&'()*+,;=/?#@%", at[1]) != NULL ? 2 : 0;
    }
    if (*at == '%') {
        return left > 2 && hex_value(at[1]) >= 0 && hex_value(at[2]) >= 0 ? 3 : 0;
    }
    if (*at == '.' && !is_first) {
        size_t dots = 1, skip;
        while (dots < left && at[dots] == '.') {
            dots++;
        }
        return local_piece(r, at + dots, true, &skip) > 0 || (dots < left && at[dots] == '-') ? dots : 0;
    }
    return n3_is_name_byte(*at) || *at == ':' || (*at == '-' && !is_first) ? 1 : 0;
}

/* The IRI of a prefixed name, in r->iri. */
static qn_status read_name(n3_reader *r) {
    const char *place = r->at;
    fmt_str name;
    qn_status status = n3_read_prefix_name(r, &name);
    if (status < 0) {
        return status;
    }
    const n3_prefix *prefix = find_prefix(r, name);
    if (prefix == NULL) {
        return n3_refuse(r, place, QN_BAD_INPUT, "the prefix \"%.*s:\" is not declared; write @prefix %.*s: <IRI> .",
                         (int)(name.size < 60 ? name.size : 60), name.data, (int)(name.size < 60 ? name.size : 60), name.data);
    }
    r->iri.size = 0;
    status = append(r, &r->iri, prefix->iri.data, (size_t)prefix->iri.size);
    bool is_first = true;
    for (size_t n, skip; status >= 0 && (n = local_piece(r, r->at, is_first, &skip)) > 0; r->at += n, is_first = false) {
        if (r->iri.size + n > NTRIPLES_MAX_TERM) {
            return n3_refuse(r, place, QN_LIMIT, "the IRI of this name is longer than %u bytes", NTRIPLES_MAX_TERM);
        }
        status = append(r, &r->iri, r->at + skip, n - skip);
    }
    return status;
}

/* ---------------------------------------------------------------- literals */

/* The value between quotation marks, one or three on each side, into r->value. */
static qn_status read_quoted(n3_reader *r) {
    const char *place = r->at, mark = *r->at;
    const bool is_long = r->end - place >= 3 && place[1] == mark && place[2] == mark;
    qn_status status = QN_OK;
    r->value.size = 0;
    for (r->at += is_long ? 3 : 1; status >= 0 && r->at < r->end;) {
        const char c = *r->at;
        if (c == mark && (!is_long || (r->end - r->at >= 3 && r->at[1] == mark && r->at[2] == mark))) {
            r->at += is_long ? 3 : 1;
            return QN_OK;
        }
        if (!is_long && (c == '\n' || c == '\r')) {
            return n3_refuse(r, r->at, QN_BAD_INPUT, "the line ends inside a literal; a closing %c is missing", mark);
        }
        if (c == '\\') {
            status = read_escape(r, &r->value);
        } else {
            status = append(r, &r->value, r->at++, 1);
        }
    }
    return status < 0 ? status : n3_refuse(r, place, QN_BAD_INPUT, "this literal has no end");
}

static qn_status read_literal(n3_reader *r, n3_term *out_term) {
    const char *place = r->at;
    fmt_str language = {"", 0}, datatype = {"", 0};
    qn_status status = read_quoted(r);
    if (status < 0) {
        return status;
    }
    n3_skip_blanks(r); /* which may stand before a language and around ^^ */
    if (r->at < r->end && *r->at == '@') {
        const char *tag = ++r->at;
        while (r->at < r->end && (n3_is_name_byte(*r->at) || *r->at == '-')) {
            r->at++;
        }
        language = (fmt_str){tag, (uint64_t)(r->at - tag)};
        if (language.size == 0) {
            return n3_refuse(r, tag, QN_BAD_INPUT, "a language follows @, \"en\" say");
        }
    } else if (r->end - r->at >= 2 && r->at[0] == '^' && r->at[1] == '^') {
        r->at += 2;
        n3_skip_blanks(r);
        /* The value waits: reading an IRI uses r->value. */
        const text_buffer value = r->value;
        r->value = (text_buffer){0};
        status = r->at < r->end && *r->at == '<' ? n3_read_iri(r) : read_name(r);
        text_buffer_free(&r->value);
        r->value = value;
        datatype = buffer_text(&r->iri);
    }
    return status < 0 ? status : keep_literal(r, language, datatype, place, out_term);
}

static size_t count_digits(const n3_reader *r, const char *at) {
    size_t n = 0;
    while (at + n < r->end && is_digit(at[n])) {
        n++;
    }
    return n;
}

/* [+-] digits [. digits] [e [+-] digits]; a dot that no digit follows ends the statement. */
static qn_status read_number(n3_reader *r, n3_term *out_term) {
    const char *place = r->at, *type = XSD "integer";
    r->at += *place == '+' || *place == '-' ? 1 : 0;
    r->at += count_digits(r, r->at);
    if (r->end - r->at >= 2 && r->at[0] == '.' && is_digit(r->at[1])) {
        type = XSD "decimal";
        r->at += 1 + count_digits(r, r->at + 1);
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        const char *digits = r->at + 1 + (r->end - r->at >= 2 && (r->at[1] == '+' || r->at[1] == '-') ? 1 : 0);
        const size_t n = count_digits(r, digits);
        if (n == 0) {
            return n3_refuse(r, r->at, QN_BAD_INPUT, "an exponent needs digits");
        }
        type = XSD "double";
        r->at = digits + n;
    }
    r->value.size = 0;
    const qn_status status = append(r, &r->value, place, (size_t)(r->at - place));
    return status < 0 ? status : keep_literal(r, (fmt_str){"", 0}, text_of(type), place, out_term);
}

static bool is_number_here(const n3_reader *r) {
    const char *at = r->at + (*r->at == '+' || *r->at == '-' ? 1 : 0);
    at += r->end - at >= 2 && *at == '.' ? 1 : 0;
    return at < r->end && is_digit(*at);
}

/* ---------------------------------------------------------------- any term */

static bool take_word(n3_reader *r, const char *word) {
    const size_t size = strlen(word);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0) {
        return false;
    }
    const char *behind = r->at + size;
    if (behind < r->end && (n3_is_name_byte(*behind) || *behind == ':' || *behind == '-')) {
        return false;
    }
    if (r->end - behind >= 2 && *behind == '.' && (n3_is_name_byte(behind[1]) || behind[1] == ':')) {
        return false; /* a prefix with a dot in it */
    }
    r->at = behind;
    return true;
}

static qn_status read_blank(n3_reader *r, n3_term *out_term) {
    const char *place = r->at, *label = place + 2, *end = label;
    ntriples_term term;
    fmt_diag diag;
    while (end < r->end && (n3_is_name_byte(*end) || *end == '-' || *end == '.')) {
        end++;
    }
    while (end > label && end[-1] == '.') {
        end--;
    }
    r->at = end;
    r->value.size = 0;
    qn_status status = append(r, &r->value, r->blank_prefix, end > label ? strlen(r->blank_prefix) : 0);
    status = status < 0 ? status : append(r, &r->value, label, (size_t)(end - label));
    if (status < 0) {
        return status;
    }
    const fmt_status made = ntriples_make_blank(buffer_text(&r->value), r->room, &term, &diag);
    return keep_made(r, made, &term, &diag, place, out_term);
}

static qn_status read_variable(n3_reader *r, n3_term *out_term) {
    const char *place = r->at++;
    while (r->at < r->end && n3_is_name_byte(*r->at)) {
        r->at++;
    }
    const fmt_str name = {place + 1, (uint64_t)(r->at - place - 1)};
    if (name.size == 0 || name.size > N3_MAX_ID) {
        return n3_refuse(r, place, QN_BAD_INPUT, "a variable is ? and a name of letters, digits and _, of at most %u bytes", N3_MAX_ID);
    }
    if (r->depth == 0) {
        return n3_refuse(r, place, QN_BAD_INPUT, "?%.*s stands outside of a rule; a statement has no variables", (int)name.size, name.data);
    }
    return keep_term(r, N3_VARIABLE, name, place, out_term);
}

static qn_status read_word(n3_reader *r, bool is_predicate, n3_term *out_term) {
    const char *place = r->at;
    if (is_predicate && take_word(r, "a")) {
        return keep_term(r, N3_IRI, text_of(RDF_TYPE), place, out_term);
    }
    if (!is_predicate && (take_word(r, "true") || take_word(r, "false"))) {
        r->value.size = 0;
        const qn_status status = append(r, &r->value, place, (size_t)(r->at - place));
        return status < 0 ? status : keep_literal(r, (fmt_str){"", 0}, text_of(XSD "boolean"), place, out_term);
    }
    const qn_status status = read_name(r);
    return status < 0 ? status : keep_iri(r, place, out_term);
}

qn_status n3_read_term(n3_reader *r, bool is_predicate, n3_term *out_term) {
    const char *place = r->at;
    if (place == r->end) {
        return n3_refuse(r, place, QN_BAD_INPUT, "the text ends where a term is needed");
    }
    switch (*place) {
    case '<': {
        const qn_status status = n3_read_iri(r);
        return status < 0 ? status : keep_iri(r, place, out_term);
    }
    case '"':
    case '\'': return read_literal(r, out_term);
    case '?': return read_variable(r, out_term);
    case '[': return n3_refuse(r, place, QN_BAD_INPUT, "[ ... ] is not read here; give the node a label, _:x, and write its statements");
    case '(': return n3_refuse(r, place, QN_BAD_INPUT, "lists in ( ... ) are not read here");
    case '_':
        if (r->end - place >= 2 && place[1] == ':') {
            return read_blank(r, out_term);
        }
        break;
    default: break;
    }
    return is_number_here(r) ? read_number(r, out_term) : read_word(r, is_predicate, out_term);
}
