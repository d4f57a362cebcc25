/* ground_fixture.h — small volumes of statements, for tests of host/ground. */
#ifndef GROUND_FIXTURE_H
#define GROUND_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "ground/ground_volume.h"

#define E "http://e.example/"
#define RDFS_LABEL "<http://www.w3.org/2000/01/rdf-schema#label>"
#define PROV "http://www.w3.org/ns/prov#"
#define FIXTURE_NOW UINT64_C(1764500000000) /* ms: 2025-11-30T10:53:20Z */

/* One statement in surface texts; a null graph is the default one. */
typedef struct fixture_row {
    const char *terms[4];
    uint64_t metadata;
} fixture_row;

/* A written and opened volume. */
typedef struct fixture {
    char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];
    graph_volume *volume;
    ground_volume gv;
} fixture;

/* Rules may be null: every graph, FIXTURE_NOW. */
void fixture_open(fixture *f, const fixture_row *rows, size_t n, bool is_sanctuary, const fact_rules *rules);
void fixture_close(fixture *f);

/* Id of a surface text, in the place of an object. */
uint64_t fixture_id(const char *text);
q42_quin fixture_quin(const char *subject, const char *predicate, const char *object);

#define fixture_open_rows(f, rows) fixture_open((f), (rows), sizeof(rows) / sizeof(rows)[0], false, NULL)

#endif
