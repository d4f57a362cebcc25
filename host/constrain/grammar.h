/* grammar.h — a language of texts as a small machine over bytes: rules that call each other, built from fragments.
 *
 * Whoever reads a grammar or a schema builds fragments and joins them; grammar_finish checks the whole. What comes out is immutable and
 * knows nothing of the notation that it came from.
 *
 *     BYTE lo..hi ──► next       one byte
 *     JUMP ──► next              nothing
 *     FORK ──► next, other       either
 *     CALL rule ──► next         a text of the rule, then on
 *     END                        the rule's text is complete
 *
 * Threading: a builder one thread at a time; a grammar is immutable.
 * Memory:    owned by the builder, then by the grammar; GRAMMAR_MAX_* bound it, whatever the input.
 * Errors:    a builder keeps its first failure; fragments made after it are empty and grammar_finish answers it.
 *
 *     grammar_builder b;
 *     grammar_builder_init(&b, err);
 *     const uint32_t root = grammar_add_rule(&b, "root", 4, 1, 1);
 *     grammar_set_rule(&b, root, grammar_literal(&b, "yes", 3));
 *     status = grammar_finish(&b, root, &g);
 */
#ifndef HOST_CONSTRAIN_GRAMMAR_H
#define HOST_CONSTRAIN_GRAMMAR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define GRAMMAR_MAX_NODES (1u << 18)
#define GRAMMAR_MAX_RULES (1u << 16)  /* with those that repetition makes */
#define GRAMMAR_MAX_REPEAT 4096u      /* largest bound of a repetition */
#define GRAMMAR_NO_BOUND UINT32_MAX
#define GRAMMAR_NONE UINT32_MAX
#define GRAMMAR_NAME_SIZE 64          /* of a rule's name in messages, with the ending zero; longer ones are cut */

typedef uint8_t grammar_kind;
enum { GRAMMAR_BYTE = 0, GRAMMAR_JUMP, GRAMMAR_FORK, GRAMMAR_CALL, GRAMMAR_END };

typedef struct grammar_node {
    grammar_kind kind;
    uint8_t low, high;   /* BYTE */
    uint32_t next;       /* node; unused by END */
    uint32_t other;      /* FORK: the second node; CALL: the rule */
} grammar_node;

typedef struct grammar_rule {
    char name[GRAMMAR_NAME_SIZE]; /* "" for one that repetition made */
    uint32_t line, column;        /* where it is defined, 0 when it has no place in a file */
    uint32_t begin;               /* first node; GRAMMAR_NONE while it is not defined */
    uint32_t parent;              /* rule in whose text it was made; itself for a named one */
} grammar_rule;

typedef struct grammar {
    grammar_node *nodes;
    grammar_rule *rules;
    uint32_t n_nodes, n_rules, root;
} grammar;

/* A piece of a rule: entered at `begin`, left through the JUMP `end`, which is not connected yet. */
typedef struct grammar_fragment {
    uint32_t begin, end;
} grammar_fragment;

/* Code points from `low` to `high`, both included. */
typedef struct code_range {
    uint32_t low, high;
} code_range;

typedef struct grammar_builder {
    grammar g;
    uint32_t nodes_capacity, rules_capacity;
    uint32_t inside;      /* rule that is being built, for those that repetition makes */
    qn_status status;     /* the first failure */
    error_context *err;
} grammar_builder;

void grammar_builder_init(grammar_builder *b, error_context *err);
void grammar_builder_deinit(grammar_builder *b); /* after grammar_finish nothing is left to free, and it may still be called */

/* A new rule without a text; `line` and `column` may be 0. Names are not looked up here. */
uint32_t grammar_add_rule(grammar_builder *b, const char *name, size_t size, uint32_t line, uint32_t column);
/* From now on rules that repetition makes count as part of this one, for messages. */
void grammar_begin_rule(grammar_builder *b, uint32_t rule);
void grammar_set_rule(grammar_builder *b, uint32_t rule, grammar_fragment text);

grammar_fragment grammar_empty(grammar_builder *b);
grammar_fragment grammar_byte(grammar_builder *b, uint8_t low, uint8_t high);
grammar_fragment grammar_literal(grammar_builder *b, const char *bytes, size_t size);
grammar_fragment grammar_join(grammar_builder *b, grammar_fragment first, grammar_fragment second);
grammar_fragment grammar_either(grammar_builder *b, grammar_fragment first, grammar_fragment second);
grammar_fragment grammar_optional(grammar_builder *b, grammar_fragment text);
grammar_fragment grammar_call(grammar_builder *b, uint32_t rule);

/* `text` at least `least` and at most `most` times, one behind the other; GRAMMAR_NO_BOUND for any number. QN_LIMIT above
 * GRAMMAR_MAX_REPEAT; least > most is the caller's to refuse. */
grammar_fragment grammar_repeat(grammar_builder *b, grammar_fragment text, uint32_t least, uint32_t most);

/* One character of the ranges in UTF-8, or with `is_negated` one of all others. `ranges` is sorted and merged in place. Surrogates
 * are no characters and are left out. A class without a character is refused. */
grammar_fragment grammar_class(grammar_builder *b, code_range *ranges, uint32_t n_ranges, bool is_negated);

/* The language of `root`. Refused are a rule without a definition, one that begins with itself, one that has no finite text, and one
 * that nothing leads to, each by name and place. On success *out is the caller's, for grammar_free. */
qn_status grammar_finish(grammar_builder *b, uint32_t root, grammar *out);
void grammar_free(grammar *g);

/* Opens `path`, which has to be whole and stay so, and gives its text to one of gbnf_parse and json_schema_parse. */
typedef qn_status grammar_parse_fn(fmt_str text, const char *name, grammar *out, error_context *err);
qn_status grammar_read_file(const char *path, grammar_parse_fn *parse, grammar *out, error_context *err);

#endif
