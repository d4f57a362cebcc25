/* sieve_candidates.h — the terms that a slot of a sieve may hold: those listed, in their order, then those that a volume has, by their text.
 *
 * Threading: one thread at a time.
 * Memory:    owned by the list; what it takes is counted against *io_left, and more is refused.
 * Errors:    QN_NOT_FOUND for a listed term that the volume does not know; QN_BAD_INPUT for a slot without candidates, for one without
 *            a text, and for two with the same; QN_LIMIT when the memory does not suffice. The message names file, line and slot.
 */
#ifndef HOST_CONSTRAIN_SIEVE_CANDIDATES_H
#define HOST_CONSTRAIN_SIEVE_CANDIDATES_H
#include "constrain/sieve_spec.h"
#include "graph/volume.h"

typedef struct sieve_candidate {
    uint64_t id;         /* word of the quin */
    char *term;          /* as N-Triples writes it; owned */
    char *label;         /* what is printed; owned, or the term */
    uint32_t line;       /* of the file; 0: from the volume */
} sieve_candidate;

typedef struct candidate_list {
    sieve_candidate *items;
    uint32_t n, capacity;
} candidate_list;

/* `volume` is null when the spec names none. */
qn_status candidate_list_fill(const sieve_spec *spec, sieve_slot slot, graph_volume *volume, uint64_t *io_left, candidate_list *out,
                              error_context *err);
void candidate_list_free(candidate_list *list);

/* The id and, malloc'ed, the text of the spec's graph; Q42_DEFAULT_GRAPH and null without one. */
qn_status sieve_graph_find(const sieve_spec *spec, graph_volume *volume, uint64_t *out_id, char **out_text, error_context *err);

#endif
