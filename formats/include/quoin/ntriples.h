/* ntriples.h — N-Triples and N-Quads (RDF 1.1): a strict parser, canonical terms, and literals that fit into 64 bits.
 *
 * A term is given as its *surface text*: the canonical N-Triples form, which is also the text that a Q42 volume hashes.
 *
 *     <http://example.org/a>     an IRI with its brackets; absolute
 *     _:label                    a blank node
 *     "text"                     a literal; xsd:string is left out
 *     "text"@en  "1"^^<IRI>      with language tag (as written) or datatype
 *
 * It is UTF-8 without \u escapes; inside quotation marks \" \\ \n \r are the only escapes, every other character stands
 * as itself, controls and NUL included. A text that is already canonical in the input points into the input; another is
 * rebuilt in the caller's scratch. Nothing is normalised.
 *
 *     static char scratch[NTRIPLES_SCRATCH_SIZE];
 *     ntriples_parser parser;
 *     ntriples_statement s;
 *     fmt_diag diag;
 *     const ntriples_options options = {.syntax = NTRIPLES_QUADS};
 *     ntriples_start(&parser, (ntriples_chunk){span, 0, 1}, &options, scratch);
 *     fmt_status status;
 *     while ((status = ntriples_next(&parser, &s, &diag)) == FMT_OK) {
 *         use(s.terms[NTRIPLES_OBJECT].text, s.terms[NTRIPLES_OBJECT].size);
 *     }
 *     if (status != FMT_NOT_FOUND) { refuse(&diag); }
 *
 * Lines:     LF, CR LF and CR end a line, each counts once. Columns count characters from 1 (code points; a byte that is
 *            part of none counts as one). A diagnosis begins with "line L, column C: ", its index is the line.
 * Threading: a parser belongs to one thread at a time; everything else is pure. Chunks of one file may be parsed by
 *            different threads.
 * Memory:    allocates nothing. Input, options' prefix and scratch are borrowed while the parser is used.
 * Errors:    FMT_BAD_FILE with a rule of formats/ntriples/rules.def; FMT_LIMIT for a term that is longer than
 *            NTRIPLES_MAX_TERM; FMT_UNSUPPORTED for what only RDF 1.2 has (triple terms, base directions, VERSION).
 */
#ifndef QUOIN_NTRIPLES_H
#define QUOIN_NTRIPLES_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>
#include <quoin/span.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTRIPLES_MAX_TERM 65535u                        /* bytes of a surface text; brackets, quotes, datatype count */
#define NTRIPLES_TERM_ROOM 65536u                       /* bytes: room for any one surface text */
#define NTRIPLES_SCRATCH_SIZE (4 * NTRIPLES_TERM_ROOM)  /* bytes: room for one rebuilt statement */
#define NTRIPLES_LINE_SIZE (4 * NTRIPLES_TERM_ROOM + 8) /* bytes: room for any one written statement */

/* ---------------------------------------------------------------- terms */

typedef uint32_t ntriples_kind;
enum { NTRIPLES_IRI = 0, NTRIPLES_BLANK = 1, NTRIPLES_LITERAL = 2 };

typedef struct ntriples_term {
    const char *text;   /* canonical surface text, not terminated; may hold NUL */
    uint32_t size;      /* bytes, 3 .. NTRIPLES_MAX_TERM (2 for "") */
    ntriples_kind kind;
    uint32_t close;     /* literal: offset of the closing quotation mark; others: 0 */
} ntriples_term;

/* Parts of a literal, as views into its surface text. Only for kind NTRIPLES_LITERAL. [any-thread] [no-alloc] */
fmt_str ntriples_escaped_value(const ntriples_term *literal); /* between the quotation marks, still escaped */
fmt_str ntriples_language(const ntriples_term *literal);      /* "en"; size 0 when there is none */
fmt_str ntriples_datatype(const ntriples_term *literal);      /* IRI without brackets; size 0 when none is written */

/* The value with its escapes resolved; `out` has room for term->size bytes. Returns the length. Of an IRI: without
 * brackets; of a blank node: the label without _: . [any-thread] [no-alloc] */
uint32_t ntriples_decode(const ntriples_term *term, char *out);

/* Reads one term in N-Triples syntax at the very start of `text` (no white space before it), canonical or not.
 * `scratch` has NTRIPLES_TERM_ROOM bytes and is used when the text is not canonical. *out_used receives the bytes read;
 * a null out_used demands that the term fills `text`. Line and offset of a diagnosis count from the start of `text`.
 * Outputs are untouched on error. [any-thread] [no-alloc] */
fmt_status ntriples_read_term(fmt_str text, void *scratch, ntriples_term *out_term, uint64_t *out_used, fmt_diag *diag);

/* True when `text` is exactly one canonical surface text; fills *out_term (may be null), which borrows `text`.
 * [any-thread] [no-alloc] */
bool ntriples_is_canonical(fmt_str text, ntriples_term *out_term);

/* Make canonical surface texts from parts; checked like parsed ones. `out` has NTRIPLES_TERM_ROOM bytes and becomes
 * out_term->text. A part: `iri` without brackets, `label` without _: , `value` unescaped UTF-8; a size of 0 for
 * `language` and `datatype` means none, and at most one of them is given. xsd:string is left out. Offset and column of
 * a diagnosis count inside the part that is at fault. [any-thread] [no-alloc] */
fmt_status ntriples_make_iri(fmt_str iri, char *out, ntriples_term *out_term, fmt_diag *diag);
fmt_status ntriples_make_blank(fmt_str label, char *out, ntriples_term *out_term, fmt_diag *diag);
fmt_status ntriples_make_literal(fmt_str value, fmt_str language, fmt_str datatype, char *out, ntriples_term *out_term,
                                 fmt_diag *diag);

/* ---------------------------------------------------------------- parsing */

typedef uint32_t ntriples_syntax;
enum { NTRIPLES_TRIPLES = 0, NTRIPLES_QUADS = 1 };

enum { NTRIPLES_SUBJECT = 0, NTRIPLES_PREDICATE = 1, NTRIPLES_OBJECT = 2, NTRIPLES_GRAPH = 3 };

typedef struct ntriples_statement {
    ntriples_term terms[4]; /* valid until the next call; what points into the input, as long as the input */
    uint32_t n_terms;       /* 3, or 4 with a graph name */
    uint32_t same;          /* bit i: terms[i] has the same text as in the statement before. A hint: a clear bit says
                               nothing */
    uint64_t line;          /* in the file */
    uint64_t offset;        /* byte in the file where the statement begins */
} ntriples_statement;

/* Whole lines out of a file; only the last chunk may end without a line end. */
typedef struct ntriples_chunk {
    fmt_span bytes;
    uint64_t offset; /* of bytes.data[0] in the file */
    uint64_t line;   /* number of its first line, from 1 */
} ntriples_chunk;

typedef struct ntriples_options {
    ntriples_syntax syntax;
    fmt_str blank_prefix;   /* put before each blank node label; PN_CHARS_BASE first. Size 0: labels as they are */
} ntriples_options;

/* Where the last refused line stands, and the line itself, for a list of rejects. */
typedef struct ntriples_fault {
    uint64_t line, column, offset;
    fmt_str text; /* the raw line without its end */
} ntriples_fault;

/* Members are private, but for `fault`. */
typedef struct ntriples_parser {
    const uint8_t *begin, *at, *end, *line_start;
    char *scratch;
    uint64_t offset, line;
    ntriples_options options;
    fmt_str raw[4];       /* the IRIs of the statement before as they stood in the input; size 0: none */
    ntriples_fault fault; /* valid after an error until the next call */
} ntriples_parser;

/* `scratch` has NTRIPLES_SCRATCH_SIZE bytes. */
void ntriples_start(ntriples_parser *parser, ntriples_chunk chunk, const ntriples_options *options, void *scratch);

/* The next statement: FMT_OK. FMT_NOT_FOUND at the end. After an error the parser stands behind the line that was at
 * fault, so that a caller may go on; *out_statement is then without value. [no-alloc] */
fmt_status ntriples_next(ntriples_parser *parser, ntriples_statement *out_statement, fmt_diag *diag);

/* For cutting a file into chunks: how many bytes of `bytes` are whole lines whatever follows them (0: no line ends in
 * it), and how many line ends it holds, CR LF counted once. [any-thread] [no-alloc] */
uint64_t ntriples_whole_lines(fmt_span bytes);
uint64_t ntriples_count_lines(fmt_span bytes);

/* ---------------------------------------------------------------- writing */

/* Writes `s p o .` or `s p o g .` and LF into `out`, which has room for the texts and n_terms + 2 bytes. Returns the
 * bytes written. [any-thread] [no-alloc] */
uint64_t ntriples_write_statement(const fmt_str *terms, uint32_t n_terms, char *out);

/* ---------------------------------------------------------------- literals inside the object word of a quin
 *
 * Bit 63 is 0, bits 60..62 say the datatype, bits 0..59 hold the value: 1 xsd:integer and 2 xsd:decimal times 10^6,
 * both two's complement; 3 xsd:boolean; 5 the bits of an xsd:float. Written only when the text is what would be printed
 * back: integers 0 or -?[1-9][0-9]*; decimals with a dot and one digit at least on both sides, no other leading zero, no
 * trailing zero after the first fraction digit, at most six fraction digits, no -0.0 (the canonical form of XML Schema's
 * second edition); true and false. Floats are only read.
 */

#define NTRIPLES_INLINE_ROOM 96u /* bytes: room for the surface text of any inline literal */

/* True when the term is such a literal; *out_id receives its word. [any-thread] [no-alloc] */
bool ntriples_inline_object(const ntriples_term *term, uint64_t *out_id);

typedef uint32_t ntriples_decimal_form;
enum { NTRIPLES_DECIMAL_CANONICAL = 0, NTRIPLES_DECIMAL_SIX = 1 };

/* Surface text of an inline literal into out[NTRIPLES_INLINE_ROOM]; returns its size, 0 when `id` is none (another tag,
 * a boolean that is neither 0 nor 1). DECIMAL_SIX prints six fraction digits always. [any-thread] [no-alloc] */
uint32_t ntriples_inline_text(uint64_t id, ntriples_decimal_form form, char *out);

/* All rules; *out_count of them. Static. [any-thread] [no-alloc] */
const fmt_rule *ntriples_rules(uint64_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
