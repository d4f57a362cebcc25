/* shapes_validate.c — which nodes a shape is about, and the checks that are made on each. */
#include <stdlib.h>
#include <string.h>

#include "rules/shapes_internal.h"

const char *shape_severity_name(shape_severity severity) {
    static const char *const names[] = {"violation", "warning", "info"};
    return severity < SHAPE_SEVERITIES ? names[severity] : "?";
}

/* ---------------------------------------------------------------- look-ups */

typedef struct collection {
    term_pool *set;
    int place;
} collection;

static qn_status collect_one(void *ctx, const fmt_str terms[FACT_PLACES], error_context *err) {
    const collection *c = ctx;
    term_ref ref;
    if (c->set->n_texts >= SHAPES_MAX_VALUES) {
        return FAIL(err, QN_LIMIT, "more than %u values at one node; they cannot be checked", SHAPES_MAX_VALUES);
    }
    return term_pool_add(c->set, terms[c->place], &ref, err);
}

qn_status shape_collect(const fact_source *facts, const fmt_str pattern[FACT_PLACES], int place, term_pool *out_set, error_context *err) {
    collection c = {out_set, place};
    const qn_status status = facts->match(facts->ctx, pattern, collect_one, &c, err);
    return status < 0 ? status : QN_OK;
}

static qn_status stop_at_one(void *ctx, const fmt_str terms[FACT_PLACES], error_context *err) {
    (void)terms;
    (void)err;
    *(bool *)ctx = true;
    return QN_NOTE_END;
}

static qn_status is_there(const fact_source *facts, const fmt_str pattern[FACT_PLACES], bool *out_is, error_context *err) {
    *out_is = false;
    const qn_status status = facts->match(facts->ctx, pattern, stop_at_one, out_is, err);
    return status < 0 ? status : QN_OK;
}

static bool is_literal(fmt_str text) {
    return text.size > 0 && *text.data == '"';
}

/* The types of the node, and from each of them upwards; every class is visited once. */
qn_status shape_is_instance(const fact_source *facts, fmt_str node, fmt_str class, bool *out_is, error_context *err) {
    const fmt_str types[FACT_PLACES] = {node, text_of(RDF_TYPE_TEXT), {"", 0}};
    const fmt_str exact[FACT_PLACES] = {node, text_of(RDF_TYPE_TEXT), class};
    term_pool seen = {0};
    *out_is = false;
    if (is_literal(node)) {
        return QN_OK;
    }
    qn_status status = is_there(facts, exact, out_is, err);
    if (status < 0 || *out_is) {
        return status;
    }
    status = shape_collect(facts, types, FACT_OBJECT, &seen, err);
    for (term_ref i = 1; status >= 0 && !*out_is && i <= seen.n_texts; i++) {
        const fmt_str above[FACT_PLACES] = {term_pool_text(&seen, i), text_of("<" RDFS_IRI "subClassOf>"), {"", 0}};
        *out_is = texts_equal(above[FACT_SUBJECT], class);
        status = *out_is || is_literal(above[FACT_SUBJECT]) ? status : shape_collect(facts, above, FACT_OBJECT, &seen, err);
    }
    term_pool_free(&seen);
    return status;
}

/* ---------------------------------------------------------------- targets */

static qn_status meets_target(const validation *v, target_kind kind, fmt_str term, fmt_str node, bool *out_is) {
    const fmt_str any = {"", 0};
    const fmt_str as_subject[FACT_PLACES] = {node, term, any}, as_object[FACT_PLACES] = {any, term, node};
    *out_is = false;
    switch (kind) {
    case TARGET_NODE: *out_is = texts_equal(term, node); return QN_OK;
    case TARGET_CLASS: return shape_is_instance(v->check->facts, node, term, out_is, v->err);
    case TARGET_SUBJECTS_OF: return is_literal(node) ? QN_OK : is_there(v->check->facts, as_subject, out_is, v->err);
    default: return is_there(v->check->facts, as_object, out_is, v->err);
    }
}

static qn_status is_target(const validation *v, const shape *one, fmt_str node, bool *out_is) {
    qn_status status = QN_OK;
    *out_is = false;
    for (target_kind kind = TARGET_NODE; kind < N_TARGETS; kind++) {
        const term_list *list = &one->targets[kind];
        for (uint32_t i = 0; status >= 0 && !*out_is && i < list->n_terms; i++) {
            status = meets_target(v, kind, list->terms[i], node, out_is);
        }
    }
    return status;
}

/* ---------------------------------------------------------------- one node and one shape */

static bool is_allowed(const validation *v, const shape *one, fmt_str predicate) {
    for (uint32_t i = 0; i < one->n_properties; i++) {
        if (texts_equal(v->all->properties[one->first_property + i].path, predicate)) {
            return true;
        }
    }
    return shape_list_has(&one->ignored, predicate);
}

static qn_status check_closed(validation *v, const shape *one, fmt_str focus) {
    const fmt_str all[FACT_PLACES] = {focus, {"", 0}, {"", 0}};
    term_pool predicates = {0};
    qn_status status = shape_collect(v->check->facts, all, FACT_PREDICATE, &predicates, v->err);
    for (term_ref i = 1; status >= 0 && i <= predicates.n_texts; i++) {
        const fmt_str predicate = term_pool_text(&predicates, i);
        const fmt_str pattern[FACT_PLACES] = {focus, predicate, {"", 0}};
        term_pool values = {0};
        if (!is_allowed(v, one, predicate)) {
            status = shape_collect(v->check->facts, pattern, FACT_OBJECT, &values, v->err);
            for (term_ref j = 1; status >= 0 && j <= values.n_texts; j++) {
                status = shape_report_add(v, one, "Closed", focus, predicate, term_pool_text(&values, j),
                                          "the shape is closed and has no such property");
            }
        }
        term_pool_free(&values);
    }
    term_pool_free(&predicates);
    return status;
}

static qn_status check_property(validation *v, const shape *property, fmt_str focus) {
    const fmt_str pattern[FACT_PLACES] = {focus, property->path, {"", 0}};
    term_pool values = {0};
    if (property->is_deactivated) {
        return QN_OK;
    }
    qn_status status = is_literal(focus) ? QN_OK : shape_collect(v->check->facts, pattern, FACT_OBJECT, &values, v->err);
    status = status < 0 ? status : shape_check_values(v, property, focus, &values);
    term_pool_free(&values);
    return status;
}

static qn_status check_node(validation *v, const shape *one, fmt_str focus) {
    term_pool itself = {0};
    term_ref ref;
    v->report->n_checked++;
    qn_status status = term_pool_add(&itself, focus, &ref, v->err);
    status = status < 0 ? status : shape_check_values(v, one, focus, &itself);
    term_pool_free(&itself);
    status = status >= 0 && one->is_closed && !is_literal(focus) ? check_closed(v, one, focus) : status;
    for (uint32_t i = 0; status >= 0 && i < one->n_properties; i++) {
        status = check_property(v, &v->all->properties[one->first_property + i], focus);
    }
    return status;
}

static qn_status check_focus(validation *v, fmt_str focus) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < v->all->n_targeted; i++) {
        const shape *one = &v->all->targeted[i];
        bool is_one = false;
        status = one->is_deactivated ? QN_OK : is_target(v, one, focus, &is_one);
        status = status >= 0 && is_one ? check_node(v, one, focus) : status;
    }
    return status;
}

/* ---------------------------------------------------------------- which nodes */

static qn_status add_node(validation *v, term_pool *nodes, fmt_str node) {
    term_ref ref;
    return term_pool_add(nodes, node, &ref, v->err);
}

static qn_status find_nodes(validation *v, term_pool *nodes) {
    qn_status status = QN_OK;
    for (uint64_t i = 0; status >= 0 && i < v->check->n_candidates; i++) {
        status = add_node(v, nodes, v->check->candidates[i].terms[FACT_SUBJECT]);
        status = status < 0 ? status : add_node(v, nodes, v->check->candidates[i].terms[FACT_OBJECT]);
    }
    for (uint32_t i = 0; status >= 0 && v->check->is_whole && i < v->all->n_targeted; i++) {
        const term_list *list = &v->all->targeted[i].targets[TARGET_NODE];
        for (uint32_t j = 0; status >= 0 && j < list->n_terms; j++) {
            status = add_node(v, nodes, list->terms[j]);
        }
    }
    return status;
}

/* ---------------------------------------------------------------- predicates that no shape knows */

/* A type is known when shapes speak of it: as a target or as the class of a value. */
static bool is_known_class(const shapes *all, fmt_str class) {
    for (uint32_t i = 0; i < all->n_targeted + all->n_properties; i++) {
        const shape *one = i < all->n_targeted ? &all->targeted[i] : &all->properties[i - all->n_targeted];
        if (shape_list_has(&one->targets[TARGET_CLASS], class) || shape_list_has(&one->classes, class)) {
            return true;
        }
    }
    return false;
}

static bool is_type(const fact *candidate) {
    return texts_equal(candidate->terms[FACT_PREDICATE], text_of(RDF_TYPE_TEXT));
}

static bool is_known(const shapes *all, const fact *candidate) {
    return shapes_know_predicate(all, candidate->terms[FACT_PREDICATE]) ||
           (is_type(candidate) && is_known_class(all, candidate->terms[FACT_OBJECT]));
}

/* Each predicate (of types: each class) is told once when it is only told, and every statement when it is refused. */
static qn_status check_predicates(validation *v) {
    const bool is_closed = v->check->policy == SHAPE_POLICY_CLOSED;
    const shape policy = {.severity = is_closed ? SHAPE_VIOLATION : SHAPE_INFO};
    term_pool told = {0};
    qn_status status = QN_OK;
    for (uint64_t i = 0; status >= 0 && i < v->check->n_candidates; i++) {
        const fact *one = &v->check->candidates[i];
        const fmt_str unknown = one->terms[is_type(one) ? FACT_OBJECT : FACT_PREDICATE];
        term_ref ref;
        if (is_known(v->all, one) || (!is_closed && term_pool_find(&told, unknown) != 0)) {
            continue;
        }
        status = term_pool_add(&told, unknown, &ref, v->err);
        status = status < 0 ? status
                            : shape_report_add(v, &policy, "UnknownPredicate", one->terms[FACT_SUBJECT], one->terms[FACT_PREDICATE],
                                               one->terms[FACT_OBJECT], "no shape knows this %s", is_type(one) ? "class" : "predicate");
    }
    term_pool_free(&told);
    return status;
}

/* ---------------------------------------------------------------- the whole */

qn_status shapes_validate(const shapes *all, const shape_check *check, shape_report *out_report, error_context *err) {
    validation v = {all, check, out_report, err};
    term_pool nodes = {0};
    memset(out_report, 0, sizeof *out_report);
    qn_status status = find_nodes(&v, &nodes);
    for (term_ref i = 1; status >= 0 && i <= nodes.n_texts; i++) {
        status = check_focus(&v, term_pool_text(&nodes, i));
    }
    term_pool_free(&nodes);
    return status < 0 ? status : check_predicates(&v);
}

bool shape_report_conforms(const shape_report *report) {
    return report->counts[SHAPE_VIOLATION] == 0;
}

void shape_report_free(shape_report *report) {
    free(report->results);
    term_pool_free(&report->pool);
    memset(report, 0, sizeof *report);
}
