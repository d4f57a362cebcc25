/* fact_source.h — where facts come from: one function that answers a pattern of canonical texts.
 *
 * Whoever has facts (a volume, a table, both) offers them in this form; this room asks and knows nothing of files.
 *
 *     static qn_status match(void *ctx, const fmt_str pattern[3], fact_take_fn *take, void *take_ctx, error_context *err) {
 *         for each fact that has the texts of the pattern where the pattern has one:
 *             status = take(take_ctx, terms, err);
 *             if (status != QN_OK) { return status; }
 *         return QN_OK;
 *     }
 *
 * Threading: as the source says.
 * Memory:    texts given to `take` are borrowed for the call, the pattern for the look-up.
 */
#ifndef HOST_RULES_FACT_SOURCE_H
#define HOST_RULES_FACT_SOURCE_H
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

/* Subject, predicate, object of a statement: N-Triples surface texts (<quoin/ntriples.h>), canonical. */
enum { FACT_SUBJECT = 0, FACT_PREDICATE = 1, FACT_OBJECT = 2, FACT_PLACES = 3 };

typedef struct fact {
    fmt_str terms[FACT_PLACES];
} fact;

/* Takes one fact. QN_OK goes on; QN_NOTE_END ends the look-up; a negative status ends it and is handed on. */
typedef qn_status fact_take_fn(void *ctx, const fmt_str terms[FACT_PLACES], error_context *err);

/* Gives every fact that fits: a text of size 0 in the pattern fits any. Facts may come twice; their order is the source's and
 * must be the same each time. `take` may ask the same source again. */
typedef qn_status fact_match_fn(void *ctx, const fmt_str pattern[FACT_PLACES], fact_take_fn *take, void *take_ctx,
                                error_context *err);

typedef struct fact_source {
    fact_match_fn *match;
    void *ctx;
} fact_source;

/* Several sources as one, asked in this order: the granted scope and the candidates, say. */
typedef struct fact_sources {
    const fact_source *parts; /* [n_parts], borrowed */
    uint32_t n_parts;
} fact_sources;

/* The union as a source; `all` is borrowed. */
fact_source fact_sources_join(const fact_sources *all);

#endif
