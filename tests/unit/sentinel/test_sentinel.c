/* test_sentinel.c — rules in the loop: what is taken instead, what ends a run, what is told, and an observer. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scripted.h"
#include "sentinel/sentinel.h"

#define CONTEXT 16u
#define BYTE(c) (TINY_BYTE_0 + (unsigned char)(c))

static int open_scripted(void **state) {
    return scripted_open(state, CONTEXT, 4);
}

typedef struct heard {
    char text[64];
    size_t n;
} heard;

static bool hear(void *ctx, const generate_event *event) {
    heard *h = ctx;
    memcpy(h->text + h->n, event->text, event->text_bytes);
    h->n += event->text_bytes;
    return true;
}

/* "ab" is the prompt; the script says what follows. */
static generate_result run(scripted *f, sentinel *s, heard *h) {
    const uint32_t prompt[2] = {BYTE('a'), BYTE('b')};
    const sampler_options greedy = sampler_defaults();
    generate_options options = {.max_tokens = 8, .on_token = hear, .ctx = h, .cancel = &f->services.cancel, .n_stops = 1};
    generate_result result;
    sampler chooser;
    error_context err = {0};
    options.stops[0] = TINY_EOS;
    options.hooks.judge = sentinel_judge(s);
    memset(h, 0, sizeof *h);
    session_truncate(f->s, 0);
    sentinel_begin(s);
    assert_int_equal(sampler_create(&greedy, TINY_VOCABULARY, TINY_VOCABULARY, &chooser, NULL), QN_OK);
    if (generate_run(f->s, &chooser, prompt, 2, &options, &result, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    sentinel_end(s, result.n_generated, result.reason);
    sampler_destroy(&chooser);
    return result;
}

static sentinel *make(scripted *f, const sentinel_settings *settings) {
    sentinel *s = NULL;
    error_context err = {0};
    if (sentinel_create(settings, f->m->tok, &s, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    return s;
}

static void a_denied_token_is_replaced_by_the_next_best_and_always_the_same(void **state) {
    scripted *f = *state;
    uint32_t ids[] = {BYTE('x')};
    sentinel_settings settings = {.deny_ids = ids, .n_deny_ids = 1};
    heard first, second;
    settings.is_on[SENTINEL_DENY] = true;
    settings.actions[SENTINEL_DENY] = SENTINEL_RESAMPLE;
    scripted_say(f, 1, "uxv", TINY_EOS);
    sentinel *s = make(f, &settings);
    generate_result result = run(f, s, &first);
    assert_int_equal(result.reason, STOP_TOKEN);
    assert_int_equal(result.n_resampled, 1);
    assert_null(strchr(first.text, 'x'));
    assert_true(first.text[0] == 'u' && strchr(first.text, 'v') != NULL);
    assert_int_equal(sentinel_get_report(s)->n_fired[SENTINEL_DENY], 1);
    assert_false(sentinel_get_report(s)->is_aborted);
    run(f, s, &second);
    assert_memory_equal(&first, &second, sizeof first);
    sentinel_destroy(s);
}

static void a_denied_text_is_every_token_that_is_spelled_so(void **state) {
    scripted *f = *state;
    phrase_text texts[] = {{"x", 1}};
    sentinel_settings settings = {.deny_texts = texts, .n_deny_texts = 1};
    heard h;
    settings.is_on[SENTINEL_DENY] = true;
    settings.actions[SENTINEL_DENY] = SENTINEL_ABORT;
    scripted_say(f, 1, "uxv", TINY_EOS);
    sentinel *s = make(f, &settings);
    assert_int_equal(run(f, s, &h).reason, STOP_JUDGED);
    assert_string_equal(h.text, "u");
    sentinel_destroy(s);
    texts[0] = (phrase_text){"no such token", 13};
    assert_int_equal(sentinel_create(&settings, f->m->tok, &s, NULL), QN_BAD_INPUT);
}

static void an_abort_ends_the_run_and_says_why(void **state) {
    scripted *f = *state;
    uint32_t ids[] = {BYTE('x')};
    sentinel_settings settings = {.deny_ids = ids, .n_deny_ids = 1};
    char text[128];
    heard h;
    settings.is_on[SENTINEL_DENY] = true;
    settings.actions[SENTINEL_DENY] = SENTINEL_ABORT;
    scripted_say(f, 1, "uvx", TINY_EOS);
    sentinel *s = make(f, &settings);
    const generate_result result = run(f, s, &h);
    const sentinel_report *report = sentinel_get_report(s);
    assert_int_equal(result.reason, STOP_JUDGED);
    assert_int_equal(result.n_generated, 2);
    assert_string_equal(h.text, "uv");
    assert_true(report->is_aborted && !report->is_exhausted && !report->is_by_observer);
    assert_int_equal(report->rule, SENTINEL_DENY);
    assert_int_equal(report->step, 2);
    sentinel_describe_abort(report, text, sizeof text);
    assert_string_equal(text, "rule deny at token 2");
    sentinel_destroy(s);
}

/* Every token is denied: nine choices, and then no tenth. */
static void a_rule_that_refuses_everything_ends_the_run(void **state) {
    scripted *f = *state;
    static uint32_t ids[TINY_VOCABULARY];
    sentinel_settings settings = {.deny_ids = ids, .n_deny_ids = TINY_VOCABULARY};
    heard h;
    for (uint32_t i = 0; i < TINY_VOCABULARY; i++) {
        ids[i] = i;
    }
    settings.is_on[SENTINEL_DENY] = true;
    settings.actions[SENTINEL_DENY] = SENTINEL_RESAMPLE;
    sentinel *s = make(f, &settings);
    assert_int_equal(run(f, s, &h).reason, STOP_JUDGED);
    assert_int_equal(sentinel_get_report(s)->n_fired[SENTINEL_DENY], TOKEN_MAX_RESAMPLES + 1);
    assert_true(sentinel_get_report(s)->is_exhausted);
    sentinel_destroy(s);
}

static void a_phrase_across_tokens_is_never_completed(void **state) {
    scripted *f = *state;
    phrase_text phrases[] = {{"fog bank", 8}};
    sentinel_settings settings = {.phrases = phrases, .n_phrases = 1, .folds_case = true};
    heard h;
    settings.is_on[SENTINEL_PHRASE] = true;
    settings.actions[SENTINEL_PHRASE] = SENTINEL_RESAMPLE;
    scripted_say(f, 1, "Fog Bank", TINY_EOS);
    sentinel *s = make(f, &settings);
    const generate_result result = run(f, s, &h);
    assert_memory_equal(h.text, "Fog Ban", 7);
    assert_true(h.n >= 7 && h.text[7] != 'k');
    assert_int_equal(result.n_resampled, 1);
    assert_int_equal(sentinel_get_report(s)->n_fired[SENTINEL_PHRASE], 1);
    sentinel_destroy(s);
}

static void repetition_is_cut_off(void **state) {
    scripted *f = *state;
    sentinel_settings settings = {.n = 2, .times = 2, .window = 8};
    heard h;
    settings.is_on[SENTINEL_REPETITION] = true;
    settings.actions[SENTINEL_REPETITION] = SENTINEL_ABORT;
    scripted_say(f, 1, "uvwuv", TINY_EOS);
    sentinel *s = make(f, &settings);
    assert_int_equal(run(f, s, &h).reason, STOP_JUDGED);
    assert_string_equal(h.text, "uvwu");
    assert_int_equal(sentinel_get_report(s)->rule, SENTINEL_REPETITION);
    sentinel_destroy(s);
}

/* ---------------------------------------------------------------- rules about the row, without a model */

static judge_verdict ask(sentinel *s, const float *row, uint32_t attempt, uint32_t token) {
    const judge_question question = {.attempt = attempt, .token = token, .n_tokens = 4, .logits = row};
    const token_judge *judge = sentinel_judge(s);
    return judge->judge(judge->ctx, &question);
}

static void rules_about_the_row_fire_at_the_first_attempt(void **state) {
    scripted *f = *state;
    static const struct {
        sentinel_rule rule;
        float row[4];
        bool is_fired;
    } cases[] = {{SENTINEL_NON_FINITE, {1, 2, 3, 4}, false},     {SENTINEL_NON_FINITE, {1, NAN, 3, 4}, true},
                 {SENTINEL_NON_FINITE, {1, INFINITY, 3, 4}, true}, {SENTINEL_MARGIN, {1, 2, 3, 3.6f}, false},
                 {SENTINEL_MARGIN, {1, 2, 3, 3.4f}, true},       {SENTINEL_MARGIN, {3, 3, 1, 1}, true},
                 {SENTINEL_ENTROPY, {0, 0, 0, 9}, false},        {SENTINEL_ENTROPY, {1, 1, 1, 1}, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint32_t action = SENTINEL_ALLOW; action <= SENTINEL_ABORT; action++) {
            sentinel_settings settings = {.least_margin = 0.5, .most_entropy = 1.0};
            settings.is_on[cases[i].rule] = true;
            settings.actions[cases[i].rule] = action;
            sentinel *s = make(f, &settings);
            assert_int_equal(ask(s, cases[i].row, 0, 3), cases[i].is_fired ? action : JUDGE_ALLOW);
            assert_int_equal(sentinel_get_report(s)->n_fired[cases[i].rule], cases[i].is_fired);
            assert_int_equal(ask(s, cases[i].row, 1, 2), JUDGE_ALLOW);
            sentinel_destroy(s);
        }
    }
}

static void the_strongest_action_of_several_rules_holds(void **state) {
    scripted *f = *state;
    const float row[4] = {1, 1, 1, 1};
    sentinel_settings settings = {.least_margin = 0.5, .most_entropy = 1.0};
    settings.is_on[SENTINEL_MARGIN] = settings.is_on[SENTINEL_ENTROPY] = true;
    settings.actions[SENTINEL_MARGIN] = SENTINEL_RESAMPLE;
    settings.actions[SENTINEL_ENTROPY] = SENTINEL_ABORT;
    sentinel *s = make(f, &settings);
    assert_int_equal(ask(s, row, 0, 3), JUDGE_ABORT);
    assert_int_equal(sentinel_get_report(s)->rule, SENTINEL_ENTROPY);
    assert_int_equal(sentinel_get_report(s)->n_fired[SENTINEL_MARGIN], 1);
    sentinel_destroy(s);
}

static void the_compatible_rule_fires_at_its_byte_when_it_is_on(void **state) {
    scripted *f = *state;
    const uint32_t bits[4] = {0x3f800099, 0x3f809900, 0x3f800000, 0x3f800098};
    float row[4];
    sentinel_settings settings = {0};
    memcpy(row, bits, sizeof row);
    for (int is_on = 0; is_on < 2; is_on++) {
        settings.is_on[SENTINEL_COMPAT_99] = is_on != 0;
        settings.actions[SENTINEL_COMPAT_99] = SENTINEL_RESAMPLE;
        sentinel *s = make(f, &settings);
        for (uint32_t token = 0; token < 4; token++) {
            assert_int_equal(ask(s, row, 0, token), is_on && token == 0 ? JUDGE_RESAMPLE : JUDGE_ALLOW);
        }
        sentinel_destroy(s);
    }
}

/* ---------------------------------------------------------------- who watches */

typedef struct watching {
    void *block;
    run_streams run;
    observer_streams observer;
} watching;

static void watch(watching *w, sentinel *s) {
    const size_t bytes = streams_size(64, 4);
    w->block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(w->block);
    memset(w->block, 0, bytes);
    run_streams_begin(&w->run, w->block, 64, 4);
    assert_int_equal(observer_streams_attach(&w->observer, w->block, bytes, NULL), QN_OK);
    sentinel_watch(s, &w->run);
}

static void each_choice_is_told_and_then_the_end(void **state) {
    scripted *f = *state;
    uint32_t ids[] = {BYTE('x')};
    sentinel_settings settings = {.deny_ids = ids, .n_deny_ids = 1};
    quoin_logit_record got[8];
    heard h;
    settings.is_on[SENTINEL_DENY] = true;
    settings.actions[SENTINEL_DENY] = SENTINEL_RESAMPLE;
    scripted_say(f, 1, "ux", TINY_EOS);
    sentinel *s = make(f, &settings);
    watching w;
    watch(&w, s);
    run(f, s, &h);
    uint32_t n = 0;
    while (n < 8 && observer_streams_take(&w.observer, &got[n])) {
        n++;
    }
    assert_int_equal(n, 5); /* u, x refused, another, end of text, END */
    assert_int_equal(got[0].token, BYTE('u'));
    assert_true(got[0].logit == 1.0f && got[0].runner_up == -1.0f && got[0].entropy > 0.0f && got[0].flags == 0);
    assert_int_equal(got[1].flags, QUOIN_RECORD_DENY | QUOIN_RECORD_RESAMPLE);
    assert_true(got[2].step == 1 && got[2].logit == -1.0f && got[2].runner_up == 1.0f);
    assert_int_equal(got[3].token, TINY_EOS);
    assert_true(got[4].flags == QUOIN_RECORD_END && got[4].token == STOP_TOKEN && got[4].step == 2);
    sentinel_destroy(s);
    free(w.block);
}

static void an_observer_ends_the_run_at_the_next_token(void **state) {
    scripted *f = *state;
    char text[128];
    heard h;
    sentinel *s = make(f, NULL);
    watching w;
    watch(&w, s);
    assert_true(observer_streams_abort(&w.observer, 0, "it is late"));
    const generate_result result = run(f, s, &h);
    assert_int_equal(result.reason, STOP_JUDGED);
    assert_int_equal(result.n_generated, 0);
    assert_true(sentinel_get_report(s)->is_by_observer);
    sentinel_describe_abort(sentinel_get_report(s), text, sizeof text);
    assert_non_null(strstr(text, "an observer, process "));
    assert_non_null(strstr(text, ": it is late, at token 0"));
    sentinel_destroy(s);
    free(w.block);
}

static void nothing_of_the_text_is_left_after_a_scrub(void **state) {
    scripted *f = *state;
    sentinel_settings settings = {.n = 2, .times = 3, .window = 8};
    heard h;
    settings.is_on[SENTINEL_REPETITION] = true;
    scripted_say(f, 1, "uvuv", TINY_EOS);
    sentinel *s = make(f, &settings);
    run(f, s, &h);
    assert_true(sentinel_scrub(s) >= 8 * sizeof(uint32_t));
    assert_int_equal(ask(s, (const float[4]){1, 2, 3, 4}, 0, 1), JUDGE_ALLOW);
    sentinel_destroy(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_denied_token_is_replaced_by_the_next_best_and_always_the_same, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(a_denied_text_is_every_token_that_is_spelled_so, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(an_abort_ends_the_run_and_says_why, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(a_rule_that_refuses_everything_ends_the_run, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(a_phrase_across_tokens_is_never_completed, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(repetition_is_cut_off, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(rules_about_the_row_fire_at_the_first_attempt, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(the_strongest_action_of_several_rules_holds, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(the_compatible_rule_fires_at_its_byte_when_it_is_on, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(each_choice_is_told_and_then_the_end, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(an_observer_ends_the_run_at_the_next_token, open_scripted, scripted_close),
        cmocka_unit_test_setup_teardown(nothing_of_the_text_is_left_after_a_scrub, open_scripted, scripted_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
