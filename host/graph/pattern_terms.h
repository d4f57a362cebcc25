/* pattern_terms.h — one term of a pattern: N-Quads, and Turtle's short forms. */
#ifndef HOST_GRAPH_PATTERN_TERMS_H
#define HOST_GRAPH_PATTERN_TERMS_H
#include "graph/pattern.h"
#include "graph/text_reader.h"

/* Reads the term at r->at. `room` has 2 * NTRIPLES_TERM_ROOM bytes; the term's text may lie in it or in what is read. */
qn_status pattern_read_term(const query_text *query, text_reader *r, char *room, ntriples_term *out_term);

#endif
