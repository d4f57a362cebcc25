/* fuzz_shapes.c — any bytes as a shapes file; what is accepted is used.
 *
 * What is demanded: a refusal has words; a validation ends; its results name the node and the component, and the verdict is that of the
 * counts. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rules/fact_table.h"
#include "rules/n3.h"
#include "rules/shapes.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char statements[] =
    "@prefix e: <http://e/> . e:x a e:T ; e:p 1, 2.5, \"t\", \"t\"@en, e:y, _:b ; e:q e:y . e:y a e:U ; e:p 1e3 . e:U "
    "<http://www.w3.org/2000/01/rdf-schema#subClassOf> e:T , e:U . _:b e:p \"2026-11-30T12:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime> .";

static void validate(const shapes *all, shape_policy policy) {
    static fact facts[N3_MAX_CANDIDATES];
    const n3_options options = {.name = "facts"};
    n3_document d;
    fact_table table;
    shape_report report;
    REQUIRE(n3_read(text_of(statements), &options, &d, NULL) == QN_OK && fact_table_init(&table, 64, NULL) == QN_OK);
    for (uint32_t i = 0; i < d.n_assertions; i++) {
        n3_triple_texts(&d.assertions[i], facts[i].terms);
        REQUIRE(fact_table_add(&table, facts[i].terms, 0, NULL, NULL) >= 0);
    }
    const fact_source source = fact_table_source(&table);
    const shape_check check = {.facts = &source, .candidates = facts, .n_candidates = d.n_assertions, .is_whole = true, .policy = policy};
    REQUIRE(shapes_validate(all, &check, &report, NULL) == QN_OK);
    uint64_t n_violations = 0;
    for (uint32_t i = 0; i < report.n_results; i++) {
        REQUIRE(report.results[i].focus.size > 0 && report.results[i].component[0] != '\0');
        n_violations += report.results[i].severity == SHAPE_VIOLATION ? 1 : 0;
    }
    REQUIRE(n_violations <= report.counts[SHAPE_VIOLATION] && shape_report_conforms(&report) == (report.counts[SHAPE_VIOLATION] == 0));
    shape_report_free(&report);
    fact_table_deinit(&table);
    n3_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[40];
    shapes *all;
    error_context err = {.code = QN_OK};
    const int fd = memfd_create("fuzz", 0);
    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    if (shapes_read(path, &all, &err) == QN_OK) {
        validate(all, size % 2 == 0 ? SHAPE_POLICY_OPEN : SHAPE_POLICY_CLOSED);
        shapes_free(all);
    } else {
        REQUIRE(strlen(error_text(&err)) > 10);
    }
    close(fd);
    return 0;
}
