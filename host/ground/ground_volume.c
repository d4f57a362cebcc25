/* ground_volume.c — what decides, for one volume, which facts count and at which tier. */
#include "ground/ground_volume.h"

#include <stdlib.h>
#include <string.h>

#include "graph/convention.h"

static const char *const label_iris[GROUND_N_LABELS] = {
    "http://www.w3.org/2000/01/rdf-schema#label",      "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",                          "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",                  "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",           "http://www.w3.org/2004/02/skos/core#altLabel",
    "http://schema.org/alternateName",                 "https://schema.org/alternateName"};

uint64_t ground_volume_iri_id(const ground_volume *gv, const char *iri, uint64_t size) {
    ntriples_term term;
    fmt_diag diag;
    fmt_str text;
    char *room = malloc(2 * NTRIPLES_TERM_ROOM);
    uint64_t id = 0;
    if (room != NULL && ntriples_make_iri((fmt_str){iri, size}, room, &term, &diag) == FMT_OK) {
        id = convention_id(graph_volume_terms(gv->volume), &term, NTRIPLES_SUBJECT, room + NTRIPLES_TERM_ROOM, &text);
    }
    free(room);
    return id;
}

qn_status ground_volume_open(graph_volume *volume, const fact_rules *rules, uint32_t least_tier, ground_volume *out,
                             error_context *err) {
    ground_volume gv = {.volume = volume, .rules = *rules, .least_tier = least_tier};
    gv.is_sanctuary = (graph_volume_root(volume)->header.flags & Q42_FLAG_SANCTUARY) != 0;
    for (uint32_t i = 0; i < GROUND_N_LABELS; i++) {
        gv.labels[i] = ground_volume_iri_id(&gv, label_iris[i], strlen(label_iris[i]));
    }
    gv.vector = ground_volume_iri_id(&gv, "q42:tensor10d", strlen("q42:tensor10d"));
    if (gv.vector == 0) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    QN_TRY(invalidations_load(volume, rules->now_ms, &gv.withdrawn, err), err, "%s: reading what is withdrawn",
           graph_volume_path(volume));
    *out = gv;
    return QN_OK;
}

void ground_volume_close(ground_volume *gv) {
    invalidations_free(&gv->withdrawn);
    gv->volume = NULL;
}

fact_state ground_volume_judge(const ground_volume *gv, const q42_quin *quin) {
    const fact_state state = fact_judge(quin, &gv->rules);
    return state == FACT_LIVE && invalidations_cover(&gv->withdrawn, quin) ? FACT_INVALIDATED : state;
}

qn_status ground_volume_next(const ground_volume *gv, fact_lookup *lookup, q42_quin *out_quin, uint32_t *out_tier,
                             uint64_t *n_states, error_context *err) {
    const uint64_t n_bad = lookup->n_bad_parity;
    qn_status status;
    fact_state state = FACT_LIVE;
    while ((status = fact_lookup_next(lookup, out_quin, err)) == QN_OK) {
        state = ground_volume_judge(gv, out_quin);
        if (state == FACT_LIVE) {
            *out_tier = fact_tier(out_quin, gv->is_sanctuary || lookup->is_sanctuary, gv->least_tier);
            break;
        }
        if (n_states != NULL) {
            n_states[state]++;
        }
    }
    if (n_states != NULL) {
        n_states[FACT_BAD_PARITY] += lookup->n_bad_parity - n_bad;
    }
    return status;
}

uint32_t ground_volume_label_rank(const ground_volume *gv, uint64_t predicate) {
    uint32_t rank = 0;
    while (rank < GROUND_N_LABELS && gv->labels[rank] != predicate) {
        rank++;
    }
    return rank;
}
