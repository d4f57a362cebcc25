/* rdf_reader.h — statements from any input: N-Triples, N-Quads, Turtle or TriG, plain or compressed, file or pipe.
 *
 * The path "-" is standard input. gzip, zstd and LZ4 frames are recognised by their first bytes; members or frames that
 * follow each other are one input; a stream that is cut or damaged is an error at the end of what could be read of it.
 *
 * Two ways to read:
 *   in chunks      N-Triples and N-Quads: whole lines, cut by one thread after another, parsed by many
 *   by statements  any format, on one thread; the only way for Turtle and TriG, which go through libserd
 *
 *     rdf_reader *reader;
 *     QN_TRY(rdf_reader_open(path, &options, &reader, err), err, "reading %s", path);
 *     if (rdf_reader_has_chunks(reader)) {
 *         rdf_chunk chunk;                               on each worker, with its own buffer and scratch
 *         while ((status = rdf_reader_next_chunk(reader, buffer, room, &chunk, err)) == QN_OK) {
 *             ntriples_start(&parser, chunk.lines, rdf_reader_parser_options(reader), scratch);
 *             while (ntriples_next(&parser, &statement, &diag) == FMT_OK) { ... }
 *         }
 *     } else {
 *         status = rdf_reader_each(reader, take, ctx, NULL, err);
 *     }
 *     rdf_reader_close(reader);
 *
 * Threading: rdf_reader_next_chunk may be called by several threads at once; the rest by one thread at a time.
 * Memory:    bounded whatever the input: 1 MiB, the rest of one chunk, the decoder's window (zstd: at most 128 MiB), and
 *            for Turtle and TriG the prefixes and the longest term, of which libserd gets at most RDF_LONGEST_TOKEN bytes.
 * Errors:    the message names the input, the line and the column. Columns count characters from 1, not bytes. The place is
 *            that of the character in N-Triples and N-Quads; in Turtle and TriG where the term (or its language tag or
 *            datatype) begins, and for a fault of their syntax where libserd noticed it.
 */
#ifndef HOST_GRAPH_RDF_READER_H
#define HOST_GRAPH_RDF_READER_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/ntriples.h>

#include "base/error.h"

#define RDF_LEAST_ROOM (UINT64_C(64) << 10)     /* bytes of a chunk buffer; some MiB are better */
#define RDF_LONGEST_TOKEN (UINT64_C(16) << 20)  /* bytes of one term in Turtle or TriG */

typedef uint32_t rdf_format;
enum {
    RDF_AUTO = 0,     /* by the name's extension, behind which .gz, .zst or .lz4 may stand; "-" is N-Quads */
    RDF_NTRIPLES = 1, /* nt */
    RDF_NQUADS = 2,   /* nq */
    RDF_TURTLE = 3,   /* ttl */
    RDF_TRIG = 4      /* trig */
};

/* The format that `name` means ("nt", "nq", "ttl", "turtle", "trig", in any case); false when it means none. */
bool rdf_format_find(const char *name, rdf_format *out_format);
const char *rdf_format_name(rdf_format format); /* "N-Triples", … */

typedef struct rdf_options {
    rdf_format format;
    const char *base;         /* absolute IRI that relative ones of Turtle and TriG are resolved against; null: none, and a
                                 relative IRI is refused unless the text has a base of its own */
    const char *blank_prefix; /* put before each label, "s2_" say; null or "": labels as they are. Letters, digits, _ */
    const fmt_str *text;      /* borrowed until the reader is closed: what is read in place of the file, which path then only names; null: the
                                 file */
} rdf_options;

typedef struct rdf_reader rdf_reader;

/* Opens the input, recognises compression and format, reads nothing else. QN_BAD_INPUT for an extension that says no
 * format, a base that is no absolute IRI, a prefix that is none. To be closed. */
qn_status rdf_reader_open(const char *path, const rdf_options *options, rdf_reader **out_reader, error_context *err);
void rdf_reader_close(rdf_reader *reader); /* null is legal */

const char *rdf_reader_name(const rdf_reader *reader); /* path, or "standard input"; for messages */
rdf_format rdf_reader_format(const rdf_reader *reader);
/* Bytes of the input, as stored, that were read so far, and its size (0: not known); for a progress bar. [any-thread] */
void rdf_reader_progress(rdf_reader *reader, uint64_t *out_read, uint64_t *out_size);

/* ---------------------------------------------------------------- chunks: N-Triples and N-Quads */

bool rdf_reader_has_chunks(const rdf_reader *reader);

typedef struct rdf_chunk {
    ntriples_chunk lines;  /* whole lines in the caller's buffer, with number of the first line and offset in the
                              uncompressed text */
    uint64_t serial;       /* 0, 1, 2, … in the order of the input */
    uint64_t long_line;    /* 0, or the size in bytes, its end counted, of a single line that did not fit: `lines` holds its
                              beginning only and must not be parsed; reading goes on behind it */
} rdf_chunk;

/* Fills buffer[room], room at least RDF_LEAST_ROOM. QN_NOT_FOUND without words at the end. A
 * failure is told in the same words to every thread. [any-thread] [may block] */
qn_status rdf_reader_next_chunk(rdf_reader *reader, void *buffer, uint64_t room, rdf_chunk *out_chunk, error_context *err);

/* Syntax and prefix for ntriples_start; valid until close. [any-thread] */
const ntriples_options *rdf_reader_parser_options(const rdf_reader *reader);

/* The diagnosis of a chunk whose long_line is not 0, as the parser would have given it: rule "term-too-long", FMT_LIMIT.
 * [any-thread] */
fmt_status rdf_refuse_long_line(const rdf_chunk *chunk, fmt_diag *diag);

typedef struct rdf_place {
    uint64_t line, column; /* from 1; column 0: not known */
} rdf_place;

/* Where term NTRIPLES_SUBJECT ... NTRIPLES_GRAPH begins of a statement that was parsed out of this chunk, which is still there.
 * Reads the line again: for messages. Column 0 without memory. [any-thread] */
rdf_place rdf_chunk_find_term(const rdf_chunk *chunk, const ntriples_statement *statement, uint32_t term);

/* ---------------------------------------------------------------- statements: every format */

/* Takes one statement, whose terms are valid for the call. A negative status ends the reading and is handed on. */
typedef qn_status rdf_statement_fn(void *ctx, const ntriples_statement *statement, error_context *err);

/* While a statement is being taken: where its term NTRIPLES_SUBJECT ... NTRIPLES_GRAPH begins. */
rdf_place rdf_reader_find_term(const rdf_reader *reader, const ntriples_statement *statement, uint32_t term);

/* What was refused: the diagnosis, its place, and for N-Triples and N-Quads the raw line (otherwise size 0). A negative
 * status ends the reading and is handed on. */
typedef struct rdf_reject {
    const fmt_diag *diag;
    uint64_t line, column; /* from 1 */
    fmt_str text;
} rdf_reject;
typedef qn_status rdf_reject_fn(void *ctx, const rdf_reject *reject, error_context *err);

/* Every statement in the order of the text. Without `reject` the first fault ends the reading. With it reading goes on:
 * in N-Triples and N-Quads with the next line; in Turtle and TriG only when the text can be read and a term of it is at
 * fault (an IRI, a language tag, too long), since after a fault of syntax nothing says where the next statement begins.
 */
qn_status rdf_reader_each(rdf_reader *reader, rdf_statement_fn *take, void *ctx, rdf_reject_fn *reject, error_context *err);

#endif
