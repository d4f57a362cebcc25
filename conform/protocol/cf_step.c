/* cf_step.c — level 1: what step, state_move and tap accept and refuse. */
#include <stdlib.h>
#include <string.h>

#include "protocol/protocol.h"

typedef struct stepping {
    cf_backend on;
    specimen s;
    qn_prog *prog;
    qn_session *session;
    specimen_turn turn;
} stepping;

static void begin(cf_context *ctx, stepping *t, bool wants_state, uint32_t flags) {
    cf_open(ctx, &t->on, 0);
    if (wants_state) {
        specimen_choose_decoder(ctx, &t->on, &t->s);
    } else {
        specimen_choose(ctx, &t->on, &t->s);
    }
    t->prog = specimen_sealed(ctx, &t->on, &t->s, flags);
    t->session = specimen_session(ctx, &t->on, t->prog);
    specimen_turn_init(ctx, &t->s, &t->turn, 0, 4);
}

static void end(cf_context *ctx, stepping *t) {
    specimen_turn_deinit(&t->turn);
    t->on.verbs->session_free(t->session);
    t->on.verbs->prog_free(t->prog);
    specimen_deinit(&t->s);
    cf_close(ctx, &t->on);
}

static qn_status step_call(cf_context *ctx, void *arg, const void *theirs, qn_error *error) {
    stepping *t = arg;
    (void)ctx;
    return t->on.verbs->step(t->session, theirs, error);
}

static void step_obeys_sizes(cf_context *ctx) {
    stepping t;
    begin(ctx, &t, false, 0);
    require_sizes(ctx, "step", &t.turn.step, sizeof t.turn.step, QN_LEAST_qn_step, step_call, &t);
    end(ctx, &t);
}

static qn_status move_call(cf_context *ctx, void *arg, const void *theirs, qn_error *error) {
    stepping *t = arg;
    (void)ctx;
    return t->on.verbs->state_move(t->session, theirs, 512, 1, error);
}

static void state_move_obeys_sizes(cf_context *ctx) {
    const qn_state_move move = {.size = sizeof move, .kind = QN_MOVE_COPY, .from = 0, .to = 8, .n_cells = 4};
    stepping t;
    begin(ctx, &t, true, 0);
    if (!QN_HAS(t.on.verbs, state_move)) {
        cf_unsupported(ctx, "the plugin has no state_move");
    }
    require_sizes(ctx, "state_move", &move, sizeof move, QN_LEAST_qn_state_move, move_call, &t);
    end(ctx, &t);
}

/* --- Refused steps: each breaks one thing ----------------------------------------------------------------------------- */

typedef struct broken_step {
    const char *what;
    bool wants_state;
    void (*break_it)(specimen_turn *turn, const specimen *s);
} broken_step;

static qn_binding *find_numbers(specimen_turn *t, const specimen *s, uint32_t symbol) {
    for (uint32_t i = 0; i < t->step.n_bindings; i++) {
        const qn_buffer *buffer = qn_program_buffer(s->program, t->bindings[i].buffer);
        if (buffer->format == QN_FORMAT_I32 && buffer->symbols[0] == symbol) {
            return &t->bindings[i];
        }
    }
    return NULL;
}

static void set_number(specimen_turn *t, const specimen *s, uint32_t symbol, uint32_t at, int32_t value) {
    const qn_binding *binding = find_numbers(t, s, symbol);
    if (binding != NULL) {
        ((int32_t *)binding->data)[at] = value;
    }
}

static void no_tokens(specimen_turn *t, const specimen *s) { (void)s; t->step.n_tokens = 0; }
static void too_many_tokens(specimen_turn *t, const specimen *s) { (void)s; t->step.n_tokens = SPECIMEN_TOKENS + 1; }
static void too_many_outputs(specimen_turn *t, const specimen *s) { (void)s; t->step.n_outputs = SPECIMEN_TOKENS + 1; }
static void no_sequences(specimen_turn *t, const specimen *s) { (void)s; t->step.n_sequences = 0; }
static void too_many_sequences(specimen_turn *t, const specimen *s) { (void)s; t->step.n_sequences = 3; }
static void no_positions(specimen_turn *t, const specimen *s) { (void)s; t->step.positions = NULL; }
static void negative_position(specimen_turn *t, const specimen *s) { (void)s; t->positions[2] = -1; }
static void no_bindings(specimen_turn *t, const specimen *s) { (void)s; t->step.n_bindings = 0; }
static void binding_missing(specimen_turn *t, const specimen *s) { (void)s; t->step.n_bindings--; }
static void binding_twice(specimen_turn *t, const specimen *s) { (void)s; t->bindings[0] = t->bindings[1]; }
static void binding_unknown(specimen_turn *t, const specimen *s) { (void)s; t->bindings[0].buffer = 99999; }
static void binding_null(specimen_turn *t, const specimen *s) { (void)s; t->bindings[0].data = NULL; }
static void binding_short(specimen_turn *t, const specimen *s) { (void)s; t->bindings[0].bytes -= 4; }
static void binding_long(specimen_turn *t, const specimen *s) { (void)s; t->bindings[0].bytes += 4; }
static void binding_unaligned(specimen_turn *t, const specimen *s) { (void)s; t->bindings[0].data = (char *)t->bindings[0].data + 1; }
static void stride_short(specimen_turn *t, const specimen *s) { (void)s; t->step.binding_stride = 8; }
static void no_placements(specimen_turn *t, const specimen *s) { (void)s; t->step.placements = NULL; }
static void no_cells(specimen_turn *t, const specimen *s) { (void)s; t->placements[0].cells = NULL; }
static void cell_out_of_range(specimen_turn *t, const specimen *s) { (void)s; t->cells[1] = SPECIMEN_CELLS; }
static void cell_far_out_of_range(specimen_turn *t, const specimen *s) { (void)s; t->cells[1] = UINT32_MAX; }
static void cell_twice(specimen_turn *t, const specimen *s) { (void)s; t->cells[1] = t->cells[0]; }
static void span_out_of_range(specimen_turn *t, const specimen *s) { (void)s; t->spans[0].n_cells = SPECIMEN_CELLS + 1; }
static void span_wraps(specimen_turn *t, const specimen *s) { (void)s; t->spans[0].first_cell = UINT32_MAX; }
static void span_without_the_token(specimen_turn *t, const specimen *s) { (void)s; t->spans[0].n_cells = 2; }
static void span_at_backwards(specimen_turn *t, const specimen *s) { (void)s; t->span_at[0] = 1; }
static void span_at_too_far(specimen_turn *t, const specimen *s) { (void)s; t->span_at[1] = 7; }
static void placement_short(specimen_turn *t, const specimen *s) { (void)s; t->placements[0].size = 8; }
static void id_negative(specimen_turn *t, const specimen *s) { set_number(t, s, QN_DIM_TOKENS, 1, -1); }
static void id_beyond_the_vocabulary(specimen_turn *t, const specimen *s) { set_number(t, s, QN_DIM_TOKENS, 3, (int32_t)s->vocab); }
static void row_negative(specimen_turn *t, const specimen *s) { set_number(t, s, QN_DIM_OUTPUTS, 1, -1); }
static void row_beyond_the_tokens(specimen_turn *t, const specimen *s) { set_number(t, s, QN_DIM_OUTPUTS, 3, 4); }

static const broken_step broken_steps[] = {
    {"no tokens", false, no_tokens},
    {"more tokens than compiled for", false, too_many_tokens},
    {"more outputs than compiled for", false, too_many_outputs},
    {"no sequences", false, no_sequences},
    {"more sequences than compiled for", false, too_many_sequences},
    {"no positions", false, no_positions},
    {"a negative position", false, negative_position},
    {"no bindings", false, no_bindings},
    {"a buffer that is not bound", false, binding_missing},
    {"a buffer that is bound twice, and one not at all", false, binding_twice},
    {"a binding of an unknown buffer", false, binding_unknown},
    {"a binding without data", false, binding_null},
    {"a binding that is 4 bytes too short", false, binding_short},
    {"a binding that is 4 bytes too long", false, binding_long},
    {"a binding that is not aligned to 4", false, binding_unaligned},
    {"a stride that is too short", false, stride_short},
    {"no placements", true, no_placements},
    {"a placement without cells", true, no_cells},
    {"a placement that is too short", true, placement_short},
    {"a cell just out of range", true, cell_out_of_range},
    {"a cell far out of range", true, cell_far_out_of_range},
    {"a cell for two tokens", true, cell_twice},
    {"a span that is longer than the cells", true, span_out_of_range},
    {"a span whose end wraps", true, span_wraps},
    {"spans without a token's own cell", true, span_without_the_token},
    {"span_at that goes backwards", true, span_at_backwards},
    {"span_at that leads too far", true, span_at_too_far},
    {"a negative id", true, id_negative},
    {"an id beyond the vocabulary", true, id_beyond_the_vocabulary},
    {"a negative row", true, row_negative},
    {"a row beyond the tokens", true, row_beyond_the_tokens},
};

static void refuse_broken(cf_context *ctx, stepping *t, const broken_step *broken) {
    qn_error error;
    specimen_turn turn;
    specimen_turn_init(ctx, &t->s, &turn, 4, 4);
    const specimen_turn whole = turn;
    broken->break_it(&turn, &t->s);
    cf_clear(&error);
    const qn_status status = t->on.verbs->step(t->session, &turn.step, &error);
    memcpy(turn.bindings, whole.bindings, sizeof turn.bindings);
    turn.step.n_bindings = whole.step.n_bindings;
    cf_refused(ctx, "step", status, QN_BAD_ARG, &error);
    CF_CHECK(ctx, specimen_turn_is_untouched(&turn), "step refuses and has written to the output");
    specimen_turn_deinit(&turn);
}

/* Refused steps change nothing: afterwards positions 4 to 7 give what they give in a session that saw no refusal. */
static void step_refuses(cf_context *ctx, bool wants_state) {
    stepping t;
    qn_error error;
    begin(ctx, &t, wants_state, QN_COMPILE_DETERMINISTIC);
    qn_session *calm = specimen_session(ctx, &t.on, t.prog);
    qn_session *const sessions[2] = {t.session, calm};
    specimen_turn after[2];
    cf_clear(&error);
    for (uint32_t i = 0; i < 2; i++) {
        cf_done(ctx, "step", t.on.verbs->step(sessions[i], &t.turn.step, &error), &error);
    }
    for (size_t i = 0; i < CF_COUNT_OF(broken_steps); i++) {
        if (broken_steps[i].wants_state == wants_state && cf_case(ctx, "%s", broken_steps[i].what)) {
            refuse_broken(ctx, &t, &broken_steps[i]);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        specimen_turn_init(ctx, &t.s, &after[i], 4, 4);
        cf_done(ctx, "step after refused ones", t.on.verbs->step(sessions[i], &after[i].step, &error), &error);
    }
    CF_CHECK(ctx, memcmp(after[0].output, after[1].output, after[0].n_output * sizeof(float)) == 0,
             "after refused steps the session computes something else than before");
    for (uint32_t i = 0; i < 2; i++) {
        specimen_turn_deinit(&after[i]);
    }
    t.on.verbs->session_free(calm);
    end(ctx, &t);
}

static void steps_that_cannot_be_are_refused_before_anything_is_written(cf_context *ctx) {
    step_refuses(ctx, false);
}

static void steps_with_an_index_out_of_range_are_refused_before_anything_is_written(cf_context *ctx) {
    step_refuses(ctx, true);
}

/* --- Sound steps ------------------------------------------------------------------------------------------------------ */

static void step_writes_its_outputs_and_nothing_beside_them(cf_context *ctx) {
    stepping t;
    qn_error error;
    begin(ctx, &t, false, 0);
    for (uint32_t n = 1; n <= SPECIMEN_TOKENS; n++) {
        specimen_turn turn;
        specimen_turn_init(ctx, &t.s, &turn, 0, n);
        if (cf_case(ctx, "%u tokens", n)) {
            cf_clear(&error);
            cf_done(ctx, "step", t.on.verbs->step(t.session, &turn.step, &error), &error);
            CF_CHECK(ctx, !specimen_turn_is_untouched(&turn), "step answers OK and has written nothing");
            CF_CHECK(ctx, !specimen_turn_is_overrun(&turn), "step has written behind a buffer");
        }
        specimen_turn_deinit(&turn);
    }
    end(ctx, &t);
}

static void a_step_without_outputs_is_legal(cf_context *ctx) {
    stepping t;
    qn_error error;
    begin(ctx, &t, true, 0);
    t.turn.step.n_outputs = 0;
    for (uint32_t i = 0; i < t.turn.step.n_bindings; i++) {
        const qn_buffer *buffer = qn_program_buffer(t.s.program, t.turn.bindings[i].buffer);
        if (buffer->symbols[buffer->rank - 1] == QN_DIM_OUTPUTS) {
            t.turn.bindings[i].bytes = 0;
        }
    }
    cf_clear(&error);
    cf_done(ctx, "step of 4 tokens and no outputs", t.on.verbs->step(t.session, &t.turn.step, &error), &error);
    CF_CHECK(ctx, specimen_turn_is_untouched(&t.turn), "a step without outputs has written some");
    end(ctx, &t);
}

static void tap_tells_the_size_and_writes_what_there_is_room_for(cf_context *ctx) {
    stepping t;
    qn_error error;
    begin(ctx, &t, true, QN_COMPILE_MATERIALIZE);
    if (!QN_HAS(t.on.verbs, tap)) {
        cf_unsupported(ctx, "the plugin has no tap");
    }
    cf_clear(&error);
    cf_done(ctx, "step", t.on.verbs->step(t.session, &t.turn.step, &error), &error);
    for (uint32_t b = 0; b < t.s.program->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(t.s.program, b);
        unsigned char few[12];
        uint64_t bytes = 0, again = 0;
        if ((buffer->role != QN_ROLE_ACT && buffer->role != QN_ROLE_STATE) || !cf_case(ctx, "buffer %s", qn_program_name(t.s.program, buffer))) {
            continue;
        }
        const uint64_t want = qn_buffer_rows(buffer, 4, 4, SPECIMEN_CELLS) * qn_format_bytes(buffer->format, buffer->dims[0]);
        cf_clear(&error);
        cf_done(ctx, "tap without room", t.on.verbs->tap(t.session, b, NULL, 0, &bytes, &error), &error);
        CF_CHECK(ctx, bytes == want, "tap tells %llu bytes; the buffer has %llu", (unsigned long long)bytes, (unsigned long long)want);
        memset(few, 0x5a, sizeof few);
        cf_done(ctx, "tap with room for 8 bytes", t.on.verbs->tap(t.session, b, few, 8, &again, &error), &error);
        CF_CHECK(ctx, again == want && few[8] == 0x5a && few[11] == 0x5a, "tap with room for 8 bytes writes more, or tells another size");
    }
    end(ctx, &t);
}

/* --- Moves ------------------------------------------------------------------------------------------------------------ */

static void moves_that_cannot_be_are_refused_and_nothing_is_moved(cf_context *ctx) {
    static const struct {
        const char *what;
        qn_state_move move;
    } broken[] = {
        {"an unknown kind", {sizeof(qn_state_move), 7, 0, 0, 8, 4}},
        {"an unknown group", {sizeof(qn_state_move), QN_MOVE_COPY, 1, 0, 8, 4}},
        {"from beyond the cells", {sizeof(qn_state_move), QN_MOVE_COPY, 0, SPECIMEN_CELLS - 3, 8, 4}},
        {"to beyond the cells", {sizeof(qn_state_move), QN_MOVE_COPY, 0, 0, SPECIMEN_CELLS - 3, 4}},
        {"zero beyond the cells", {sizeof(qn_state_move), QN_MOVE_ZERO, 0, 0, SPECIMEN_CELLS, 1}},
        {"a count that wraps", {sizeof(qn_state_move), QN_MOVE_COPY, 0, 8, 8, UINT32_MAX - 4}},
    };
    stepping t;
    qn_error error;
    specimen_turn again;
    begin(ctx, &t, true, QN_COMPILE_DETERMINISTIC);
    if (!QN_HAS(t.on.verbs, state_move)) {
        cf_unsupported(ctx, "the plugin has no state_move");
    }
    cf_clear(&error);
    cf_done(ctx, "step", t.on.verbs->step(t.session, &t.turn.step, &error), &error);
    specimen_turn_init(ctx, &t.s, &again, 4, 2);
    cf_done(ctx, "step", t.on.verbs->step(t.session, &again.step, &error), &error);
    for (size_t i = 0; i < CF_COUNT_OF(broken); i++) {
        /* The first of the two could be done; refused as a whole, it must not be. */
        const qn_state_move moves[2] = {{sizeof moves[0], QN_MOVE_ZERO, 0, 0, 0, 4}, broken[i].move};
        if (cf_case(ctx, "%s", broken[i].what)) {
            cf_clear(&error);
            cf_refused(ctx, "state_move", t.on.verbs->state_move(t.session, moves, sizeof moves[0], 2, &error), QN_BAD_ARG, &error);
        }
    }
    specimen_turn after;
    specimen_turn_init(ctx, &t.s, &after, 4, 2);
    cf_done(ctx, "step", t.on.verbs->step(t.session, &after.step, &error), &error);
    CF_CHECK(ctx, memcmp(again.output, after.output, again.n_output * sizeof(float)) == 0, "a refused state_move has changed the state");
    cf_done(ctx, "state_move of nothing", t.on.verbs->state_move(t.session, NULL, 0, 0, &error), &error);
    specimen_turn_deinit(&again);
    specimen_turn_deinit(&after);
    end(ctx, &t);
}

static const cf_test tests[] = {
    CF_TEST(step_obeys_sizes, "Q4", CF_MUST_DECODE),
    CF_TEST(state_move_obeys_sizes, "Q4", CF_MUST_DECODE),
    CF_TEST(steps_that_cannot_be_are_refused_before_anything_is_written, "R6", CF_MUST_DECODE),
    CF_TEST(steps_with_an_index_out_of_range_are_refused_before_anything_is_written, "R6", CF_MUST_DECODE),
    CF_TEST(step_writes_its_outputs_and_nothing_beside_them, "R2", CF_MUST_DECODE),
    CF_TEST(a_step_without_outputs_is_legal, "R2", CF_MUST_DECODE),
    CF_TEST(tap_tells_the_size_and_writes_what_there_is_room_for, "Q4", CF_MUST_DECODE),
    CF_TEST(moves_that_cannot_be_are_refused_and_nothing_is_moved, "K4", CF_MUST_DECODE),
};
const cf_suite cf_suite_step = CF_SUITE(1, "step", tests);
