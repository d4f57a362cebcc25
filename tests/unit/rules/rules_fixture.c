/* rules_fixture.c — texts into documents, tables and programs. */
#include "rules_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "rules/n3.h"

static qn_status read_text(const char *text, const char *ending, n3_document *out, error_context *err) {
    const size_t size = strlen(PREFIXES) + strlen(text) + strlen(ending) + 1;
    char *whole = malloc(size);
    assert_non_null(whole);
    snprintf(whole, size, "%s%s%s", PREFIXES, text, ending);
    const n3_options options = {.name = "test", .max_assertions = N3_MAX_STATEMENTS};
    const qn_status status = n3_read(text_of(whole), &options, out, err);
    free(whole);
    return status;
}

static void must_read(const char *text, const char *ending, n3_document *out) {
    error_context err = {.code = QN_OK};
    if (read_text(text, ending, out, &err) < 0) {
        print_error("%s\n", error_text(&err));
        fail();
    }
}

void fixture_table(const char *text, uint32_t most, fact_table *out) {
    n3_document document;
    must_read(text, "", &document);
    assert_int_equal(fact_table_init(out, most, NULL), QN_OK);
    for (uint32_t i = 0; i < document.n_assertions; i++) {
        fmt_str terms[FACT_PLACES];
        n3_triple_texts(&document.assertions[i], terms);
        assert_true(fact_table_add(out, terms, document.assertions[i].line, NULL, NULL) >= 0);
    }
    n3_free(&document);
}

bool fixture_try_program(const char *text, rule_program **out, error_context *err) {
    n3_document document;
    must_read(text, "", &document);
    const qn_status status = rule_program_compile(&document, "test", out, err);
    n3_free(&document);
    return status == QN_OK;
}

rule_program *fixture_program(const char *text) {
    rule_program *program;
    error_context err = {.code = QN_OK};
    if (!fixture_try_program(text, &program, &err)) {
        print_error("%s\n", error_text(&err));
        fail();
    }
    return program;
}

bool fixture_try_shapes(const char *folder, const char *text, shapes **out, error_context *err) {
    char path[CORPUS_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/shapes.ttl", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(PREFIXES, file) >= 0 && fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return shapes_read(path, out, err) == QN_OK;
}

shapes *fixture_shapes(const char *folder, const char *text) {
    shapes *all;
    error_context err = {.code = QN_OK};
    if (!fixture_try_shapes(folder, text, &all, &err)) {
        print_error("%s\n", error_text(&err));
        fail();
    }
    return all;
}

fact *fixture_facts(const fact_table *table) {
    fact *facts = malloc((table->n_facts + 1) * sizeof *facts);
    assert_non_null(facts);
    for (uint32_t i = 0; i < table->n_facts; i++) {
        for (int place = 0; place < FACT_PLACES; place++) {
            facts[i].terms[place] = term_pool_text(&table->pool, table->facts[i].terms[place]);
        }
    }
    return facts;
}

uint32_t fixture_find(const fact_table *table, const char *statement) {
    n3_document document;
    term_ref terms[FACT_PLACES];
    bool is_known = true;
    must_read(statement, " .", &document);
    assert_int_equal(document.n_assertions, 1);
    for (int place = 0; place < FACT_PLACES; place++) {
        terms[place] = term_pool_find(&table->pool, document.assertions[0].terms[place].text);
        is_known = is_known && terms[place] != 0;
    }
    n3_free(&document);
    return is_known ? fact_table_find(table, terms) : FACT_NONE;
}

bool fixture_has(const fact_table *table, const char *statement) {
    return fixture_find(table, statement) != FACT_NONE;
}
