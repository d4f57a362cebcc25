/* query_plan.c — constants become ids, comparisons become object ranges, patterns get an order. */
#include "graph/query_plan.h"

#include <stdlib.h>
#include <string.h>

#include "graph/convention.h"
#include "graph/query_estimate.h"

#define BATCH_ROWS 16384.0       /* rows that share one scan, roughly; only for comparing costs */
#define BLOCKS_A_LOOKUP 1.2

/* ---------------------------------------------------------------- constants */

/* The id of a constant; *out_is_other when that key has another text in this volume. */
static qn_status find_constant(graph_volume *volume, const ntriples_term *term, uint32_t place, char *room,
                               uint64_t *out_id, bool *out_is_other, error_context *err) {
    fmt_str text;
    q42_term found;
    *out_id = convention_id(graph_volume_terms(volume), term, place, room, &text);
    if (text.size == 0 && term->kind == NTRIPLES_LITERAL && (*out_id >> 60) != 0) {
        return QN_OK; /* an inline literal */
    }
    const qn_status status = graph_volume_find_term(volume, *out_id, &found, err);
    if (status == QN_OK) {
        *out_is_other = *out_is_other || !graph_term_equals(&found, text.data, text.size);
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static qn_status fill_constants(query_plan *plan, plan_step *step, char *room, error_context *err) {
    const query_pattern *pattern = &plan->query->patterns[step->pattern];
    for (uint32_t i = 0; i < N_PLACES; i++) {
        const pattern_slot *slot = &pattern->slots[i];
        plan_place *place = &step->places[i];
        *place = (plan_place){.kind = slot->kind == SLOT_VARIABLE ? PLACE_NEW : PLACE_CONSTANT, .variable = slot->variable};
        if (slot->kind == SLOT_TERM) {
            const qn_status status = find_constant(plan->volume, &slot->term, i, room, &place->value, &plan->is_empty, err);
            if (status < 0) {
                return status;
            }
        }
        for (uint32_t j = 0; place->kind == PLACE_NEW && j < i; j++) {
            if (pattern->slots[j].kind == SLOT_VARIABLE && pattern->slots[j].variable == slot->variable) {
                place->kind = PLACE_SAME;
                place->same_as = j;
            }
        }
    }
    return QN_OK;
}

/* ---------------------------------------------------------------- comparisons */

static void narrow(number_bounds *bounds, const query_filter *filter) {
    const bool is_equal = filter->op == COMPARE_EQUAL;
    if (filter->op == COMPARE_LESS || filter->op == COMPARE_AT_MOST || is_equal) {
        number_bounds_keep_below(bounds, &filter->number, filter->op != COMPARE_LESS);
    }
    if (filter->op == COMPARE_MORE || filter->op == COMPARE_AT_LEAST || is_equal) {
        number_bounds_keep_above(bounds, &filter->number, filter->op != COMPARE_MORE);
    }
}

/* Comparisons of the object's variable leave a few ranges of objects. */
static void fill_ranges(const query_plan *plan, plan_step *step) {
    const plan_place *object = &step->places[NTRIPLES_OBJECT];
    number_bounds bounds = number_bounds_all();
    bool is_compared = false;
    if (object->kind == PLACE_CONSTANT) {
        step->n_ranges = 1;
        step->ranges[0] = (q42_range){object->value, object->value};
        return;
    }
    for (uint32_t i = 0; i < plan->query->n_filters; i++) {
        const query_filter *filter = &plan->query->filters[i];
        if (filter->left == object->variable || (filter->has_variable && filter->right == object->variable)) {
            is_compared = true;
            if (!filter->has_variable) {
                narrow(&bounds, filter);
            }
        }
    }
    if (is_compared && graph_volume_terms(plan->volume) != TERMS_TOKEN) {
        step->n_ranges = number_bounds_ranges(&bounds, step->ranges);
    }
}

/* ---------------------------------------------------------------- order */

typedef struct ordering {
    bool is_bound[QUERY_MAX_VARIABLES];
    bool is_placed[QUERY_MAX_PATTERNS];
    double rows; /* expected so far */
} ordering;

static bool is_connected(const plan_step *step, const ordering *order) {
    for (uint32_t i = 0; i < N_PLACES; i++) {
        if (step->places[i].kind != PLACE_CONSTANT && order->is_bound[step->places[i].variable]) {
            return true;
        }
    }
    return false;
}

static double expected_rows_after(const plan_step *step, const ordering *order) {
    const double product = order->rows * step->expected_rows;
    const double most = order->rows > step->expected_rows ? order->rows : step->expected_rows;
    return is_connected(step, order) && product > most ? most : product;
}

/* In blocks decoded, with the rows that come out as a small addition. */
static double cost_of(const plan_step *step, const ordering *order, bool is_first) {
    const plan_place *object = &step->places[NTRIPLES_OBJECT];
    const bool is_lookup = object->kind != PLACE_CONSTANT && order->is_bound[object->variable];
    double blocks = step->expected_blocks * (1 + order->rows / BATCH_ROWS);
    if (is_lookup && order->rows * BLOCKS_A_LOOKUP < blocks) {
        blocks = order->rows * BLOCKS_A_LOOKUP;
    }
    const double rows = expected_rows_after(step, order);
    return is_first ? rows + blocks / Q42_BLOCK_QUINS : blocks + rows / Q42_BLOCK_QUINS;
}

static uint32_t choose_next(const plan_step *steps, uint32_t n, const ordering *order, uint32_t n_placed) {
    uint32_t best = UINT32_MAX;
    bool is_best_connected = false;
    double best_cost = 0;
    for (uint32_t i = 0; i < n; i++) {
        const bool connected = is_connected(&steps[i], order);
        if (order->is_placed[i] || (is_best_connected && !connected)) {
            continue;
        }
        const double cost = cost_of(&steps[i], order, n_placed == 0);
        if (best == UINT32_MAX || (connected && !is_best_connected) || cost < best_cost) {
            best = i;
            best_cost = cost;
            is_best_connected = connected;
        }
    }
    return best;
}

/* Which variables the step finds bound, and which it binds. */
static void settle_step(plan_step *step, ordering *order) {
    for (uint32_t i = 0; i < N_PLACES; i++) {
        plan_place *place = &step->places[i];
        if (place->kind != PLACE_CONSTANT && order->is_bound[place->variable]) {
            place->kind = PLACE_BOUND;
        }
    }
    for (uint32_t i = 0; i < N_PLACES; i++) {
        if (step->places[i].kind == PLACE_NEW) {
            order->is_bound[step->places[i].variable] = true;
        }
    }
    step->is_lookup = step->places[NTRIPLES_OBJECT].kind == PLACE_BOUND;
}

static void assign_filters(const query_plan *plan, plan_step *step, const ordering *order, bool *is_assigned) {
    for (uint32_t i = 0; i < plan->query->n_filters; i++) {
        const query_filter *filter = &plan->query->filters[i];
        if (!is_assigned[i] && order->is_bound[filter->left] && (!filter->has_variable || order->is_bound[filter->right])) {
            step->filters[step->n_filters++] = i;
            is_assigned[i] = true;
        }
    }
}

static void put_in_order(query_plan *plan, plan_step *unordered) {
    ordering order = {.rows = 1};
    bool is_assigned[QUERY_MAX_FILTERS] = {false};
    for (uint32_t n = 0; n < plan->n_steps; n++) {
        const uint32_t next = choose_next(unordered, plan->n_steps, &order, n);
        order.is_placed[next] = true;
        order.rows = expected_rows_after(&unordered[next], &order);
        plan->steps[n] = unordered[next];
        settle_step(&plan->steps[n], &order);
        assign_filters(plan, &plan->steps[n], &order, is_assigned);
    }
}

qn_status query_plan_make(graph_volume *volume, const query_text *query, block_cache *cache, query_plan *out_plan,
                          error_context *err) {
    memset(out_plan, 0, sizeof *out_plan);
    out_plan->volume = volume;
    out_plan->query = query;
    out_plan->n_steps = query->n_patterns;
    char *room = malloc(NTRIPLES_TERM_ROOM);
    plan_step *steps = calloc(query->n_patterns + 1u, sizeof *steps);
    qn_status status = room != NULL && steps != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    for (uint32_t i = 0; status == QN_OK && i < query->n_patterns; i++) {
        steps[i].pattern = i;
        status = fill_constants(out_plan, &steps[i], room, err);
        fill_ranges(out_plan, &steps[i]);
        if (status == QN_OK) {
            status = query_estimate(volume, cache, &steps[i], query->n_patterns > 1 && !out_plan->is_empty,
                                    &out_plan->n_planning_decoded, err);
        }
    }
    if (status == QN_OK) {
        put_in_order(out_plan, steps);
    }
    free(steps);
    free(room);
    return status;
}

block_query query_plan_block_query(const plan_step *step, const q42_range *object) {
    static const uint32_t places[] = {NTRIPLES_SUBJECT, NTRIPLES_PREDICATE, NTRIPLES_GRAPH}; /* by q42_field */
    static const uint32_t bits[] = {Q42_BOUND_SUBJECT, Q42_BOUND_PREDICATE, Q42_BOUND_CONTEXT};
    block_query query = {.has_object = object != NULL};
    if (object != NULL) {
        query.object = *object;
    }
    for (q42_field field = 0; field < 3; field++) {
        const plan_place *place = &step->places[places[field]];
        if (place->kind == PLACE_CONSTANT) {
            query.bound |= bits[field];
            query.values[field] = place->value;
        }
    }
    return query;
}

bool query_plan_matches(const plan_step *step, const q42_quin *quin) {
    for (uint32_t i = 0; i < N_PLACES; i++) {
        const plan_place *place = &step->places[i];
        const uint64_t value = query_quin_place(quin, i);
        if ((place->kind == PLACE_CONSTANT && value != place->value) ||
            (place->kind == PLACE_SAME && value != query_quin_place(quin, place->same_as))) {
            return false;
        }
    }
    return true;
}
