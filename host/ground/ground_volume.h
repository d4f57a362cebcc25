/* ground_volume.h — a volume that facts may be taken from: its rules, what it withdraws, its tier, the predicates that name things.
 *
 * Threading: immutable once opened; each look-up is one thread's.
 * Memory:    the graph_volume is borrowed until ground_volume_close; owned is what invalidations.h says.
 */
#ifndef HOST_GROUND_GROUND_VOLUME_H
#define HOST_GROUND_GROUND_VOLUME_H
#include "graph/volume.h"
#include "ground/fact.h"
#include "ground/fact_lookup.h"
#include "ground/invalidations.h"

/* Predicates whose object is the name of the subject: rdfs:label, skos:prefLabel, skos:altLabel, schema:name (http and https),
 * schema:alternateName (both), foaf:name, dcterms:title, dc:title. Earlier ones are better names. */
#define GROUND_N_LABELS 10u

typedef struct ground_volume {
    graph_volume *volume;     /* borrowed */
    fact_rules rules;         /* its lists are borrowed */
    uint32_t least_tier;      /* 0..4: the caller's label of this volume */
    bool is_sanctuary;        /* the root's flag; a member may have its own */
    uint64_t labels[GROUND_N_LABELS]; /* ids of the predicates above under this volume's convention */
    uint64_t vector;          /* of <q42:tensor10d> */
    invalidation_list withdrawn;
} ground_volume;

qn_status ground_volume_open(graph_volume *volume, const fact_rules *rules, uint32_t least_tier, ground_volume *out,
                             error_context *err);
void ground_volume_close(ground_volume *gv);

/* Everything that fact_judge judges, and invalidation. [no-alloc] */
fact_state ground_volume_judge(const ground_volume *gv, const q42_quin *quin);

/* The next live fact of a look-up, and its tier; QN_NOT_FOUND after the last. n_states, [FACT_N_STATES] or null, counts what was
 * passed over. */
qn_status ground_volume_next(const ground_volume *gv, fact_lookup *lookup, q42_quin *out_quin, uint32_t *out_tier,
                             uint64_t *n_states, error_context *err);

/* Place of a predicate in the list of labels, or GROUND_N_LABELS. */
uint32_t ground_volume_label_rank(const ground_volume *gv, uint64_t predicate);

/* Id of an IRI (without brackets) under the volume's convention, as a subject or an object. 0 when it is none. */
uint64_t ground_volume_iri_id(const ground_volume *gv, const char *iri, uint64_t size);

#endif
