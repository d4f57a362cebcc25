/* proof.c — from a derived fact back to what it follows from. */
#include "ground/proof.h"

#include <stdlib.h>

#define NO_STEP UINT32_MAX

/* Facts that were given, and then the derived ones, by one number. */
typedef struct proof_tree {
    const q42_quin *facts;
    const derived_fact *derived;
    uint32_t n_facts, n_derived;
    uint32_t *steps;      /* [n_facts + n_derived] its step, or NO_STEP */
    uint8_t *is_needed;   /* [n_facts + n_derived] */
} proof_tree;

static qn_status check_premises(const proof_tree *t, error_context *err) {
    for (uint32_t i = 0; i < t->n_derived; i++) {
        const derived_fact *d = &t->derived[i];
        bool is_sound = d->n_premises >= 1 && d->n_premises <= GROUNDING_MAX_PREMISES;
        for (uint32_t k = 0; is_sound && k < d->n_premises; k++) {
            is_sound = d->premises[k] < t->n_facts + i;
        }
        if (!is_sound) {
            return FAIL(err, QN_BAD_INPUT, "derived fact %u does not follow from 1 to %u facts that come before it: such a proof is none", i,
                        GROUNDING_MAX_PREMISES);
        }
    }
    return QN_OK;
}

/* The first derived fact that is the claim; NO_STEP without one. */
static uint32_t find_claim(const proof_tree *t, const grounding_claim *claim) {
    for (uint32_t i = 0; i < t->n_derived; i++) {
        const q42_quin *fact = &t->derived[i].fact;
        if (fact->subject == claim->subject && fact->predicate == claim->predicate && fact->object == claim->object &&
            (!claim->has_context || fact->context == claim->context)) {
            return t->n_facts + i;
        }
    }
    return NO_STEP;
}

/* Premises stand before what follows from them, so one pass from the claim down marks all that it needs. */
static void mark_needed(const proof_tree *t, uint32_t claim) {
    t->is_needed[claim] = 1;
    for (uint32_t i = claim; i >= t->n_facts; i--) {
        const derived_fact *d = &t->derived[i - t->n_facts];
        for (uint32_t k = 0; t->is_needed[i] != 0 && k < d->n_premises; k++) {
            t->is_needed[d->premises[k]] = 1;
        }
        if (i == 0) {
            break;
        }
    }
}

static void write_step(const proof_tree *t, uint32_t node, grounding_step *out) {
    if (node < t->n_facts) {
        *out = (grounding_step){.fact = t->facts[node]};
        return;
    }
    const derived_fact *d = &t->derived[node - t->n_facts];
    *out = (grounding_step){.fact = q42_quin_make(d->fact.subject, d->fact.predicate, d->fact.object, d->fact.context, d->fact.metadata),
                            .rule = d->rule,
                            .n_premises = d->n_premises};
    for (uint32_t k = 0; k < d->n_premises; k++) {
        out->premises[k] = t->steps[d->premises[k]];
    }
}

static qn_status write_proof(const proof_tree *t, uint32_t claim, grounding_result *result, error_context *err) {
    uint32_t n = 0;
    mark_needed(t, claim);
    for (uint32_t node = 0; node <= claim; node++) {
        if (t->is_needed[node] == 0) {
            continue;
        }
        if (n == GROUNDING_MAX_STEPS) {
            return FAIL(err, QN_LIMIT, "the proof of the claim has more than %u steps", GROUNDING_MAX_STEPS);
        }
        write_step(t, node, &result->proof[n]);
        t->steps[node] = n++;
    }
    result->n_steps = n;
    return QN_OK;
}

static qn_status search_tree(proof_tree *t, const grounding_claim *claim, grounding_result *result, bool *out_found, error_context *err) {
    QN_TRY(check_premises(t, err), err, "checking what rules derived");
    const uint32_t node = find_claim(t, claim);
    *out_found = node != NO_STEP;
    return *out_found ? write_proof(t, node, result, err) : QN_OK;
}

qn_status proof_search(const grounding_claim *claim, const fact_deriver *deriver, const q42_quin *facts, uint32_t n_facts,
                       grounding_result *result, bool *out_found, error_context *err) {
    derived_fact *derived = calloc(GROUNDING_MAX_DERIVED, sizeof *derived);
    proof_tree t = {.facts = facts, .derived = derived, .n_facts = n_facts};
    t.steps = calloc((size_t)n_facts + GROUNDING_MAX_DERIVED, sizeof *t.steps);
    t.is_needed = calloc((size_t)n_facts + GROUNDING_MAX_DERIVED, sizeof *t.is_needed);
    const bool has_memory = derived != NULL && t.steps != NULL && t.is_needed != NULL;
    qn_status status = has_memory ? deriver->derive(deriver->ctx, facts, n_facts, derived, GROUNDING_MAX_DERIVED, &t.n_derived, err)
                                  : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    if (status == QN_OK && t.n_derived > GROUNDING_MAX_DERIVED) {
        status = FAIL(err, QN_INTERNAL, "%u facts were derived into room for %u", t.n_derived, GROUNDING_MAX_DERIVED);
    }
    status = status == QN_OK ? search_tree(&t, claim, result, out_found, err) : status;
    free(derived);
    free(t.steps);
    free(t.is_needed);
    return status;
}
