/* turtle_places.h — where the terms of the statement begin that is being read, since libserd tells no place with a statement.
 *
 * Follows subjects, predicates, objects and graph names through brackets, lists and directives, on the assumption that the text is
 * right: where it is not, libserd refuses it before anybody asks. What the last byte means becomes known (turtle_places_note) but
 * counts (turtle_places_settle) only when the next byte is asked for: libserd reads one byte ahead, so a statement ends before the
 * byte that was given last.
 *
 * Lines and columns count from 1, columns in characters.
 *
 * Threading: one thread at a time.
 * Memory:    the struct.
 */
#ifndef HOST_GRAPH_TURTLE_PLACES_H
#define HOST_GRAPH_TURTLE_PLACES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURTLE_MAX_DEPTH 1024u /* brackets in brackets */

typedef struct turtle_place {
    uint64_t line, column, offset;
} turtle_place;

/* One open bracket, or the document. */
typedef struct turtle_frame {
    turtle_place terms[3]; /* subject, predicate, object */
    uint8_t bracket;       /* ( [ { or 0 */
    uint8_t next;          /* which of them comes next */
    bool is_empty;         /* nothing stands behind the bracket yet */
} turtle_frame;

typedef struct turtle_places {
    size_t depth;              /* frames[0 .. depth] are open */
    turtle_place graph;        /* name of the graph that was opened last */
    turtle_place part;         /* language tag or datatype of the literal that was read last */
    turtle_place last;         /* the term that was begun last */
    uint8_t noted;             /* what the last byte begins or is, 0: nothing */
    turtle_place noted_at;
    uint8_t first;             /* first byte of the term that was begun last */
    bool is_part, is_directive; /* what comes next belongs to a literal, to a directive */
    turtle_frame frames[TURTLE_MAX_DEPTH + 1]; /* from here on not zeroed */
} turtle_places;

void turtle_places_start(turtle_places *places);

/* Byte c, outside of any term, stands at `place`: it begins a term, or is punctuation. */
void turtle_places_note(turtle_places *places, uint8_t c, turtle_place place);
/* The next byte is asked for. */
void turtle_places_settle(turtle_places *places);

typedef uint32_t turtle_term_form;
enum { TURTLE_TERM = 0, TURTLE_IRI = 1, TURTLE_WORD = 2 /* a name without a colon: keyword, or a, true, false */ };

/* The term that was begun last has ended. */
void turtle_places_end_term(turtle_places *places, turtle_term_form form);

/* Does a statement begin here, not inside of brackets? */
bool turtle_places_is_start(const turtle_places *places);

/* Place of term 0 .. 2, or 3 for the graph, of the statement that libserd has just told. `is_opened`: its object is a bracket that
 * has just been opened. */
turtle_place turtle_places_find(const turtle_places *places, uint32_t term, bool is_opened);

#endif
