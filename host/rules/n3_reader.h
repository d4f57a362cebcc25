/* n3_reader.h — what the two files of the N3 reader share; not for others. */
#ifndef HOST_RULES_N3_READER_H
#define HOST_RULES_N3_READER_H
#include <quoin/ntriples.h>

#include "base/text_buffer.h"
#include "rules/n3.h"

typedef struct n3_prefix {
    fmt_str name, iri; /* iri: without brackets, owned by the document's pool */
} n3_prefix;

typedef struct n3_reader {
    const char *begin, *at, *end;
    const char *name, *blank_prefix;
    error_context *err;
    n3_document *document;
    /* The last place that was looked up: places are asked for in ascending order, mostly. */
    const char *seen;
    uint32_t line, column; /* of `seen` */
    uint32_t depth;        /* open braces */
    uint32_t n_statements;
    uint32_t max_assertions;
    uint32_t n_prefixes;
    n3_prefix prefixes[N3_MAX_PREFIXES];
    text_buffer base, value, iri; /* base: absolute, size 0: none */
    char room[NTRIPLES_TERM_ROOM];
} n3_reader;

/* "NAME: line L, column C: …" for the character at `place`. */
qn_status n3_refuse(n3_reader *r, const char *place, qn_status status, const char *format, ...) ERROR_PRINTF(4, 5);
void n3_place(n3_reader *r, const char *place, uint32_t *out_line, uint32_t *out_column);

void n3_skip_blanks(n3_reader *r); /* and comments */
bool n3_is_name_byte(char c);

/* <IRI> here, resolved, without brackets, in r->iri. */
qn_status n3_read_iri(n3_reader *r);

/* NAME: here, up to and with the colon. */
qn_status n3_read_prefix_name(n3_reader *r, fmt_str *out_name);

/* Any term but a formula. `a` is rdf:type when is_predicate. */
qn_status n3_read_term(n3_reader *r, bool is_predicate, n3_term *out_term);

#endif
