/* constraint.h — rules about which texts may be made, as hooks of a generation: a grammar, a JSON schema, a sieve of terms.
 *
 *     constraint_create_grammar(...)  the text is a sentence of a grammar (gbnf.h)
 *     constraint_create_schema(...)   the text is one JSON value that a schema allows (json_schema.h)
 *     sieve_create(...)               the text is three terms (sieve.h)
 *
 * The first two work on the bytes that tokens print, so any tokenizer will do: a token may come when the grammar allows its bytes, one
 * after the other, where the text stands. Control tokens never come; stop tokens may where the text may end.
 *
 * Threading: one thread at a time per constraint.
 * Memory:    owned by the constraint; the tokenizer is borrowed. After creation nothing is allocated.
 *
 *     constraint *c;
 *     const constraint_target target = {.tok = m->tok, .stops = ids, .n_stops = n};
 *     QN_TRY(constraint_create_grammar("answer.gbnf", &target, &c, err), err, "reading the grammar");
 *     const token_constraint hook = constraint_hook(c);
 *     options.hooks.constraint = &hook;
 *     ... generate_run(...) ...
 *     printf("%s\n", constraint_is_complete(c) ? "complete" : "cut off");
 *     constraint_destroy(c);
 */
#ifndef HOST_CONSTRAIN_CONSTRAINT_H
#define HOST_CONSTRAIN_CONSTRAINT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "constrain/grammar.h"
#include "decode/token_hooks.h"
#include "text/tokenizer.h"

/* What the text is made with. */
typedef struct constraint_target {
    const tokenizer *tok;   /* borrowed, must outlive the constraint */
    const uint32_t *stops;  /* [n_stops] ids that end an answer; copied */
    uint32_t n_stops;
    bool at_start;          /* as in generate_options: the text's first space is not printed */
} constraint_target;

typedef struct constraint constraint;

/* Files of GBNF and JSON schemas. QN_BAD_INPUT with line and column, or a JSON pointer, for what is wrong in the file; QN_UNSUPPORTED
 * for a keyword that is not known here; QN_LIMIT; QN_NOT_FOUND, QN_IO. */
qn_status constraint_create_grammar(const char *path, const constraint_target *target, constraint **out, error_context *err);
qn_status constraint_create_schema(const char *path, const constraint_target *target, constraint **out, error_context *err);

/* From a language; on success it is moved into the constraint. `kind` is static. */
qn_status constraint_create(grammar *language, const char *kind, const constraint_target *target, constraint **out, error_context *err);
void constraint_destroy(constraint *c); /* null is legal */

/* To be put into token_hooks; borrows the constraint. */
token_constraint constraint_hook(constraint *c);

/* "grammar" or "json-schema". Static. */
const char *constraint_kind(const constraint *c);

/* Whether the text so far is a whole one. */
bool constraint_is_complete(const constraint *c);

/* Back to the empty text, for another generation. */
qn_status constraint_reset(constraint *c, error_context *err);

/* Tries a text without tokens: whether the language has it; *out_accepted: how many of its bytes may come. Changes nothing of where
 * the constraint stands, but may make it forget what it remembers. */
qn_status constraint_try_text(constraint *c, const char *text, size_t size, bool *out_is_complete, size_t *out_accepted, error_context *err);

/* How much it remembers, for measurements. */
typedef struct constraint_counts {
    uint32_t n_trie_nodes, n_states, n_masks;  /* now */
    uint64_t n_walks, n_masks_reused, n_compactions; /* since creation */
} constraint_counts;
constraint_counts constraint_count(const constraint *c);

#endif
