/* cases_panels.c — weights that come as panels of sixteen rows (QN_BUFFER_PANELS): computed as their standard blocks are, or
 * refused as a flag that is new to the plugin. */
#include <quoin/panels.h>

#include "cases.h"

typedef struct panel_shape {
    uint32_t n, k_units, first_rows; /* k in units of the format's block; rows of the tensor before the weight begins */
    bool is_embedding;               /* also the table of an EMBED */
    uint32_t weight_flags;
} panel_shape;

static const panel_shape shapes[] = {
    {.n = 5, .k_units = 1, .weight_flags = QN_WEIGHT_BORROW},
    {.n = 16, .k_units = 3, .weight_flags = QN_WEIGHT_COPY},
    {.n = 37, .k_units = 2, .first_rows = 16, .weight_flags = QN_WEIGHT_BORROW},
    {.n = 48, .k_units = 1, .first_rows = 32, .weight_flags = QN_WEIGHT_COPY},
    {.n = 21, .k_units = 2, .is_embedding = true, .weight_flags = QN_WEIGHT_BORROW},
};

/* The formats that have panels, in the numbers of formats.def. */
static qn_format format_of(uint32_t kind) {
    return blk_panel_kinds[kind].type;
}

static void build(op_model *m, cf_context *ctx, qn_format format, const panel_shape *shape, op_step *step) {
    const uint32_t unit = op_format_unit(format), k = (unit == 1 ? 40 : unit) * shape->k_units;
    op_model_init(m, ctx, DATA_REAL, ((uint64_t)format << 32) ^ shape->n);
    const uint32_t w = op_model_weight_behind(m, "w", format, k, shape->n, shape->first_rows);
    const uint32_t x = op_model_rows(m, "x", QN_ROLE_INPUT, k, QN_DIM_TOKENS);
    const uint32_t y = op_model_rows(m, "y", QN_ROLE_OUTPUT, shape->n, QN_DIM_TOKENS);
    const uint32_t inputs[2] = {w, x};
    op_model_into_panels(m, w);
    op_program_add_op(m->builder, QN_OP_MATMUL, QN_NO_LAYER, 2, inputs, y, NULL, 0);
    *step = case_step(3);
    if (shape->is_embedding) {
        static const int32_t ids[3] = {20, 0, 16};
        const uint32_t numbers = op_model_numbers(m, "ids", QN_DIM_TOKENS);
        const uint32_t gather[2] = {w, numbers};
        op_program_add_op(m->builder, QN_OP_EMBED, QN_NO_LAYER, 2, gather,
                          op_model_rows(m, "rows", QN_ROLE_OUTPUT, k, QN_DIM_TOKENS), NULL, 0);
        step->inputs[numbers] = ids;
    }
    op_model_finish(m);
    step->inputs[x] = op_model_values(m, ctx->numeric == QN_NUMERIC_ACT8, 3ull * k);
}

/* Ends the test when the plugin does not know panels: then it must say TOO_NEW, with a text. */
static void require_panels(harness *h, const op_model *m) {
    const qn_compile_options options = cf_compile_options(h->ctx, 0);
    const cf_backend *const on = harness_widest(h);
    static qn_verdict verdicts[OP_PROGRAM_ROOM];
    qn_error error;
    for (uint32_t i = 0; i < m->program->n_ops; i++) {
        verdicts[i] = (qn_verdict){.size = sizeof verdicts[i]};
    }
    cf_clear(&error);
    const qn_status status =
        on->verbs->check(on->device, m->program, &options, verdicts, sizeof verdicts[0], &error);
    if (status != QN_OK) {
        cf_refused(h->ctx, "check", status, QN_TOO_NEW, &error);
        cf_unsupported(h->ctx, "panels are new to it; the host gives it standard blocks");
    }
}

static void weights_in_panels_keep_the_bound_or_are_too_new(cf_context *ctx) {
    harness h;
    harness_open(&h, ctx);
    for (uint32_t kind = 0; kind < BLK_N_PANEL_TYPES; kind++) {
        for (size_t i = 0; i < CF_COUNT_OF(shapes); i++) {
            const panel_shape *const shape = &shapes[i];
            if (!cf_case(ctx, "%s n %u, %u blocks, behind %u rows%s", qn_format_name(format_of(kind)), shape->n,
                         shape->k_units, shape->first_rows, shape->is_embedding ? ", gathered too" : "")) {
                continue;
            }
            op_model m;
            op_step step;
            build(&m, ctx, format_of(kind), shape, &step);
            require_panels(&h, &m);
            const harness_step steps[] = {{step, HARNESS_NEW}, {step, 0}};
            const qn_limits limits = op_model_limits(&m, 3, 0, 1, 0);
            harness_run(&h, &m, &limits, steps, 2, false, shape->weight_flags);
            op_model_free(&m);
        }
    }
    harness_close(&h);
}

/* --- What does not fit ------------------------------------------------------------------------------------------------ */

static void refuse(harness *h, qn_prog *prog, const char *what, qn_weight weight) {
    qn_error error;
    cf_clear(&error);
    const qn_status status = harness_widest(h)->verbs->bind_weights(prog, &weight, sizeof weight, 1, &error);
    CF_CHECK(h->ctx, status != QN_OK, "bind_weights takes panels %s", what);
    cf_refused(h->ctx, "bind_weights", status, QN_BAD_ARG, &error);
}

static void panels_that_do_not_fit_are_refused(cf_context *ctx) {
    static const panel_shape shape = {.n = 37, .k_units = 2, .first_rows = 16};
    harness h;
    op_model m;
    op_step step;
    qn_prog *prog = NULL;
    qn_error error;
    harness_open(&h, ctx);
    build(&m, ctx, QN_FORMAT_Q8_0, &shape, &step);
    require_panels(&h, &m);
    const qn_plugin *const verbs = harness_widest(&h)->verbs;
    const qn_limits limits = op_model_limits(&m, 3, 0, 1, 0);
    const qn_compile_options options = cf_compile_options(ctx, 0);
    cf_clear(&error);
    cf_done(ctx, "compile", verbs->compile(harness_widest(&h)->device, m.program, &limits, &options, &prog, &error), &error);
    const op_weight *const w = &m.weights[0];
    const qn_weight whole = {.size = sizeof whole, .buffer = 0, .flags = QN_WEIGHT_BORROW, .fd = -1, .data = w->panels,
                             .bytes = w->n_panel_bytes, .first_element = w->first};
    qn_weight bad = whole;
    bad.data = (const char *)w->panels + 4;
    refuse(&h, prog, "at an address that is no multiple of 64", bad);
    bad = whole;
    bad.first_element = 8 * 64;
    refuse(&h, prog, "that begin inside a panel", bad);
    bad = whole;
    bad.bytes = w->n_panel_bytes - 1;
    refuse(&h, prog, "with a byte less than they have", bad);
    cf_done(ctx, "bind_weights", verbs->bind_weights(prog, &whole, sizeof whole, 1, &error), &error);
    verbs->prog_free(prog);
    op_model_free(&m);
    harness_close(&h);
}

static void panels_of_a_format_without_them_are_refused(cf_context *ctx) {
    static const panel_shape shape = {.n = 5, .k_units = 1};
    harness h;
    op_model m;
    op_step step;
    static qn_verdict verdicts[OP_PROGRAM_ROOM];
    qn_error error;
    harness_open(&h, ctx);
    build(&m, ctx, QN_FORMAT_Q8_0, &shape, &step);
    m.builder->buffers[0].format = QN_FORMAT_F32;
    op_model_finish(&m);
    const qn_compile_options options = cf_compile_options(ctx, 0);
    verdicts[0] = (qn_verdict){.size = sizeof verdicts[0]};
    cf_clear(&error);
    const qn_status status = harness_widest(&h)->verbs->check(harness_widest(&h)->device, m.program, &options, verdicts,
                                                              sizeof verdicts[0], &error);
    CF_CHECK(ctx, status == QN_BAD_ARG || status == QN_TOO_NEW, "check answers %d to panels of F32", status);
    cf_refused_somehow(ctx, "check", status, &error);
    op_model_free(&m);
    harness_close(&h);
}

static const cf_test tests[] = {
    CASES_TEST(weights_in_panels_keep_the_bound_or_are_too_new, "W4 R1 R2 R3", 0),
    CASES_TEST(panels_that_do_not_fit_are_refused, "W4 W1", 0),
    CASES_TEST(panels_of_a_format_without_them_are_refused, "W4 P1", 0),
};
const cf_suite cf_suite_panels = CF_SUITE(2, "panels", tests);
