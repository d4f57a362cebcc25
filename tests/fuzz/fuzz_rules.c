/* fuzz_rules.c — a text of Notation3 as rules and as the facts that they run on.
 *
 * What is demanded: every run ends within its limits; the outcome is the same each time; a derived fact rests on facts before it, one more
 * strict run over its own result draws nothing new; a proof ends with what it proves. */
#include <stdlib.h>
#include <string.h>

#include "rules/rule_machine.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

#define MOST_FACTS 96u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_facts(const fact_table *table) {
    for (uint32_t i = 0; i < table->n_facts; i++) {
        const fact_origin *origin = &table->facts[i].origin;
        uint32_t *proof, n;
        for (uint32_t j = 0; j < origin->n_premises; j++) {
            REQUIRE(origin->premises[j] < i);
            REQUIRE(!origin->is_definite || table->facts[origin->premises[j]].origin.is_definite);
        }
        REQUIRE(fact_table_find(table, table->facts[i].terms) == i);
        REQUIRE(rules_proof(table, i, &proof, &n, NULL) == QN_OK && n > 0 && proof[n - 1] == i);
        free(proof);
    }
}

static void run_once(const rule_program *program, const fact *facts, uint64_t n, fact_table *table, rule_verdict *v) {
    const rule_limits limits = {.max_depth = 8, .max_facts = MOST_FACTS, .max_work = 50000};
    REQUIRE(rules_check(program, NULL, facts, n, &limits, table, v, NULL) == QN_OK);
    REQUIRE(table->n_facts <= MOST_FACTS && v->n_work <= 50000 + MOST_FACTS * 16 && v->n_steps <= 8 * program->n_rules);
    REQUIRE((v->outcome == RULES_OK) == (v->reason[0] == '\0'));
    check_facts(table);
}

static void run_program(const rule_program *program, const fact *facts, uint64_t n) {
    fact_table first, second;
    rule_verdict v, w;
    run_once(program, facts, n, &first, &v);
    run_once(program, facts, n, &second, &w);
    REQUIRE(v.outcome == w.outcome && v.n_work == w.n_work && strcmp(v.reason, w.reason) == 0 && first.n_facts == second.n_facts);
    fact_table_deinit(&first);
    fact_table_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static fact facts[N3_MAX_CANDIDATES];
    const n3_options options = {.name = "fuzz"};
    n3_document d;
    rule_program *program;
    if (n3_read((fmt_str){(const char *)data, size}, &options, &d, NULL) < 0) {
        return 0;
    }
    const uint64_t n = d.n_assertions;
    for (uint32_t i = 0; i < n; i++) {
        n3_triple_texts(&d.assertions[i], facts[i].terms);
    }
    d.n_assertions = 0; /* a rules file has none */
    if (rule_program_compile(&d, "fuzz", &program, NULL) == QN_OK) {
        run_program(program, facts, n);
        rule_program_free(program);
    }
    n3_free(&d);
    return 0;
}
