/* rules_fixture.h — texts into documents, tables and programs, for tests. Each function fails the running test when it cannot. */
#ifndef TEST_RULES_FIXTURE_H
#define TEST_RULES_FIXTURE_H
#include "rules/fact_table.h"
#include "rules/rule_program.h"
#include "rules/shapes.h"

/* What every text begins with. */
#define PREFIXES                                                          \
    "@prefix ex: <http://e/> . @prefix sh: <http://www.w3.org/ns/shacl#> ." \
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."                  \
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."             \
    "@prefix math: <http://www.w3.org/2000/10/swap/math#> ."              \
    "@prefix log: <http://www.w3.org/2000/10/swap/log#> .\n"

/* Reads statements (prefixes are put before them) into a table that is made. */
void fixture_table(const char *text, uint32_t most, fact_table *out);
/* Compiles rules; a refusal is in *err, and false is returned. */
bool fixture_try_program(const char *text, rule_program **out, error_context *err);
rule_program *fixture_program(const char *text);
/* Writes shapes into a file and reads it; false with *err when they are refused. The file lies in `folder`. */
bool fixture_try_shapes(const char *folder, const char *text, shapes **out, error_context *err);
shapes *fixture_shapes(const char *folder, const char *text);

/* The facts of a table as candidates; the caller frees. */
fact *fixture_facts(const fact_table *table);
/* "ex:a ex:p ex:b" (or any statement) stands in the table. */
bool fixture_has(const fact_table *table, const char *statement);
/* Its number, or FACT_NONE. */
uint32_t fixture_find(const fact_table *table, const char *statement);

#endif
