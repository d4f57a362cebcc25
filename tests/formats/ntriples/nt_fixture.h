/* nt_fixture.h — a whole text through the parser, for the tests of N-Triples and N-Quads. */
#ifndef TEST_NT_FIXTURE_H
#define TEST_NT_FIXTURE_H
#include <quoin/ntriples.h>

typedef struct nt_result {
    fmt_status status;  /* FMT_NOT_FOUND: read to the end */
    fmt_diag diag;
    ntriples_fault fault;
    size_t n_statements;
    char *text;         /* all statements before the fault, written canonically */
    size_t size, room;
} nt_result;

/* Parses until the end or the first fault; to be freed. */
nt_result nt_parse(fmt_span span, ntriples_syntax syntax);
nt_result nt_parse_file(const char *path);
nt_result nt_parse_text(const char *text, ntriples_syntax syntax);
void nt_free(nt_result *result);

/* A string as it is taken by this library. */
fmt_str nt_str(const char *text);

#endif
