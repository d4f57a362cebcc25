/* rdf_chunks.c — N-Triples and N-Quads in chunks of whole lines, and one statement after another. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "rdf_internal.h"

#define STATEMENT_ROOM (UINT64_C(4) << 20) /* a line of four terms, each character a \U escape, has 2.6 million bytes */

/* Puts bytes before what is carried. */
static qn_status carry_over(rdf_reader *reader, const uint8_t *bytes, uint64_t size, error_context *err) {
    const uint64_t needed = reader->carry_size + size;
    if (needed > reader->carry_room) {
        uint8_t *carry = realloc(reader->carry, needed);
        if (carry == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for %" PRIu64 " bytes of a line", rdf_reader_name(reader), needed);
        }
        reader->carry = carry;
        reader->carry_room = needed;
    }
    if (size > 0) {
        memmove(reader->carry + size, reader->carry, reader->carry_size);
        memcpy(reader->carry, bytes, size);
    }
    reader->carry_size = needed;
    return QN_OK;
}

/* What is carried first, then the input. */
static qn_status fill(rdf_reader *reader, uint8_t *buffer, uint64_t room, uint64_t *out_size, error_context *err) {
    const uint64_t n = reader->carry_size < room ? reader->carry_size : room;
    uint64_t size = 0;
    if (n > 0) {
        memcpy(buffer, reader->carry, n);
        memmove(reader->carry, reader->carry + n, reader->carry_size - n);
        reader->carry_size -= n;
    }
    const qn_status status = n == room ? QN_OK : byte_source_read(reader->source, buffer + n, room - n, &size, err);
    *out_size = n + size;
    return status;
}

/* Does a line end in the block? *out_size: the bytes up to there, its end counted. A CR may be half of a CR LF. */
static bool find_line_end(const uint8_t *block, uint64_t size, bool *io_cr, uint64_t *out_size) {
    for (uint64_t n = 0; n < size; n++) {
        if (*io_cr || block[n] == '\n') {
            *out_size = n + (block[n] == '\n');
            return true;
        }
        *io_cr = block[n] == '\r';
    }
    *out_size = size;
    return false;
}

/* The buffer is full of one line. Passes the rest of it; *io_size becomes the size of the whole line with its end. */
static qn_status pass_long_line(rdf_reader *reader, bool ends_with_cr, uint64_t *io_size, error_context *err) {
    uint8_t block[4096];
    uint64_t size, n = 0;
    bool is_end = false;
    do {
        const qn_status status = fill(reader, block, sizeof block, &size, err);
        if (status != QN_OK) {
            return status;
        }
        is_end = find_line_end(block, size, &ends_with_cr, &n);
        *io_size += n;
    } while (!is_end && size > 0);
    return carry_over(reader, block + n, size - n, err);
}

static qn_status cut_chunk(rdf_reader *reader, uint8_t *buffer, uint64_t room, rdf_chunk *out, error_context *err) {
    uint64_t size;
    qn_status status = fill(reader, buffer, room, &size, err);
    if (status != QN_OK || size == 0) {
        return status != QN_OK ? status : QN_NOT_FOUND;
    }
    *out = (rdf_chunk){.lines = {{buffer, size}, reader->offset, reader->line}, .serial = reader->serial};
    uint64_t passed = size;
    if (size == room) {
        passed = ntriples_whole_lines((fmt_span){buffer, size});
        status = passed == 0 ? QN_OK : carry_over(reader, buffer + passed, size - passed, err);
        if (passed == 0) {
            passed = size;
            status = pass_long_line(reader, buffer[size - 1] == '\r', &passed, err);
            out->long_line = passed == size ? 0 : passed;
        } else {
            out->lines.bytes.size = passed;
        }
    }
    reader->offset += passed;
    reader->line += out->long_line != 0 ? 1 : ntriples_count_lines(out->lines.bytes);
    reader->serial++;
    return status;
}

qn_status rdf_reader_next_chunk(rdf_reader *reader, void *buffer, uint64_t room, rdf_chunk *out_chunk, error_context *err) {
    if (room < RDF_LEAST_ROOM) {
        return FAIL(err, QN_BAD_ARG, "%s: a chunk needs %" PRIu64 " bytes at least", rdf_reader_name(reader), RDF_LEAST_ROOM);
    }
    pthread_mutex_lock(&reader->lock);
    qn_status status = reader->failed;
    if (status == QN_OK) {
        status = cut_chunk(reader, buffer, room, out_chunk, &reader->failure);
        reader->failed = status;
    }
    if (status < 0 && status != QN_NOT_FOUND && err != NULL) {
        *err = reader->failure;
    }
    pthread_mutex_unlock(&reader->lock);
    return status;
}

fmt_status rdf_refuse_long_line(const rdf_chunk *chunk, fmt_diag *diag) {
    uint64_t n = 0;
    const fmt_rule *rule = ntriples_rules(&n);
    while (n > 1 && strcmp(rule->id, "term-too-long") != 0) {
        rule++;
        n--;
    }
    *diag = (fmt_diag){.rule = rule->id, .section = rule->section, .offset = chunk->lines.offset,
                       .index = chunk->lines.line, .expected = NTRIPLES_MAX_TERM, .got = chunk->long_line};
    snprintf(diag->text, sizeof diag->text, "line %" PRIu64 ", column 1: a line of %" PRIu64 " bytes: %s.", chunk->lines.line,
             chunk->long_line, rule->sentence);
    return FMT_LIMIT;
}

/* Bytes before term `term` in a statement that is right; UINT64_MAX without memory. */
static uint64_t pass_terms(fmt_str text, uint32_t term) {
    uint64_t at = 0, used = 0;
    ntriples_term passed;
    fmt_diag diag;
    void *scratch = malloc(NTRIPLES_TERM_ROOM);
    for (uint32_t i = 0; scratch != NULL && i < term; i++) {
        if (ntriples_read_term((fmt_str){text.data + at, text.size - at}, scratch, &passed, &used, &diag) != FMT_OK) {
            break;
        }
        at += used;
        while (at < text.size && (text.data[at] == ' ' || text.data[at] == '\t')) {
            at++;
        }
    }
    free(scratch);
    return scratch != NULL ? at : UINT64_MAX;
}

rdf_place rdf_chunk_find_term(const rdf_chunk *chunk, const ntriples_statement *statement, uint32_t term) {
    const uint8_t *begin = chunk->lines.bytes.data, *end = begin + chunk->lines.bytes.size;
    const uint8_t *first = begin + (statement->offset - chunk->lines.offset), *line = first;
    const uint64_t skipped = pass_terms((fmt_str){(const char *)first, (uint64_t)(end - first)}, term);
    rdf_place place = {statement->line, skipped == UINT64_MAX ? 0 : 1};
    while (line > begin && line[-1] != '\n' && line[-1] != '\r') {
        line--;
    }
    while (skipped != UINT64_MAX && line < first + skipped) {
        line += utf8_decode(line, (uint64_t)(end - line), NULL); /* has passed: never 0 */
        place.column++;
    }
    return place;
}

/* Reading statement by statement. */
typedef struct each {
    rdf_reader *reader;
    rdf_statement_fn *take;
    rdf_reject_fn *reject;
    void *ctx;
} each;

static qn_status refuse(const each *e, fmt_status fault, const fmt_diag *diag, const rdf_reject *reject, error_context *err) {
    return e->reject == NULL ? error_from_diag(err, fault, diag, rdf_reader_name(e->reader)) : e->reject(e->ctx, reject, err);
}

static qn_status parse_chunk(const each *e, const rdf_chunk *chunk, void *scratch, error_context *err) {
    ntriples_parser parser;
    ntriples_statement statement;
    fmt_diag diag;
    fmt_status fault;
    qn_status status = QN_OK;
    if (chunk->long_line != 0) {
        fault = rdf_refuse_long_line(chunk, &diag);
        const fmt_str text = {(const char *)chunk->lines.bytes.data, chunk->lines.bytes.size};
        return refuse(e, fault, &diag, &(rdf_reject){&diag, chunk->lines.line, 1, text}, err);
    }
    e->reader->chunk = chunk;
    ntriples_start(&parser, chunk->lines, &e->reader->parser_options, scratch);
    while (status >= 0 && (fault = ntriples_next(&parser, &statement, &diag)) != FMT_NOT_FOUND) {
        const rdf_reject reject = {&diag, parser.fault.line, parser.fault.column, parser.fault.text};
        status = fault == FMT_OK ? e->take(e->ctx, &statement, err) : refuse(e, fault, &diag, &reject, err);
    }
    return status;
}

qn_status rdf_reader_each(rdf_reader *reader, rdf_statement_fn *take, void *ctx, rdf_reject_fn *reject, error_context *err) {
    if (!rdf_reader_has_chunks(reader)) {
        return rdf_read_turtle(reader, take, ctx, reject, err);
    }
    const each e = {reader, take, reject, ctx};
    rdf_chunk chunk;
    bool is_over = false;
    void *buffer = malloc(STATEMENT_ROOM), *scratch = malloc(NTRIPLES_SCRATCH_SIZE);
    qn_status status = buffer != NULL && scratch != NULL
                           ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", rdf_reader_name(reader));
    while (status >= 0 && !is_over) {
        status = rdf_reader_next_chunk(reader, buffer, STATEMENT_ROOM, &chunk, err);
        is_over = status == QN_NOT_FOUND;
        status = is_over ? QN_OK : status == QN_OK ? parse_chunk(&e, &chunk, scratch, err) : status;
    }
    free(buffer);
    free(scratch);
    return status;
}
