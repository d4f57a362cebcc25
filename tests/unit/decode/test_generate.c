/* test_generate.c — what ends a generation, what is handed out, and what the result says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "decode/generate.h"
#include "scripted.h"

#define CONTEXT 16u
#define CHUNK 4u

static int open_scripted(void **state) {
    return scripted_open(state, CONTEXT, CHUNK);
}

/* What a run handed out. */
typedef struct heard {
    char text[256];
    size_t n_bytes;
    uint32_t ids[CONTEXT * 2];
    uint32_t n_ids, n_events;
    size_t longest; /* bytes of one event */
    uint32_t stop_after; /* events; 0 = never */
} heard;

static bool hear(void *ctx, const generate_event *event) {
    heard *h = ctx;
    memcpy(h->text + h->n_bytes, event->text, event->text_bytes);
    h->n_bytes += event->text_bytes;
    h->longest = event->text_bytes > h->longest ? event->text_bytes : h->longest;
    if (event->id != TOKEN_NONE) {
        h->ids[h->n_ids++] = event->id;
    }
    h->n_events++;
    return h->stop_after == 0 || h->n_events < h->stop_after;
}

static const uint32_t prompt[3] = {TINY_BYTE_0 + 'a', TINY_BYTE_0 + 'b', TINY_BYTE_0 + 'c'};

static generate_result run(scripted *f, uint32_t n_prompt, generate_options options, heard *h) {
    sampler chooser;
    generate_result result;
    error_context err = {0};
    const sampler_options greedy = sampler_defaults();
    uint32_t ids[CONTEXT * 2];
    for (uint32_t i = 0; i < n_prompt; i++) {
        ids[i] = prompt[i % 3];
    }
    memset(h->text, 0, sizeof h->text);
    assert_int_equal(sampler_create(&greedy, TINY_VOCABULARY, TINY_VOCABULARY, &chooser, NULL), QN_OK);
    options.on_token = hear;
    options.ctx = h;
    options.cancel = &f->services.cancel;
    options.stops[options.n_stops++] = TINY_EOS;
    if (generate_run(f->s, &chooser, ids, n_prompt, &options, &result, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    sampler_destroy(&chooser);
    return result;
}

static void a_stop_token_ends_it_and_is_not_printed(void **state) {
    scripted *f = *state;
    heard h = {0};
    scripted_say(f, 2, "hey", TINY_EOS);
    const generate_result r = run(f, 3, (generate_options){.max_tokens = 10}, &h);
    assert_int_equal(r.reason, STOP_TOKEN);
    assert_int_equal(r.stop_token, TINY_EOS);
    assert_int_equal(r.n_generated, 3);
    assert_string_equal(h.text, "hey");
    assert_int_equal(h.n_ids, 3);
}

static void the_budget_ends_it_without_a_step_too_many(void **state) {
    scripted *f = *state;
    heard h = {0};
    scripted_say(f, 2, "abcdef", TOKEN_NONE);
    const generate_result r = run(f, 3, (generate_options){.max_tokens = 4}, &h);
    assert_int_equal(r.reason, STOP_BUDGET);
    assert_int_equal(r.stop_token, TOKEN_NONE);
    assert_string_equal(h.text, "abcd");
    assert_int_equal(f->n_steps, 1 + 3); /* the prompt, and the successors of three tokens */
    assert_int_equal(session_length(f->s), 6);
}

static void no_budget_reads_the_prompt_and_says_nothing(void **state) {
    scripted *f = *state;
    heard h = {0};
    const generate_result r = run(f, 3, (generate_options){.max_tokens = 0}, &h);
    assert_int_equal(r.reason, STOP_BUDGET);
    assert_int_equal(r.n_prompt, 3);
    assert_int_equal(h.n_events, 0);
    assert_int_equal(f->s->n_logits, 1);
}

static void the_context_s_end_is_a_reason_of_its_own(void **state) {
    scripted *f = *state;
    heard h = {0};
    const generate_result r = run(f, 3, (generate_options){.max_tokens = 100}, &h);
    assert_int_equal(r.reason, STOP_CONTEXT);
    assert_int_equal(r.n_generated, CONTEXT - 3 + 1); /* the last one needs no position */
    assert_int_equal(session_length(f->s), CONTEXT);
}

static void a_budget_that_ends_with_the_context_is_the_budget(void **state) {
    heard h = {0};
    const generate_result r = run(*state, 3, (generate_options){.max_tokens = CONTEXT - 3 + 1}, &h);
    assert_int_equal(r.reason, STOP_BUDGET);
}

static void a_prompt_that_fills_the_context_gets_one_token(void **state) {
    heard h = {0};
    const generate_result r = run(*state, CONTEXT, (generate_options){.max_tokens = 5}, &h);
    assert_int_equal(r.reason, STOP_CONTEXT);
    assert_int_equal(r.n_generated, 1);
}

static void a_deadline_is_seen_between_tokens(void **state) {
    scripted *f = *state;
    heard h = {0};
    f->milliseconds = 60;
    const generate_result r = run(f, 3, (generate_options){.max_tokens = 100, .deadline_ms = 400}, &h);
    assert_int_equal(r.reason, STOP_DEADLINE);
    assert_true(r.n_generated >= 1 && r.n_generated < CONTEXT - 3);
}

static void a_deadline_is_seen_between_chunks_of_the_prompt(void **state) {
    scripted *f = *state;
    heard h = {0};
    f->milliseconds = 30;
    const generate_result r = run(f, 12, (generate_options){.max_tokens = 5, .deadline_ms = 20}, &h);
    assert_int_equal(r.reason, STOP_DEADLINE);
    assert_int_equal(r.n_prompt, CHUNK);
    assert_int_equal(r.n_generated, 0);
}

static void a_cancelled_step_is_a_reason_and_keeps_the_text(void **state) {
    scripted *f = *state;
    heard h = {0};
    scripted_say(f, 2, "abcdef", TOKEN_NONE);
    f->cancel_at_step = 4;
    const generate_result r = run(f, 3, (generate_options){.max_tokens = 10}, &h);
    assert_int_equal(r.reason, STOP_CANCELLED);
    assert_string_equal(h.text, "abc");
    assert_int_equal(f->s->failure, QN_OK);
}

static void a_cancel_before_the_first_step_runs_none(void **state) {
    scripted *f = *state;
    heard h = {0};
    f->services.cancel = 1;
    const generate_result r = run(f, 3, (generate_options){.max_tokens = 10}, &h);
    assert_int_equal(r.reason, STOP_CANCELLED);
    assert_int_equal(f->n_steps, 0);
}

static void a_listener_that_has_enough_ends_it(void **state) {
    heard h = {.stop_after = 2};
    const generate_result r = run(*state, 3, (generate_options){.max_tokens = 10}, &h);
    assert_int_equal(r.reason, STOP_CANCELLED);
    assert_int_equal(r.n_generated, 2);
}

static void a_character_of_several_tokens_comes_in_one_piece(void **state) {
    scripted *f = *state;
    heard h = {0};
    scripted_say(f, 2, "x\xE2\x82\xACy", TINY_EOS); /* the euro sign is three bytes and three tokens */
    const generate_result r = run(f, 3, (generate_options){.max_tokens = 10}, &h);
    assert_int_equal(r.n_generated, 5);
    assert_string_equal(h.text, "x\xE2\x82\xACy");
    assert_int_equal(h.longest, 3);
}

static void what_is_held_back_at_the_end_is_still_handed_out(void **state) {
    scripted *f = *state;
    heard h = {0};
    scripted_say(f, 2, "x\xE2\x82", TINY_EOS);
    const generate_result r = run(f, 3, (generate_options){.max_tokens = 10}, &h);
    assert_int_equal(r.n_generated, 3);
    assert_int_equal(h.n_events, 4); /* three tokens, and the rest */
    assert_true(h.n_bytes > 1);
}

static void log_probabilities_come_best_first(void **state) {
    scripted *f = *state;
    sampler chooser;
    const sampler_options greedy = sampler_defaults();
    sampler_candidate top[4];
    assert_int_equal(session_append(f->s, prompt, 3, NULL), QN_OK);
    assert_int_equal(sampler_create(&greedy, TINY_VOCABULARY, TINY_VOCABULARY, &chooser, NULL), QN_OK);
    assert_int_equal(sampler_top(&chooser, f->s->logits, 4, top), 4);
    assert_int_equal(top[0].id, f->script[2]);
    assert_true(top[0].value > top[1].value);
    assert_int_equal(top[1].id, 0); /* equal ones by id */
    sampler_destroy(&chooser);
}

static void an_empty_prompt_is_refused(void **state) {
    scripted *f = *state;
    sampler chooser;
    generate_result result;
    error_context err = {0};
    const sampler_options greedy = sampler_defaults();
    const generate_options options = {.max_tokens = 1};
    assert_int_equal(sampler_create(&greedy, TINY_VOCABULARY, TINY_VOCABULARY, &chooser, NULL), QN_OK);
    assert_int_equal(generate_run(f->s, &chooser, prompt, 0, &options, &result, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "the prompt is empty"));
    sampler_destroy(&chooser);
}

static void a_prompt_that_does_not_fit_is_refused_with_the_numbers(void **state) {
    scripted *f = *state;
    sampler chooser;
    generate_result result;
    error_context err = {0};
    const sampler_options greedy = sampler_defaults();
    const generate_options options = {.max_tokens = 1};
    const uint32_t ids[CONTEXT + 1] = {0};
    assert_int_equal(sampler_create(&greedy, TINY_VOCABULARY, TINY_VOCABULARY, &chooser, NULL), QN_OK);
    assert_int_equal(generate_run(f->s, &chooser, ids, CONTEXT + 1, &options, &result, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), "17 tokens do not fit: 0 of 16"));
    assert_int_equal(f->n_steps, 0);
    sampler_destroy(&chooser);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define WITH_SESSION(name) cmocka_unit_test_setup_teardown(name, open_scripted, scripted_close)
        WITH_SESSION(a_stop_token_ends_it_and_is_not_printed),
        WITH_SESSION(the_budget_ends_it_without_a_step_too_many),
        WITH_SESSION(no_budget_reads_the_prompt_and_says_nothing),
        WITH_SESSION(the_context_s_end_is_a_reason_of_its_own),
        WITH_SESSION(a_budget_that_ends_with_the_context_is_the_budget),
        WITH_SESSION(a_prompt_that_fills_the_context_gets_one_token),
        WITH_SESSION(a_deadline_is_seen_between_tokens),
        WITH_SESSION(a_deadline_is_seen_between_chunks_of_the_prompt),
        WITH_SESSION(a_cancelled_step_is_a_reason_and_keeps_the_text),
        WITH_SESSION(a_cancel_before_the_first_step_runs_none),
        WITH_SESSION(a_listener_that_has_enough_ends_it),
        WITH_SESSION(a_character_of_several_tokens_comes_in_one_piece),
        WITH_SESSION(what_is_held_back_at_the_end_is_still_handed_out),
        WITH_SESSION(log_probabilities_come_best_first),
        WITH_SESSION(an_empty_prompt_is_refused),
        WITH_SESSION(a_prompt_that_does_not_fit_is_refused_with_the_numbers),
#undef WITH_SESSION
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
