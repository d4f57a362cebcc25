/* fact_set.h — the facts that were put into a prompt: numbered from 1 in their order, found by id. Only these have ids that an answer
 * may cite.
 *
 * Threading: one thread at a time while it is filled; immutable after fact_set_seal.
 * Memory:    owned; at most FACT_SET_MAX facts.
 */
#ifndef HOST_GROUND_FACT_SET_H
#define HOST_GROUND_FACT_SET_H
#include "ground/fact.h"

#define FACT_SET_MAX 4096u

typedef struct ground_fact {
    q42_quin quin;
    uint64_t id;        /* fact.h; filled by fact_set_add */
    uint32_t source;    /* index of the volume among those that were asked */
    uint32_t tier;      /* 0..4 */
    uint32_t score;     /* of the retrieval; 0 for facts that are there by nearness alone */
    float distance;     /* to the point asked for; INFINITY without one */
} ground_fact;

typedef struct fact_set {
    ground_fact *facts; /* [n] fact i is cited as [i + 1] */
    uint32_t *by_id;    /* [n] indices, ascending by id; after fact_set_seal */
    uint32_t n, room;
    bool is_sealed;
} fact_set;

fact_set fact_set_empty(void);
/* QN_LIMIT above FACT_SET_MAX. The id is computed here. */
qn_status fact_set_add(fact_set *set, const ground_fact *fact, error_context *err);
/* Builds the index. A fact that stands twice (two volumes have it) keeps its first place; the other is taken out, and the higher tier stays. */
qn_status fact_set_seal(fact_set *set, error_context *err);
void fact_set_free(fact_set *set);

/* The fact with this id, or null. [no-alloc] [after: sealed] */
const ground_fact *fact_set_find(const fact_set *set, uint64_t id);

/* The highest tier of all facts: what decides where the prompt may go. 0 without facts. */
uint32_t fact_set_tier(const fact_set *set);

#endif
