/* grounding.h — whether a claim stands on facts.
 *
 * A claim is a subject, a predicate and an object, by their ids, and perhaps a graph. Evidence are the facts of the prompt, facts that
 * are cited, what the volumes hold (sought by object first, always through their indexes), and what rules derive from these. Only what
 * counts is evidence: the parity is right, it has not expired, it is not withdrawn, its graph is granted.
 *
 *     SUPPORTED      the very statement is there, in the claim's graph when it names one; or rules derive it, with a proof
 *     CONTRADICTED   the subject has another object for a predicate that was declared functional
 *     WEAK           the score is at least 0.3: something like it is there, and nobody said it is so
 *     ABSENT         the score is below: nothing, or one end of it in another statement (1/4)
 *     NOT_EVALUATED  there is no claim, only text: text as such is never called grounded
 *
 *     score = 1 for the very statement, otherwise max(roles / 3, ends / 4)
 *     roles   of subject, predicate and object, how many one statement shares with the claim; the best statement counts; a zero
 *             field is a value like any other
 *     ends    of subject and object, those that are not zero and stand anywhere in a statement
 *
 * A claim is no evidence for itself: a citation that is the id of one of its parts, or of the triple that they make, is refused; so is one that
 * resolves to the very statement, in whatever graph, unless that fact was in the prompt. What a volume holds needs no citation.
 *
 * Volumes must hash terms alike (graph_volume_terms), and as the claim does.
 *
 * Threading: one thread at a time per call.
 * Memory:    during the call up to 1 MiB when there are rules, one decoded block otherwise; the result owns nothing.
 */
#ifndef HOST_GROUND_GROUNDING_H
#define HOST_GROUND_GROUNDING_H
#include "ground/citations.h"
#include "ground/ground_volume.h"

#define GROUNDING_MAX_PREMISES 8u
#define GROUNDING_MAX_FACTS 4096u   /* that rules are given */
#define GROUNDING_MAX_DERIVED 4096u
#define GROUNDING_MAX_STEPS 64u     /* of a proof */

typedef uint32_t grounding_verdict;
enum {
    GROUNDING_NOT_EVALUATED = 0,
    GROUNDING_SUPPORTED,
    GROUNDING_WEAK,
    GROUNDING_CONTRADICTED,
    GROUNDING_ABSENT,
    GROUNDING_N_VERDICTS
};
const char *grounding_verdict_name(grounding_verdict verdict); /* "supported", "not evaluated", ... Static. */

/* Code of a verdict that stops a commit: q_hash of q42:GroundingRequiresReview for WEAK and CONTRADICTED, of q42:GroundingRequired for ABSENT;
 * 0 for the others. */
uint64_t grounding_verdict_code(grounding_verdict verdict);

typedef struct grounding_claim {
    uint64_t subject, predicate, object;
    bool has_context;    /* the statement must stand in this graph */
    uint64_t context;
} grounding_claim;

/* What rules make of facts: a statement, the rule, and what it follows from. */
typedef struct derived_fact {
    q42_quin fact;       /* parity is not looked at */
    uint64_t rule;       /* which rule; the caller's own numbers */
    uint32_t n_premises; /* 1..GROUNDING_MAX_PREMISES */
    uint32_t premises[GROUNDING_MAX_PREMISES]; /* below n_facts: a fact that was given; otherwise derived fact n - n_facts, an earlier one */
} derived_fact;

/* Everything that follows from facts[n_facts], at most `room` statements; only facts that count are given. */
typedef struct fact_deriver {
    void *ctx;
    qn_status (*derive)(void *ctx, const q42_quin *facts, uint32_t n_facts, derived_fact *out, uint32_t room, uint32_t *out_n,
                        error_context *err);
} fact_deriver;

typedef struct grounding_options {
    const ground_volume *volumes;  /* [n_volumes] */
    uint32_t n_volumes;
    const fact_set *facts;         /* sealed; sources count `volumes`; may be null */
    const fact_rules *rules;       /* of cited facts, and of facts without a volume; may be null: all graphs, no time */
    const uint64_t *citations;     /* [n_citations] ids */
    uint32_t n_citations;
    const fact_resolver *resolver; /* of citations of other facts than the prompt's; null: there are none */
    const uint64_t *functional;    /* [n_functional] predicates with at most one object for a subject */
    uint32_t n_functional;
    const fact_deriver *rules_of;  /* may be null: nothing is derived */
} grounding_options;

typedef uint32_t grounding_source;
enum { GROUNDING_BY_NOTHING = 0, GROUNDING_BY_PROMPT, GROUNDING_BY_CITATION, GROUNDING_BY_VOLUME, GROUNDING_BY_RULE };

/* A step of a proof. Steps without premises are given facts; each stands behind its premises, and the last is the claim. */
typedef struct grounding_step {
    q42_quin fact;
    uint64_t rule;       /* 0 for a given fact */
    uint32_t n_premises;
    uint32_t premises[GROUNDING_MAX_PREMISES]; /* indices of steps */
} grounding_step;

typedef struct grounding_result {
    grounding_verdict verdict;
    float score;                  /* 0..1 */
    uint32_t n_roles, n_ends;     /* 0..3, 0..2 */
    grounding_source source;      /* of `evidence` */
    uint32_t volume;              /* with GROUNDING_BY_VOLUME */
    q42_quin evidence;            /* the very statement, the one that contradicts, or the one most like the claim; zero without any */
    bool is_disputed;             /* SUPPORTED, and yet a functional predicate has another object too */
    uint32_t n_refused;           /* citations of the claim itself */
    uint32_t n_unresolved;        /* citations of nothing, or of something whose digest is another */
    uint64_t n_states[FACT_N_STATES]; /* evidence that does not count, by reason */
    uint32_t n_steps;             /* of the proof, with GROUNDING_BY_RULE */
    grounding_step proof[GROUNDING_MAX_STEPS];
} grounding_result;

/* A null claim is text: NOT_EVALUATED. QN_BAD_INPUT when a deriver's premises are not earlier facts, QN_LIMIT for a proof of more than
 * GROUNDING_MAX_STEPS; what a volume's file is refused for. *out is untouched on error. */
qn_status ground_claim(const grounding_claim *claim, const grounding_options *options, grounding_result *out, error_context *err);

#endif
