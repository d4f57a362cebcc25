/* nt_fixture.c — see nt_fixture.h. The text gets an allocation of its own, of exactly its size. */
#include "nt_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

fmt_str nt_str(const char *text) {
    return (fmt_str){text, strlen(text)};
}

static void keep_statement(nt_result *result, const ntriples_statement *statement) {
    fmt_str terms[4];
    uint64_t room = 2;
    for (uint32_t i = 0; i < statement->n_terms; i++) {
        terms[i] = (fmt_str){statement->terms[i].text, statement->terms[i].size};
        room += terms[i].size + 1;
    }
    if (result->size + room > result->room) {
        result->room = 2 * (result->size + room);
        result->text = realloc(result->text, result->room);
        assert_non_null(result->text);
    }
    result->size += ntriples_write_statement(terms, statement->n_terms, result->text + result->size);
    result->n_statements++;
}

nt_result nt_parse(fmt_span span, ntriples_syntax syntax) {
    nt_result result;
    ntriples_parser parser;
    ntriples_statement statement;
    const ntriples_options options = {.syntax = syntax};
    memset(&result, 0, sizeof result);
    char *scratch = malloc(NTRIPLES_SCRATCH_SIZE);
    uint8_t *exact = malloc(span.size + (span.size == 0));
    assert_true(scratch != NULL && exact != NULL);
    if (span.size > 0) {
        memcpy(exact, span.data, span.size);
    }
    ntriples_start(&parser, (ntriples_chunk){{exact, span.size}, 0, 1}, &options, scratch);
    while ((result.status = ntriples_next(&parser, &statement, &result.diag)) == FMT_OK) {
        keep_statement(&result, &statement);
    }
    result.fault = parser.fault;
    result.fault.text = (fmt_str){NULL, parser.fault.text.size};
    free(exact);
    free(scratch);
    return result;
}

nt_result nt_parse_text(const char *text, ntriples_syntax syntax) {
    return nt_parse((fmt_span){(const uint8_t *)text, strlen(text)}, syntax);
}

void nt_free(nt_result *result) {
    free(result->text);
    result->text = NULL;
}
