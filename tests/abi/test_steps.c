/* test_steps.c — qn_limits_read, qn_step_read and qn_state_move_read refuse everything that would lead a plugin out of its
 * buffers, and the reference backend refuses the same without writing a byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue_step.h>

#include "test_stack.h"

#define T 4
#define N_CELLS 16

/* A sound step of the two-layer program: four tokens of two sequences, two logits rows. */
typedef struct sound_step {
    qn_step step;
    qn_limits limits;
    int32_t ids[T], rows[2], positions[T];
    uint32_t sequences[T], cells[2][T], span_at[2][3];
    qn_span spans[2][2];
    qn_placement placements[2];
    qn_binding bindings[3];
    float logits[2 * TEST_STACK_VOCAB];
} sound_step;

static stack model;

static void make_step(sound_step *s) {
    memset(s, 0, sizeof *s);
    s->limits = test_limits(T, 2, 2, 2, N_CELLS);
    for (uint32_t t = 0; t < T; t++) {
        s->ids[t] = (int32_t)t + 3;
        s->positions[t] = (int32_t)(t / 2);
        s->sequences[t] = t % 2;
    }
    s->rows[1] = 3;
    for (uint32_t g = 0; g < 2; g++) {
        for (uint32_t i = 0; i < 2; i++) {
            s->spans[g][i] = (qn_span){.first_cell = 6 * i + g, .n_cells = 2};
            s->span_at[g][i] = i;
        }
        for (uint32_t t = 0; t < T; t++) {
            s->cells[g][t] = 6 * (t % 2) + g + t / 2;
        }
        s->span_at[g][2] = 2;
        s->placements[g] = (qn_placement){.size = sizeof(qn_placement), .n_spans = 2, .cells = s->cells[g], .spans = s->spans[g],
                                          .span_at = s->span_at[g]};
    }
    s->bindings[0] = (qn_binding){.buffer = model.ids, .data = s->ids, .bytes = sizeof s->ids};
    s->bindings[1] = (qn_binding){.buffer = model.rows, .data = s->rows, .bytes = sizeof s->rows};
    s->bindings[2] = (qn_binding){.buffer = model.logits, .data = s->logits, .bytes = sizeof s->logits};
    s->step = (qn_step){.size = sizeof s->step, .n_tokens = T, .n_outputs = 2, .n_sequences = 2, .positions = s->positions,
                        .sequences = s->sequences, .placements = s->placements, .placement_stride = sizeof s->placements[0],
                        .bindings = s->bindings, .binding_stride = sizeof s->bindings[0], .n_bindings = 3};
}

static void break_no_tokens(sound_step *s) { s->step.n_tokens = 0; }
static void break_many_tokens(sound_step *s) { s->step.n_tokens = T + 1; }
static void break_many_outputs(sound_step *s) { s->step.n_outputs = 3; }
static void break_no_sequences(sound_step *s) { s->step.n_sequences = 0; }
static void break_many_sequences(sound_step *s) { s->step.n_sequences = 3; }
static void break_no_positions(sound_step *s) { s->step.positions = NULL; }
static void break_position(sound_step *s) { s->positions[2] = -1; }
static void break_sequence(sound_step *s) { s->sequences[3] = 2; }
static void break_no_placements(sound_step *s) { s->step.placements = NULL; }
static void break_placement_stride(sound_step *s) { s->step.placement_stride = 8; }
static void break_placement_size(sound_step *s) { s->placements[1].size = 8; }
static void break_no_cells(sound_step *s) { s->placements[0].cells = NULL; }
static void break_cell(sound_step *s) { s->cells[1][2] = N_CELLS; }
static void break_cell_twice(sound_step *s) { s->cells[0][3] = s->cells[0][1]; }
static void break_cell_elsewhere(sound_step *s) { s->cells[0][3] = 12; }
static void break_no_spans(sound_step *s) { s->placements[0].spans = NULL; }
static void break_no_span_at(sound_step *s) { s->placements[0].span_at = NULL; }
static void break_span_at_begin(sound_step *s) { s->span_at[0][0] = 1; }
static void break_span_at_end(sound_step *s) { s->span_at[1][2] = 3; }
static void break_span_at_order(sound_step *s) { s->span_at[1][1] = 9; }
static void break_span_cells(sound_step *s) { s->spans[0][1].n_cells = N_CELLS; }
static void break_span_far(sound_step *s) { s->spans[0][1].first_cell = UINT32_MAX; }
static void break_span_position(sound_step *s) { s->spans[1][0].first_position = -4; }
static void break_span_overflow(sound_step *s) { s->spans[1][0].first_position = INT32_MAX; }
static void break_no_bindings(sound_step *s) { s->step.bindings = NULL; }
static void break_binding_missing(sound_step *s) { s->step.n_bindings = 2; }
static void break_binding_twice(sound_step *s) { s->bindings[1] = s->bindings[0]; }
static void break_binding_weight(sound_step *s) { s->bindings[1].buffer = TEST_STACK_EMBEDDING; }
static void break_binding_bytes(sound_step *s) { s->bindings[2].bytes -= 4; }
static void break_binding_data(sound_step *s) { s->bindings[2].data = NULL; }
static void break_binding_alignment(sound_step *s) { s->bindings[0].data = (char *)s->ids + 2; }
static void break_id(sound_step *s) { s->ids[3] = TEST_STACK_VOCAB; }
static void break_negative_id(sound_step *s) { s->ids[0] = -1; }
static void break_row(sound_step *s) { s->rows[1] = T; }
static void break_size(sound_step *s) { s->step.size = 40; }

static const struct {
    const char *name;
    void (*apply)(sound_step *step);
    const char *text;
} rows[] = {
    {"no tokens", break_no_tokens, "0 tokens"},
    {"many tokens", break_many_tokens, "5 tokens"},
    {"many outputs", break_many_outputs, "3 outputs"},
    {"no sequences", break_no_sequences, "0 sequences"},
    {"many sequences", break_many_sequences, "3 sequences"},
    {"no positions", break_no_positions, "no positions"},
    {"position", break_position, "position -1"},
    {"sequence", break_sequence, "sequence 2"},
    {"no placements", break_no_placements, "placements"},
    {"placement stride", break_placement_stride, "placements"},
    {"placement size", break_placement_size, "cell group 1"},
    {"no cells", break_no_cells, "cell group 0"},
    {"cell", break_cell, "cell 16"},
    {"cell twice", break_cell_twice, "taken"},
    {"cell elsewhere", break_cell_elsewhere, "its own cell"},
    {"no spans", break_no_spans, "span_at"},
    {"no span_at", break_no_span_at, "span_at"},
    {"span_at begin", break_span_at_begin, "span_at"},
    {"span_at end", break_span_at_end, "span_at"},
    {"span_at order", break_span_at_order, "backwards"},
    {"span cells", break_span_cells, "span 1"},
    {"span far", break_span_far, "span 1"},
    {"span position", break_span_position, "span 0"},
    {"span overflow", break_span_overflow, "span 0"},
    {"no bindings", break_no_bindings, "bindings"},
    {"binding missing", break_binding_missing, "not bound"},
    {"binding twice", break_binding_twice, "not bound"},
    {"binding of a weight", break_binding_weight, "not bound"},
    {"binding bytes", break_binding_bytes, "logits"},
    {"binding data", break_binding_data, "logits"},
    {"binding alignment", break_binding_alignment, "aligned"},
    {"id", break_id, "96"},
    {"negative id", break_negative_id, "-1"},
    {"row", break_row, "select_rows"},
    {"size", break_size, "too short"},
};

static void a_sound_step_is_accepted(void **state) {
    sound_step s;
    qn_step own;
    qn_error error = {.size = sizeof error};
    (void)state;
    make_step(&s);
    assert_int_equal(qn_step_read(model.m.program, &s.limits, &s.step, &own, &error), QN_OK);
    assert_ptr_equal(qn_step_binding(&own, model.rows)->data, s.rows);
    assert_ptr_equal(qn_step_placement(&own, 1)->cells, s.cells[1]);
    assert_null(qn_step_binding(&own, TEST_STACK_EMBEDDING));
}

static void every_broken_step_is_refused_with_its_text(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sound_step s;
        qn_step own;
        qn_error error = {.size = sizeof error};
        make_step(&s);
        rows[i].apply(&s);
        const qn_status status = qn_step_read(model.m.program, &s.limits, &s.step, &own, &error);
        if (status != QN_BAD_ARG || strstr(error.text, rows[i].text) == NULL) {
            fail_msg("%s: status %d, text '%s'; wanted '%s'", rows[i].name, status, error.text, rows[i].text);
        }
    }
}

static void the_reference_backend_refuses_them_too_and_writes_nothing(void **state) {
    sound_step s;
    cf_context *const ctx = test_context();
    cf_backend b;
    rig r;
    (void)state;
    make_step(&s);
    cf_open(ctx, &b, 2);
    rig_open(&r, ctx, &b, &model.m, &s.limits, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qn_error error = {.size = sizeof error};
        make_step(&s);
        rows[i].apply(&s);
        assert_int_equal(b.verbs->step(r.session, &s.step, &error), QN_BAD_ARG);
        assert_true(error.text[0] != '\0');
        for (uint32_t n = 0; n < 2 * TEST_STACK_VOCAB; n++) {
            assert_true(s.logits[n] == 0);
        }
    }
    rig_close(&r);
    cf_close(ctx, &b);
}

static void limits_outside_their_ranges_are_refused(void **state) {
    const qn_limits sound = test_limits(4, 2, 2, 2, 16);
    qn_limits own, broken[8];
    qn_error error = {.size = sizeof error};
    (void)state;
    assert_int_equal(qn_limits_read(model.m.program, &sound, &own, &error), QN_OK);
    for (size_t i = 0; i < 8; i++) {
        broken[i] = sound;
    }
    broken[0].max_tokens = 0;
    broken[1].max_outputs = 0;
    broken[2].max_outputs = 5;
    broken[3].max_sequences = 0;
    broken[4].n_groups = 1;
    broken[5].n_groups = UINT32_MAX;
    broken[6].cells[1] = 0;
    broken[7].size = 20;
    for (size_t i = 0; i < 8; i++) {
        error.text[0] = '\0';
        assert_int_equal(qn_limits_read(model.m.program, &broken[i], &own, &error), QN_BAD_ARG);
        assert_true(error.text[0] != '\0');
    }
}

static void moves_outside_the_cells_are_refused(void **state) {
    const qn_limits limits = test_limits(4, 2, 2, 2, 16);
    static const struct {
        uint32_t kind, group, from, to, n_cells;
        qn_status status;
    } moves[] = {
        {QN_MOVE_COPY, 0, 0, 8, 8, QN_OK},          {QN_MOVE_ZERO, 1, 99, 0, 16, QN_OK},
        {QN_MOVE_COPY, 0, 16, 0, 0, QN_OK},         {3, 0, 0, 0, 1, QN_BAD_ARG},
        {0, 0, 0, 0, 1, QN_BAD_ARG},                {QN_MOVE_COPY, 2, 0, 0, 1, QN_BAD_ARG},
        {QN_MOVE_COPY, 0, 9, 0, 8, QN_BAD_ARG},     {QN_MOVE_COPY, 0, 0, 9, 8, QN_BAD_ARG},
        {QN_MOVE_ZERO, 0, 0, 1, 16, QN_BAD_ARG},    {QN_MOVE_ZERO, 0, 0, 0, UINT32_MAX, QN_BAD_ARG},
        {QN_MOVE_COPY, 0, UINT32_MAX, 0, 2, QN_BAD_ARG},
    };
    (void)state;
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const qn_state_move move = {.size = sizeof move, .kind = moves[i].kind, .group = moves[i].group, .from = moves[i].from,
                                    .to = moves[i].to, .n_cells = moves[i].n_cells};
        qn_state_move own;
        qn_error error = {.size = sizeof error};
        assert_int_equal(qn_state_move_read(model.m.program, &limits, &move, &own, &error), moves[i].status);
        assert_true(moves[i].status == QN_OK || error.text[0] != '\0');
    }
}

static int set_up(void **state) {
    (void)state;
    test_stack_init(&model);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stack_free(&model);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_step_is_accepted),
        cmocka_unit_test(every_broken_step_is_refused_with_its_text),
        cmocka_unit_test(the_reference_backend_refuses_them_too_and_writes_nothing),
        cmocka_unit_test(limits_outside_their_ranges_are_refused),
        cmocka_unit_test(moves_outside_the_cells_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
