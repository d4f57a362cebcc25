/* ntr_parse.c — statements, one a line. */
#include <string.h>

#include "common/utf8.h"
#include "ntr_internal.h"

/* IRIs shorter than this are not remembered: the comparison below reads their last eight bytes first. */
#define LEAST_REMEMBERED 8u

static const uint8_t *find_line_end(const uint8_t *at, const uint8_t *end) {
    while (at < end && !ntr_is_line_end(*at)) {
        at++;
    }
    return at;
}

/* Behind the line end at `at`, if there is one. */
static void pass_line_end(ntriples_parser *parser, const uint8_t *at) {
    if (at < parser->end) {
        at += *at == '\r' && parser->end - at >= 2 && at[1] == '\n' ? 2 : 1;
        parser->line++;
    }
    parser->at = at;
    parser->line_start = at;
}

void ntriples_start(ntriples_parser *parser, ntriples_chunk chunk, const ntriples_options *options, void *scratch) {
    memset(parser, 0, sizeof *parser);
    parser->begin = parser->at = parser->line_start = chunk.bytes.data;
    parser->end = chunk.bytes.size == 0 ? parser->begin : chunk.bytes.data + chunk.bytes.size;
    parser->offset = chunk.offset;
    parser->line = chunk.line;
    parser->options = *options;
    parser->scratch = scratch;
}

/* Behind a comment, which must be UTF-8; `at` itself when none begins there; null after a fault. */
static const uint8_t *skip_comment(ntr_reader *r, const uint8_t *at) {
    if (at == r->end || *at != '#') {
        return at;
    }
    const uint8_t *end = find_line_end(at, r->end);
    const uint64_t bad = utf8_first_invalid(at, (uint64_t)(end - at));
    if (bad != UTF8_ALL_VALID) {
        ntr_fail(r, NTR_R_UTF_8, at + bad);
        return NULL;
    }
    return end;
}

/* Is this the very IRI that stood there in the statement before? An IRI ends with > and has no > inside, so comparing
 * as many bytes as it had is enough. */
static inline bool is_repeated(const ntr_reader *r, fmt_str raw) {
    if (raw.size == 0 || raw.size > (uint64_t)(r->end - r->at)) {
        return false;
    }
    const uint64_t tail = raw.size - LEAST_REMEMBERED;
    return memcmp(r->at + tail, raw.data + tail, LEAST_REMEMBERED) == 0 && memcmp(r->at, raw.data, tail) == 0;
}

/* What each position of a statement may hold. */
static const struct {
    uint32_t kinds;
    ntr_rule_no rule;
} positions[4] = {
    {1u << NTRIPLES_IRI | 1u << NTRIPLES_BLANK, NTR_R_SUBJECT},
    {1u << NTRIPLES_IRI, NTR_R_PREDICATE},
    {NTR_ANY_KIND, NTR_R_OBJECT},
    {1u << NTRIPLES_IRI | 1u << NTRIPLES_BLANK, NTR_R_GRAPH},
};

static bool read_position(ntriples_parser *parser, ntr_reader *r, uint32_t i, ntriples_statement *out) {
    ntriples_term *term = &out->terms[i];
    fmt_str *raw = &parser->raw[i];
    if (is_repeated(r, *raw)) {
        *term = (ntriples_term){(const char *)r->at, (uint32_t)raw->size, NTRIPLES_IRI, 0};
        out->same |= 1u << i;
        r->at += raw->size;
    } else {
        const char *begin = (const char *)r->at;
        r->out = parser->scratch + (uint64_t)i * NTRIPLES_TERM_ROOM;
        if (!ntr_read_any(r, positions[i].kinds, positions[i].rule, term)) {
            return false;
        }
        const bool is_plain = term->kind == NTRIPLES_IRI && term->text == begin && term->size >= LEAST_REMEMBERED;
        *raw = (fmt_str){begin, is_plain ? term->size : 0};
    }
    r->at = ntr_skip_blanks(r->at, r->end);
    return true;
}

static bool starts_with(const ntr_reader *r, const char *word) {
    const uint64_t size = strlen(word);
    if ((uint64_t)(r->end - r->at) < size) {
        return false;
    }
    for (uint64_t i = 0; i < size; i++) {
        if ((r->at[i] | 0x20) != (word[i] | 0x20)) {
            return false;
        }
    }
    return true;
}

/* A line that begins with no subject: what is it? */
static bool refuse_start(ntriples_parser *parser, ntr_reader *r) {
    static const char *const directives[] = {"@prefix", "@base", "prefix ", "prefix\t", "base ", "base\t", "base<"};
    const bool is_file_start = parser->offset == 0 && r->at == parser->begin && r->end - r->at >= 2;
    if (is_file_start && (memcmp(r->at, "\xFF\xFE", 2) == 0 || memcmp(r->at, "\xFE\xFF", 2) == 0)) {
        return ntr_fail(r, NTR_R_UTF_16, r->at);
    }
    if (is_file_start && r->end - r->at >= 3 && memcmp(r->at, "\xEF\xBB\xBF", 3) == 0) {
        return ntr_fail(r, NTR_R_BYTE_ORDER_MARK, r->at);
    }
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++) {
        if (starts_with(r, directives[i])) {
            return ntr_fail(r, NTR_R_DIRECTIVE, r->at);
        }
    }
    return ntr_fail(r, starts_with(r, "version") ? NTR_R_VERSION : NTR_R_SUBJECT, r->at);
}

/* From the subject to the line's end. */
static bool read_statement(ntriples_parser *parser, ntr_reader *r, ntriples_statement *out) {
    const bool is_quads = parser->options.syntax == NTRIPLES_QUADS;
    if (*r->at != '<' && *r->at != '_') {
        return refuse_start(parser, r);
    }
    out->same = 0;
    out->n_terms = 3;
    if (!read_position(parser, r, NTRIPLES_SUBJECT, out) || !read_position(parser, r, NTRIPLES_PREDICATE, out) ||
        !read_position(parser, r, NTRIPLES_OBJECT, out)) {
        return false;
    }
    if (is_quads && (r->at == r->end || *r->at != '.')) {
        const bool is_over = r->at == r->end || ntr_is_line_end(*r->at) || *r->at == '#';
        if (is_over || !read_position(parser, r, NTRIPLES_GRAPH, out)) {
            return is_over ? ntr_fail(r, NTR_R_FULL_STOP, r->at) : false;
        }
        out->n_terms = 4;
    } else {
        parser->raw[NTRIPLES_GRAPH].size = 0;
    }
    if (r->at == r->end || *r->at != '.') {
        return ntr_fail(r, NTR_R_FULL_STOP, r->at);
    }
    r->at = ntr_skip_blanks(r->at + 1, r->end);
    const uint8_t *line_end = skip_comment(r, r->at);
    if (line_end == NULL) {
        return false;
    }
    r->at = line_end;
    return r->at == r->end || ntr_is_line_end(*r->at) || ntr_fail(r, NTR_R_LINE_END, r->at);
}

/* Notes the fault and goes to the next line. */
static fmt_status refuse_line(ntriples_parser *parser, const ntr_reader *r, fmt_diag *diag) {
    const uint8_t *end = find_line_end(r->fault, parser->end);
    const uint64_t line_at = parser->offset + (uint64_t)(parser->line_start - parser->begin);
    const ntr_line line = {parser->line_start, parser->line, line_at};
    ntriples_fault *fault = &parser->fault;
    fault->line = parser->line;
    fault->offset = line_at + (uint64_t)(r->fault - parser->line_start);
    fault->text = (fmt_str){(const char *)parser->line_start, (uint64_t)(end - parser->line_start)};
    const fmt_status status = ntr_refuse(r, line, &fault->column, diag);
    memset(parser->raw, 0, sizeof parser->raw);
    pass_line_end(parser, end);
    return status;
}

fmt_status ntriples_next(ntriples_parser *parser, ntriples_statement *out_statement, fmt_diag *diag) {
    ntr_reader r = {.end = parser->end, .blank_prefix = parser->options.blank_prefix};
    while (parser->at < parser->end) {
        r.at = ntr_skip_blanks(parser->at, parser->end);
        const uint8_t *begin = r.at;
        const uint8_t *line_end = skip_comment(&r, begin);
        if (line_end == NULL) {
            return refuse_line(parser, &r, diag);
        }
        if (line_end == parser->end || ntr_is_line_end(*line_end)) {
            pass_line_end(parser, line_end);
            continue;
        }
        if (!read_statement(parser, &r, out_statement)) {
            return refuse_line(parser, &r, diag);
        }
        out_statement->line = parser->line;
        out_statement->offset = parser->offset + (uint64_t)(begin - parser->begin);
        pass_line_end(parser, r.at);
        return FMT_OK;
    }
    return FMT_NOT_FOUND;
}
