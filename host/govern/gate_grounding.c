/* gate_grounding.c — does a statement stand on facts of the granted scopes? Text as such is never called grounded. */
#include <stdlib.h>

#include "govern/derivation.h"
#include "govern/gate.h"

/* Ids of predicates that the policy calls functional, as names and as terms of surface volumes. */
static qn_status list_functional(const policy *p, uint64_t **out, uint32_t *out_n, error_context *err) {
    uint64_t *ids = calloc(2 * (size_t)p->n_predicates + 1, sizeof *ids);
    uint32_t n = 0;
    if (ids == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for predicates");
    }
    for (uint32_t i = 0; i < p->n_predicates; i++) {
        if (p->predicates[i].functional) {
            ids[n++] = p->predicates[i].head.id;
            ids[n++] = p->predicates[i].head.term;
        }
    }
    *out = ids;
    *out_n = n;
    return QN_OK;
}

/* What a verdict means here, with the policy's threshold between weak and absent. */
static void judge(const request *r, uint32_t index, const grounding_result *found, gate_result *out) {
    const request_claim *claim = &r->claims[index];
    const bool is_absent = found->verdict != GROUNDING_CONTRADICTED && claim->score < r->rules->is.grounding.weak;
    gate_result one = *out;
    if (found->verdict == GROUNDING_SUPPORTED && !found->is_disputed) {
        return;
    }
    if (found->verdict == GROUNDING_SUPPORTED) { /* the graph contradicts itself: no run may choose a side */
        gate_say(&one, VERDICT_REVIEW, CODE_CONTRADICTED, "statement %u: a fact says so, and another has another object for a predicate that has one",
                 index + 1);
    } else if (found->verdict == GROUNDING_CONTRADICTED) {
        gate_say(&one, VERDICT_REVIEW, CODE_CONTRADICTED, "statement %u: the predicate has one object, and a fact has another", index + 1);
    } else if (is_absent) {
        gate_say(&one, VERDICT_BLOCK, CODE_GROUNDING, "statement %u: score %.2f, no fact supports it", index + 1, claim->score);
    } else {
        gate_say(&one, VERDICT_REVIEW, CODE_GROUNDING_REVIEW, "statement %u: score %.2f, facts support it only in part", index + 1, claim->score);
    }
    if (one.verdict > out->verdict) { /* the gravest counts */
        *out = one;
    }
}

/* A statement that follows from facts by rules stands as well as one that is a fact: its proof is counted. */
static qn_status prove(derivation *rules, request_claim *one, grounding_result *found, error_context *err) {
    if (rules != NULL && found->verdict != GROUNDING_SUPPORTED && found->verdict != GROUNDING_CONTRADICTED) {
        QN_TRY(derivation_find(rules, one, &one->n_steps, err), err, "looking for a proof");
        if (one->n_steps > 0) {
            found->verdict = GROUNDING_SUPPORTED;
            found->score = 1.0f;
        }
    }
    return QN_OK;
}

static qn_status weigh(request *r, const grounding_options *options, derivation *rules, grounding_result *found, gate_result *out,
                       error_context *err) {
    for (uint32_t i = 0; i < r->n_claims; i++) {
        request_claim *one = &r->claims[i];
        const grounding_claim claim = {.subject = one->quin.subject, .predicate = one->quin.predicate, .object = one->quin.object};
        QN_TRY(ground_claim(&claim, options, found, err), err, "grounding statement %u", i + 1);
        QN_TRY(prove(rules, one, found, err), err, "grounding statement %u", i + 1);
        one->grounding = grounding_verdict_name(found->verdict);
        one->score = (double)found->score;
        if (found->verdict == GROUNDING_SUPPORTED && one->n_steps == 0) { /* what is derived is no fact to cite */
            QN_TRY(request_add_citation(r, request_fact_id(&found->evidence), err), err, "citing");
        }
        judge(r, i, found, out);
    }
    return QN_OK;
}

static qn_status ground(request *r, gate_result *out, error_context *err) {
    uint64_t *functional = NULL;
    uint32_t n_functional = 0;
    grounding_result *found = malloc(sizeof *found);
    qn_status status = found != NULL ? list_functional(r->rules, &functional, &n_functional, err)
                                     : FAIL(err, QN_NO_HOST_MEM, "out of memory for grounding");
    const grounding_options options = {.volumes = r->volumes, .n_volumes = r->n_volumes, .facts = &r->facts,
                                       .citations = r->citations, .n_citations = r->n_citations, .functional = functional,
                                       .n_functional = n_functional};
    derivation *rules = NULL;
    status = status < 0 ? status : derivation_open(r, &rules, err);
    status = status < 0 ? status : weigh(r, &options, rules, found, out, err);
    derivation_close(rules);
    free(functional);
    free(found);
    return status;
}

void gate_grounding(request *r, gate_result *out) {
    error_context err = {0};
    gate_say(out, VERDICT_PASS, CODE_NONE, "%u statements stand on facts", r->n_claims);
    if (r->is_dry) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "each statement against %u scopes; below score %.2f it is blocked", r->n_scopes,
                 r->rules->is.grounding.weak);
    } else if (r->n_claims == 0) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "not evaluated: there is text, and no statement");
    } else if (ground(r, out, &err) < 0) {
        gate_say_error(out, CODE_GROUNDING, &err);
    }
}
