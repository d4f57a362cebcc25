/* set_members.h — the files of a volume set that is about to be replaced.
 *
 * Threading: one thread at a time per list.
 * Memory:    owned until set_members_free.
 */
#ifndef HOST_GRAPH_SET_MEMBERS_H
#define HOST_GRAPH_SET_MEMBERS_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>

typedef struct set_members {
    char **paths; /* [n]: beside the root, with the names that this project gives */
    uint32_t n, room;
    uint32_t next_number; /* one past the largest number in a name; 0 without members */
} set_members;

/* Bytes of the root's path before ".q42". */
int set_stem_size(const char *root);

/* Is it STEM.segment-NNNNN.q42 or STEM.lex-NNNNN.q42 of this root? */
bool set_member_number(const char *root, fmt_str name, uint32_t *out_number);
/* Is it a volume that can be opened? */
bool set_members_is_volume(const char *root);

/* The members that the root at `root` lists; none when there is no readable root. False without memory. */
bool set_members_read(const char *root, set_members *out_members);
/* Moves next_number behind files that have a member's name although no root lists them: they are nobody's to overwrite. */
void set_members_step_over(const char *root, set_members *members);
/* Takes the files away: the root does not list them any more. */
void set_members_remove(const set_members *members);
void set_members_free(set_members *members);

#endif
