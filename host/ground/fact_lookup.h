/* fact_lookup.h — the statements of a volume that match a pattern, found through its indexes; one with a wrong parity is passed over
 * and counted, where a query would refuse the block.
 *
 * A bound object names an interval of blocks (BIDX); bound subjects and predicates leave out blocks in it, or in the whole volume
 * (FIDX, PIDX). A volume without these indexes is read whole for a pattern without an object.
 *
 * Threading: one thread at a time per look-up.
 * Memory:    one decoded block (40 KiB) in the struct.
 */
#ifndef HOST_GROUND_FACT_LOOKUP_H
#define HOST_GROUND_FACT_LOOKUP_H
#include "graph/volume.h"

typedef struct fact_lookup {
    graph_volume *volume;
    q42_pattern pattern;
    uint32_t member, end_member;
    bool is_open;
    bool is_sanctuary;         /* of the member that the last quin came from */
    bool keeps_bad_parity;     /* gives such statements too; set after fact_lookup_begin */
    q42_scan in_member;
    uint64_t n_bad_parity, n_decoded;
    uint8_t room[Q42_BLOCK_BYTES];
} fact_lookup;

void fact_lookup_begin(fact_lookup *lookup, graph_volume *volume, const q42_pattern *pattern);
/* QN_NOT_FOUND without words after the last one. */
qn_status fact_lookup_next(fact_lookup *lookup, q42_quin *out_quin, error_context *err);

/* Patterns with one, two or three places bound. */
static inline q42_pattern fact_pattern(uint32_t bound, uint64_t subject, uint64_t predicate, uint64_t object) {
    return (q42_pattern){.bound = bound, .subject = subject, .predicate = predicate, .object = {object, object}};
}

#endif
