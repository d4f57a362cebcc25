/* cf_order.c — level 1: every verb in every state of its object (abi/doc/threads.md). */
#include <stdlib.h>
#include <string.h>

#include "protocol/protocol.h"

/* States of a program and of a session, in the order in which they are reached. */
enum { COMPILED, PART_BOUND, ALL_BOUND, SEALED, PROGRAM_STATES };
enum { NEW, STEPPED, REFUSED_STEP, CANCELLED_STEP, SESSION_STATES };

static const char *const program_states[] = {"compiled", "compiled, some weights bound", "compiled, all weights bound", "sealed"};
static const char *const session_states[] = {"new", "stepped", "stepped, then a step was refused", "stepped, then a step was cancelled"};

typedef struct life {
    cf_backend on;
    specimen s;
    qn_prog *prog;
    qn_session *session;
} life;

static void begin(cf_context *ctx, life *l) {
    memset(l, 0, sizeof *l);
    cf_open(ctx, &l->on, 0);
    specimen_choose(ctx, &l->on, &l->s);
    if (l->s.n_weights == 0) {
        cf_unsupported(ctx, "the plugin says yes to no op with a weight");
    }
}

static void end(cf_context *ctx, life *l) {
    l->on.verbs->session_free(l->session);
    l->on.verbs->prog_free(l->prog);
    specimen_deinit(&l->s);
    cf_close(ctx, &l->on);
}

static void reach_program(cf_context *ctx, life *l, uint32_t state, uint32_t flags) {
    qn_error error;
    l->on.verbs->session_free(l->session);
    l->on.verbs->prog_free(l->prog);
    l->session = NULL;
    l->prog = specimen_compiled(ctx, &l->on, &l->s, flags);
    specimen_bind(ctx, &l->on, &l->s, l->prog, 0, state == COMPILED ? 0 : state == PART_BOUND ? l->s.n_weights - 1 : l->s.n_weights);
    if (state == SEALED) {
        cf_clear(&error);
        cf_done(ctx, "seal", l->on.verbs->seal(l->prog, &error), &error);
    }
}

/* --- Programs --------------------------------------------------------------------------------------------------------- */

enum { BIND_FIRST, BIND_LAST, BIND_NONE, SEAL, SESSION, PROGRAM_VERBS };

static qn_status call_program_verb(life *l, uint32_t verb, qn_error *error) {
    const qn_weight weight = specimen_weight_of(&l->s, verb == BIND_LAST ? l->s.n_weights - 1 : 0, QN_WEIGHT_BORROW);
    cf_clear(error);
    switch (verb) {
    case BIND_FIRST:
    case BIND_LAST: return l->on.verbs->bind_weights(l->prog, &weight, sizeof weight, 1, error);
    case SEAL: return l->on.verbs->seal(l->prog, error);
    default: return l->on.verbs->session_new(l->prog, &l->session, error);
    }
}

/* What threads.md says; with one weight alone, the first is the last. */
static qn_status expected_of_program(const life *l, uint32_t state, uint32_t verb) {
    const bool is_first_bound = state >= ALL_BOUND || (state == PART_BOUND && l->s.n_weights > 1);
    switch (verb) {
    case BIND_FIRST: return is_first_bound ? QN_BAD_STATE : QN_OK;
    case BIND_LAST: return state >= ALL_BOUND ? QN_BAD_STATE : QN_OK;
    case SEAL: return state == SEALED ? QN_BAD_STATE : state == ALL_BOUND ? QN_OK : QN_BAD_ARG;
    default: return state == SEALED ? QN_OK : QN_BAD_STATE;
    }
}

static void program_verbs_in_every_state(cf_context *ctx) {
    static const struct {
        uint32_t verb;
        const char *name;
    } verbs[] = {{BIND_FIRST, "bind_weights of the first weight"}, {BIND_LAST, "bind_weights of the last weight"}, {SEAL, "seal"},
                 {SESSION, "session_new"}};
    life l;
    qn_error error;
    begin(ctx, &l);
    for (uint32_t state = 0; state < PROGRAM_STATES; state++) {
        for (size_t v = 0; v < CF_COUNT_OF(verbs); v++) {
            if (!cf_case(ctx, "%s, program %s", verbs[v].name, program_states[state])) {
                continue;
            }
            reach_program(ctx, &l, state, 0);
            const qn_status want = expected_of_program(&l, state, verbs[v].verb), got = call_program_verb(&l, verbs[v].verb, &error);
            if (want == QN_OK) {
                cf_done(ctx, verbs[v].name, got, &error);
            } else {
                cf_refused(ctx, verbs[v].name, got, want, &error);
                CF_CHECK(ctx, l.session == NULL, "%s refuses and gives a session all the same", verbs[v].name);
            }
        }
    }
    end(ctx, &l);
}

/* A refused call changes no state: the way from there to a step is as it was. */
static void a_refused_verb_changes_no_state(cf_context *ctx) {
    life l;
    qn_error error;
    begin(ctx, &l);
    for (uint32_t state = 0; state < PROGRAM_STATES; state++) {
        if (!cf_case(ctx, "program %s", program_states[state])) {
            continue;
        }
        reach_program(ctx, &l, state, 0);
        for (uint32_t verb = BIND_FIRST; verb < PROGRAM_VERBS; verb++) {
            if (verb != BIND_NONE && expected_of_program(&l, state, verb) != QN_OK) {
                (void)call_program_verb(&l, verb, &error);
            }
        }
        if (state < SEALED) {
            specimen_bind(ctx, &l.on, &l.s, l.prog, state == COMPILED ? 0 : state == PART_BOUND ? l.s.n_weights - 1 : l.s.n_weights, l.s.n_weights);
            cf_clear(&error);
            cf_done(ctx, "seal", l.on.verbs->seal(l.prog, &error), &error);
        }
        l.session = specimen_session(ctx, &l.on, l.prog);
        specimen_turn turn;
        specimen_turn_init(ctx, &l.s, &turn, 0, 2);
        cf_done(ctx, "step", l.on.verbs->step(l.session, &turn.step, &error), &error);
        specimen_turn_deinit(&turn);
    }
    end(ctx, &l);
}

/* --- Sessions --------------------------------------------------------------------------------------------------------- */

static qn_status step_once(cf_context *ctx, life *l, uint32_t first, bool is_broken, qn_error *error) {
    specimen_turn turn;
    specimen_turn_init(ctx, &l->s, &turn, first, 2);
    turn.step.n_tokens = is_broken ? 0 : turn.step.n_tokens;
    cf_clear(error);
    const qn_status status = l->on.verbs->step(l->session, &turn.step, error);
    specimen_turn_deinit(&turn);
    return status;
}

static void reach_session(cf_context *ctx, life *l, uint32_t state, uint32_t flags) {
    qn_error error;
    reach_program(ctx, l, SEALED, flags);
    l->session = specimen_session(ctx, &l->on, l->prog);
    if (state != NEW) {
        cf_done(ctx, "step", step_once(ctx, l, 0, false, &error), &error);
    }
    if (state == REFUSED_STEP) {
        cf_refused(ctx, "step of no tokens", step_once(ctx, l, 2, true, &error), QN_BAD_ARG, &error);
    }
    if (state == CANCELLED_STEP) {
        cf_host_cancel(l->on.host, true);
        const qn_status status = step_once(ctx, l, 2, false, &error);
        cf_host_cancel(l->on.host, false);
        cf_refused(ctx, "step with the cancel flag up", status, QN_CANCELLED, &error);
    }
}

/* An act that tap can read, or a state. */
static uint32_t find_tappable(const specimen *s) {
    for (uint32_t b = 0; b < s->program->n_buffers; b++) {
        const uint32_t role = qn_program_buffer(s->program, b)->role;
        if (role == QN_ROLE_ACT || role == QN_ROLE_STATE) {
            return b;
        }
    }
    return UINT32_MAX;
}

static qn_status tap(const life *l, uint32_t buffer, qn_error *error) {
    uint64_t bytes = 0;
    char byte;
    cf_clear(error);
    return l->on.verbs->tap(l->session, buffer, &byte, 1, &bytes, error);
}

static void tap_in_every_state(cf_context *ctx) {
    life l;
    qn_error error;
    begin(ctx, &l);
    const uint32_t buffer = find_tappable(&l.s);
    if (!QN_HAS(l.on.verbs, tap) || buffer == UINT32_MAX) {
        cf_unsupported(ctx, "the plugin has no tap, or no program with something to tap");
    }
    for (uint32_t flags = 0; flags <= QN_COMPILE_MATERIALIZE; flags += QN_COMPILE_MATERIALIZE) {
        for (uint32_t state = 0; state < SESSION_STATES; state++) {
            if (!cf_case(ctx, "tap, session %s, %s MATERIALIZE", session_states[state], flags != 0 ? "with" : "without")) {
                continue;
            }
            reach_session(ctx, &l, state, flags);
            const qn_status got = tap(&l, buffer, &error);
            if (flags == 0) {
                cf_refused(ctx, "tap", got, QN_UNSUPPORTED, &error);
            } else if (state == NEW || state == CANCELLED_STEP) {
                cf_refused(ctx, "tap", got, QN_BAD_STATE, &error);
            } else {
                cf_done(ctx, "tap", got, &error);
            }
        }
    }
    if (cf_case(ctx, "tap of no buffer")) {
        reach_session(ctx, &l, STEPPED, QN_COMPILE_MATERIALIZE);
        cf_refused(ctx, "tap", tap(&l, 99999, &error), QN_BAD_ARG, &error);
    }
    end(ctx, &l);
}

static void session_verbs_in_every_state(cf_context *ctx) {
    life l;
    qn_error error;
    begin(ctx, &l);
    for (uint32_t state = 0; state < SESSION_STATES; state++) {
        if (cf_case(ctx, "step, session %s", session_states[state])) {
            reach_session(ctx, &l, state, 0);
            cf_done(ctx, "step", step_once(ctx, &l, 2, false, &error), &error);
        }
        if (l.s.has_state && QN_HAS(l.on.verbs, state_move) && cf_case(ctx, "state_move, session %s", session_states[state])) {
            const qn_state_move move = {.size = sizeof move, .kind = QN_MOVE_COPY, .from = 0, .to = 32, .n_cells = 2};
            reach_session(ctx, &l, state, 0);
            cf_clear(&error);
            cf_done(ctx, "state_move", l.on.verbs->state_move(l.session, &move, sizeof move, 1, &error), &error);
        }
    }
    end(ctx, &l);
}

/* --- Destroying ------------------------------------------------------------------------------------------------------- */

static void destroying_nothing_is_legal(cf_context *ctx) {
    cf_backend on;
    cf_open(ctx, &on, 0);
    on.verbs->session_free(NULL);
    on.verbs->prog_free(NULL);
    on.verbs->close(NULL);
    on.verbs->stop(NULL);
    cf_close(ctx, &on);
}

static void require_logged(cf_context *ctx, const life *l, uint64_t before, const char *verb) {
    CF_CHECK(ctx, cf_host_log_lines(l->on.host) > before, "%s came too early and nothing was logged", verb);
}

/* Parents that are destroyed before their children: told in the log, and everything still works. */
static void a_destroy_that_comes_too_early_is_logged_and_harmless(cf_context *ctx) {
    life l;
    qn_error error;
    begin(ctx, &l);
    reach_session(ctx, &l, STEPPED, 0);
    uint64_t lines = cf_host_log_lines(l.on.host);
    l.on.verbs->stop(l.on.plugin);
    require_logged(ctx, &l, lines, "stop with an open device");
    lines = cf_host_log_lines(l.on.host);
    l.on.verbs->close(l.on.device);
    require_logged(ctx, &l, lines, "close with a program");
    lines = cf_host_log_lines(l.on.host);
    l.on.verbs->prog_free(l.prog);
    require_logged(ctx, &l, lines, "prog_free with a session");
    cf_done(ctx, "step after all of them", step_once(ctx, &l, 2, false, &error), &error);
    end(ctx, &l);
}

static void children_may_go_in_any_order(cf_context *ctx) {
    life l;
    begin(ctx, &l);
    qn_prog *first = specimen_sealed(ctx, &l.on, &l.s, 0), *second = specimen_sealed(ctx, &l.on, &l.s, 0);
    qn_session *a = specimen_session(ctx, &l.on, first), *b = specimen_session(ctx, &l.on, first), *c = specimen_session(ctx, &l.on, second);
    l.on.verbs->session_free(a);
    l.on.verbs->session_free(c);
    l.on.verbs->prog_free(second);
    l.on.verbs->session_free(b);
    l.on.verbs->prog_free(first);
    end(ctx, &l);
}

static const cf_test tests[] = {
    CF_TEST(program_verbs_in_every_state, "S1", CF_MUST_DECODE),
    CF_TEST(a_refused_verb_changes_no_state, "S1", CF_MUST_DECODE),
    CF_TEST(tap_in_every_state, "S1", CF_MUST_DECODE),
    CF_TEST(session_verbs_in_every_state, "S1 C1", CF_MUST_DECODE),
    CF_TEST(destroying_nothing_is_legal, "S2", CF_MUST_PROTOCOL),
    CF_TEST(a_destroy_that_comes_too_early_is_logged_and_harmless, "S1", CF_MUST_DECODE),
    CF_TEST(children_may_go_in_any_order, "S1", CF_MUST_DECODE),
};
const cf_suite cf_suite_order = CF_SUITE(1, "order", tests);
