/* test_residency.c — every state with every event, identity, counting, and eviction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "residency/residency.h"

static const model_identity alpha = {.device = 1, .inode = 10, .size = 100, .modified_ns = 1000},
                            beta = {.device = 1, .inode = 11, .size = 100, .modified_ns = 1000};
static const residency_eviction at_once = {0};

#define NO RESIDENCY_NO_STATE
enum { D = RESIDENCY_DISCOVERED, M = RESIDENCY_MAPPED, S = RESIDENCY_STREAMING, A = RESIDENCY_ACTIVE, X = RESIDENCY_SCRUBBING, F = RESIDENCY_FAILED };

/* The table of the specification, written out once more. */
static const residency_state wanted[RESIDENCY_STATES][RESIDENCY_EVENTS] = {
    /* load validated ready error reset begin end evict scrubbed */
    {M, NO, NO, NO, NO, NO, NO, NO, NO},
    {NO, S, NO, F, NO, NO, NO, NO, NO},
    {NO, NO, A, F, NO, NO, NO, NO, NO},
    {NO, NO, NO, NO, NO, A, A, X, NO},
    {NO, NO, NO, NO, NO, NO, NO, NO, D},
    {NO, NO, NO, NO, D, NO, NO, NO, NO}};

static int be_quiet(void **state) {
    (void)state;
    log_set_level(0);
    return 0;
}

/* What a listener heard. */
typedef struct heard {
    residency_change last;
    uint32_t n;
    uint64_t time;
    char states[256];
} heard;

static uint64_t tick(void *ctx) {
    heard *h = ctx;
    return h->time += 5;
}

static void hear(void *ctx, const residency_change *change) {
    heard *h = ctx;
    const size_t used = strlen(h->states);
    h->last = *change;
    h->n++;
    snprintf(h->states + used, sizeof h->states - used, "%s ", residency_state_name(change->to));
}

static residency *make(heard *h) {
    residency *r = NULL;
    const residency_options options = {tick, hear, h};
    memset(h, 0, sizeof *h);
    assert_int_equal(residency_create(&options, &r, NULL), QN_OK);
    return r;
}

static qn_status fire(residency *r, residency_event event) {
    switch (event) {
    case RESIDENCY_LOAD:
        return residency_load(r, &alpha, 7, NULL, NULL);
    case RESIDENCY_VALIDATED:
        return residency_validated(r, NULL);
    case RESIDENCY_READY:
        return residency_ready(r, 9, NULL);
    case RESIDENCY_ERROR:
        return residency_fail(r, "it broke", NULL);
    case RESIDENCY_RESET:
        return residency_reset(r, NULL);
    case RESIDENCY_BEGIN:
        return residency_begin(r, &alpha, NULL);
    case RESIDENCY_END:
        return residency_end(r, NULL);
    default:
        return residency_evict(r, NULL, &at_once, NULL, NULL);
    }
}

static void bring(residency *r, residency_state state) {
    if (state != D) {
        assert_int_equal(fire(r, RESIDENCY_LOAD), QN_OK);
    }
    if (state == S || state == A || state == X) {
        assert_int_equal(fire(r, RESIDENCY_VALIDATED), QN_OK);
    }
    if (state == A || state == X) {
        assert_int_equal(fire(r, RESIDENCY_READY), QN_OK);
    }
    if (state == F) {
        assert_int_equal(fire(r, RESIDENCY_ERROR), QN_OK);
    }
}

static void the_table_is_that_of_the_specification(void **state) {
    (void)state;
    for (uint32_t from = 0; from < RESIDENCY_STATES; from++) {
        for (uint32_t event = 0; event < RESIDENCY_EVENTS; event++) {
            if (residency_next(from, event) != wanted[from][event]) {
                fail_msg("%s, %s", residency_state_name(from), residency_event_name(event));
            }
        }
    }
    assert_true(residency_next(RESIDENCY_STATES, 0) == NO && residency_next(0, RESIDENCY_EVENTS) == NO);
}

/* SCRUBBING is seen from within the scrub, below; its only event is the end of that. */
static void each_event_in_each_state_goes_where_the_table_says_or_changes_nothing(void **state) {
    (void)state;
    for (uint32_t from = 0; from < RESIDENCY_STATES; from++) {
        for (uint32_t event = 0; event < RESIDENCY_SCRUBBED && from != X; event++) {
            heard h;
            residency *r = make(&h);
            bring(r, from);
            if (event == RESIDENCY_END && from == A) {
                assert_int_equal(fire(r, RESIDENCY_BEGIN), QN_OK);
            }
            const residency_view before = residency_look(r);
            const uint32_t n_before = h.n;
            const qn_status status = fire(r, event);
            const residency_view after = residency_look(r);
            const bool is_allowed = wanted[from][event] != NO;
            if ((status == QN_OK) != is_allowed) {
                fail_msg("%s, %s: %d", residency_state_name(from), residency_event_name(event), status);
            }
            if (is_allowed) {
                assert_int_equal(after.state, event == RESIDENCY_EVICT ? D : wanted[from][event]);
                assert_true(h.n > n_before);
            } else {
                assert_int_equal(status, QN_BAD_STATE);
                assert_memory_equal(&before, &after, sizeof before);
                assert_int_equal(h.n, n_before);
            }
            residency_destroy(r);
        }
    }
}

typedef struct scrubbing {
    residency *r;
    residency_state seen;
    qn_status answers[RESIDENCY_SCRUBBED];
} scrubbing;

static void try_everything(void *ctx, scrub_report *report) {
    scrubbing *s = ctx;
    s->seen = residency_look(s->r).state;
    for (uint32_t event = 0; event < RESIDENCY_SCRUBBED; event++) {
        s->answers[event] = fire(s->r, event);
    }
    report->bytes[SCRUB_STATE] += 64;
    report->bytes[SCRUB_TEXT] += 3;
}

static void nothing_is_allowed_while_it_scrubs(void **state) {
    (void)state;
    heard h;
    scrub_report report = {0};
    scrubbing s = {.r = make(&h)};
    const residency_eviction how = {.scrub = try_everything, .ctx = &s};
    bring(s.r, A);
    assert_int_equal(residency_evict(s.r, &alpha, &how, &report, NULL), QN_OK);
    assert_int_equal(s.seen, X);
    for (uint32_t event = 0; event < RESIDENCY_SCRUBBED; event++) {
        assert_true(s.answers[event] == QN_BAD_STATE || (event == RESIDENCY_BEGIN && s.answers[event] == QN_BUSY));
    }
    assert_int_equal(report.bytes[SCRUB_STATE], 64);
    assert_int_equal(scrub_total(&report), 67);
    assert_int_equal(residency_look(s.r).state, D);
    residency_destroy(s.r);
}

static void listeners_hear_each_change_with_time_and_bytes(void **state) {
    (void)state;
    heard h;
    residency *r = make(&h);
    bring(r, A);
    assert_int_equal(h.last.bytes, 9);
    assert_int_equal(fire(r, RESIDENCY_BEGIN), QN_OK);
    assert_int_equal(h.last.n_sessions, 1);
    assert_int_equal(fire(r, RESIDENCY_END), QN_OK);
    assert_int_equal(fire(r, RESIDENCY_EVICT), QN_OK);
    assert_string_equal(h.states, "mapped streaming active active active scrubbing discovered ");
    assert_int_equal(h.last.time_ns, 35);
    assert_int_equal(h.last.bytes, 0);
    assert_non_null(h.last.scrubbed);
    residency_destroy(r);
}

static void a_failure_keeps_its_words_until_reset(void **state) {
    (void)state;
    heard h;
    residency *r = make(&h);
    bring(r, F);
    assert_string_equal(residency_look(r).error, "it broke");
    assert_string_equal(h.last.error, "it broke");
    assert_int_equal(residency_look(r).bytes, 0);
    assert_int_equal(fire(r, RESIDENCY_RESET), QN_OK);
    assert_string_equal(residency_look(r).error, "");
    residency_destroy(r);
}

/* ---------------------------------------------------------------- another model */

static void another_model_is_refused_unless_it_replaces(void **state) {
    (void)state;
    for (uint32_t from = M; from < RESIDENCY_STATES; from++) {
        heard h;
        residency *r = make(&h);
        if (from == X) {
            residency_destroy(r);
            continue;
        }
        bring(r, from);
        assert_int_equal(residency_load(r, &beta, 1, NULL, NULL), QN_BUSY);
        assert_int_equal(residency_begin(r, &beta, NULL), QN_BUSY);
        assert_int_equal(residency_evict(r, &beta, &at_once, NULL, NULL), QN_BUSY);
        assert_int_equal(residency_look(r).state, from);
        const qn_status status = residency_load(r, &beta, 1, &at_once, NULL);
        assert_int_equal(status, from == A || from == F ? QN_OK : QN_BAD_STATE);
        if (status == QN_OK) {
            const residency_view view = residency_look(r);
            assert_true(model_identity_equal(&view.identity, &beta));
            assert_int_equal(view.state, M);
        }
        residency_destroy(r);
    }
}

static void a_model_in_use_is_not_replaced(void **state) {
    (void)state;
    heard h;
    residency *r = make(&h);
    bring(r, A);
    assert_int_equal(fire(r, RESIDENCY_BEGIN), QN_OK);
    assert_int_equal(residency_load(r, &beta, 1, &at_once, NULL), QN_TIMEOUT);
    const residency_view view = residency_look(r);
    assert_true(model_identity_equal(&view.identity, &alpha));
    assert_int_equal(view.state, A);
    residency_destroy(r);
}

static void identity_is_the_file_and_its_digest_and_never_a_name(void **state) {
    (void)state;
    model_identity other = alpha;
    assert_true(model_identity_equal(&alpha, &other));
    other.has_digest = true;
    other.digest[3] = 1;
    assert_true(model_identity_equal(&alpha, &other)); /* one of both does not know it */
    model_identity third = other;
    third.digest[3] = 2;
    assert_false(model_identity_equal(&other, &third));
    for (uint32_t i = 0; i < 4; i++) {
        model_identity changed = alpha;
        *(i == 0 ? &changed.device : i == 1 ? &changed.inode : &changed.size) += i < 3 ? 1 : 0;
        changed.modified_ns += i == 3 ? 1 : 0;
        assert_false(model_identity_equal(&alpha, &changed));
    }
}

/* ---------------------------------------------------------------- eviction with sessions */

static void an_eviction_that_waits_in_vain_stays_pending(void **state) {
    (void)state;
    heard h;
    error_context err = {0};
    const residency_eviction how = {.wait_ms = 30};
    residency *r = make(&h);
    bring(r, A);
    assert_int_equal(fire(r, RESIDENCY_BEGIN), QN_OK);
    assert_int_equal(residency_evict(r, &alpha, &how, NULL, &err), QN_TIMEOUT);
    assert_non_null(strstr(error_text(&err), "1 sessions are still there"));
    assert_true(residency_look(r).is_evicting);
    assert_int_equal(fire(r, RESIDENCY_BEGIN), QN_BUSY);
    assert_int_equal(fire(r, RESIDENCY_END), QN_OK);
    assert_int_equal(fire(r, RESIDENCY_BEGIN), QN_BUSY);
    assert_int_equal(residency_evict(r, &alpha, &how, NULL, NULL), QN_OK);
    assert_false(residency_look(r).is_evicting);
    residency_destroy(r);
}

static void end_session(void *ctx) {
    assert_int_equal(residency_end(ctx, NULL), QN_OK);
}

static void an_eviction_may_ask_sessions_to_end(void **state) {
    (void)state;
    heard h;
    residency *r = make(&h);
    const residency_eviction how = {.cancel = end_session, .ctx = r};
    bring(r, A);
    assert_int_equal(fire(r, RESIDENCY_BEGIN), QN_OK);
    assert_int_equal(residency_evict(r, &alpha, &how, NULL, NULL), QN_OK);
    assert_int_equal(residency_look(r).state, D);
    residency_destroy(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_that_of_the_specification),
        cmocka_unit_test(each_event_in_each_state_goes_where_the_table_says_or_changes_nothing),
        cmocka_unit_test(nothing_is_allowed_while_it_scrubs),
        cmocka_unit_test(listeners_hear_each_change_with_time_and_bytes),
        cmocka_unit_test(a_failure_keeps_its_words_until_reset),
        cmocka_unit_test(another_model_is_refused_unless_it_replaces),
        cmocka_unit_test(a_model_in_use_is_not_replaced),
        cmocka_unit_test(identity_is_the_file_and_its_digest_and_never_a_name),
        cmocka_unit_test(an_eviction_that_waits_in_vain_stays_pending),
        cmocka_unit_test(an_eviction_may_ask_sessions_to_end),
    };
    return cmocka_run_group_tests(tests, be_quiet, NULL);
}
