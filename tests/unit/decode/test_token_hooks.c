/* test_token_hooks.c — what a constraint, a judge and a watch can do to a generation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "decode/generate.h"
#include "scripted.h"

#define CONTEXT 32u

static int open_scripted(void **state) {
    return scripted_open(state, CONTEXT, 8);
}

typedef struct heard {
    char text[256];
    size_t n_bytes;
} heard;

static bool hear(void *ctx, const generate_event *event) {
    heard *h = ctx;
    memcpy(h->text + h->n_bytes, event->text, event->text_bytes);
    h->n_bytes += event->text_bytes;
    return true;
}

static generate_result run(scripted *f, sampler_options sampling, token_hooks hooks, heard *h, qn_status expected) {
    sampler chooser;
    generate_result result;
    error_context err = {0};
    const uint32_t prompt[3] = {TINY_BYTE_0 + 'a', TINY_BYTE_0 + 'b', TINY_BYTE_0 + 'c'};
    generate_options options = {.max_tokens = 20, .n_stops = 1, .stops = {TINY_EOS}, .hooks = hooks, .on_token = hear, .ctx = h};
    assert_int_equal(sampler_create(&sampling, TINY_VOCABULARY, TINY_VOCABULARY, &chooser, NULL), QN_OK);
    assert_int_equal(generate_run(f->s, &chooser, prompt, 3, &options, &result, &err), expected);
    sampler_destroy(&chooser);
    return result;
}

/* A constraint: only the bytes of `word`, one after another; EOS where `may_end`. */
typedef struct only_word {
    const char *word;
    size_t at;
    bool is_complete_at_end, may_end, refuses;
} only_word;

static qn_status mask_word(void *ctx, float *logits, uint32_t n_tokens, uint32_t *out_n_left, error_context *err) {
    const only_word *w = ctx;
    (void)err;
    *out_n_left = 0;
    for (uint32_t id = 0; id < n_tokens; id++) {
        const bool is_next = w->word[w->at] != '\0' && id == (uint32_t)TINY_BYTE_0 + (uint8_t)w->word[w->at];
        if (is_next || (w->may_end && w->word[w->at] == '\0' && id == TINY_EOS)) {
            ++*out_n_left;
        } else {
            logits[id] = -INFINITY;
        }
    }
    return QN_OK;
}

static qn_status accept_word(void *ctx, uint32_t id, bool *out_is_complete, error_context *err) {
    only_word *w = ctx;
    if (w->refuses) {
        return FAIL(err, QN_CORRUPT, "token %u does not belong here", id);
    }
    w->at++;
    *out_is_complete = w->is_complete_at_end && w->word[w->at] == '\0';
    return QN_OK;
}

static token_constraint constrain(only_word *w) {
    return (token_constraint){.ctx = w, .mask = mask_word, .accept = accept_word};
}

static void a_constraint_leaves_only_what_it_allows_and_says_when_it_is_complete(void **state) {
    heard h = {0};
    only_word word = {.word = "tide", .is_complete_at_end = true};
    const token_constraint constraint = constrain(&word);
    scripted_say(*state, 2, "something else", TOKEN_NONE);
    const generate_result r = run(*state, sampler_defaults(), (token_hooks){.constraint = &constraint}, &h, QN_OK);
    assert_string_equal(h.text, "tide");
    assert_int_equal(r.reason, STOP_COMPLETE);
    assert_int_equal(r.n_generated, 4);
}

static void a_constraint_that_leaves_a_stop_token_may_end_there(void **state) {
    heard h = {0};
    only_word word = {.word = "tide", .may_end = true};
    const token_constraint constraint = constrain(&word);
    const generate_result r = run(*state, sampler_defaults(), (token_hooks){.constraint = &constraint}, &h, QN_OK);
    assert_string_equal(h.text, "tide");
    assert_int_equal(r.reason, STOP_TOKEN);
}

static void a_constraint_that_leaves_nothing_is_a_dead_end_and_no_broken_model(void **state) {
    heard h = {0};
    only_word word = {.word = "ti"};
    const token_constraint constraint = constrain(&word);
    const generate_result r = run(*state, sampler_defaults(), (token_hooks){.constraint = &constraint}, &h, QN_OK);
    assert_string_equal(h.text, "ti");
    assert_int_equal(r.reason, STOP_DEAD_END);
}

static void a_constraint_s_error_ends_the_generation(void **state) {
    heard h = {0};
    only_word word = {.word = "tide", .refuses = true};
    const token_constraint constraint = constrain(&word);
    run(*state, sampler_defaults(), (token_hooks){.constraint = &constraint}, &h, QN_CORRUPT);
    assert_int_equal(h.n_bytes, 0);
}

/* A judge that refuses some tokens and writes down what it was asked. */
typedef struct strict_judge {
    uint32_t refused[16];
    uint32_t n_refused, n_asked, last_attempt, greatest_attempt;
    judge_verdict verdict;
    bool saw_masked; /* a logit that the model did not make */
} strict_judge;

static judge_verdict judge(void *ctx, const judge_question *q) {
    strict_judge *j = ctx;
    j->n_asked++;
    j->last_attempt = q->attempt;
    j->greatest_attempt = q->attempt > j->greatest_attempt ? q->attempt : j->greatest_attempt;
    for (uint32_t i = 0; i < q->n_tokens; i++) {
        j->saw_masked = j->saw_masked || !isfinite(q->logits[i]);
    }
    for (uint32_t i = 0; i < j->n_refused; i++) {
        if (j->refused[i] == q->token) {
            return j->verdict;
        }
    }
    return JUDGE_ALLOW;
}

static void a_refused_token_gives_way_to_the_next_best(void **state) {
    heard h = {0};
    strict_judge j = {.refused = {TINY_BYTE_0 + 'b', 0, 1}, .n_refused = 3, .verdict = JUDGE_RESAMPLE};
    const token_judge asked = {.ctx = &j, .judge = judge};
    scripted_say(*state, 2, "abc", TINY_EOS);
    const generate_result r = run(*state, sampler_defaults(), (token_hooks){.judge = &asked}, &h, QN_OK);
    /* At "b" all others are equal: 0 and 1 are refused, then comes 2, which is EOS. */
    assert_string_equal(h.text, "a");
    assert_int_equal(r.reason, STOP_TOKEN);
    assert_int_equal(r.n_resampled, 3);
    assert_int_equal(j.last_attempt, 3);
    assert_false(j.saw_masked);
}

static void after_eight_refusals_the_generation_ends(void **state) {
    heard h = {0};
    strict_judge j = {.refused = {0, 1, 2, 3, 4, 5, 6, 7, TINY_BYTE_0 + 'b'}, .n_refused = 9, .verdict = JUDGE_RESAMPLE};
    const token_judge asked = {.ctx = &j, .judge = judge};
    scripted_say(*state, 2, "abc", TINY_EOS);
    const generate_result r = run(*state, sampler_defaults(), (token_hooks){.judge = &asked}, &h, QN_OK);
    assert_int_equal(r.reason, STOP_JUDGED);
    assert_string_equal(h.text, "a");
    assert_int_equal(r.n_resampled, TOKEN_MAX_RESAMPLES);
    assert_int_equal(j.greatest_attempt, TOKEN_MAX_RESAMPLES);
}

static void an_abort_ends_it_before_the_token_is_taken(void **state) {
    heard h = {0};
    strict_judge j = {.refused = {TINY_BYTE_0 + 'c'}, .n_refused = 1, .verdict = JUDGE_ABORT};
    const token_judge asked = {.ctx = &j, .judge = judge};
    scripted_say(*state, 2, "abc", TINY_EOS);
    const generate_result r = run(*state, sampler_defaults(), (token_hooks){.judge = &asked}, &h, QN_OK);
    assert_int_equal(r.reason, STOP_JUDGED);
    assert_string_equal(h.text, "ab");
}

static void resampling_with_a_seed_repeats(void **state) {
    heard first = {0}, second = {0};
    sampler_options warm = sampler_defaults();
    warm.temperature = 1.0f;
    warm.seed = 7;
    strict_judge j = {.n_refused = 12, .verdict = JUDGE_RESAMPLE};
    for (uint32_t i = 0; i < 12; i++) {
        j.refused[i] = TINY_BYTE_0 + 'a' + i;
    }
    const token_judge asked = {.ctx = &j, .judge = judge};
    scripted *f = *state;
    run(f, warm, (token_hooks){.judge = &asked}, &first, QN_OK);
    session_truncate(f->s, 0);
    run(f, warm, (token_hooks){.judge = &asked}, &second, QN_OK);
    assert_int_equal(first.n_bytes, second.n_bytes);
    assert_memory_equal(first.text, second.text, first.n_bytes);
}

static void judge_and_constraint_agree_on_what_is_left(void **state) {
    heard h = {0};
    only_word word = {.word = "tide", .is_complete_at_end = true};
    const token_constraint constraint = constrain(&word);
    strict_judge j = {.refused = {TINY_BYTE_0 + 'd'}, .n_refused = 1, .verdict = JUDGE_RESAMPLE};
    const token_judge asked = {.ctx = &j, .judge = judge};
    const generate_result r = run(*state, sampler_defaults(), (token_hooks){.constraint = &constraint, .judge = &asked}, &h, QN_OK);
    assert_string_equal(h.text, "ti");
    assert_int_equal(r.reason, STOP_JUDGED); /* "d" was the only one: nothing is left to draw */
}

static bool go_on_until(void *ctx, uint32_t step) {
    uint32_t *end = ctx;
    return step < *end;
}

static void a_watch_is_asked_at_its_distance_and_ends_it(void **state) {
    heard h = {0};
    uint32_t end = 6;
    const token_watch watch = {.ctx = &end, .every = 3, .go_on = go_on_until};
    scripted_say(*state, 2, "abcdefghijkl", TINY_EOS);
    const generate_result r = run(*state, sampler_defaults(), (token_hooks){.watch = &watch}, &h, QN_OK);
    assert_int_equal(r.reason, STOP_WATCH);
    assert_string_equal(h.text, "abcdef");
}

static void every_reason_has_a_name_of_its_own(void **state) {
    (void)state;
    for (stop_reason a = 0; a <= STOP_WATCH; a++) {
        for (stop_reason b = 0; b < a; b++) {
            assert_string_not_equal(stop_reason_name(a), stop_reason_name(b));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define WITH_SESSION(name) cmocka_unit_test_setup_teardown(name, open_scripted, scripted_close)
        WITH_SESSION(a_constraint_leaves_only_what_it_allows_and_says_when_it_is_complete),
        WITH_SESSION(a_constraint_that_leaves_a_stop_token_may_end_there),
        WITH_SESSION(a_constraint_that_leaves_nothing_is_a_dead_end_and_no_broken_model),
        WITH_SESSION(a_constraint_s_error_ends_the_generation),
        WITH_SESSION(a_refused_token_gives_way_to_the_next_best),
        WITH_SESSION(after_eight_refusals_the_generation_ends),
        WITH_SESSION(an_abort_ends_it_before_the_token_is_taken),
        WITH_SESSION(resampling_with_a_seed_repeats),
        WITH_SESSION(judge_and_constraint_agree_on_what_is_left),
        WITH_SESSION(a_watch_is_asked_at_its_distance_and_ends_it),
        cmocka_unit_test(every_reason_has_a_name_of_its_own),
#undef WITH_SESSION
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
