/* json_text.h — strings and RDF terms as JSON, appended to a buffer.
 *
 * Threading: pure but for the buffer. Errors: false without memory.
 */
#ifndef HOST_GRAPH_JSON_TEXT_H
#define HOST_GRAPH_JSON_TEXT_H
#include "graph/term_text.h"

/* "text"; `text` is UTF-8. */
bool json_text_string(text_buffer *out, fmt_str text);

/* {"type": ..., "value": ...} as SPARQL's JSON results have it: uri, bnode, literal with xml:lang or datatype; a triple as text. */
bool json_text_term(text_buffer *out, const term_cell *cell);

#endif
