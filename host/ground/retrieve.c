/* retrieve.c — from a prompt to ranked facts. */
#include "ground/retrieve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ground/label_search.h"
#include "ground/subject_scan.h"
#include "ground/vectors.h"

/* A statement that was found, with what it is ranked by. */
typedef struct candidate {
    q42_quin quin;
    uint32_t score, source, tier;
    float distance;
    bool is_label;
} candidate;

typedef struct candidate_list {
    candidate *items;
    size_t n, room;
} candidate_list;

/* An id that stands for words of the prompt: a term that it names, or a subject whose name it says. */
typedef struct known_id {
    uint64_t id;
    word_set words;
    uint32_t weight;
} known_id;

/* One volume at work. */
typedef struct search {
    const ground_volume *gv;
    const retrieve_options *options;
    const prompt_words *words;
    retrieve_report *report;
    label_matches *matches;
    known_id *known;       /* [n_known] */
    uint32_t n_known;
    uint64_t subjects[RETRIEVE_MAX_SUBJECTS]; /* to look up, best first */
    uint32_t n_subjects;
    vector_list vectors;
    tensor10d_hit hits[TENSOR10D_MAX_HITS];
    uint32_t n_hits, source;
    fact_lookup *lookup;
    subject_scan *scan;
    candidate_list *found;
} search;

enum { MOST_KNOWN = LABEL_MAX_MATCHES + RETRIEVE_MAX_SUBJECTS };

/* ------------------------------------------------------------------------------------------------- what is known */

static known_id *find_known(const search *s, uint64_t id) {
    for (uint32_t i = 0; i < s->n_known; i++) {
        if (s->known[i].id == id) {
            return &s->known[i];
        }
    }
    return NULL;
}

static void learn(search *s, uint64_t id, const word_set *words) {
    known_id *known = find_known(s, id);
    if (known == NULL && s->n_known < MOST_KNOWN) {
        known = &s->known[s->n_known++];
        *known = (known_id){.id = id};
    }
    if (known != NULL) {
        word_set_add(&known->words, words);
        known->weight = prompt_words_weigh(s->words, &known->words);
    }
}

static void add_subject(search *s, uint64_t id) {
    uint32_t i = 0;
    while (i < s->n_subjects && s->subjects[i] != id) {
        i++;
    }
    if (i == s->n_subjects && i < RETRIEVE_MAX_SUBJECTS) {
        s->subjects[s->n_subjects++] = id;
    }
}

/* ------------------------------------------------------------------------------------------------- what is found */

static float distance_of(const search *s, uint64_t subject) {
    for (uint32_t i = 0; i < s->n_hits; i++) {
        if (s->vectors.subjects[s->hits[i].index] == subject) {
            return s->hits[i].distance;
        }
    }
    return INFINITY;
}

static qn_status add_candidate(search *s, const q42_quin *quin, uint32_t tier, error_context *err) {
    candidate_list *list = s->found;
    if (list->n == list->room) {
        const size_t room = list->room > 0 ? list->room * 2 : 1024;
        candidate *grown = realloc(list->items, room * sizeof *grown);
        if (grown == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
        list->items = grown;
        list->room = room;
    }
    word_set covered = {{0}};
    const uint64_t ids[] = {quin->subject, quin->predicate, quin->object};
    for (uint32_t i = 0; i < 3; i++) {
        const known_id *known = find_known(s, ids[i]);
        if (known != NULL) {
            word_set_add(&covered, &known->words);
        }
    }
    list->items[list->n++] = (candidate){.quin = *quin,
                                         .score = prompt_words_weigh(s->words, &covered),
                                         .source = s->source,
                                         .tier = tier,
                                         .distance = distance_of(s, quin->subject),
                                         .is_label = ground_volume_label_rank(s->gv, quin->predicate) < GROUND_N_LABELS};
    return QN_OK;
}

/* Gives the live facts of a pattern to `take`, as many as one look-up may have. */
typedef qn_status take_fact_fn(search *s, const q42_quin *quin, uint32_t tier, const word_set *words, error_context *err);
static qn_status look_up(search *s, const q42_pattern *pattern, take_fact_fn *take, const word_set *words, error_context *err) {
    q42_quin quin;
    uint32_t tier, n = 0;
    qn_status status;
    fact_lookup_begin(s->lookup, s->gv->volume, pattern);
    while ((status = ground_volume_next(s->gv, s->lookup, &quin, &tier, s->report->n_states, err)) == QN_OK) {
        if (n++ == RETRIEVE_MAX_PER_TERM) {
            s->report->n_cut++;
            return QN_OK;
        }
        status = take(s, &quin, tier, words, err);
        if (status < 0) {
            return status;
        }
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static qn_status take_candidate(search *s, const q42_quin *quin, uint32_t tier, const word_set *words, error_context *err) {
    (void)words;
    return quin->predicate == s->gv->vector ? QN_OK : add_candidate(s, quin, tier, err); /* ten numbers tell a reader nothing */
}

/* What has a name of the prompt as its object: with a predicate that names, the subject is what the prompt speaks of. */
static qn_status take_named(search *s, const q42_quin *quin, uint32_t tier, const word_set *words, error_context *err) {
    (void)tier;
    (void)err;
    if (ground_volume_label_rank(s->gv, quin->predicate) < GROUND_N_LABELS) {
        learn(s, quin->subject, words);
        add_subject(s, quin->subject);
    }
    return QN_OK;
}

/* ------------------------------------------------------------------------------------------------- steps */

/* Terms that the prompt names, and the subjects that these names belong to. */
static qn_status name_subjects(search *s, error_context *err) {
    for (uint32_t i = 0; i < s->matches->n; i++) {
        learn(s, s->matches->items[i].id, &s->matches->items[i].words);
    }
    for (uint32_t i = 0; i < s->matches->n; i++) {
        const term_match *match = &s->matches->items[i];
        if (!match->is_literal) {
            add_subject(s, match->id);
            continue;
        }
        const q42_pattern pattern = fact_pattern(Q42_BOUND_OBJECT, 0, 0, match->id);
        QN_TRY(look_up(s, &pattern, take_named, &match->words, err), err, "looking up a name");
    }
    return QN_OK;
}

static qn_status find_near(search *s, error_context *err) {
    const tensor10d *from = s->options->near;
    QN_TRY(vectors_load(s->gv, &s->vectors, err), err, "reading points");
    for (uint32_t i = 0; from == NULL && i < s->n_subjects; i++) {
        from = vectors_find(&s->vectors, s->subjects[i]);
    }
    s->report->n_points += s->vectors.n;
    if (from == NULL || s->vectors.n == 0) {
        return QN_OK;
    }
    const float limit = s->options->near_limit > 0 ? s->options->near_limit : INFINITY;
    return tensor10d_nearest(from, s->vectors.points, s->vectors.n, limit, s->hits, TENSOR10D_MAX_HITS, &s->n_hits, err);
}

/* By object: exactly the blocks that BIDX names. */
static qn_status find_by_objects(search *s, error_context *err) {
    for (uint32_t i = 0; i < s->n_subjects; i++) {
        const q42_pattern pattern = fact_pattern(Q42_BOUND_OBJECT, 0, 0, s->subjects[i]);
        QN_TRY(look_up(s, &pattern, take_candidate, NULL, err), err, "looking up an object");
    }
    for (uint32_t i = 0; i < s->matches->n; i++) {
        const q42_pattern pattern = fact_pattern(Q42_BOUND_OBJECT, 0, 0, s->matches->items[i].id);
        if (s->matches->items[i].is_literal) {
            QN_TRY(look_up(s, &pattern, take_candidate, NULL, err), err, "looking up a text");
        }
    }
    return QN_OK;
}

/* What is known about the subjects, and about those that are near. */
static qn_status find_by_subjects(search *s, error_context *err) {
    uint64_t ids[RETRIEVE_MAX_SUBJECTS + TENSOR10D_MAX_HITS];
    uint32_t n_of[RETRIEVE_MAX_SUBJECTS + TENSOR10D_MAX_HITS] = {0}, n = s->n_subjects, tier, subject;
    q42_quin quin;
    qn_status status;
    memcpy(ids, s->subjects, n * sizeof *ids);
    for (uint32_t i = 0; i < s->n_hits; i++) {
        ids[n++] = s->vectors.subjects[s->hits[i].index];
    }
    subject_scan_begin(s->scan, s->gv, ids, subject_scan_sort(ids, n), s->report->n_states);
    while ((status = subject_scan_next(s->scan, &quin, &tier, &subject, err)) == QN_OK) {
        if (n_of[subject] == RETRIEVE_MAX_PER_TERM) {
            s->report->n_cut++;
        }
        if (n_of[subject]++ < RETRIEVE_MAX_PER_TERM) {
            QN_TRY(take_candidate(s, &quin, tier, NULL, err), err, "looking up subjects");
        }
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static qn_status find_by_predicates(search *s, error_context *err) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->matches->n && n < RETRIEVE_MAX_PREDICATES && s->found->n < s->options->n_facts; i++) {
        if (!s->matches->items[i].is_literal) {
            const q42_pattern pattern = fact_pattern(Q42_BOUND_PREDICATE, 0, s->matches->items[i].id, 0);
            QN_TRY(look_up(s, &pattern, take_candidate, NULL, err), err, "looking up a predicate");
            n++;
        }
    }
    return QN_OK;
}

static qn_status search_volume(search *s, error_context *err) {
    QN_TRY(label_search(s->gv, s->words, s->matches, err), err, "looking for names of the prompt");
    s->report->n_terms += s->matches->n_terms;
    s->report->n_named += s->matches->n;
    QN_TRY(name_subjects(s, err), err, "%s", graph_volume_path(s->gv->volume));
    QN_TRY(find_near(s, err), err, "%s", graph_volume_path(s->gv->volume));
    QN_TRY(find_by_objects(s, err), err, "%s", graph_volume_path(s->gv->volume));
    QN_TRY(find_by_subjects(s, err), err, "%s", graph_volume_path(s->gv->volume));
    QN_TRY(find_by_predicates(s, err), err, "%s", graph_volume_path(s->gv->volume));
    return graph_volume_check_files(s->gv->volume, err);
}

/* ------------------------------------------------------------------------------------------------- ranking */

static int by_rank(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    if (x->is_label != y->is_label) {
        return x->is_label ? 1 : -1;
    }
    if (x->distance != y->distance) {
        return x->distance < y->distance ? -1 : 1;
    }
    return x->source != y->source ? (x->source < y->source ? -1 : 1) : q42_quin_compare(&x->quin, &y->quin);
}

/* The first n of a list that is in order; a statement that was found twice stands beside itself. */
static qn_status take_best(const candidate_list *list, uint32_t n, fact_set *out, error_context *err) {
    uint32_t taken = 0;
    for (size_t i = 0; i < list->n && taken < n; i++) {
        const candidate *c = &list->items[i];
        if (i > 0 && list->items[i - 1].source == c->source && q42_quin_compare(&list->items[i - 1].quin, &c->quin) == 0) {
            continue;
        }
        const ground_fact fact = {
            .quin = c->quin, .source = c->source, .tier = c->tier, .score = c->score, .distance = c->distance};
        QN_TRY(fact_set_add(out, &fact, err), err, "taking a fact");
        taken++;
    }
    return fact_set_seal(out, err);
}

static qn_status search_all(search *s, const ground_volume *volumes, uint32_t n_volumes, error_context *err) {
    if (s->matches == NULL || s->known == NULL || s->lookup == NULL || s->scan == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && i < n_volumes; i++) {
        s->gv = &volumes[i];
        s->source = i;
        s->n_known = s->n_subjects = s->n_hits = 0;
        status = search_volume(s, err);
        vectors_free(&s->vectors);
    }
    return status;
}

qn_status ground_facts(const ground_volume *volumes, uint32_t n_volumes, const retrieve_options *options, fact_set *out,
                       retrieve_report *out_report, error_context *err) {
    retrieve_report report = {.n_terms = 0};
    candidate_list found = {.items = NULL};
    fact_set facts = fact_set_empty();
    prompt_words *words = malloc(sizeof *words);
    search s = {.options = options, .words = words, .report = &report, .matches = malloc(sizeof *s.matches),
                .known = calloc(MOST_KNOWN, sizeof *s.known), .lookup = malloc(sizeof *s.lookup), .scan = malloc(sizeof *s.scan),
                .found = &found};
    qn_status status = words != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    if (status == QN_OK && options->n_facts > FACT_SET_MAX) {
        status = FAIL(err, QN_LIMIT, "%u facts were asked for; a prompt may hold %u", options->n_facts, FACT_SET_MAX);
    }
    if (status == QN_OK) {
        prompt_words_read(words, options->prompt, options->prompt_bytes);
        status = search_all(&s, volumes, n_volumes, err);
    }
    if (status == QN_OK) {
        if (found.n > 0) {
            qsort(found.items, found.n, sizeof *found.items, by_rank);
        }
        report.n_found = found.n;
        status = take_best(&found, options->n_facts, &facts, err);
    }
    free(found.items);
    free(s.matches);
    free(s.known);
    free(s.lookup);
    free(s.scan);
    free(words);
    if (status < 0) {
        fact_set_free(&facts);
        return status;
    }
    fact_set_free(out);
    *out = facts;
    if (out_report != NULL) {
        *out_report = report;
    }
    return QN_OK;
}
