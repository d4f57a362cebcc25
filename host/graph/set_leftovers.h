/* set_leftovers.h — what a load that was killed has left beside a volume, and how the next load to that name knows it.
 *
 * A set gets its names in this order, so that a kill between any two steps leaves the old set whole and a list of what is new:
 *
 *     1. all members and the root are written and synced, where the file system allows it without names
 *     2. a set that is replaced: its root gets a second name, ROOT.PID-N.tmp
 *     3. the new root gets a name of this form; its manifest now lists the members that follow
 *     4. the members get their names
 *     5. the new root takes its place
 *     6. members that only the old root lists go, then the old root's second name
 *
 * A load begins by looking for such lists of processes that have ended. What they name goes when the present root does not list it
 * and its bytes are those of the list: name, length and SHA-256. Everything else is kept, and told when it looks like a member.
 *
 * Threading: one thread at a time per root.
 * Memory:    mappings while it works.
 */
#ifndef HOST_GRAPH_SET_LEFTOVERS_H
#define HOST_GRAPH_SET_LEFTOVERS_H
#include "base/atomic_file.h"

/* Takes away what is left of loads to `root`, the real path of a target, and tells what is kept although it is in the way. */
void set_leftovers_remove(const char *root);

/* The second name of a root that is going to be replaced. */
typedef struct set_aside {
    int fd;                      /* keeps others from taking it for a leftover; -1: none */
    char path[ATOMIC_PATH_SIZE]; /* "": none */
} set_aside;

/* Without hard links nothing is set aside: then a kill in step 6 leaves members. */
void set_aside_begin(const char *root, set_aside *out_aside);
void set_aside_end(set_aside *aside);

#endif
