/* companion_edit.h — a companion volume taken apart, changed in one thing, and written again as a sound volume.
 *
 *     edit_companion("a.q42", "b.q42", &(companion_change){.drop = "q42:layout"});
 */
#ifndef TEST_COMPANION_EDIT_H
#define TEST_COMPANION_EDIT_H
#include <stdint.h>

#include "convert/small_volume.h"

/* All null or zero: nothing is changed. */
typedef struct companion_change {
    const char *drop;      /* every statement with this predicate */
    const char *add;       /* a statement with this predicate, */
    uint64_t metadata;     /* this metadata, */
    uint64_t object;       /* and this object, */
    const char *text;      /* or this text */
    const char *twice;     /* statements with this predicate are said of another subject too */
    const char *drop_term; /* this text is taken out of the lexicon */
} companion_change;

/* Every quin and term of a volume; fails the test when it cannot be read. */
void load_companion(const char *path, small_volume *out_volume);

void edit_companion(const char *from, const char *to, const companion_change *change);

#endif
