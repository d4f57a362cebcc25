/* rule_program.h — rules that an operator installs, compiled for the rule machine.
 *
 * A rules file is Notation3 (n3.h) with rules only. What a model proposes is read by n3_read and never comes here.
 *
 *     [kin]     { ?a ex:parent ?b } => { ?b ex:child ?a } .
 *     [flies]   { ?x a ex:Bird } ~> { ?x ex:can ex:fly } .
 *     [grounded]{ ?x a ex:Penguin } ^> { ?x ex:can ex:fly } .
 *     [pay]     { ?t ex:ticketOf ?x } -o { ?x ex:mayEnter ex:hall } .
 *     [age]     { ?x ex:age ?n . ?n math:lessThan 0 } => false .
 *     [kin-age] { ?a ex:parent ?b . ?a ex:age ?m . ?b ex:age ?n . ?n math:notLessThan ?m }
 *               => { ?a <urn:quoin:denied> "a parent is older than the child" } .
 *
 * What the four arrows mean here:
 *   =>  strict      where the premises hold, the conclusions hold. `=> false`, and a conclusion with the predicate <urn:quoin:denied>
 *                   (its object says why), deny: where the premises hold, the run FAILs with this rule and what its variables stand for.
 *   ~>  defeasible  where the premises hold, the conclusions hold unless a defeater stands against one of them; then none of them is drawn.
 *   ^>  defeater    concludes nothing. Where its premises hold, it stands against every defeasible rule that would draw one of its
 *                   conclusions. A variable that only its conclusion has stands for anything. Its premises must hold definitely, that is
 *                   by given facts and strict rules alone; so the order of rules does not matter.
 *   -o  linear      where the premises hold, the conclusions hold, and the facts of the premises are used up for linear rules: each fact
 *                   serves one application of one linear rule, the first in the order of rules and then of facts that draws something
 *                   new. For all other rules, and as a statement, a used fact goes on to hold.
 *
 * Premises are joined as they stand. math:lessThan, notLessThan, greaterThan, notGreaterThan, equalTo, notEqualTo compare numbers exactly
 * (with what is no number they do not hold), log:equalTo and log:notEqualTo compare terms; their variables need another premise that gives
 * them. A blank node in a premise is a variable. Refused: other built-ins of http://www.w3.org/2000/10/swap/, formulas as terms, blank nodes
 * and unbound variables in conclusions, `false` behind another arrow, statements outside of rules. A conclusion that would be no statement
 * (a literal as subject, say) is not drawn.
 *
 * The program is steps of eight kinds, one straight run a rule; a step that does not hold goes back to the last MATCH that has another
 * fact:
 *   MATCH s p o   a fact with these terms: a constant, a register, or any
 *   BIND r place  the register takes a term of the fact that was matched last
 *   TEST_EQ a b   the two terms are the same, or are not
 *   TEST_NUM a b  the two numbers compare so
 *   UNLESS s p o  no run of a defeater succeeds for this statement
 *   EMIT s p o    the statement becomes a fact
 *   HALT_OK       the premises hold once more; go back for the next time
 *   HALT_FAIL     the whole run fails
 *
 * Threading: a program is immutable.
 * Memory:    owned by the program until rule_program_free; the document may go before it.
 * Errors:    QN_BAD_INPUT "NAME: line N: rule ID: …", QN_LIMIT beyond RULES_MAX and RULES_MAX_STEPS.
 */
#ifndef HOST_RULES_RULE_PROGRAM_H
#define HOST_RULES_RULE_PROGRAM_H
#include "rules/n3.h"

#define RULES_MAX 1024u
#define RULES_MAX_STEPS 262144u
#define RULE_REGISTERS 64u
#define RULE_MAX_VARIABLES 24u /* three in each of eight statements */
#define RULES_DENIED "<urn:quoin:denied>"

typedef uint8_t rule_op;
enum { RULE_MATCH, RULE_BIND, RULE_TEST_EQ, RULE_TEST_NUM, RULE_UNLESS, RULE_EMIT, RULE_HALT_OK, RULE_HALT_FAIL };

/* How TEST_NUM compares; TEST_EQ knows the first two. */
typedef uint8_t rule_test;
enum { RULE_EQUAL, RULE_UNEQUAL, RULE_LESS, RULE_NOT_LESS, RULE_GREATER, RULE_NOT_GREATER };

/* A register's number, or RULE_CONSTANT | the number of a constant, or RULE_ANYTHING. */
typedef uint32_t rule_operand;
#define RULE_CONSTANT 0x80000000u
#define RULE_ANYTHING UINT32_MAX

typedef struct rule_step {
    rule_op op;
    rule_test test;
    uint8_t place;            /* BIND: of the fact */
    rule_operand operands[FACT_PLACES];
    uint32_t target;          /* UNLESS: first step of the defeater */
} rule_step;

typedef struct rule_variable {
    fmt_str name;             /* without ?; a blank node with its _: */
    uint32_t in_register;
} rule_variable;

typedef struct installed_rule {
    fmt_str id;               /* as written, or "line N" */
    n3_arrow arrow;
    bool is_denial;
    uint32_t line;
    uint32_t first_step;      /* of program.steps; defeaters have runs of their own */
    uint32_t n_variables;
    rule_variable variables[RULE_MAX_VARIABLES];
} installed_rule;

typedef struct rule_program {
    installed_rule *rules;    /* [n_rules] in the order of the file */
    rule_step *steps;         /* [n_steps] */
    uint32_t n_rules, n_steps, steps_room;
    term_pool constants;      /* by their term_ref; also the ids and names */
} rule_program;

/* Compiles the rules of a document that `name` names in messages. */
qn_status rule_program_compile(const n3_document *document, const char *name, rule_program **out_program, error_context *err);
/* Reads and compiles a file. */
qn_status rule_program_read(const char *path, rule_program **out_program, error_context *err);
void rule_program_free(rule_program *program); /* null is legal */

#endif
