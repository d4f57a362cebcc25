/* gate_rules.c — statements under the policy's shapes and rules, together with what the granted scopes say; rules that an answer proposes are
 * for somebody to look at. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "govern/gate.h"
#include "govern/scope_source.h"
#include "govern/statements.h"
#include "rules/rule_machine.h"
#include "rules/shapes.h"

/* What the gate works on. */
typedef struct rules_work {
    request *r;
    gate_result *out;
    scope_source source;
    fact candidates[REQUEST_MAX_CLAIMS];
    uint32_t n_candidates;
    fact_table table;      /* the candidates, as a source */
    uint64_t n_told;       /* warnings and infos of shapes */
} rules_work;

/* A claim whose term has no words here is none that shapes and rules could judge. */
static qn_status take_candidates(rules_work *w, error_context *err) {
    QN_TRY(fact_table_init(&w->table, REQUEST_MAX_CLAIMS, err), err, "taking the statements");
    for (uint32_t i = 0; i < w->r->n_claims; i++) {
        fmt_str texts[FACT_PLACES];
        for (size_t k = 0; k < FACT_PLACES; k++) {
            const char *text = w->r->claims[i].texts[k];
            if (text == NULL) {
                return FAIL(err, QN_BAD_INPUT, "statement %u has a term without words", i + 1);
            }
            texts[k] = (fmt_str){text, strlen(text)};
        }
        memcpy(w->candidates[i].terms, texts, sizeof texts);
        QN_TRY(fact_table_add(&w->table, texts, 0, NULL, err), err, "taking the statements");
    }
    w->n_candidates = w->r->n_claims;
    return QN_OK;
}

static qn_status check_shapes(rules_work *w, error_context *err) {
    char path[POLICY_PATH_SIZE];
    shapes *all = NULL;
    shape_report report = {0};
    QN_TRY(policy_resolve(w->r->rules, w->r->rules->is.rules.shapes, path, err), err, "checking shapes");
    QN_TRY(shapes_read(path, &all, err), err, "reading shapes");
    const fact_source parts[2] = {scope_source_facts(&w->source), fact_table_source(&w->table)};
    const fact_sources joined = {parts, 2};
    const fact_source facts = fact_sources_join(&joined);
    const shape_check check = {.facts = &facts, .candidates = w->candidates, .n_candidates = w->n_candidates,
                               .policy = strcmp(w->r->rules->is.rules.predicates, "closed") == 0 ? SHAPE_POLICY_CLOSED : SHAPE_POLICY_OPEN};
    const qn_status status = shapes_validate(all, &check, &report, err);
    for (uint32_t i = 0; status >= 0 && i < report.n_results && !shape_report_conforms(&report); i++) {
        const shape_result *one = &report.results[i];
        if (one->severity == SHAPE_VIOLATION) {
            gate_say(w->out, VERDICT_BLOCK, CODE_N3, "shape %.*s (%s) at %.*s: %.*s", (int)one->shape.size, one->shape.data, one->component,
                     (int)one->focus.size, one->focus.data, (int)one->message.size, one->message.data);
            break;
        }
    }
    w->n_told = report.counts[SHAPE_WARNING] + report.counts[SHAPE_INFO];
    shape_report_free(&report);
    shapes_free(all);
    return status;
}

static qn_status check_rules(rules_work *w, error_context *err) {
    char path[POLICY_PATH_SIZE];
    rule_program *program = NULL;
    fact_table table = {0};
    rule_verdict verdict;
    const rule_limits limits = {.max_depth = w->r->rules->is.rules.depth};
    const fact_source scope = scope_source_facts(&w->source);
    QN_TRY(policy_resolve(w->r->rules, w->r->rules->is.rules.rules, path, err), err, "checking rules");
    QN_TRY(rule_program_read(path, &program, err), err, "reading rules");
    const qn_status status = rules_check(program, &scope, w->candidates, w->n_candidates, &limits, &table, &verdict, err);
    if (status >= 0 && verdict.outcome != RULES_OK) {
        gate_say(w->out, VERDICT_BLOCK, CODE_N3, "%s: %s", rule_outcome_name(verdict.outcome), verdict.reason);
    }
    fact_table_deinit(&table);
    rule_program_free(program);
    return status;
}

static qn_status check(rules_work *w, error_context *err) {
    const policy_values *is = &w->r->rules->is;
    QN_TRY(scope_source_open(w->r, &w->source, err), err, "opening the scopes");
    QN_TRY(take_candidates(w, err), err, "taking the statements");
    if (is->rules.shapes != NULL) {
        QN_TRY(check_shapes(w, err), err, "checking shapes");
    }
    return is->rules.rules != NULL && w->out->verdict < VERDICT_BLOCK ? check_rules(w, err) : QN_OK;
}

static void check_claims(request *r, gate_result *out) {
    error_context err = {0};
    rules_work *w = calloc(1, sizeof *w);
    if (w == NULL) {
        gate_say(out, VERDICT_FAIL, CODE_N3, "out of memory");
        return;
    }
    w->r = r;
    w->out = out;
    if (check(w, &err) < 0) {
        gate_say(out, VERDICT_BLOCK, CODE_N3, "%s", error_text(&err));
    } else if (out->verdict == VERDICT_PASS) {
        gate_say(out, w->n_told > 0 ? VERDICT_NOTE : VERDICT_PASS, CODE_NONE, "%u statements fit shapes and rules; %" PRIu64 " remarks", r->n_claims,
                 w->n_told);
    }
    fact_table_deinit(&w->table);
    scope_source_close(&w->source);
    free(w);
}

/* Statements out of the text, when it was asked for some and no sieve made any. True when there are some to check. */
static bool read_statements(request *r, gate_result *out, uint32_t *out_proposals) {
    error_context err = {0};
    if (r->mode == OUTPUT_N3 && r->n_claims == 0 && statements_read(r, out_proposals, &err) < 0) {
        gate_say(out, VERDICT_BLOCK, CODE_N3, "%s", error_text(&err));
        return false;
    }
    return r->n_claims > 0;
}

void gate_rules(request *r, gate_result *out) {
    const policy_values *is = &r->rules->is;
    uint32_t n_proposals = 0;
    if (r->is_dry) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "shapes %s, rules %s, unknown predicates %s", is->rules.shapes != NULL ? is->rules.shapes : "none",
                 is->rules.rules != NULL ? is->rules.rules : "none", is->rules.predicates);
        return;
    }
    const bool has_claims = read_statements(r, out, &n_proposals);
    if (out->verdict == VERDICT_BLOCK) {
        return;
    }
    if (has_claims && (is->rules.shapes != NULL || is->rules.rules != NULL)) {
        check_claims(r, out);
    } else if (n_proposals == 0) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, has_claims ? "the policy has neither shapes nor rules" : "there is no statement");
    }
    if (out->verdict != VERDICT_BLOCK && n_proposals > 0) {
        gate_say(out, VERDICT_REVIEW, CODE_RULE_PROPOSAL, "the answer proposes %u rules; none was installed", n_proposals);
    }
}
