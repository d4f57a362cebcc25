/* rule_machine.h — runs installed rules over a bounded table of facts, forward, until nothing new comes.
 *
 * The order, which makes the result a function of rules and facts alone:
 *   1. strict rules, again and again until a round draws nothing new: what holds definitely
 *   2. strict and defeasible rules the same way
 *   3. each linear rule once, then 2. again, until that draws nothing new
 *   4. each rule that denies, once, over everything that was drawn
 * A round sees the facts that stood when it began. A step is one run of one rule; the limit is max_depth times the number of rules, so that
 * a chain of N conclusions needs a depth of N + 1. A run of a rule is bounded by its joins only, so the work (steps of the program and facts
 * looked at) has a limit of its own. The table has its own too.
 *
 * The outcome is OK; FAIL, when a denial found something; or LIMIT, when one of the limits ended the run and nothing is known. Whoever
 * decides by it blocks on FAIL and on LIMIT.
 *
 *     rule_verdict verdict;
 *     fact_table table;
 *     QN_TRY(rules_check(program, &scope, candidates, n, &limits, &table, &verdict, err), err, "running the rules");
 *     if (verdict.outcome != RULES_OK) { block(verdict.reason); }
 *     fact_table_deinit(&table);
 *
 * Threading: one thread at a time per table.
 * Memory:    what a verdict shows is owned by the program and the table.
 * Errors:    QN_NO_HOST_MEM and what a source says; that a limit was met is an outcome and no error.
 */
#ifndef HOST_RULES_RULE_MACHINE_H
#define HOST_RULES_RULE_MACHINE_H
#include "rules/fact_table.h"
#include "rules/rule_program.h"

#define RULES_DEFAULT_DEPTH 32u
#define RULES_DEFAULT_WORK (UINT64_C(1) << 24) /* well below a second */

typedef struct rule_limits {
    uint32_t max_depth; /* 0: RULES_DEFAULT_DEPTH */
    uint32_t max_facts; /* of the table that rules_check makes; 0: FACT_TABLE_DEFAULT */
    uint64_t max_work;  /* 0: RULES_DEFAULT_WORK */
} rule_limits;

typedef uint32_t rule_outcome;
enum { RULES_OK = 0, RULES_FAIL = 1, RULES_LIMIT = 2 };

const char *rule_outcome_name(rule_outcome outcome); /* "OK", "FAIL", "LIMIT" */

typedef struct rule_binding {
    fmt_str name, value; /* "x", canonical text */
} rule_binding;

typedef struct rule_verdict {
    rule_outcome outcome;
    char reason[400];         /* one sentence; empty when OK */
    uint32_t n_given, n_derived; /* facts; with LIMIT of the table: those that were there */
    uint32_t n_steps;
    uint64_t n_work;
    /* FAIL: */
    uint32_t rule;            /* index; otherwise FACT_GIVEN */
    fmt_str rule_id, message; /* message: the object of <urn:quoin:denied>, canonical; size 0: none */
    uint32_t n_bindings;
    rule_binding bindings[RULE_MAX_VARIABLES];
    uint32_t n_premises, premises[FACT_MAX_PREMISES]; /* facts of the table that the denial rests on */
} rule_verdict;

/* Runs the rules over the table, to which it adds what they derive. */
qn_status rules_run(const rule_program *program, fact_table *table, const rule_limits *limits, rule_verdict *out_verdict, error_context *err);

/* Adds every fact of the source that a premise of some rule could ever match. QN_LIMIT when they do not fit. */
qn_status rules_load_scope(const rule_program *program, const fact_source *scope, fact_table *table, error_context *err);

/* All in one: a table with the candidates, in their order and in front, what the scope (may be null) has for the rules, and a run.
 * *out_table is to be deinitialised, also after an error. */
qn_status rules_check(const rule_program *program, const fact_source *scope, const fact *candidates, uint64_t n_candidates,
                      const rule_limits *limits, fact_table *out_table, rule_verdict *out_verdict, error_context *err);

/* Is the claim a consequence? Runs the rules; *out_fact is its fact, given or derived, or FACT_NONE. Each fact that was derived before a
 * limit or a denial ended the run follows from the others; table->facts[*out_fact].origin tells how, and whether it is definite. */
qn_status rules_derive(const rule_program *program, fact_table *table, const rule_limits *limits, const fact *claim, uint32_t *out_fact,
                       rule_verdict *out_verdict, error_context *err);

/* The facts that a fact rests on and itself, last, each once and after all that it rests on. *out_facts[*out_n] is owned by the caller. */
qn_status rules_proof(const fact_table *table, uint32_t of_fact, uint32_t **out_facts, uint32_t *out_n, error_context *err);

#endif
