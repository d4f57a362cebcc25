/* retrieve.h — the facts of volumes that a prompt is about.
 *
 *     prompt ─► words ─► terms of the lexicon that it names (label_search)
 *                          literals ─► statements with this object (BIDX) ─► of names: the subject is meant too
 *                          subjects ─► statements with this object (BIDX), with one of these subjects (one pass, FIDX and PIDX)
 *                          predicates ─► only while there are too few (FIDX, PIDX)
 *            ─► points near the one that is asked from (tensor10d.h), where there are any
 *            ─► facts that count (ground_volume.h), ranked, the first n
 *
 * Rank: the weight of the prompt's words that subject, predicate and object cover together, most first; then statements that tell more than
 * a name; then those whose subject is nearer; then the order of the volumes, and in one the order of its statements. The same
 * volumes and prompt give the same facts.
 *
 * Each look-up gives at most RETRIEVE_MAX_PER_TERM statements, and at most RETRIEVE_MAX_SUBJECTS subjects are looked up; what is left is
 * counted.
 *
 * Threading: one thread at a time per call.
 * Memory:    during the call 72 bytes for each statement that was found, at most 30 MiB a volume when every look-up is full; 2 MiB beside.
 * Errors:    qn_status; what a volume's file is refused for names file, block and slot.
 */
#ifndef HOST_GROUND_RETRIEVE_H
#define HOST_GROUND_RETRIEVE_H
#include "ground/fact_set.h"
#include "ground/ground_volume.h"
#include "ground/tensor10d.h"

#define RETRIEVE_MAX_PER_TERM 1024u
#define RETRIEVE_MAX_SUBJECTS 64u
#define RETRIEVE_MAX_PREDICATES 8u

typedef struct retrieve_options {
    const char *prompt;       /* [prompt_bytes] UTF-8 */
    uint64_t prompt_bytes;
    uint32_t n_facts;         /* at most FACT_SET_MAX */
    const tensor10d *near;    /* rank by nearness to this point; null: to the point of the best named subject that has one */
    float near_limit;         /* points farther away count as none; 0: any distance */
} retrieve_options;

typedef struct retrieve_report {
    uint64_t n_terms;         /* of lexicons that were looked at */
    uint32_t n_named;         /* terms that the prompt names */
    uint64_t n_found;         /* statements that were ranked */
    uint64_t n_cut;           /* look-ups that had more to give */
    uint64_t n_states[FACT_N_STATES]; /* statements that were passed over, by reason */
    uint32_t n_points;        /* of subjects */
} retrieve_report;

/* Adds facts to *out and seals it; ground_fact.source is the index into volumes. out_report may be null. *out is as it was after an error. */
qn_status ground_facts(const ground_volume *volumes, uint32_t n_volumes, const retrieve_options *options, fact_set *out,
                       retrieve_report *out_report, error_context *err);

#endif
