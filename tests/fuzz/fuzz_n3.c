/* fuzz_n3.c — any bytes as Notation3, and as rules.
 *
 * What is demanded: a refusal tells line and column; every term that was read is canonical; limits hold; what is written out again as plain
 * statements is read as the same statements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/ntriples.h>

#include "base/text_buffer.h"
#include "rules/n3.h"
#include "rules/rule_program.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_triple(const n3_triple *triple, bool is_statement) {
    for (int place = 0; place < FACT_PLACES; place++) {
        const n3_term *term = &triple->terms[place];
        ntriples_term same;
        if (term->kind <= N3_LITERAL) {
            REQUIRE(ntriples_is_canonical(term->text, &same));
            REQUIRE((same.kind == NTRIPLES_IRI) == (term->kind == N3_IRI) && (same.kind == NTRIPLES_LITERAL) == (term->kind == N3_LITERAL));
        }
        REQUIRE(!is_statement || term->kind <= N3_LITERAL);
    }
    REQUIRE(triple->line > 0 && triple->column > 0);
    REQUIRE(!is_statement || triple->terms[FACT_PREDICATE].kind == N3_IRI);
}

static void check_formula(const n3_document *d, const n3_formula *formula) {
    REQUIRE(formula->n_triples <= N3_MAX_FORMULA);
    REQUIRE(formula->is_false ? formula->n_triples == 0 : formula->first + formula->n_triples <= d->n_formula_triples);
}

/* The statements as N-Triples are the same statements. */
static void read_again(const n3_document *d, const n3_options *options) {
    text_buffer text = {0};
    n3_document again;
    for (uint32_t i = 0; i < d->n_assertions; i++) {
        for (int place = 0; place < FACT_PLACES; place++) {
            const fmt_str term = d->assertions[i].terms[place].text;
            REQUIRE(text_buffer_append(&text, term.data, (size_t)term.size) && text_buffer_append(&text, place < FACT_OBJECT ? " " : " .\n", place < FACT_OBJECT ? 1 : 3));
        }
    }
    /* Characters that N-Triples writes as themselves and Turtle does not, in a canonical text: none but what an escape gave. */
    if (n3_read((fmt_str){text.text, text.size}, options, &again, NULL) == QN_OK) {
        REQUIRE(again.n_assertions == d->n_assertions);
        for (uint32_t i = 0; i < d->n_assertions; i++) {
            for (int place = 0; place < FACT_PLACES; place++) {
                REQUIRE(texts_equal(again.assertions[i].terms[place].text, d->assertions[i].terms[place].text));
            }
        }
        n3_free(&again);
    } else {
        REQUIRE(text.size == 0 || memchr(text.text, '\0', text.size) != NULL); /* \u0000 */
    }
    text_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const n3_options options = {.name = "fuzz", .base = size % 2 == 0 ? "http://b/c" : NULL};
    n3_document d;
    rule_program *program;
    error_context err = {.code = QN_OK};
    if (n3_read((fmt_str){(const char *)data, size}, &options, &d, &err) < 0) {
        REQUIRE(strncmp(error_text(&err), "fuzz: line ", 11) == 0);
        REQUIRE(d.assertions == NULL && d.rules == NULL);
        return 0;
    }
    REQUIRE(d.n_assertions <= N3_MAX_CANDIDATES && d.n_rules <= N3_MAX_RULES);
    for (uint32_t i = 0; i < d.n_assertions; i++) {
        check_triple(&d.assertions[i], true);
    }
    for (uint32_t i = 0; i < d.n_formula_triples; i++) {
        check_triple(&d.formula_triples[i], false);
    }
    for (uint32_t i = 0; i < d.n_rules; i++) {
        check_formula(&d, &d.rules[i].premise);
        check_formula(&d, &d.rules[i].conclusion);
    }
    read_again(&d, &options);
    if (rule_program_compile(&d, "fuzz", &program, &err) == QN_OK) {
        rule_program_free(program);
    } else {
        REQUIRE(strncmp(error_text(&err), "fuzz: ", 6) == 0);
    }
    n3_free(&d);
    return 0;
}
