/* sieve.h — a generation that can only make three terms: subject, predicate and object of a quin.
 *
 *     subject ─────────► predicate ─────────► object ─────────► complete
 *     a tree of the tokens of all candidates in each slot; what may come are the children of where the text stands
 *
 * A slot ends where a candidate is complete and none goes on. Where one is complete and others go on, either its longer fellows go on or
 * the next slot begins; a token that does both leaves both open until the text decides, and if it never does the longer term counts
 * (longest match). Behind the last slot a stop token says that the text ends where it could go on.
 * The separator is part of the next slot's texts, so that tokens which take it along (" knows") are what the tokenizer would make.
 *
 *     log-probability   sum over the tokens of the three terms, each under the model's whole vocabulary; the beam adds, behind a
 *                       candidate that others begin with, that of leaving it
 *     margin of a slot  by the hook: the smallest difference of log-probability, over the slot's tokens, between the token that was taken
 *                       and the best other one that was allowed; a token that leaves a slot where it could have gone on counts for both
 *                       slots. Negative when sampling took a lesser one.
 *                       by the beam: between the best and the second-best complete candidate that was found.
 *                       INFINITY where nothing else was allowed
 *
 * A sieve that cannot be built is an error: no term with tokens in some slot, equal texts, terms that the volume does not know, or a
 * budget below sieve_budget. There is no way from it to free text.
 *
 * Threading: one thread at a time per sieve.
 * Memory:    owned by the sieve, bounded by the spec's `memory`; after creation nothing is allocated, but for sieve_beam_run.
 */
#ifndef HOST_CONSTRAIN_SIEVE_H
#define HOST_CONSTRAIN_SIEVE_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>

#include "base/error.h"
#include "constrain/constraint.h"
#include "constrain/sieve_spec.h"
#include "decode/session.h"

typedef struct sieve sieve;

typedef struct sieve_result {
    q42_quin quin;                       /* metadata 0; parity over all five fields */
    const char *terms[SIEVE_SLOTS];      /* as N-Triples writes them; borrowed from the sieve */
    const char *graph;                   /* of the context, or null for the graph without a name */
    const char *labels[SIEVE_SLOTS];     /* as they were printed */
    double margins[SIEVE_SLOTS];         /* natural logarithm; INFINITY: nothing else was allowed */
    double log_probability;
    bool needs_review;                   /* a margin is below the spec's `review` */
} sieve_result;

/* Reads the spec's volume, fills the slots and builds their trees; the spec is not needed afterwards. Errors as in sieve_candidates.h and
 * term_trie.h; QN_BAD_INPUT when one object's tokens begin another's and no stop token could end the shorter. [may block] */
qn_status sieve_create(const sieve_spec *spec, const constraint_target *target, sieve **out, error_context *err);
void sieve_destroy(sieve *s); /* null is legal */

token_constraint sieve_hook(sieve *s);

/* Tokens that the three longest candidates take, separators included. */
uint32_t sieve_budget(const sieve *s);
/* QN_LIMIT when `max_tokens` is less, with both numbers. */
qn_status sieve_check_budget(const sieve *s, uint32_t max_tokens, error_context *err);

bool sieve_is_complete(const sieve *s);
/* QN_NOT_FOUND while it is not complete: there is no quin then. */
qn_status sieve_get_result(const sieve *s, sieve_result *out, error_context *err);
void sieve_reset(sieve *s);

/* 0: the spec asks for none. */
uint32_t sieve_beam(const sieve *s);

/* Chooses all three terms at once, from a session whose last step gave the logits of one token: in each slot the candidates are followed by
 * their summed log-probability, `width` (1 to SIEVE_MAX_BEAM) at a time, and the best complete one is taken. Where a candidate is
 * complete and others go on, the probability that something of the next slot follows (behind the last slot: a stop token) is part of
 * its sum. With a width of at least the slot's candidates nothing is left out. The same session and width give the same answer; of
 * equal sums the first candidate counts. The session ends behind the object's last token but one or further; ids[0..*out_n) are the
 * tokens, at most sieve_budget. QN_LIMIT when the context has no room for the budget. Afterwards the sieve is complete. */
qn_status sieve_beam_run(sieve *s, session *on, uint32_t width, uint32_t *out_ids, uint32_t *out_n, error_context *err);

#endif
