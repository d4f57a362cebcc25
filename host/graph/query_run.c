/* query_run.c — the steps of a plan, each fed with batches of rows by the one before. */
#include "graph/query_run.h"

#include <stdlib.h>
#include <string.h>

#include "graph/query_rows.h"

/* Blocks let through by the indexes for up to this many different values of one field in a batch; with more, nearly all pass. */
#define MAX_KEYS 32u
#define FIRST_BATCH 32u /* rows; batches grow, so that the first answers come early */

typedef struct run_state {
    query_plan *plan;
    block_cache *cache;
    query_row_fn *receive;
    void *ctx;
    error_context *err;
    bool may_have_triples;
    row_batch batches[QUERY_MAX_PATTERNS]; /* input of each step */
} run_state;

static qn_status run_step(run_state *run, uint32_t at);

/* ---------------------------------------------------------------- comparisons */

/* A triple's id may look like an integer: then the lexicon has it. */
static qn_status read_number(run_state *run, uint64_t id, exact_number *out_number, bool *out_is_number) {
    q42_term term;
    *out_is_number = graph_volume_terms(run->plan->volume) != TERMS_TOKEN && exact_number_of_object(id, out_number);
    if (!*out_is_number || !run->may_have_triples || q42_object_tag(id) != Q42_TAG_INTEGER) {
        return QN_OK;
    }
    const qn_status status = graph_volume_find_term(run->plan->volume, id, &term, run->err);
    *out_is_number = status == QN_NOT_FOUND;
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static bool is_true(compare_op op, int order) {
    switch (op) {
    case COMPARE_LESS: return order < 0;
    case COMPARE_AT_MOST: return order <= 0;
    case COMPARE_EQUAL: return order == 0;
    case COMPARE_UNEQUAL: return order != 0;
    case COMPARE_AT_LEAST: return order >= 0;
    default: return order > 0;
    }
}

static qn_status test_filters(run_state *run, const plan_step *step, const uint64_t *values, bool *out_passes) {
    *out_passes = true;
    for (uint32_t i = 0; *out_passes && i < step->n_filters; i++) {
        const query_filter *filter = &run->plan->query->filters[step->filters[i]];
        exact_number left, right = filter->number;
        bool is_number, is_right_number = true;
        qn_status status = read_number(run, values[filter->left], &left, &is_number);
        if (status == QN_OK && is_number && filter->has_variable) {
            status = read_number(run, values[filter->right], &right, &is_right_number);
        }
        if (status < 0) {
            return status;
        }
        *out_passes = is_number && is_right_number && is_true(filter->op, exact_number_compare(&left, &right));
    }
    return QN_OK;
}

/* ---------------------------------------------------------------- joining */

static bool is_joined(const plan_step *step, const q42_quin *quin, const uint64_t *row) {
    for (uint32_t i = 0; i < N_PLACES; i++) {
        if (step->places[i].kind == PLACE_BOUND && row[step->places[i].variable] != query_quin_place(quin, i)) {
            return false;
        }
    }
    return true;
}

/* One input row and a quin that fits it become an output row. *out_is_passed_on: blocks may have left the cache. */
static qn_status emit(run_state *run, uint32_t at, const q42_quin *quin, const uint64_t *row, bool *out_is_passed_on) {
    plan_step *step = &run->plan->steps[at];
    row_batch *next = &run->batches[at + 1 < run->plan->n_steps ? at + 1 : 0];
    const bool is_last = at + 1 == run->plan->n_steps;
    uint64_t last_row[QUERY_MAX_VARIABLES];
    uint64_t *values = is_last ? last_row : row_batch_push(next);
    bool passes;
    memcpy(values, row, run->plan->query->n_variables * sizeof *values);
    for (uint32_t i = 0; i < N_PLACES; i++) {
        if (step->places[i].kind == PLACE_NEW) {
            values[step->places[i].variable] = query_quin_place(quin, i);
        }
    }
    qn_status status = test_filters(run, step, values, &passes);
    if (status < 0 || !passes) {
        if (!is_last) {
            row_batch_pop(next);
        }
        return status;
    }
    step->n_rows_out++;
    if (is_last) {
        return run->receive(run->ctx, values, run->err);
    }
    if (row_batch_is_full(next)) {
        *out_is_passed_on = true;
        status = run_step(run, at + 1);
    }
    return status;
}

/* Holds a quin against the rows of the batch that have its hash. */
static qn_status join_quin(run_state *run, uint32_t at, const q42_quin *quin, bool *out_is_passed_on) {
    const plan_step *step = &run->plan->steps[at];
    const row_batch *batch = &run->batches[at];
    qn_status status = QN_OK;
    for (uint32_t i = row_batch_first(batch, step, quin); status == QN_OK && i != NO_ROW; i = row_batch_next(batch, i)) {
        if (is_joined(step, quin, row_batch_at(batch, i))) {
            status = emit(run, at, quin, row_batch_at(batch, i), out_is_passed_on);
        }
    }
    return status;
}

/* First slot whose object is not below `least`; the block's order was checked. */
static uint32_t find_slot(const q42_block *block, uint64_t least) {
    uint32_t begin = 0, end = block->n_quins;
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (q42_block_quin(block, middle).object < least) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

static qn_status scan_block(run_state *run, uint32_t at, block_walk *walk, uint32_t member, uint64_t index) {
    plan_step *step = &run->plan->steps[at];
    const q42_range *objects = walk->query.has_object ? &walk->query.object : NULL;
    const q42_block *block;
    qn_status status = block_cache_get(run->cache, member, index, &block, &step->stats.n_decoded, run->err);
    if (status < 0) {
        return status;
    }
    const uint32_t n_quins = block->n_quins;
    for (uint32_t slot = objects != NULL ? find_slot(block, objects->least) : 0; status == QN_OK && slot < n_quins; slot++) {
        const q42_quin quin = q42_block_quin(block, slot);
        bool is_passed_on = false;
        if (objects != NULL && quin.object > objects->most) {
            break;
        }
        walk->has_found = true;
        if (query_plan_matches(step, &quin)) {
            status = join_quin(run, at, &quin, &is_passed_on);
        }
        if (is_passed_on && status == QN_OK) {
            status = block_cache_get(run->cache, member, index, &block, &step->stats.n_decoded, run->err);
        }
    }
    return status;
}

static qn_status scan_range(run_state *run, uint32_t at, const block_query *query) {
    block_walk walk;
    block_walk_begin(&walk, run->plan->volume, run->cache, query, &run->plan->steps[at].stats);
    for (;;) {
        uint32_t member;
        uint64_t block;
        qn_status status = block_walk_next(&walk, &member, &block, run->err);
        if (status == QN_OK) {
            status = scan_block(run, at, &walk, member, block);
        }
        if (status != QN_OK) {
            return status == QN_NOT_FOUND ? QN_OK : status;
        }
    }
}

/* ---------------------------------------------------------------- steps */

/* Values of one joined field, when they are few: blocks that can hold none of them are left out. */
static void choose_keys(const plan_step *step, const row_batch *batch, uint32_t begin, uint32_t end, uint64_t *keys,
                        block_query *query) {
    static const struct {
        uint32_t place;
        q42_field field;
    } fields[] = {{NTRIPLES_SUBJECT, Q42_SUBJECT}, {NTRIPLES_GRAPH, Q42_CONTEXT}, {NTRIPLES_PREDICATE, Q42_PREDICATE}};
    for (uint32_t i = 0; i < 3; i++) {
        if (step->places[fields[i].place].kind == PLACE_BOUND) {
            query->n_keys = row_batch_distinct(batch, step->places[fields[i].place].variable, step->is_lookup, begin, end,
                                               keys, MAX_KEYS);
            query->keys = query->n_keys > 0 ? keys : NULL;
            query->key_field = fields[i].field;
            return;
        }
    }
}

static qn_status run_lookups(run_state *run, uint32_t at) {
    const plan_step *step = &run->plan->steps[at];
    row_batch *batch = &run->batches[at];
    const uint32_t variable = step->places[NTRIPLES_OBJECT].variable;
    qn_status status = QN_OK;
    row_batch_index(batch, step);
    row_batch_sort(batch, variable);
    for (uint32_t i = 0; status == QN_OK && i < batch->n_rows;) {
        uint64_t keys[MAX_KEYS];
        uint32_t end = i + 1;
        const uint64_t object = row_batch_sorted(batch, i)[variable];
        while (end < batch->n_rows && row_batch_sorted(batch, end)[variable] == object) {
            end++;
        }
        block_query query = query_plan_block_query(step, &(q42_range){object, object});
        choose_keys(step, batch, i, end, keys, &query);
        status = scan_range(run, at, &query);
        i = end;
    }
    return status;
}

static qn_status run_scans(run_state *run, uint32_t at) {
    const plan_step *step = &run->plan->steps[at];
    row_batch *batch = &run->batches[at];
    uint64_t keys[MAX_KEYS];
    qn_status status = QN_OK;
    row_batch_index(batch, step);
    for (uint32_t i = 0; status == QN_OK && i < (step->n_ranges > 0 ? step->n_ranges : 1); i++) {
        block_query query = query_plan_block_query(step, step->n_ranges > 0 ? &step->ranges[i] : NULL);
        choose_keys(step, batch, 0, batch->n_rows, keys, &query);
        status = scan_range(run, at, &query);
    }
    return status;
}

/* Answers the rows in the step's batch, which is empty afterwards. */
static qn_status run_step(run_state *run, uint32_t at) {
    plan_step *step = &run->plan->steps[at];
    row_batch *batch = &run->batches[at];
    step->n_rows_in += batch->n_rows;
    qn_status status = step->is_lookup ? run_lookups(run, at) : run_scans(run, at);
    row_batch_clear(batch);
    if (status == QN_OK && at + 1 < run->plan->n_steps && run->batches[at + 1].n_rows > 0) {
        status = run_step(run, at + 1);
    }
    return status;
}

static qn_status run_all(run_state *run) {
    const uint32_t n = run->plan->n_steps, n_variables = run->plan->query->n_variables;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t most = i == 0 ? 1 : row_batch_capacity(QUERY_ROWS_MEMORY / n, n_variables);
        if (!row_batch_init(&run->batches[i], n_variables, most, i == 0 ? 1 : FIRST_BATCH)) {
            return FAIL(run->err, QN_NO_HOST_MEM, "out of memory");
        }
    }
    memset(row_batch_push(&run->batches[0]), 0, n_variables * sizeof(uint64_t));
    const qn_status status = run_step(run, 0);
    return status == QN_NOTE_END ? QN_OK : status;
}

qn_status query_run(query_plan *plan, block_cache *cache, query_row_fn *receive, void *ctx, error_context *err) {
    if (plan->is_empty || plan->n_steps == 0) {
        return QN_OK;
    }
    run_state *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    *run = (run_state){.plan = plan, .cache = cache, .receive = receive, .ctx = ctx, .err = err,
                       .may_have_triples = graph_volume_may_have_triples(plan->volume)};
    const qn_status status = run_all(run);
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        row_batch_deinit(&run->batches[i]);
    }
    free(run);
    return status;
}
