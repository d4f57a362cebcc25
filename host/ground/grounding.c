/* grounding.c — claims against facts. */
#include "ground/grounding.h"

#include <stdlib.h>
#include <string.h>

#include "ground/proof.h"
#include "ground/subject_scan.h"

enum { MOST_LIKE = 16 }; /* statements of one pattern that are compared with the claim */

typedef struct judgement {
    const grounding_claim *claim;
    const grounding_options *options;
    grounding_result *result;
    bool is_functional, has_subject, has_object; /* the last two: the end was seen somewhere */
    bool has_exact, has_conflict;
    q42_quin exact, conflict, likest;
    grounding_source exact_source, conflict_source, likest_source;
    uint32_t exact_volume, conflict_volume, likest_volume;
    q42_quin *given; /* [n_given] for rules; null without */
    uint32_t n_given;
    fact_lookup *lookup;
    subject_scan *scan;
} judgement;

const char *grounding_verdict_name(grounding_verdict verdict) {
    static const char *const names[GROUNDING_N_VERDICTS] = {"not evaluated", "supported", "weak", "contradicted", "absent"};
    return verdict < GROUNDING_N_VERDICTS ? names[verdict] : "unknown";
}

uint64_t grounding_verdict_code(grounding_verdict verdict) {
    static const char review[] = "q42:GroundingRequiresReview", required[] = "q42:GroundingRequired";
    switch (verdict) {
    case GROUNDING_WEAK:
    case GROUNDING_CONTRADICTED: return q42_hash(review, sizeof review - 1);
    case GROUNDING_ABSENT: return q42_hash(required, sizeof required - 1);
    default: return 0;
    }
}

/* ------------------------------------------------------------------------------------------------- one statement */

static bool is_anywhere(const q42_quin *fact, uint64_t id) {
    return id != 0 && (fact->subject == id || fact->predicate == id || fact->object == id);
}

/* Compares a statement that counts with the claim. */
static void consider(judgement *j, const q42_quin *fact, grounding_source source, uint32_t volume) {
    const grounding_claim *c = j->claim;
    const bool has_subject = fact->subject == c->subject, has_predicate = fact->predicate == c->predicate,
               has_object = fact->object == c->object;
    const uint32_t n_roles = (uint32_t)has_subject + has_predicate + has_object;
    if (n_roles == 3 && !j->has_exact && (!c->has_context || fact->context == c->context)) {
        j->has_exact = true;
        j->exact = *fact;
        j->exact_source = source;
        j->exact_volume = volume;
    }
    if (has_subject && has_predicate && !has_object && !j->has_conflict) {
        j->has_conflict = true;
        j->conflict = *fact;
        j->conflict_source = source;
        j->conflict_volume = volume;
    }
    if (n_roles > j->result->n_roles || j->likest_source == GROUNDING_BY_NOTHING) {
        j->likest = *fact;
        j->likest_source = source;
        j->likest_volume = volume;
    }
    j->result->n_roles = n_roles > j->result->n_roles ? n_roles : j->result->n_roles;
    j->has_subject = j->has_subject || is_anywhere(fact, c->subject);
    j->has_object = j->has_object || is_anywhere(fact, c->object);
    if (j->given != NULL && j->n_given < GROUNDING_MAX_FACTS) {
        j->given[j->n_given++] = *fact;
    }
}

static fact_state judge_without_volume(const judgement *j, const q42_quin *fact) {
    static const fact_rules open = {.now_ms = 0};
    return fact_judge(fact, j->options->rules != NULL ? j->options->rules : &open);
}

/* ------------------------------------------------------------------------------------------------- the prompt's facts */

static void consider_prompt(judgement *j) {
    const fact_set *set = j->options->facts;
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        const ground_fact *fact = &set->facts[i];
        const fact_state state = fact->source < j->options->n_volumes
                                     ? ground_volume_judge(&j->options->volumes[fact->source], &fact->quin)
                                     : judge_without_volume(j, &fact->quin);
        if (state == FACT_LIVE) {
            consider(j, &fact->quin, GROUNDING_BY_PROMPT, 0);
        } else {
            j->result->n_states[state]++;
        }
    }
}

/* Whether an id is the claim in other clothes. */
static bool is_own_part(const grounding_claim *c, uint64_t id) {
    return id == c->subject || id == c->predicate || id == c->object || (c->has_context && id == c->context) ||
           id == q42_triple_id(c->subject, c->predicate, c->object);
}

static bool is_same_statement(const grounding_claim *c, const q42_quin *fact) {
    return fact->subject == c->subject && fact->predicate == c->predicate && fact->object == c->object;
}

static void consider_citation(judgement *j, const fact_resolver *resolver, uint64_t id) {
    grounding_result *r = j->result;
    q42_quin fact;
    if (is_own_part(j->claim, id)) {
        r->n_refused++;
        return;
    }
    if (j->options->facts != NULL && fact_set_find(j->options->facts, id) != NULL) {
        return; /* the prompt's own were considered */
    }
    if (resolver == NULL || !fact_resolve(resolver, id, &fact)) {
        r->n_unresolved++;
        return;
    }
    if (is_same_statement(j->claim, &fact)) { /* who resolves it may have it from whoever claims; volumes are asked themselves */
        r->n_refused++;
        return;
    }
    const fact_state state = judge_without_volume(j, &fact);
    if (state == FACT_LIVE) {
        consider(j, &fact, GROUNDING_BY_CITATION, 0);
    } else {
        r->n_states[state]++;
    }
}

/* ------------------------------------------------------------------------------------------------- volumes */

static qn_status look_up(judgement *j, uint32_t volume, const q42_pattern *pattern, error_context *err) {
    const ground_volume *gv = &j->options->volumes[volume];
    q42_quin fact;
    uint32_t n = 0, tier;
    qn_status status;
    fact_lookup_begin(j->lookup, gv->volume, pattern);
    while ((status = ground_volume_next(gv, j->lookup, &fact, &tier, j->result->n_states, err)) == QN_OK) {
        consider(j, &fact, GROUNDING_BY_VOLUME, volume);
        if (++n == MOST_LIKE && j->given == NULL) {
            return QN_OK;
        }
        if (n == GROUNDING_MAX_FACTS) {
            return QN_OK;
        }
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

/* The claim itself; the object leads to a few blocks, whatever the volume's size. */
static qn_status look_for_claim(judgement *j, uint32_t volume, error_context *err) {
    const grounding_claim *c = j->claim;
    q42_pattern pattern = fact_pattern(Q42_BOUND_OBJECT | Q42_BOUND_SUBJECT | Q42_BOUND_PREDICATE, c->subject, c->predicate, c->object);
    if (c->has_context) {
        pattern.bound |= Q42_BOUND_CONTEXT;
        pattern.context = c->context;
    }
    return look_up(j, volume, &pattern, err);
}

static qn_status look_for_conflict(judgement *j, uint32_t volume, error_context *err) {
    const q42_pattern pattern = fact_pattern(Q42_BOUND_SUBJECT | Q42_BOUND_PREDICATE, j->claim->subject, j->claim->predicate, 0);
    return look_up(j, volume, &pattern, err);
}

/* What is said about either end, in one pass. */
static qn_status look_at_subjects(judgement *j, uint32_t volume, error_context *err) {
    uint64_t ends[] = {j->claim->subject, j->claim->object};
    uint32_t n_of[2] = {0}, tier, end;
    q42_quin fact;
    qn_status status;
    const uint32_t most = j->given != NULL ? GROUNDING_MAX_FACTS : MOST_LIKE;
    subject_scan_begin(j->scan, &j->options->volumes[volume], ends, subject_scan_sort(ends, 2), j->result->n_states);
    while ((status = subject_scan_next(j->scan, &fact, &tier, &end, err)) == QN_OK) {
        if (n_of[end]++ < most) {
            consider(j, &fact, GROUNDING_BY_VOLUME, volume);
        }
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

/* Whatever shares something with the claim, by object first. */
static qn_status look_for_likeness(judgement *j, uint32_t volume, error_context *err) {
    const grounding_claim *c = j->claim;
    const q42_pattern patterns[] = {fact_pattern(Q42_BOUND_OBJECT | Q42_BOUND_SUBJECT, c->subject, 0, c->object),
                                    fact_pattern(Q42_BOUND_OBJECT | Q42_BOUND_PREDICATE, 0, c->predicate, c->object),
                                    fact_pattern(Q42_BOUND_OBJECT, 0, 0, c->object),
                                    fact_pattern(Q42_BOUND_OBJECT, 0, 0, c->subject)};
    const q42_pattern by_predicate = fact_pattern(Q42_BOUND_PREDICATE, 0, c->predicate, 0);
    for (uint32_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        QN_TRY(look_up(j, volume, &patterns[i], err), err, "looking up what is like the claim");
    }
    if (j->result->n_roles < 2 || j->given != NULL) {
        QN_TRY(look_at_subjects(j, volume, err), err, "looking up what is said about its ends");
    }
    /* the predicate alone only adds a first role */
    return j->result->n_roles == 0 ? look_up(j, volume, &by_predicate, err) : QN_OK;
}

typedef qn_status look_fn(judgement *j, uint32_t volume, error_context *err);
static qn_status look_in_all(judgement *j, look_fn *look, error_context *err) {
    for (uint32_t i = 0; i < j->options->n_volumes; i++) {
        QN_TRY(look(j, i, err), err, "%s", graph_volume_path(j->options->volumes[i].volume));
    }
    return QN_OK;
}

/* ------------------------------------------------------------------------------------------------- the verdict */

static void show(judgement *j, const q42_quin *fact, grounding_source source, uint32_t volume) {
    j->result->evidence = *fact;
    j->result->source = source;
    j->result->volume = source == GROUNDING_BY_VOLUME ? volume : 0;
}

static void decide(judgement *j, bool is_derived) {
    grounding_result *r = j->result;
    r->n_ends = (uint32_t)j->has_subject + j->has_object;
    const float by_roles = (float)r->n_roles / 3.0f, by_ends = (float)r->n_ends / 4.0f;
    r->score = is_derived ? 1.0f : by_roles > by_ends ? by_roles : by_ends;
    const bool is_contradicted = j->is_functional && j->has_conflict;
    r->is_disputed = (j->has_exact || is_derived) && is_contradicted;
    if (j->has_exact) {
        r->verdict = GROUNDING_SUPPORTED;
        show(j, &j->exact, j->exact_source, j->exact_volume);
    } else if (is_derived) {
        r->verdict = GROUNDING_SUPPORTED;
        show(j, &r->proof[r->n_steps - 1].fact, GROUNDING_BY_RULE, 0);
    } else if (is_contradicted) {
        r->verdict = GROUNDING_CONTRADICTED;
        show(j, &j->conflict, j->conflict_source, j->conflict_volume);
    } else {
        r->verdict = r->score >= 0.3f ? GROUNDING_WEAK : GROUNDING_ABSENT;
        show(j, &j->likest, j->likest_source, j->likest_volume);
    }
}

static bool has_id(const uint64_t *ids, uint32_t n, uint64_t id) {
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

static qn_status weigh_claim(judgement *j, error_context *err) {
    bool is_derived = false;
    consider_prompt(j);
    for (uint32_t i = 0; i < j->options->n_citations; i++) {
        consider_citation(j, j->options->resolver, j->options->citations[i]);
    }
    if (!j->has_exact) {
        QN_TRY(look_in_all(j, look_for_claim, err), err, "looking up the claim");
    }
    if (!j->has_exact || j->is_functional) {
        QN_TRY(look_in_all(j, look_for_conflict, err), err, "looking up other objects");
    }
    if (!j->has_exact) {
        QN_TRY(look_in_all(j, look_for_likeness, err), err, "looking up what is like the claim");
    }
    if (!j->has_exact && j->options->rules_of != NULL) {
        QN_TRY(proof_search(j->claim, j->options->rules_of, j->given, j->n_given, j->result, &is_derived, err), err,
               "deriving the claim");
    }
    decide(j, is_derived);
    return QN_OK;
}

qn_status ground_claim(const grounding_claim *claim, const grounding_options *options, grounding_result *out, error_context *err) {
    if (claim == NULL) {
        memset(out, 0, sizeof *out);
        return QN_OK;
    }
    grounding_result *result = calloc(1, sizeof *result);
    judgement j = {
        .claim = claim, .options = options, .result = result, .lookup = malloc(sizeof *j.lookup), .scan = malloc(sizeof *j.scan)};
    j.is_functional = has_id(options->functional, options->n_functional, claim->predicate);
    j.given = options->rules_of != NULL ? calloc(GROUNDING_MAX_FACTS, sizeof *j.given) : NULL;
    const bool has_memory =
        result != NULL && j.lookup != NULL && j.scan != NULL && (options->rules_of == NULL || j.given != NULL);
    const qn_status status = has_memory ? weigh_claim(&j, err) : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    if (status == QN_OK) {
        *out = *result;
    }
    free(result);
    free(j.lookup);
    free(j.scan);
    free(j.given);
    return status;
}
