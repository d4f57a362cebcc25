/* cf_threads.c — level 6: sessions on several threads, and verbs that come from another thread each time. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "robustness/robustness.h"

#define N_STEPS 12u
#define N_THREADS 2u

/* Steps of one session, and what they give. */
typedef struct stepper {
    cf_context *ctx;
    const robust_life *l;
    qn_session *session;
    float *outputs;         /* [N_STEPS][row] */
} stepper;

static void *step_all(void *arg) {
    const stepper *s = arg;
    for (uint32_t i = 0; i < N_STEPS; i++) {
        robust_step_done(s->ctx, s->l, s->session, i, 1, s->outputs + i * robust_row(s->l));
    }
    return NULL;
}

static stepper make_stepper(cf_context *ctx, const robust_life *l) {
    const stepper s = {ctx, l, specimen_session(ctx, &l->on, l->prog), calloc(N_STEPS * robust_row(l), sizeof(float))};
    CF_CHECK(ctx, s.outputs != NULL, "this machine has no memory for the test itself");
    return s;
}

static void free_stepper(stepper *s) {
    s->l->on.verbs->session_free(s->session);
    free(s->outputs);
}

static void require_equal(cf_context *ctx, const stepper *a, const stepper *b, const char *what) {
    CF_CHECK(ctx, memcmp(a->outputs, b->outputs, N_STEPS * robust_row(a->l) * sizeof(float)) == 0, "%s", what);
}

static void two_threads_step_two_sessions(cf_context *ctx) {
    robust_life l;
    robust_begin(ctx, &l, false, 2);
    stepper alone = make_stepper(ctx, &l);
    step_all(&alone);
    for (uint32_t round = 0; round < 5; round++) {
        stepper steppers[N_THREADS];
        pthread_t threads[N_THREADS];
        for (uint32_t i = 0; i < N_THREADS; i++) {
            steppers[i] = make_stepper(ctx, &l);
            CF_CHECK(ctx, pthread_create(&threads[i], NULL, step_all, &steppers[i]) == 0, "no thread could be started");
        }
        for (uint32_t i = 0; i < N_THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        cf_join(ctx);
        for (uint32_t i = 0; i < N_THREADS; i++) {
            require_equal(ctx, &steppers[i], &alone, "two sessions that step at once give other outputs than one alone");
            free_stepper(&steppers[i]);
        }
    }
    free_stepper(&alone);
    robust_end(ctx, &l);
}

/* --- Another thread each time ----------------------------------------------------------------------------------------- */

typedef struct one_step {
    const stepper *s;
    uint32_t i;
} one_step;

static void *step_one(void *arg) {
    const one_step *o = arg;
    robust_step_done(o->s->ctx, o->s->l, o->s->session, o->i, 1, o->s->outputs + o->i * robust_row(o->s->l));
    return NULL;
}

static void on_another_thread(cf_context *ctx, void *(*fn)(void *), void *arg) {
    pthread_t thread;
    CF_CHECK(ctx, pthread_create(&thread, NULL, fn, arg) == 0, "no thread could be started");
    pthread_join(thread, NULL);
    cf_join(ctx);
}

static void the_thread_may_change_at_each_step(cf_context *ctx) {
    robust_life l;
    robust_begin(ctx, &l, false, 2);
    stepper alone = make_stepper(ctx, &l), moved = make_stepper(ctx, &l);
    step_all(&alone);
    for (uint32_t i = 0; i < N_STEPS; i++) {
        one_step o = {&moved, i};
        on_another_thread(ctx, step_one, &o);
    }
    require_equal(ctx, &moved, &alone, "steps from another thread each time give other outputs");
    free_stepper(&alone);
    free_stepper(&moved);
    robust_end(ctx, &l);
}

typedef struct moving_life {
    cf_context *ctx;
    robust_life l;
    float *outputs;
} moving_life;

static void *begin_there(void *arg) {
    moving_life *m = arg;
    cf_context *ctx = m->ctx;
    qn_error error;
    /* What robust_begin does, but for choosing: that ends a test, which only its own thread may do. */
    specimen_make_decoder(ctx, &m->l.s);
    m->l.prog = specimen_compiled(ctx, &m->l.on, &m->l.s, QN_COMPILE_DETERMINISTIC);
    specimen_bind(ctx, &m->l.on, &m->l.s, m->l.prog, 0, m->l.s.n_weights);
    cf_clear(&error);
    cf_done(ctx, "seal", m->l.on.verbs->seal(m->l.prog, &error), &error);
    return NULL;
}

static void *make_session_there(void *arg) {
    moving_life *m = arg;
    m->l.session = specimen_session(m->ctx, &m->l.on, m->l.prog);
    return NULL;
}

static void *free_there(void *arg) {
    moving_life *m = arg;
    m->l.on.verbs->session_free(m->l.session);
    m->l.on.verbs->prog_free(m->l.prog);
    m->l.session = NULL;
    m->l.prog = NULL;
    return NULL;
}

static void every_verb_may_come_from_another_thread(cf_context *ctx) {
    moving_life m = {.ctx = ctx};
    specimen probe;
    cf_open(ctx, &m.l.on, 2);
    specimen_choose_decoder(ctx, &m.l.on, &probe);
    specimen_deinit(&probe);
    on_another_thread(ctx, begin_there, &m);
    on_another_thread(ctx, make_session_there, &m);
    robust_step_done(ctx, &m.l, m.l.session, 0, 4, NULL);
    on_another_thread(ctx, free_there, &m);
    specimen_deinit(&m.l.s);
    cf_close(ctx, &m.l.on);
}

/* --- Control beside steps --------------------------------------------------------------------------------------------- */

static void *compile_often(void *arg) {
    const stepper *s = arg;
    for (uint32_t i = 0; i < 10; i++) {
        qn_prog *prog = specimen_sealed(s->ctx, &s->l->on, &s->l->s, QN_COMPILE_DETERMINISTIC);
        s->l->on.verbs->prog_free(prog);
    }
    return NULL;
}

static void a_session_steps_while_another_program_compiles(cf_context *ctx) {
    robust_life l;
    pthread_t thread;
    robust_begin(ctx, &l, false, 2);
    stepper alone = make_stepper(ctx, &l), beside = make_stepper(ctx, &l);
    step_all(&alone);
    CF_CHECK(ctx, pthread_create(&thread, NULL, compile_often, &alone) == 0, "no thread could be started");
    step_all(&beside);
    pthread_join(thread, NULL);
    cf_join(ctx);
    require_equal(ctx, &beside, &alone, "steps beside a compile give other outputs");
    free_stepper(&alone);
    free_stepper(&beside);
    robust_end(ctx, &l);
}

static const cf_test tests[] = {
    CF_TEST(two_threads_step_two_sessions, "K2", CF_MUST_DECODE),
    CF_TEST(the_thread_may_change_at_each_step, "S1", CF_MUST_DECODE),
    CF_TEST(every_verb_may_come_from_another_thread, "S1", CF_MUST_DECODE),
    CF_TEST(a_session_steps_while_another_program_compiles, "S1", CF_MUST_DECODE),
};
const cf_suite cf_suite_threads = CF_SUITE(6, "threads", tests);
