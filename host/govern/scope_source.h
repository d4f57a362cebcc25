/* scope_source.h — the statements of granted scopes as facts of canonical texts, for whoever asks by patterns: shapes, rules.
 *
 * Only what counts is given (ground_volume.h), in the order of the scopes and of their volumes' statements.
 *
 * Threading: one thread at a time.
 * Memory:    owned by the source until scope_source_close; a look-up takes a block and three texts while it runs.
 */
#ifndef HOST_SCOPE_SOURCE_H
#define HOST_SCOPE_SOURCE_H
#include "govern/request.h"
#include "graph/term_text.h"
#include "rules/fact_source.h"

typedef struct scope_source {
    const request *r;
    term_printer printers[REQUEST_MAX_SCOPES];
    uint32_t n_printers;
} scope_source;

/* The request's scopes were granted. To be closed, whatever it answers. */
qn_status scope_source_open(const request *r, scope_source *out, error_context *err);
void scope_source_close(scope_source *s);

/* Borrows the source. */
fact_source scope_source_facts(scope_source *s);

/* The word of a canonical text in `place` (NTRIPLES_SUBJECT, ...), as the volume of scope `index` hashes it; as surface forms when there is no
 * such scope. False for what is no term. *out_has_text: a text stands behind it, and not the value itself. */
bool scope_source_word(const request *r, uint32_t index, fmt_str text, uint32_t place, uint64_t *out_word, bool *out_has_text);

#endif
