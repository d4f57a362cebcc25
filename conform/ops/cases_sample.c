/* cases_sample.c — the extension quoin.device-sample/1, where there is one: the greatest of a row, in order, and
 * nothing else. */
#include <stdlib.h>

#include <quoin/ext/device_sample.h>

#include "cases.h"

#define UNTOUCHED 0x7fc0deadu /* what the rig puts into outputs before a step */
#define MOST_K 64u

/* What the step in hand wants. The rig calls the table's step, which asks for it. */
typedef struct sampling {
    cf_context *ctx;
    const qn_device_sample *ext;
    qn_sample want;
    uint32_t ids[4 * MOST_K];
    float values[4 * MOST_K];
} sampling;

static sampling now;

static qn_status QN_CALL step_and_sample(qn_session *session, const qn_step *step, qn_error *err) {
    return now.ext->step(session, step, &now.want, err);
}

/* The plugin under test with a table whose step samples; UNSUPPORTED when it cannot. */
static void open_sampler(cf_context *ctx, cf_backend *plain, cf_backend *out, qn_plugin *table) {
    cf_open(ctx, plain, 0);
    now = (sampling){.ctx = ctx,
                     .ext = QN_HAS(plain->verbs, get_ext) ? plain->verbs->get_ext(QN_EXT_DEVICE_SAMPLE) : NULL};
    if (now.ext == NULL) {
        cf_close(ctx, plain);
        cf_unsupported(ctx, "the plugin has no extension %s", QN_EXT_DEVICE_SAMPLE);
    }
    CF_CHECK(ctx, now.ext->size >= sizeof(qn_device_sample) && now.ext->max_k > 0 && now.ext->step != NULL,
             "the extension is not whole");
    memset(table, 0, sizeof *table);
    memcpy(table, plain->verbs, plain->verbs->size < sizeof *table ? plain->verbs->size : sizeof *table);
    table->size = sizeof *table;
    table->step = step_and_sample;
    *out = *plain;
    out->verbs = table;
}

/* --- What is right ------------------------------------------------------------------------------------------------ */

typedef struct candidate {
    float value;
    uint32_t id;
} candidate;

static int compare_candidates(const void *left, const void *right) {
    const candidate *a = left, *b = right;
    if (a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return a->id < b->id ? -1 : 1;
}

static void judge_row(cf_context *ctx, const float *row, uint32_t n, uint32_t k, const uint32_t *ids,
                      const float *values) {
    candidate *all = calloc(n, sizeof *all);
    uint32_t n_finite = 0;
    CF_CHECK(ctx, all != NULL, "the suite has no memory for %u candidates", n);
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(row[i])) {
            all[n_finite++] = (candidate){row[i], i};
        }
    }
    qsort(all, n_finite, sizeof *all, compare_candidates);
    for (uint32_t i = 0; i < k; i++) {
        const uint32_t want = i < n_finite ? all[i].id : UINT32_MAX;
        CF_CHECK(ctx, ids[i] == want, "place %u of %u: column %u; it is column %u", i, k, ids[i], want);
        CF_CHECK(ctx, i >= n_finite || values[i] == all[i].value, "place %u of %u: column %u has %g, told as %g", i, k,
                 ids[i], (double)row[want], (double)values[i]);
    }
    free(all);
}

/* --- Cases -------------------------------------------------------------------------------------------------------- */

typedef struct sample_case {
    uint32_t n, n_columns, k, rows;
    uint32_t n_levels;  /* few: many columns are equal */
    uint32_t n_finite;  /* columns from here on are NaN and infinite */
} sample_case;

static void fill_rows(cf_random *random, const sample_case *c, float *rows) {
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    for (uint32_t i = 0; i < c->n * c->rows; i++) {
        const uint32_t column = i % c->n;
        rows[i] = column >= c->n_finite ? odd[column % 3]
                                        : (float)cf_random_below(random, c->n_levels) - (float)c->n_levels / 2;
    }
}

/* y = 1 x, and of y the greatest. */
static void check_sample(cf_context *ctx, const cf_backend *on, const sample_case *c) {
    const qn_scale_attrs attrs = {.size = sizeof attrs, .factor = 1};
    op_model m;
    rig r;
    op_step step;
    op_model_init(&m, ctx, DATA_REAL, ((uint64_t)c->n << 32) ^ c->k);
    const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, c->n, QN_DIM_OUTPUTS),
                   y = op_model_rows(&m, "y", QN_ROLE_OUTPUT, c->n, QN_DIM_OUTPUTS);
    op_program_add_op(m.builder, QN_OP_SCALE, QN_NO_LAYER, 1, &x, y, &attrs, sizeof attrs);
    op_model_finish(&m);
    float *rows = op_model_take(&m, (uint64_t)c->n * c->rows, sizeof *rows);
    fill_rows(&m.random, c, rows);
    op_step_init(&step, c->rows, c->rows);
    step.inputs[x] = rows;
    const qn_limits limits = op_model_limits(&m, c->rows, c->rows, 1, 0);
    now.want = (qn_sample){.size = sizeof now.want,
                           .buffer = y,
                           .k = c->k,
                           .n_columns = c->n_columns,
                           .ids = now.ids,
                           .values = now.values};
    rig_open(&r, ctx, on, &m, &limits, 0);
    for (uint32_t turn = 0; turn < 2; turn++) {
        memset(now.ids, 0xee, sizeof now.ids);
        rig_run(&r, &step);
        for (uint32_t i = 0; i < c->rows; i++) {
            judge_row(ctx, rows + (size_t)i * c->n, c->n_columns, c->k, now.ids + i * c->k, now.values + i * c->k);
        }
        CF_CHECK(ctx, now.ids[c->rows * c->k] == 0xeeeeeeeeu, "it writes more than %u candidates", c->rows * c->k);
        for (uint64_t i = 0; i < (uint64_t)c->n * c->rows; i++) {
            const uint32_t untouched = UNTOUCHED;
            CF_CHECK(ctx, memcmp(r.buffers[y].data + 4 * i, &untouched, 4) == 0,
                     "element %llu of the output itself was written", (unsigned long long)i);
        }
    }
    rig_close(&r);
    op_model_free(&m);
}

static void candidates_are_the_greatest_in_order(cf_context *ctx) {
    static const sample_case cases[] = {{1, 1, 1, 1, 9, 1},
                                        {32, 32, 1, 1, 5, 32},
                                        {33, 33, 5, 3, 3, 33},
                                        {300, 257, 8, 2, 1000, 300},
                                        {257, 257, 1, 2, 2, 257},
                                        {2048, 2048, 40, 1, 4000, 2048},
                                        {2049, 2049, 40, 2, 50, 2049},
                                        {5000, 4999, 63, 1, 100000, 5000},
                                        {600, 600, 20, 1, 30, 7},
                                        {4100, 4100, 5, 1, 9, 0},
                                        {64, 64, 63, 2, 8, 64},
                                        {32000, 31999, 1, 1, 1000000, 32000}};
    cf_backend plain, on;
    qn_plugin table;
    open_sampler(ctx, &plain, &on, &table);
    for (size_t i = 0; i < CF_COUNT_OF(cases); i++) {
        sample_case c = cases[i];
        c.k = c.k < now.ext->max_k ? c.k : now.ext->max_k;
        if (cf_case(ctx, "the %u greatest of %u of %u columns, %u rows", c.k, c.n_columns, c.n, c.rows)) {
            check_sample(ctx, &on, &c);
        }
    }
    cf_close(ctx, &plain);
}

static void what_cannot_be_sampled_is_refused(cf_context *ctx) {
    const qn_scale_attrs attrs = {.size = sizeof attrs, .factor = 1};
    cf_backend plain, on;
    qn_plugin table;
    op_model m;
    op_step step;
    rig r;
    open_sampler(ctx, &plain, &on, &table);
    op_model_init(&m, ctx, DATA_REAL, 3);
    const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, 100, QN_DIM_OUTPUTS),
                   y = op_model_rows(&m, "y", QN_ROLE_OUTPUT, 100, QN_DIM_OUTPUTS);
    op_program_add_op(m.builder, QN_OP_SCALE, QN_NO_LAYER, 1, &x, y, &attrs, sizeof attrs);
    op_model_finish(&m);
    op_step_init(&step, 1, 1);
    step.inputs[x] = op_model_values(&m, false, 100);
    const qn_limits limits = op_model_limits(&m, 1, 1, 1, 0);
    const qn_sample sound = {
        .size = sizeof sound, .buffer = y, .k = 1, .n_columns = 100, .ids = now.ids, .values = now.values};
    qn_sample broken[8];
    for (size_t i = 0; i < CF_COUNT_OF(broken); i++) {
        broken[i] = sound;
    }
    broken[0].size = 8;
    broken[1].buffer = x;
    broken[2].buffer = 999;
    broken[3].k = 0;
    broken[4].n_columns = 101;
    broken[5].n_columns = 0;
    broken[6].ids = NULL;
    broken[7].values = NULL;
    rig_open(&r, ctx, &on, &m, &limits, 0);
    for (size_t i = 0; i < CF_COUNT_OF(broken); i++) {
        if (cf_case(ctx, "broken wish %zu", i)) {
            now.want = broken[i];
            CF_CHECK(ctx, rig_try(&r, &step) == QN_BAD_ARG, "it answers %s", cf_status(r.error.code));
        }
    }
    now.want = sound;
    rig_run(&r, &step);
    rig_close(&r);
    op_model_free(&m);
    cf_close(ctx, &plain);
}

static const cf_test tests[] = {
    CF_TEST(candidates_are_the_greatest_in_order, "X1", 0),
    CF_TEST(what_cannot_be_sampled_is_refused, "X1", 0),
};
const cf_suite cf_suite_sample = CF_SUITE(2, "sample", tests);
