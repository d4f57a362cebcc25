/* convention.h — which texts a volume hashes, and the id that a term of N-Triples has there.
 *
 * Threading: pure, but for what the volume's own calls do.
 */
#ifndef HOST_GRAPH_CONVENTION_H
#define HOST_GRAPH_CONVENTION_H
#include <quoin/ntriples.h>

#include "graph/volume.h"

/* For a volume without a mark: surface if every string of its lexicon is a complete N-Triples term, otherwise bare. */
qn_status convention_detect(graph_volume *volume, term_convention *out_terms, error_context *err);

/* The id that `term` has in `place` (NTRIPLES_SUBJECT, ...) under a convention, and the text that was hashed for it.
 *
 *   room      [NTRIPLES_TERM_ROOM], used when the text is not the term's own
 *   out_text  size 0 for an inline literal: it has no text
 * [no-alloc] */
uint64_t convention_id(term_convention terms, const ntriples_term *term, uint32_t place, char *room, fmt_str *out_text);

#endif
