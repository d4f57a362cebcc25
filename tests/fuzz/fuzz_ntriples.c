/* fuzz_ntriples.c — the parser of N-Triples and N-Quads, and everything that takes one term, on any bytes.
 *
 * What is parsed is canonical, is parsed again into itself once written, and is the same whether the text comes whole or
 * cut into chunks of lines.
 */
#include <stdlib.h>
#include <string.h>

#include <quoin/ntriples.h>

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char scratch[NTRIPLES_SCRATCH_SIZE], again_scratch[NTRIPLES_SCRATCH_SIZE], line[NTRIPLES_LINE_SIZE];
static char value[NTRIPLES_TERM_ROOM], made[NTRIPLES_TERM_ROOM];

static bool is_same(fmt_str a, const ntriples_term *b) {
    return a.size == b->size && memcmp(a.data, b->text, a.size) == 0;
}

/* Apart, and together again. */
static void remake_term(const ntriples_term *term) {
    ntriples_term remade;
    fmt_diag diag;
    const fmt_str text = {value, ntriples_decode(term, value)};
    fmt_status status;
    if (term->kind == NTRIPLES_LITERAL) {
        status = ntriples_make_literal(text, ntriples_language(term), ntriples_datatype(term), made, &remade, &diag);
    } else if (term->kind == NTRIPLES_IRI) {
        status = ntriples_make_iri(text, made, &remade, &diag);
    } else {
        status = ntriples_make_blank(text, made, &remade, &diag);
    }
    REQUIRE(status == FMT_OK && is_same((fmt_str){term->text, term->size}, &remade) && remade.close == term->close);
}

static void visit_term(const ntriples_term *term) {
    char printed[NTRIPLES_INLINE_ROOM];
    ntriples_term same;
    uint64_t id;
    const fmt_str text = {term->text, term->size};
    REQUIRE(term->size <= NTRIPLES_MAX_TERM);
    REQUIRE(ntriples_is_canonical(text, &same) && same.kind == term->kind && same.close == term->close);
    remake_term(term);
    if (ntriples_inline_object(term, &id)) {
        const uint32_t size = ntriples_inline_text(id, NTRIPLES_DECIMAL_CANONICAL, printed);
        REQUIRE(is_same((fmt_str){printed, size}, term));
    }
}

static void visit_statement(const ntriples_statement *statement, const ntriples_options *options) {
    ntriples_parser parser;
    ntriples_statement again;
    fmt_diag diag;
    fmt_str terms[4];
    for (uint32_t i = 0; i < statement->n_terms; i++) {
        visit_term(&statement->terms[i]);
        terms[i] = (fmt_str){statement->terms[i].text, statement->terms[i].size};
    }
    const uint64_t size = ntriples_write_statement(terms, statement->n_terms, line);
    ntriples_start(&parser, (ntriples_chunk){{(const uint8_t *)line, size}, 0, 1}, options, again_scratch);
    REQUIRE(ntriples_next(&parser, &again, &diag) == FMT_OK && again.n_terms == statement->n_terms);
    for (uint32_t i = 0; i < again.n_terms; i++) {
        REQUIRE(is_same(terms[i], &again.terms[i]));
    }
    REQUIRE(ntriples_next(&parser, &again, &diag) == FMT_NOT_FOUND);
}

static uint64_t mix(uint64_t hash, const void *bytes, uint64_t size) {
    for (uint64_t i = 0; i < size; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001B3);
    }
    return hash;
}

/* Parses all of a chunk; returns a hash of all that came out of it. */
static uint64_t parse(ntriples_chunk chunk, const ntriples_options *options, bool is_visiting, uint64_t hash) {
    ntriples_parser parser;
    ntriples_statement statement;
    fmt_diag diag;
    fmt_status status;
    ntriples_start(&parser, chunk, options, scratch);
    while ((status = ntriples_next(&parser, &statement, &diag)) != FMT_NOT_FOUND) {
        if (status == FMT_OK) {
            hash = mix(hash, &statement.line, sizeof statement.line);
            for (uint32_t i = 0; i < statement.n_terms; i++) {
                hash = mix(hash, statement.terms[i].text, statement.terms[i].size);
            }
            if (is_visiting) {
                visit_statement(&statement, options);
            }
            continue;
        }
        REQUIRE(diag.offset >= chunk.offset && diag.offset <= chunk.offset + chunk.bytes.size && strlen(diag.text) > 20);
        REQUIRE(parser.fault.offset == diag.offset && parser.fault.line == diag.index && parser.fault.column > 0);
        hash = mix(hash, parser.fault.text.data, parser.fault.text.size);
        hash = mix(hash, &parser.fault.line, sizeof parser.fault.line);
    }
    return hash;
}

/* The same text in chunks of at least `least` bytes. */
static uint64_t parse_in_chunks(fmt_span span, uint64_t least, const ntriples_options *options) {
    ntriples_chunk chunk = {{span.data, 0}, 0, 1};
    uint64_t hash = 0, window = least;
    while (chunk.offset < span.size) {
        const uint64_t left = span.size - chunk.offset, seen = window < left ? window : left;
        chunk.bytes = (fmt_span){span.data + chunk.offset, seen};
        chunk.bytes.size = seen == left ? left : ntriples_whole_lines(chunk.bytes);
        if (chunk.bytes.size == 0) {
            window += least;
            continue;
        }
        hash = parse(chunk, options, false, hash);
        chunk.offset += chunk.bytes.size;
        chunk.line += ntriples_count_lines(chunk.bytes);
        window = least;
    }
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    const ntriples_options quads = {.syntax = NTRIPLES_QUADS}, triples = {.syntax = NTRIPLES_TRIPLES};
    ntriples_term term;
    fmt_diag diag;
    uint64_t used;
    const uint64_t whole = parse((ntriples_chunk){span, 0, 1}, &quads, true, 0);
    parse((ntriples_chunk){span, 0, 1}, &triples, false, 0);
    if (size < 4096) {
        REQUIRE(parse_in_chunks(span, 7, &quads) == whole);
    }
    if (ntriples_read_term((fmt_str){(const char *)data, size}, scratch, &term, &used, &diag) == FMT_OK) {
        REQUIRE(used <= size);
        visit_term(&term);
    }
    if (size >= sizeof used) {
        memcpy(&used, data, sizeof used);
        const uint32_t printed = ntriples_inline_text(used, (ntriples_decimal_form)(used >> 3 & 1), value);
        REQUIRE(printed == 0 || ntriples_is_canonical((fmt_str){value, printed}, NULL));
    }
    return 0;
}
