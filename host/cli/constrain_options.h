/* constrain_options.h — --grammar, --json-schema and --sieve, for commands that generate: from the options to a result with or without a
 * whole text.
 *
 * Threading: one thread at a time.
 * Memory:    run_constraint_close frees what run_constraint_open made; the model and its tokenizer must outlive it.
 */
#ifndef HOST_CONSTRAIN_OPTIONS_H
#define HOST_CONSTRAIN_OPTIONS_H
#include "cli/command.h"
#include "constrain/constraint.h"
#include "constrain/sieve.h"
#include "decode/generate.h"

typedef struct constrain_options {
    const char *grammar, *schema, *sieve; /* paths, or null */
} constrain_options;

#define CONSTRAIN_OPTION_ROWS 3
void constrain_options_init(constrain_options *o, option rows[CONSTRAIN_OPTION_ROWS]);

/* QN_BAD_INPUT when two of them are given. */
qn_status constrain_options_check(const constrain_options *o, error_context *err);

/* A zeroed one constrains nothing: every call below then does what it does without. */
typedef struct run_constraint {
    constraint *language;   /* grammar or schema */
    sieve *terms;
    token_constraint hook;
} run_constraint;

/* Puts the constraint into `options`, whose stops and at_start are known by then. A sieve raises a budget that nobody asked for to what
 * it needs, and refuses one that was. */
qn_status run_constraint_open(run_constraint *rc, const constrain_options *o, const tokenizer *tok, bool has_budget,
                              generate_options *options, error_context *err);
void run_constraint_close(run_constraint *rc);

/* As generate_run; a sieve with a beam chooses its terms by sieve_beam_run once the prompt is read, with no deadline from then on. */
qn_status run_constraint_generate(run_constraint *rc, session *s, sampler *chooser, const token_list *ids, const generate_options *options,
                                  generate_result *out_result, error_context *err);

/* Adds "constraint": {kind, complete, ...} to what --json prints. */
void run_constraint_add_json(const run_constraint *rc, json_t *object);

/* EXIT_DONE for a text that is whole, or without a constraint; otherwise a message and EXIT_INCOMPLETE. Says the quin of a sieve unless
 * it is printed as JSON. */
int run_constraint_report(const run_constraint *rc, const generate_result *r, bool is_json);

#endif
