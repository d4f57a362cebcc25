/* cf_cancel.c — level 6: cancelling at any point, and what the session is worth afterwards. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "robustness/robustness.h"

#define N_PREFIX 8u
#define N_CANCELLED 4u
#define MOST_POINTS 200u

typedef struct cancelling {
    robust_life l;
    float *want, *got;   /* outputs of the cancelled positions, undisturbed and after the cancelled step */
    size_t bytes;
} cancelling;

static void begin(cf_context *ctx, cancelling *c) {
    robust_begin(ctx, &c->l, true, 2);
    c->want = robust_outputs(ctx, &c->l);
    c->got = robust_outputs(ctx, &c->l);
    c->bytes = N_CANCELLED * robust_row(&c->l) * sizeof(float);
    robust_step_done(ctx, &c->l, c->l.session, 0, N_PREFIX, NULL);
    robust_step_done(ctx, &c->l, c->l.session, N_PREFIX, N_CANCELLED, c->want);
}

static void end(cf_context *ctx, cancelling *c) {
    free(c->want);
    free(c->got);
    robust_end(ctx, &c->l);
}

/* A session of its own, its prefix filled, then a step that may be cancelled, then the same step undisturbed. */
static bool cancel_once(cf_context *ctx, cancelling *c, void (*raise_flag)(cancelling *c, uint64_t at), uint64_t at) {
    qn_session *session = specimen_session(ctx, &c->l.on, c->l.prog);
    qn_error error;
    robust_step_done(ctx, &c->l, session, 0, N_PREFIX, NULL);
    raise_flag(c, at);
    const qn_status status = robust_step(ctx, &c->l, session, N_PREFIX, N_CANCELLED, NULL, &error);
    cf_host_cancel_at(c->l.on.host, 0);
    CF_CHECK(ctx, status == QN_OK || status == QN_CANCELLED, "a step that is cancelled answers %s: %.300s", cf_status(status), error.text);
    if (status == QN_CANCELLED) {
        cf_refused(ctx, "step", status, QN_CANCELLED, &error);
    }
    robust_step_done(ctx, &c->l, session, N_PREFIX, N_CANCELLED, c->got);
    CF_CHECK(ctx, memcmp(c->got, c->want, c->bytes) == 0, "after a cancelled step the same positions give other outputs: other cells were damaged");
    c->l.on.verbs->session_free(session);
    return status == QN_CANCELLED;
}

static void raise_at_call(cancelling *c, uint64_t at) {
    cf_host_cancel_at(c->l.on.host, at);
}

static void a_step_cancelled_at_any_service_call_damages_no_other_cell(cf_context *ctx) {
    cancelling c;
    uint32_t n_cancelled = 0;
    begin(ctx, &c);
    for (uint64_t at = 1; at <= MOST_POINTS; at += at < 40 ? 1 : 7) {
        if (cf_case(ctx, "cancelled at service call %llu", (unsigned long long)at)) {
            n_cancelled += cancel_once(ctx, &c, raise_at_call, at);
        }
    }
    cf_note(ctx, "%u steps were cancelled", n_cancelled);
    end(ctx, &c);
}

/* --- By the clock, for plugins whose steps call no service ------------------------------------------------------------- */

typedef struct delayed {
    cf_host *host;
    uint64_t nanoseconds;
} delayed;

static void *raise_later(void *arg) {
    const delayed d = *(const delayed *)arg;
    const struct timespec time = {0, (long)d.nanoseconds};
    nanosleep(&time, NULL);
    cf_host_cancel(d.host, true);
    return NULL;
}

static void a_step_cancelled_at_any_time_damages_no_other_cell(cf_context *ctx) {
    cancelling c;
    cf_random random = cf_random_make(ctx, 6);
    uint32_t n_cancelled = 0;
    begin(ctx, &c);
    for (uint32_t i = 0; i < 40; i++) {
        delayed d = {c.l.on.host, cf_random_below(&random, 1u << (10 + i % 11))};
        pthread_t thread;
        qn_error error;
        if (!cf_case(ctx, "cancelled after %llu ns", (unsigned long long)d.nanoseconds)) {
            continue;
        }
        qn_session *session = specimen_session(ctx, &c.l.on, c.l.prog);
        robust_step_done(ctx, &c.l, session, 0, N_PREFIX, NULL);
        CF_CHECK(ctx, pthread_create(&thread, NULL, raise_later, &d) == 0, "no thread could be started");
        const qn_status status = robust_step(ctx, &c.l, session, N_PREFIX, N_CANCELLED, NULL, &error);
        pthread_join(thread, NULL);
        cf_host_cancel(c.l.on.host, false);
        CF_CHECK(ctx, status == QN_OK || status == QN_CANCELLED, "a step that is cancelled answers %s: %.300s", cf_status(status), error.text);
        n_cancelled += status == QN_CANCELLED;
        robust_step_done(ctx, &c.l, session, N_PREFIX, N_CANCELLED, c.got);
        CF_CHECK(ctx, memcmp(c.got, c.want, c.bytes) == 0, "after a cancelled step the same positions give other outputs");
        c.l.on.verbs->session_free(session);
    }
    cf_note(ctx, "%u of 40 steps were cancelled in time", n_cancelled);
    end(ctx, &c);
}

static void the_cancel_flag_is_seen(cf_context *ctx) {
    robust_life l;
    qn_error error;
    robust_begin(ctx, &l, true, 2);
    robust_step_done(ctx, &l, l.session, 0, 4, NULL);
    cf_host_cancel(l.on.host, true);
    const qn_status status = robust_step(ctx, &l, l.session, 4, 4, NULL, &error);
    cf_host_cancel(l.on.host, false);
    cf_refused(ctx, "step with the cancel flag up", status, QN_CANCELLED, &error);
    robust_step_done(ctx, &l, l.session, 4, 4, NULL);
    robust_end(ctx, &l);
}

static void compile_with_the_cancel_flag_up_leaves_nothing(cf_context *ctx) {
    robust_life l;
    qn_error error;
    qn_prog *prog = NULL;
    robust_begin(ctx, &l, true, 2);
    const qn_compile_options options = cf_compile_options(ctx, 0);
    const uint64_t before = cf_host_bytes(l.on.host, QN_MEM_KINDS);
    cf_clear(&error);
    cf_host_cancel(l.on.host, true);
    const qn_status status = l.on.verbs->compile(l.on.device, l.s.program, &l.s.limits, &options, &prog, &error);
    cf_host_cancel(l.on.host, false);
    if (status == QN_OK) {
        l.on.verbs->prog_free(prog);
    } else {
        cf_refused(ctx, "compile with the cancel flag up", status, QN_CANCELLED, &error);
        CF_CHECK(ctx, prog == NULL, "compile is cancelled and gives a program all the same");
    }
    CF_CHECK(ctx, cf_host_bytes(l.on.host, QN_MEM_KINDS) == before, "a cancelled compile leaves %lld bytes taken",
             (long long)(cf_host_bytes(l.on.host, QN_MEM_KINDS) - before));
    robust_end(ctx, &l);
}

static const cf_test tests[] = {
    CF_TEST(the_cancel_flag_is_seen, "C1", CF_MUST_DECODE),
    CF_TEST(a_step_cancelled_at_any_service_call_damages_no_other_cell, "C1", CF_MUST_DECODE),
    CF_TEST(a_step_cancelled_at_any_time_damages_no_other_cell, "C1", CF_MUST_DECODE),
    CF_TEST(compile_with_the_cancel_flag_up_leaves_nothing, "C1", CF_MUST_DECODE),
};
const cf_suite cf_suite_cancel = CF_SUITE(6, "cancel", tests);
