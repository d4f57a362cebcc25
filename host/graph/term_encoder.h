/* term_encoder.h — from the terms of a statement to words of a quin and entries of the lexicon, in the form that a volume's terms have.
 *
 *     surface    the key is the hash of the canonical N-Triples text, which is also the entry
 *     bare       of the IRI without brackets, of the literal's value with @language behind it, of _:label; a graph's blank
 *                name loses its _: ; did:q42:X in subject or object position has the pointer form of X's hash as key
 *
 * Integers, decimals and booleans in their canonical form stand in the object itself and need no entry.
 *
 * Threading: one thread at a time per encoder.
 * Memory:    the struct.
 */
#ifndef HOST_GRAPH_TERM_ENCODER_H
#define HOST_GRAPH_TERM_ENCODER_H
#include <quoin/ntriples.h>

#include "graph/volume.h"

typedef struct encoded_term {
    uint64_t id;   /* word of the quin, and key */
    fmt_str text;  /* of the entry; size 0 and data null for a value that stands in the id */
} encoded_term;

/* `position` is NTRIPLES_SUBJECT ... NTRIPLES_GRAPH; `room` has NTRIPLES_TERM_ROOM bytes, and is used for TERMS_BARE, then the text may
 * point into it. */
encoded_term term_encode(const ntriples_term *term, uint32_t position, term_convention terms, char *room);

#endif
