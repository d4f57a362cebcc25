/* n3.h — a strict reader of a small part of Notation3: statements, and rules that somebody proposes.
 *
 *     @prefix ex: <http://example.org/> .                PREFIX and BASE as in SPARQL are read too, they end without a stop
 *     ex:anna a ex:Person ; ex:age 42, "42"^^ex:years .  statements: candidates; terms as in Turtle
 *     [adult] (0.9) { ?x ex:age ?n } => { ?x a ex:Adult } .
 *
 * Terms:   <IRI> with # and \u escapes, relative ones against @base; prefixed names; `a`; "…", '…' and both in threes, with escapes,
 *          @language or ^^datatype; integers, decimals, doubles; true and false; _:label.
 * Rules:   { premises } ARROW { conclusions } or ARROW false. [id] and (weight) may stand before. ?x is a variable; it stands in rules
 *          only, as do formulas. What the four arrows mean is told by rule_program.h; to the reader they are signs.
 *          A formula inside a formula is a term whose text is what was written, each run of blanks as one blank.
 * Not in:  [ … ] and ( … ) as terms, paths, @forAll, quoted triples, `=`, `<=`. Each is refused by name. Nothing is skipped: whatever
 *          is left over is an error.
 * Comments: from # to the end of the line, where # begins no part of a term.
 *
 * Threading: one thread at a time per document.
 * Memory:    owned by the document until n3_free; its texts too. Everything is bounded by the limits below.
 * Errors:    QN_BAD_INPUT for what is wrong, QN_LIMIT for what is too much; the message is "NAME: line L, column C: …", columns count
 *            characters from 1. *out_document is then empty.
 */
#ifndef HOST_RULES_N3_H
#define HOST_RULES_N3_H
#include "rules/fact_source.h"
#include "rules/term_pool.h"

#define N3_MAX_DEPTH 16u         /* open braces */
#define N3_MAX_STATEMENTS 65536u /* statements and rules of one text, and the statements in formulas */
#define N3_MAX_RULES 4096u
#define N3_MAX_FORMULA 8u        /* statements of one formula */
#define N3_MAX_CANDIDATES 64u    /* statements outside of rules, unless the options say otherwise */
#define N3_MAX_PREFIXES 256u
#define N3_MAX_ID 128u           /* bytes of a rule's [id] */

typedef uint32_t n3_kind;
enum { N3_IRI = 0, N3_BLANK = 1, N3_LITERAL = 2, N3_VARIABLE = 3, N3_FORMULA = 4 };

typedef struct n3_term {
    n3_kind kind;
    fmt_str text; /* IRI, blank node, literal: canonical N-Triples; variable: name without ?; formula: as written */
} n3_term;

typedef struct n3_triple {
    n3_term terms[FACT_PLACES];
    uint32_t line, column; /* from 1, where its object begins */
} n3_triple;

typedef uint32_t n3_arrow;
enum { N3_STRICT = 0, N3_DEFEASIBLE = 1, N3_DEFEATER = 2, N3_LINEAR = 3 }; /* => ~> ^> -o */

typedef struct n3_formula {
    uint32_t first;     /* of n3_document.formula_triples */
    uint32_t n_triples; /* 0 .. N3_MAX_FORMULA; conclusions: at least one unless is_false */
    bool is_false;      /* conclusions only: the word false stands there */
} n3_formula;

typedef struct n3_rule {
    n3_arrow arrow;
    fmt_str id;         /* size 0: none was written */
    fmt_str weight;     /* as written, an unsigned decimal; size 0: none. It changes nothing here */
    n3_formula premise, conclusion;
    uint32_t line, column;
} n3_rule;

typedef struct n3_document {
    n3_triple *assertions;      /* [n_assertions] in the order of the text, repetitions kept */
    uint32_t n_assertions;
    n3_rule *rules;             /* [n_rules] proposals: reading a text installs nothing */
    uint32_t n_rules;
    n3_triple *formula_triples; /* [n_formula_triples] */
    uint32_t n_formula_triples;
    uint32_t assertions_room, rules_room, formula_room;
    term_pool pool;             /* holds all texts */
} n3_document;

typedef struct n3_options {
    const char *name;        /* for messages: a path, "output" */
    const char *base;        /* absolute IRI; null: relative IRIs need an @base */
    const char *blank_prefix; /* put before each label, "s2_" say; null: none */
    uint32_t max_assertions; /* 0: N3_MAX_CANDIDATES; at most N3_MAX_STATEMENTS */
} n3_options;

qn_status n3_read(fmt_str text, const n3_options *options, n3_document *out_document, error_context *err);
void n3_free(n3_document *document); /* a zeroed one is legal */

/* "=>", "~>", "^>", "-o" */
const char *n3_arrow_text(n3_arrow arrow);

/* The statements of a formula, [n_triples]; null when it has none. */
const n3_triple *n3_formula_statements(const n3_document *document, const n3_formula *formula);

/* The canonical texts of a statement outside of rules. */
void n3_triple_texts(const n3_triple *triple, fmt_str out_terms[FACT_PLACES]);

#endif
