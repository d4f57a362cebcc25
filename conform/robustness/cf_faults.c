/* cf_faults.c — level 6: a device that fails on demand (extension quoin.test-fault/1). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <quoin/ext/test_fault.h>

#include "robustness/robustness.h"

#define MOST_EVENTS 400u
#define MOST_SECONDS 2.0 /* for a destroy verb on a lost device */

static const qn_test_fault *find_faults(cf_context *ctx, const cf_backend *on) {
    const qn_test_fault *fault = QN_HAS(on->verbs, get_ext) ? on->verbs->get_ext(QN_EXT_TEST_FAULT) : NULL;
    if (fault == NULL) {
        cf_unsupported(ctx, "the plugin does not offer %s", QN_EXT_TEST_FAULT);
    }
    return fault;
}

/* False when the plugin has no events of this kind. */
static bool arm(cf_context *ctx, const qn_test_fault *fault, qn_device *device, uint32_t kind, uint64_t n) {
    qn_error error;
    cf_clear(&error);
    const qn_status status = fault->arm(device, kind, n, &error);
    if (status == QN_UNSUPPORTED) {
        cf_refused(ctx, "arm", status, QN_UNSUPPORTED, &error);
        return false;
    }
    cf_done(ctx, "arm", status, &error);
    return true;
}

static void faults_that_are_unknown_are_refused(cf_context *ctx) {
    cf_backend on;
    qn_error error;
    cf_open(ctx, &on, 0);
    const qn_test_fault *fault = find_faults(ctx, &on);
    cf_clear(&error);
    cf_refused(ctx, "arm of an unknown kind", fault->arm(on.device, 77, 1, &error), QN_BAD_ARG, &error);
    CF_CHECK(ctx, fault->count(on.device, 77) == 0, "an unknown kind has events");
    cf_close(ctx, &on);
}

/* --- Allocations and compiles ----------------------------------------------------------------------------------------- */

/* compile to session_new; the first refusal ends it and is told. What was made is freed. */
static qn_status try_to_session(cf_context *ctx, const cf_backend *on, const specimen *s, const char **out_verb, qn_error *error) {
    const qn_compile_options options = cf_compile_options(ctx, 0);
    qn_prog *prog = NULL;
    qn_session *session = NULL;
    cf_clear(error);
    *out_verb = "compile";
    qn_status status = on->verbs->compile(on->device, s->program, &s->limits, &options, &prog, error);
    for (uint32_t i = 0; status == QN_OK && i < s->n_weights; i++) {
        const qn_weight weight = specimen_weight_of(s, i, QN_WEIGHT_BORROW);
        *out_verb = "bind_weights";
        status = on->verbs->bind_weights(prog, &weight, sizeof weight, 1, error);
    }
    if (status == QN_OK) {
        *out_verb = "seal";
        status = on->verbs->seal(prog, error);
    }
    if (status == QN_OK) {
        *out_verb = "session_new";
        status = on->verbs->session_new(prog, &session, error);
    }
    on->verbs->session_free(session);
    on->verbs->prog_free(prog);
    return status;
}

static void each_event_fails(cf_context *ctx, uint32_t kind, qn_status want) {
    cf_backend on;
    specimen s;
    const char *verb;
    qn_error error;
    cf_open_with_blobs(ctx, &on, 2, CF_BLOBS_NONE); /* what is kept from before would not be built again */
    const qn_test_fault *fault = find_faults(ctx, &on);
    specimen_choose(ctx, &on, &s);
    if (!arm(ctx, fault, on.device, kind, 0)) {
        cf_unsupported(ctx, "the plugin has no such events");
    }
    const uint64_t at_first = fault->count(on.device, kind);
    cf_done(ctx, "without a fault", try_to_session(ctx, &on, &s, &verb, &error), &error);
    const uint64_t n = fault->count(on.device, kind) - at_first, bytes = cf_host_bytes(on.host, QN_MEM_KINDS);
    cf_note(ctx, "%llu events from compile to session_new", (unsigned long long)n);
    for (uint64_t k = 1; k <= n && k <= MOST_EVENTS; k++) {
        if (!cf_case(ctx, "event %llu fails", (unsigned long long)k)) {
            continue;
        }
        arm(ctx, fault, on.device, kind, k);
        const qn_status status = try_to_session(ctx, &on, &s, &verb, &error);
        CF_CHECK(ctx, status == QN_OK || status == want, "%s answers %s; %s was armed: %.300s", verb, cf_status(status), cf_status(want),
                 error.text);
        if (status == want) {
            cf_refused(ctx, verb, status, want, &error);
        }
        CF_CHECK(ctx, cf_host_bytes(on.host, QN_MEM_KINDS) <= bytes, "%s failed and left %lld bytes taken", verb,
                 (long long)(cf_host_bytes(on.host, QN_MEM_KINDS) - bytes));
        arm(ctx, fault, on.device, kind, 0);
        cf_done(ctx, "afterwards", try_to_session(ctx, &on, &s, &verb, &error), &error);
    }
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

static void device_memory_that_runs_out_anywhere_is_an_error_and_no_leak(cf_context *ctx) {
    each_event_fails(ctx, QN_FAULT_ALLOC, QN_NO_DEVICE_MEM);
}

static void a_kernel_that_cannot_be_built_is_an_error_and_no_leak(cf_context *ctx) {
    each_event_fails(ctx, QN_FAULT_COMPILE, QN_INTERNAL);
}

/* --- Steps ------------------------------------------------------------------------------------------------------------ */

static void a_step_that_fails_damages_no_other_cell(cf_context *ctx) {
    robust_life l;
    qn_error error;
    robust_begin(ctx, &l, true, 2);
    const qn_test_fault *fault = find_faults(ctx, &l.on);
    float *want = robust_outputs(ctx, &l), *got = robust_outputs(ctx, &l);
    robust_step_done(ctx, &l, l.session, 0, 8, NULL);
    robust_step_done(ctx, &l, l.session, 8, 4, want);
    qn_session *session = specimen_session(ctx, &l.on, l.prog);
    robust_step_done(ctx, &l, session, 0, 8, NULL);
    if (!arm(ctx, fault, l.on.device, QN_FAULT_STEP, 1)) {
        cf_unsupported(ctx, "the plugin cannot make a step fail");
    }
    cf_refused(ctx, "step", robust_step(ctx, &l, session, 8, 4, NULL, &error), QN_INTERNAL, &error);
    robust_step_done(ctx, &l, session, 8, 4, got);
    CF_CHECK(ctx, memcmp(got, want, 4 * robust_row(&l) * sizeof(float)) == 0, "after a failed step the same positions give other outputs");
    free(want);
    free(got);
    l.on.verbs->session_free(session);
    robust_end(ctx, &l);
}

/* --- Loss ------------------------------------------------------------------------------------------------------------- */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void require_lost(cf_context *ctx, const char *verb, qn_status got, const qn_error *error) {
    cf_refused(ctx, verb, got, QN_DEVICE_LOST, error);
}

/* Every verb but the destroy verbs answers DEVICE_LOST. */
static void ask_a_lost_device(cf_context *ctx, const robust_life *l) {
    const qn_compile_options options = cf_compile_options(ctx, 0);
    qn_memory_plan plan = {.size = sizeof plan};
    qn_prog *prog = NULL;
    qn_session *session = NULL;
    qn_error error;
    require_lost(ctx, "step", robust_step(ctx, l, l->session, 0, 2, NULL, &error), &error);
    cf_clear(&error);
    require_lost(ctx, "session_new", l->on.verbs->session_new(l->prog, &session, &error), &error);
    cf_clear(&error);
    require_lost(ctx, "compile", l->on.verbs->compile(l->on.device, l->s.program, &l->s.limits, &options, &prog, &error), &error);
    cf_clear(&error);
    require_lost(ctx, "plan", l->on.verbs->plan(l->on.device, l->s.program, &l->s.limits, &options, &plan, &error), &error);
    if (QN_HAS(l->on.verbs, state_move) && l->s.has_state) {
        const qn_state_move move = {.size = sizeof move, .kind = QN_MOVE_ZERO, .n_cells = 1};
        cf_clear(&error);
        require_lost(ctx, "state_move", l->on.verbs->state_move(l->session, &move, sizeof move, 1, &error), &error);
    }
}

static void destroy_lost(cf_context *ctx, robust_life *l) {
    double begin = seconds();
    l->on.verbs->session_free(l->session);
    CF_CHECK(ctx, seconds() - begin < MOST_SECONDS, "session_free on a lost device takes %.1f s", seconds() - begin);
    begin = seconds();
    l->on.verbs->prog_free(l->prog);
    CF_CHECK(ctx, seconds() - begin < MOST_SECONDS, "prog_free on a lost device takes %.1f s", seconds() - begin);
    l->session = NULL;
    l->prog = NULL;
    begin = seconds();
    specimen_deinit(&l->s);
    cf_close(ctx, &l->on);
    CF_CHECK(ctx, seconds() - begin < MOST_SECONDS, "close and stop on a lost device take %.1f s", seconds() - begin);
}

static void a_lost_device_answers_so_and_lets_itself_be_destroyed(cf_context *ctx) {
    static const uint64_t events[] = {1, 2, 3, 5, 8, 13};
    for (size_t i = 0; i < CF_COUNT_OF(events); i++) {
        robust_life l;
        qn_error error;
        qn_status status = QN_OK;
        if (!cf_case(ctx, "lost at work %llu", (unsigned long long)events[i])) {
            continue;
        }
        robust_begin(ctx, &l, false, 2);
        const qn_test_fault *fault = find_faults(ctx, &l.on);
        if (!arm(ctx, fault, l.on.device, QN_FAULT_LOSE, events[i])) {
            cf_unsupported(ctx, "the plugin cannot lose its device");
        }
        for (uint32_t step = 0; status == QN_OK && step < 40; step++) {
            status = robust_step(ctx, &l, l.session, step, 1, NULL, &error);
        }
        require_lost(ctx, "step", status, &error);
        ask_a_lost_device(ctx, &l);
        destroy_lost(ctx, &l);
        robust_begin(ctx, &l, false, 2); /* opened again, it is whole */
        robust_step_done(ctx, &l, l.session, 0, 2, NULL);
        robust_end(ctx, &l);
    }
}

static const cf_test tests[] = {
    CF_TEST(faults_that_are_unknown_are_refused, "F1", 0),
    CF_LONG_TEST(device_memory_that_runs_out_anywhere_is_an_error_and_no_leak, "M3 F1", 0, 5),
    CF_LONG_TEST(a_kernel_that_cannot_be_built_is_an_error_and_no_leak, "F1", 0, 5),
    CF_TEST(a_step_that_fails_damages_no_other_cell, "F1", 0),
    CF_LONG_TEST(a_lost_device_answers_so_and_lets_itself_be_destroyed, "F2", 0, 3),
};
const cf_suite cf_suite_faults = CF_SUITE(6, "faults", tests);
