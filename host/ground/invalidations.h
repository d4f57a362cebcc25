/* invalidations.h — what a volume says is no longer so, in the words of PROV-O.
 *
 *     X prov:wasInvalidatedBy  anything .     from now on
 *     X prov:invalidatedAtTime T .            from T on; T an xsd:dateTime, or a bare number of milliseconds since 1970 as the
 *                                             temporal quins of other writers have it; a time that cannot be read counts as past
 *
 * in any graph. X is a subject, a named graph, or a statement (its id as a quoted triple): what is said of a subject holds for all
 * statements about it, what is said of a graph for all statements in it. Statements of invalidation count whatever their parity, since
 * some writers leave it zero and leaving one out would bring back what was withdrawn.
 *
 * Threading: immutable once loaded.
 * Memory:    8 bytes a withdrawn thing; at most INVALIDATIONS_MAX, more are refused with QN_LIMIT rather than forgotten.
 */
#ifndef HOST_GROUND_INVALIDATIONS_H
#define HOST_GROUND_INVALIDATIONS_H
#include "graph/volume.h"

#define INVALIDATIONS_MAX (1u << 20)

typedef struct invalidation_list {
    uint64_t *ids; /* [n], ascending */
    uint32_t n, room;
} invalidation_list;

/* Reads them through the index of predicates. now_ms 0: times to come count as past. */
qn_status invalidations_load(graph_volume *volume, uint64_t now_ms, invalidation_list *out, error_context *err);
void invalidations_free(invalidation_list *list);

/* [no-alloc] */
bool invalidations_cover(const invalidation_list *list, const q42_quin *quin);

/* Milliseconds since 1970 of an xsd:dateTime, "2026-11-30T16:47:24.5Z" or with +hh:mm; without a zone it is UTC. False for what is none. */
bool invalidations_read_time(const char *text, uint64_t size, int64_t *out_ms);

#endif
