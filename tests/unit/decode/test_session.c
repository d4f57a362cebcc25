/* test_session.c — what a session is worth after each kind of failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "decode/session.h"
#include "scripted.h"

#define CONTEXT 16u
#define CHUNK 4u

static int open_scripted(void **state) {
    return scripted_open(state, CONTEXT, CHUNK);
}

static const uint32_t ids[CONTEXT] = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

static void a_long_prompt_is_read_in_chunks_and_leaves_the_last_logits(void **state) {
    scripted *f = *state;
    f->script[9] = 77;
    assert_int_equal(session_append(f->s, ids, 10, NULL), QN_OK);
    assert_int_equal(f->n_steps, 3);
    assert_int_equal(session_length(f->s), 10);
    assert_int_equal(f->s->n_logits, 1);
    assert_true(f->s->logits[77] == 1.0f);
    assert_int_equal(f->s->history[9], 14);
}

static void rows_of_logits_come_oldest_first(void **state) {
    scripted *f = *state;
    f->script[2] = 70;
    f->script[3] = 71;
    assert_int_equal(session_append_rows(f->s, ids, 4, 2, NULL), QN_OK);
    assert_true(f->s->logits[70] == 1.0f);
    assert_true(f->s->logits[TINY_VOCABULARY + 71] == 1.0f);
}

static void rows_beyond_the_plan_are_refused_and_change_nothing(void **state) {
    scripted *f = *state;
    assert_int_equal(session_append_rows(f->s, ids, 4, 3, NULL), QN_BAD_ARG);
    assert_int_equal(session_append_rows(f->s, ids, CHUNK + 1, 1, NULL), QN_BAD_ARG);
    assert_int_equal(session_append_rows(f->s, ids, 1, 2, NULL), QN_BAD_ARG);
    assert_int_equal(f->n_steps, 0);
    assert_int_equal(session_append(f->s, ids, 1, NULL), QN_OK);
}

static void overflow_is_refused_with_the_numbers_and_the_session_goes_on(void **state) {
    scripted *f = *state;
    error_context err = {0};
    assert_int_equal(session_append(f->s, ids, 10, NULL), QN_OK);
    assert_int_equal(session_append(f->s, ids, 7, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), "7 tokens do not fit: 10 of 16"));
    assert_int_equal(session_append(f->s, ids, 6, NULL), QN_OK);
}

static void an_id_outside_the_vocabulary_is_refused_before_anything_runs(void **state) {
    scripted *f = *state;
    error_context err = {0};
    const uint32_t wrong[] = {5, TINY_VOCABULARY};
    assert_int_equal(session_append(f->s, wrong, 2, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "token id 259 at index 1"));
    assert_int_equal(f->n_steps, 0);
    assert_int_equal(session_length(f->s), 0);
}

static void a_cancelled_step_keeps_the_chunks_before_it_and_the_session_goes_on(void **state) {
    scripted *f = *state;
    f->cancel_at_step = 2;
    assert_int_equal(session_append(f->s, ids, 10, NULL), QN_CANCELLED);
    assert_int_equal(session_length(f->s), CHUNK);
    assert_int_equal(f->s->n_logits, 0);
    f->services.cancel = 0;
    assert_int_equal(session_append(f->s, ids + CHUNK, 6, NULL), QN_OK);
    assert_int_equal(session_length(f->s), 10);
}

static void a_timeout_leaves_the_session_usable(void **state) {
    scripted *f = *state;
    f->fail_at_step = 1;
    f->fail_with = QN_TIMEOUT;
    assert_int_equal(session_append(f->s, ids, 1, NULL), QN_TIMEOUT);
    assert_int_equal(session_append(f->s, ids, 1, NULL), QN_OK);
}

static void any_other_failed_step_fails_the_session_for_good(void **state) {
    scripted *f = *state;
    error_context err = {0};
    f->fail_at_step = 2;
    f->fail_with = QN_DEVICE_LOST;
    assert_int_equal(session_append(f->s, ids, 1, NULL), QN_OK);
    assert_int_equal(session_append(f->s, ids, 1, &err), QN_DEVICE_LOST);
    assert_non_null(strstr(error_text(&err), "backend reference failed at step"));
    assert_non_null(strstr(error_text(&err), "the script says so"));
    assert_int_equal(session_append(f->s, ids, 1, &err), QN_DEVICE_LOST);
    assert_int_equal(session_append_rows(f->s, ids, 1, 1, NULL), QN_DEVICE_LOST);
    assert_int_equal(f->n_steps, 2); /* the plugin was not asked again */
}

static void truncation_forgets_logits_and_positions(void **state) {
    scripted *f = *state;
    assert_int_equal(session_append(f->s, ids, 8, NULL), QN_OK);
    assert_int_equal(session_truncate(f->s, 3), 3);
    assert_int_equal(f->s->n_logits, 0);
    assert_int_equal(session_append(f->s, ids, 13, NULL), QN_OK);
    assert_int_equal(session_length(f->s), CONTEXT);
}

static void a_model_file_that_is_cut_fails_the_session(void **state) {
    scripted *f = *state;
    error_context err = {0};
    assert_int_equal(session_append(f->s, ids, 1, NULL), QN_OK);
    assert_int_equal(truncate(f->m->file.path, 4096), 0);
    assert_int_equal(session_append(f->s, ids, 1, &err), QN_IO);
    assert_non_null(strstr(error_text(&err), "was cut"));
    assert_int_equal(session_append(f->s, ids, 1, NULL), QN_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define WITH_SESSION(name) cmocka_unit_test_setup_teardown(name, open_scripted, scripted_close)
        WITH_SESSION(a_long_prompt_is_read_in_chunks_and_leaves_the_last_logits),
        WITH_SESSION(rows_of_logits_come_oldest_first),
        WITH_SESSION(rows_beyond_the_plan_are_refused_and_change_nothing),
        WITH_SESSION(overflow_is_refused_with_the_numbers_and_the_session_goes_on),
        WITH_SESSION(an_id_outside_the_vocabulary_is_refused_before_anything_runs),
        WITH_SESSION(a_cancelled_step_keeps_the_chunks_before_it_and_the_session_goes_on),
        WITH_SESSION(a_timeout_leaves_the_session_usable),
        WITH_SESSION(any_other_failed_step_fails_the_session_for_good),
        WITH_SESSION(truncation_forgets_logits_and_positions),
        WITH_SESSION(a_model_file_that_is_cut_fails_the_session),
#undef WITH_SESSION
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
