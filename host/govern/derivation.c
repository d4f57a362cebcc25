/* derivation.c — the rules run over the facts of the scopes alone, once for each statement that no fact is. */
#include "govern/derivation.h"

#include <stdlib.h>
#include <string.h>

#include "govern/scope_source.h"
#include "rules/rule_machine.h"

struct derivation {
    const request *r;
    scope_source source;
    rule_program *program;
    fact_table table;
};

static qn_status load(derivation *d, error_context *err) {
    char path[POLICY_PATH_SIZE];
    QN_TRY(policy_resolve(d->r->rules, d->r->rules->is.rules.rules, path, err), err, "reading rules");
    QN_TRY(rule_program_read(path, &d->program, err), err, "reading rules");
    QN_TRY(scope_source_open(d->r, &d->source, err), err, "opening the scopes");
    QN_TRY(fact_table_init(&d->table, FACT_TABLE_DEFAULT, err), err, "taking facts");
    const fact_source scope = scope_source_facts(&d->source);
    return rules_load_scope(d->program, &scope, &d->table, err);
}

qn_status derivation_open(const request *r, derivation **out, error_context *err) {
    *out = NULL;
    if (r->rules->is.rules.rules == NULL || r->n_volumes == 0) {
        return QN_OK;
    }
    derivation *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for rules");
    }
    d->r = r;
    const qn_status status = load(d, err);
    if (status < 0) {
        derivation_close(d);
        return status;
    }
    *out = d;
    return QN_OK;
}

void derivation_close(derivation *d) {
    if (d != NULL) {
        fact_table_deinit(&d->table);
        scope_source_close(&d->source);
        rule_program_free(d->program);
        free(d);
    }
}

static qn_status count_steps(derivation *d, uint32_t of_fact, uint32_t *out_steps, error_context *err) {
    uint32_t *facts = NULL;
    if (d->table.facts[of_fact].origin.rule == FACT_GIVEN) {
        return QN_OK; /* a fact of a graph that was not granted would not be here; one that was is found without rules */
    }
    QN_TRY(rules_proof(&d->table, of_fact, &facts, out_steps, err), err, "reading a proof");
    free(facts);
    return QN_OK;
}

qn_status derivation_find(derivation *d, const request_claim *claim, uint32_t *out_steps, error_context *err) {
    const rule_limits limits = {.max_depth = d->r->rules->is.rules.depth};
    rule_verdict verdict;
    uint32_t found = FACT_NONE;
    fact wanted;
    *out_steps = 0;
    for (size_t i = 0; i < FACT_PLACES; i++) {
        if (claim->texts[i] == NULL) {
            return QN_OK;
        }
        wanted.terms[i] = (fmt_str){claim->texts[i], strlen(claim->texts[i])};
    }
    QN_TRY(rules_derive(d->program, &d->table, &limits, &wanted, &found, &verdict, err), err, "deriving");
    return found != FACT_NONE ? count_steps(d, found, out_steps, err) : QN_OK;
}
