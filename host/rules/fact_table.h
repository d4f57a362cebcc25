/* fact_table.h — a bounded set of facts in memory, with an index for each place; what the rule machine runs on.
 *
 * Facts stand in the order in which they came and never leave. A fact that a rule derived knows the rule and the facts that it was
 * derived from, which always stand before it: a proof is read backwards.
 *
 * Threading: one thread at a time per table.
 * Memory:    grows with the facts up to the bound; texts are in the table's pool.
 * Errors:    QN_LIMIT when the table is full, QN_NO_HOST_MEM; it stands as it stood.
 */
#ifndef HOST_RULES_FACT_TABLE_H
#define HOST_RULES_FACT_TABLE_H
#include <stdbool.h>

#include "rules/fact_source.h"
#include "rules/term_pool.h"

#define FACT_TABLE_DEFAULT 4096u
#define FACT_TABLE_MOST 65536u
#define FACT_MAX_PREMISES 8u
#define FACT_NONE UINT32_MAX
#define FACT_GIVEN UINT32_MAX /* in place of a rule: the fact was given, not derived */

typedef struct fact_origin {
    uint32_t rule;        /* index into the program's rules, or FACT_GIVEN */
    uint32_t n_premises;
    uint32_t premises[FACT_MAX_PREMISES]; /* facts of this table, below the fact itself */
    bool is_definite;     /* given, or derived by strict rules from definite facts */
} fact_origin;

typedef struct table_fact {
    term_ref terms[FACT_PLACES];
    fact_origin origin;
    uint32_t line;        /* in the text that it came from; 0: not known */
    bool is_consumed;     /* a linear rule has used it */
} table_fact;

typedef struct fact_table {
    term_pool pool;
    table_fact *facts;             /* [n_facts]; moves when facts are added */
    uint32_t n_facts, room, most;
    uint32_t *heads[FACT_PLACES];  /* [n_heads] first fact of a chain, by ref & (n_heads - 1) */
    uint32_t *tails[FACT_PLACES];
    uint32_t *nexts[FACT_PLACES];  /* [room] */
    uint32_t *slots;               /* [2 * n_heads] facts by all three terms, to find a repetition */
    uint32_t n_heads;              /* a power of two */
} fact_table;

/* An empty table for `most` facts, 1 .. FACT_TABLE_MOST. */
qn_status fact_table_init(fact_table *table, uint32_t most, error_context *err);
void fact_table_deinit(fact_table *table); /* a zeroed one is legal */

/* Adds a fact: QN_OK, or QN_NOTE_END when it stands there already, whatever its origin; *out_fact (may be null) is its index.
 * fact_table_add: a given fact. fact_table_derive: terms of the table's own pool, and how it was derived. */
qn_status fact_table_add(fact_table *table, const fmt_str terms[FACT_PLACES], uint32_t line, uint32_t *out_fact,
                         error_context *err);
qn_status fact_table_derive(fact_table *table, const term_ref terms[FACT_PLACES], const fact_origin *origin, uint32_t *out_fact,
                            error_context *err);

/* The fact with these terms, or FACT_NONE. [no-alloc] */
uint32_t fact_table_find(const fact_table *table, const term_ref terms[FACT_PLACES]);

/* The first fact behind `after` (FACT_NONE: from the start) that has the pattern's terms where the pattern has one, in ascending order;
 * FACT_NONE when there is none. Adds the number of facts that were looked at to *io_looked. [no-alloc] */
uint32_t fact_table_next(const fact_table *table, const term_ref pattern[FACT_PLACES], uint32_t after, uint64_t *io_looked);

/* Adds what the source has for a pattern. */
qn_status fact_table_load(fact_table *table, const fact_source *source, const fmt_str pattern[FACT_PLACES], error_context *err);

/* The table as a source; it is borrowed. */
fact_source fact_table_source(const fact_table *table);

#endif
