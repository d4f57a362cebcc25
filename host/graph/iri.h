/* iri.h — resolving a relative IRI against a base, as section 5.2 of RFC 3986 has it.
 *
 * Threading: pure.
 */
#ifndef HOST_GRAPH_IRI_H
#define HOST_GRAPH_IRI_H
#include <stdbool.h>

#include <quoin/span.h>

#include "base/text_buffer.h"

/* Does the text begin with a scheme and a colon? */
bool iri_is_absolute(fmt_str iri);

/* Writes `reference`, seen from the absolute `base`, into *out, whose content it replaces. An absolute reference is taken
 * as it is. `out` is neither of the others. False without memory. */
bool iri_resolve(fmt_str base, fmt_str reference, text_buffer *out);

#endif
