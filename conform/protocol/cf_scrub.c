/* cf_scrub.c — level 1: the extension quoin.scrub/1, where there is one: what steps leave is gone, and nothing else is. */
#include <string.h>

#include <quoin/ext/scrub.h>
#include <quoin/glue_program.h>

#include "protocol/protocol.h"

#define N_TOKENS 5u
#define LARGEST_TAP 65536u

static const qn_scrub *find_scrub(cf_context *ctx, cf_backend *on) {
    const qn_scrub *scrub = QN_HAS(on->verbs, get_ext) ? on->verbs->get_ext(QN_EXT_SCRUB) : NULL;
    if (scrub == NULL) {
        cf_close(ctx, on);
        cf_unsupported(ctx, "the plugin does not offer %s", QN_EXT_SCRUB);
    }
    CF_CHECK(ctx, scrub->size >= sizeof *scrub && scrub->scratch != NULL, "%s is not whole", QN_EXT_SCRUB);
    CF_CHECK(ctx, on->verbs->get_ext(QN_EXT_SCRUB) == scrub, "%s is another one the second time", QN_EXT_SCRUB);
    return scrub;
}

static void run_turn(cf_context *ctx, const cf_backend *on, const specimen *s, qn_session *session, specimen_turn *turn, uint32_t first,
                     uint32_t n) {
    qn_error error;
    cf_clear(&error);
    specimen_turn_init(ctx, s, turn, first, n);
    cf_done(ctx, "step", on->verbs->step(session, &turn->step, &error), &error);
}

/* Steps at positions 0 to 4, perhaps a scrub, then a step at 5: the last one must not tell the difference. */
static void scrubbing_changes_no_later_step(cf_context *ctx) {
    cf_backend on;
    specimen s;
    qn_error error;
    specimen_turn first, last[2];
    cf_open(ctx, &on, 0);
    const qn_scrub *scrub = find_scrub(ctx, &on);
    specimen_choose(ctx, &on, &s);
    qn_prog *prog = specimen_sealed(ctx, &on, &s, QN_COMPILE_DETERMINISTIC);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t bytes = 0;
        qn_session *session = specimen_session(ctx, &on, prog);
        run_turn(ctx, &on, &s, session, &first, 0, N_TOKENS);
        cf_clear(&error);
        cf_done(ctx, "scrub", i == 1 ? scrub->scratch(session, &bytes, &error) : QN_OK, &error);
        CF_CHECK(ctx, i == 0 || bytes > 0, "a step was run, and scrub tells of no byte");
        run_turn(ctx, &on, &s, session, &last[i], N_TOKENS, 1);
        specimen_turn_deinit(&first);
        on.verbs->session_free(session);
    }
    CF_CHECK(ctx, memcmp(last[0].output, last[1].output, last[0].n_output * sizeof(float)) == 0, "the outputs are others after scrub");
    specimen_turn_deinit(&last[0]);
    specimen_turn_deinit(&last[1]);
    on.verbs->prog_free(prog);
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

/* Bytes of the buffer; 0 when it is no act or no state. */
static uint64_t tap(cf_context *ctx, const cf_backend *on, const specimen *s, qn_session *session, uint32_t buffer, uint32_t role,
                    uint8_t *to) {
    qn_error error;
    uint64_t bytes = 0;
    cf_clear(&error);
    if (qn_program_buffer(s->program, buffer)->role != role) {
        return 0;
    }
    cf_done(ctx, "tap", on->verbs->tap(session, buffer, to, LARGEST_TAP, &bytes, &error), &error);
    return bytes < LARGEST_TAP ? bytes : LARGEST_TAP;
}

static bool is_zero(const uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

#define MARK_BYTES 16u
#define MOST_STATES 8u

/* What was read before the scrub. */
typedef struct snapshot {
    uint8_t states[MOST_STATES][LARGEST_TAP];
    uint64_t state_bytes[MOST_STATES];
    uint8_t marks[256][MARK_BYTES]; /* how act buffers began */
    uint32_t n_states, n_marks, n_found;
} snapshot;

static bool holds(const uint8_t *bytes, uint64_t n, const uint8_t *mark) {
    for (uint64_t at = 0; at + MARK_BYTES <= n; at += 4) {
        if (memcmp(bytes + at, mark, MARK_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

/* Could these words stand in memory that stays: zeros, a row of a weight, a state? */
static bool may_stay(const specimen *s, const snapshot *shot, const uint8_t *mark) {
    bool may = is_zero(mark, 8) || is_zero(mark + 8, 8) || memcmp(mark, mark + 4, 4) == 0;
    for (uint32_t i = 0; i < s->n_weights && !may; i++) {
        may = holds(s->weights[i].data, s->weights[i].bytes, mark);
    }
    for (uint32_t i = 0; i < shot->n_states && !may; i++) {
        may = holds(shot->states[i], shot->state_bytes[i], mark);
    }
    return may;
}

static void take_snapshot(cf_context *ctx, const cf_backend *on, const specimen *s, qn_session *session, snapshot *shot) {
    static uint8_t act[LARGEST_TAP];
    for (uint32_t b = 0; b < s->program->n_buffers && shot->n_states < MOST_STATES; b++) {
        shot->state_bytes[shot->n_states] = tap(ctx, on, s, session, b, QN_ROLE_STATE, shot->states[shot->n_states]);
        shot->n_states += shot->state_bytes[shot->n_states] > 0 ? 1 : 0;
    }
    for (uint32_t b = 0; b < s->program->n_buffers && shot->n_marks < CF_COUNT_OF(shot->marks); b++) {
        if (tap(ctx, on, s, session, b, QN_ROLE_ACT, act) >= MARK_BYTES && !may_stay(s, shot, act)) {
            shot->n_found += cf_host_holds(on->host, act, MARK_BYTES) ? 1 : 0;
            memcpy(shot->marks[shot->n_marks++], act, MARK_BYTES);
        }
    }
}

static void compare_with_snapshot(cf_context *ctx, const cf_backend *on, const specimen *s, qn_session *session, const snapshot *shot) {
    static uint8_t now[LARGEST_TAP];
    uint32_t n_states = 0;
    for (uint32_t b = 0; b < s->program->n_buffers; b++) {
        const uint64_t n = tap(ctx, on, s, session, b, QN_ROLE_ACT, now);
        CF_CHECK(ctx, is_zero(now, n), "act buffer %u is not zero after scrub", b);
        const uint64_t n_state = n_states < shot->n_states ? tap(ctx, on, s, session, b, QN_ROLE_STATE, now) : 0;
        CF_CHECK(ctx, n_state == 0 || memcmp(now, shot->states[n_states], n_state) == 0, "state buffer %u was changed by scrub", b);
        n_states += n_state > 0 ? 1 : 0;
    }
    for (uint32_t i = 0; i < shot->n_marks; i++) {
        CF_CHECK(ctx, !cf_host_holds(on->host, shot->marks[i], MARK_BYTES), "what an act buffer began with is still in the plugin's memory");
    }
}

static void acts_are_gone_and_states_stay(cf_context *ctx) {
    static snapshot shot;
    cf_backend on;
    specimen s;
    qn_error error;
    specimen_turn turn;
    uint64_t bytes = 0;
    cf_open(ctx, &on, 0);
    const qn_scrub *scrub = find_scrub(ctx, &on);
    if (!QN_HAS(on.verbs, tap)) {
        cf_unsupported(ctx, "the plugin has no tap");
    }
    specimen_choose(ctx, &on, &s);
    qn_prog *prog = specimen_sealed(ctx, &on, &s, QN_COMPILE_MATERIALIZE);
    qn_session *session = specimen_session(ctx, &on, prog);
    run_turn(ctx, &on, &s, session, &turn, 0, N_TOKENS);
    memset(&shot, 0, sizeof shot);
    take_snapshot(ctx, &on, &s, session, &shot);
    cf_clear(&error);
    cf_done(ctx, "scrub", scrub->scratch(session, &bytes, &error), &error);
    compare_with_snapshot(ctx, &on, &s, session, &shot);
    cf_note(ctx, "%u buffers were looked for, %u of them were in the host's memory before", shot.n_marks, shot.n_found);
    specimen_turn_deinit(&turn);
    on.verbs->session_free(session);
    on.verbs->prog_free(prog);
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

static void scrub_refuses_what_is_not_there(cf_context *ctx) {
    cf_backend on;
    specimen s;
    qn_error error;
    uint64_t bytes = 0;
    cf_open(ctx, &on, 0);
    const qn_scrub *scrub = find_scrub(ctx, &on);
    specimen_choose(ctx, &on, &s);
    qn_prog *prog = specimen_sealed(ctx, &on, &s, 0);
    qn_session *session = specimen_session(ctx, &on, prog);
    cf_clear(&error);
    cf_refused(ctx, "scrub", scrub->scratch(NULL, &bytes, &error), QN_BAD_ARG, &error);
    cf_clear(&error);
    cf_refused(ctx, "scrub", scrub->scratch(session, NULL, &error), QN_BAD_ARG, &error);
    cf_clear(&error);
    cf_done(ctx, "scrub before a step", scrub->scratch(session, &bytes, &error), &error);
    on.verbs->session_free(session);
    on.verbs->prog_free(prog);
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

static const cf_test tests[] = {
    CF_TEST(scrubbing_changes_no_later_step, "X2", 0),
    CF_TEST(acts_are_gone_and_states_stay, "X2", 0),
    CF_TEST(scrub_refuses_what_is_not_there, "X2 E1", 0),
};
const cf_suite cf_suite_scrub = CF_SUITE(1, "scrub", tests);
