/* term_marks.h — which text an id stands for, in 16 bytes: ids are hashes of 60 bits, and whoever wants can find two texts with one of
 * them, so that a log has to refuse the second.
 *
 * Threading: one thread at a time per table.
 * Memory:    16 bytes an id or less than 32; owned by the table until term_marks_free. A zeroed struct is empty.
 */
#ifndef HOST_WAL_TERM_MARKS_H
#define HOST_WAL_TERM_MARKS_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

typedef struct term_mark {
    uint64_t id, mark; /* mark 0: a free slot */
} term_mark;

typedef struct term_marks {
    term_mark *slots;
    uint64_t n_slots, n_ids;
    uint64_t multiplier; /* see graph/secret.h */
} term_marks;

/* The mark of a text: eight bytes of its SHA-256, never 0; 0 only when libcrypto refuses. */
uint64_t term_mark_of(fmt_str text);

/* What the table knows of this id: 0 nothing, otherwise its mark. */
uint64_t term_marks_find(const term_marks *table, uint64_t id);
/* Remembers an id that is not there. False without memory; the table stands as it stood. */
bool term_marks_add(term_marks *table, uint64_t id, uint64_t mark);
void term_marks_free(term_marks *table);

#endif
