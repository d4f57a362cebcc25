/* pattern.h — what a user asks for: patterns of terms and variables, and comparisons of numbers, read from text.
 *
 *     '?s <http://e.example/p> "x"@en'          three places: in any graph
 *     '?s a schema:Person DEFAULT'              four places: the last is the graph; DEFAULT is the graph without a name
 *     '?o >= 10'                                a comparison
 *
 * A place holds an IRI, a blank node's label, a literal, all as in N-Quads, or a variable, or one of Turtle's short forms: `a`, a
 * prefixed name, 42, 4.2, 4e2, true, false. The same variable in two places asks for the same term.
 *
 * Threading: one thread at a time per query.
 * Memory:    owned by the query_text until query_text_free; what is parsed is copied.
 * Errors:    QN_BAD_INPUT with "column N" and a second line that points at it.
 */
#ifndef HOST_GRAPH_PATTERN_H
#define HOST_GRAPH_PATTERN_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/ntriples.h>

#include "base/error.h"
#include "graph/number.h"

#define QUERY_MAX_PATTERNS 63
#define QUERY_MAX_VARIABLES 128 /* 63 of them may be the unnamed graphs of patterns with three places */
#define QUERY_MAX_FILTERS 64
#define QUERY_MAX_PREFIXES 64

/* Places of a pattern, by the numbers of NTRIPLES_SUBJECT and the like. */
#define N_PLACES 4u

typedef uint32_t slot_kind;
enum { SLOT_TERM = 0, SLOT_VARIABLE = 1, SLOT_DEFAULT_GRAPH = 2 };

typedef struct pattern_slot {
    slot_kind kind;
    uint32_t variable;  /* index into query_text.variables */
    ntriples_term term; /* canonical; its text is owned by the query */
} pattern_slot;

typedef struct query_pattern {
    pattern_slot slots[N_PLACES];
    const char *source; /* borrowed: as the user wrote it */
} query_pattern;

typedef uint32_t compare_op;
enum { COMPARE_LESS = 0, COMPARE_AT_MOST, COMPARE_EQUAL, COMPARE_UNEQUAL, COMPARE_AT_LEAST, COMPARE_MORE };

/* `left op right`; a number on the left was turned round. */
typedef struct query_filter {
    uint32_t left;
    compare_op op;
    bool has_variable; /* on the right */
    uint32_t right;    /* then the variable */
    exact_number number;
    const char *source;
} query_filter;

typedef struct query_prefix {
    fmt_str name, iri; /* borrowed */
} query_prefix;

typedef struct query_text {
    query_prefix prefixes[QUERY_MAX_PREFIXES];
    query_pattern patterns[QUERY_MAX_PATTERNS];
    query_filter filters[QUERY_MAX_FILTERS];
    char *variables[QUERY_MAX_VARIABLES]; /* names without "?"; null for the graph of a pattern with three places */
    uint32_t n_prefixes, n_patterns, n_filters, n_variables;
} query_text;

/* `text` is NAME=IRI; borrowed. A later one of the same name wins. */
qn_status query_add_prefix(query_text *query, const char *text, error_context *err);
/* Prefixes first. `text` is borrowed. */
qn_status query_add_pattern(query_text *query, const char *text, error_context *err);
/* Patterns first: a variable that no pattern has is refused. `text` is borrowed. */
qn_status query_add_filter(query_text *query, const char *text, error_context *err);

/* Index of a named variable ("name" or "?name"), or UINT32_MAX. */
uint32_t query_find_variable(const query_text *query, const char *name, uint64_t size);

void query_text_free(query_text *query);

#endif
