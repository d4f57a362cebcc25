/* test_drafts.c — guesses make an answer faster and never another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "decode/generate.h"
#include "decode/prompt_lookup.h"
#include "scripted.h"

#define CONTEXT 48u
#define ROWS 5u

static int open_scripted(void **state) {
    return scripted_open_rows(state, CONTEXT, 8, ROWS);
}

typedef struct heard {
    char text[256];
    size_t n_bytes;
    uint32_t stop_after;
} heard;

static bool hear(void *ctx, const generate_event *event) {
    heard *h = ctx;
    memcpy(h->text + h->n_bytes, event->text, event->text_bytes);
    h->n_bytes += event->text_bytes;
    return h->stop_after == 0 || h->n_bytes < h->stop_after;
}

static const uint32_t prompt[3] = {TINY_BYTE_0 + 'a', TINY_BYTE_0 + 'b', TINY_BYTE_0 + 'c'};

static generate_result run(scripted *f, uint32_t budget, const draft_source *source, heard *h) {
    sampler chooser;
    generate_result result;
    error_context err = {0};
    const sampler_options greedy = sampler_defaults();
    const generate_options options = {.max_tokens = budget, .n_stops = 1, .stops = {TINY_EOS}, .hooks = {.drafts = source},
                                      .on_token = hear, .ctx = h};
    assert_int_equal(sampler_create(&greedy, TINY_VOCABULARY, TINY_VOCABULARY, &chooser, NULL), QN_OK);
    if (generate_run(f->s, &chooser, prompt, 3, &options, &result, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    sampler_destroy(&chooser);
    return result;
}

/* ------------------------------------------------------------------------------------------------ the search */

static void the_longest_suffix_and_its_latest_place_are_taken(void **state) {
    (void)state;
    static const struct {
        const char *title;
        int32_t history[12];
        uint32_t n, room, n_guesses;
        uint32_t guesses[4];
    } cases[] = {
        {"the example of the description", {4, 8, 15, 16, 4, 8}, 6, 3, 3, {15, 16, 4}},
        {"nothing stands twice", {1, 2, 3, 4}, 4, 4, 0, {0}},
        {"three tokens before two", {1, 2, 3, 7, 2, 3, 9, 1, 2, 3}, 10, 1, 1, {7}},
        {"two tokens before one", {5, 3, 8, 2, 3, 9, 6, 2, 3}, 9, 1, 1, {9}},
        {"the latest of equals", {3, 1, 3, 2, 3}, 5, 1, 1, {2}},
        {"a repetition goes on", {6, 6, 6, 6}, 4, 3, 1, {6}},
        {"the room bounds it", {4, 8, 15, 16, 4, 8}, 6, 1, 1, {15}},
        {"one token", {4}, 1, 4, 0, {0}},
        {"none", {0}, 0, 4, 0, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t out[TOKEN_MAX_DRAFT] = {0};
        const uint32_t n = prompt_lookup_propose(NULL, cases[i].history, cases[i].n, out, cases[i].room);
        if (n != cases[i].n_guesses || memcmp(out, cases[i].guesses, n * sizeof *out) != 0) {
            fail_msg("%s: %u guesses, the first %u", cases[i].title, n, out[0]);
        }
    }
}

/* ------------------------------------------------------------------------------------------------ the loop */

/* Guesses the bytes of a text that it believes the answer to be. */
typedef struct believer {
    const char *text; /* the answer from its first token on */
} believer;

static uint32_t propose_text(void *ctx, const int32_t *history, uint32_t n, uint32_t *out_ids, uint32_t room) {
    const believer *b = ctx;
    const size_t at = n - 3, length = strlen(b->text);
    (void)history;
    uint32_t i = 0;
    for (; i < room && at + i < length; i++) {
        out_ids[i] = (uint32_t)TINY_BYTE_0 + (uint8_t)b->text[at + i];
    }
    return i;
}

static void right_guesses_save_steps_and_change_nothing(void **state) {
    scripted *f = *state;
    heard h = {0};
    believer b = {"the tide comes in"};
    const draft_source source = {.ctx = &b, .propose = propose_text};
    scripted_say(f, 2, "the tide comes in", TINY_EOS);
    const generate_result r = run(f, 40, &source, &h);
    assert_string_equal(h.text, "the tide comes in");
    assert_int_equal(r.reason, STOP_TOKEN);
    assert_int_equal(r.n_generated, 17);
    assert_int_equal(f->n_steps, 1 + 4); /* the prompt, then five tokens a step */
    assert_int_equal(r.n_accepted, 17 - 4);
}

static void wrong_guesses_are_taken_back(void **state) {
    scripted *f = *state;
    heard h = {0};
    believer b = {"the tXdX comXs iX"};
    const draft_source source = {.ctx = &b, .propose = propose_text};
    scripted_say(f, 2, "the tide comes in", TINY_EOS);
    const generate_result r = run(f, 40, &source, &h);
    assert_string_equal(h.text, "the tide comes in");
    assert_int_equal(session_length(f->s), 3 + 17);
    assert_true(r.n_accepted < r.n_drafted);
    for (uint32_t i = 0; i < 17; i++) {
        assert_int_equal(f->s->history[3 + i], TINY_BYTE_0 + "the tide comes in"[i]);
    }
}

static void a_stop_inside_guesses_leaves_no_guess_behind(void **state) {
    scripted *f = *state;
    heard h = {0};
    believer b = {"abcdefghijkl"};
    const draft_source source = {.ctx = &b, .propose = propose_text};
    scripted_say(f, 2, "abc", TINY_EOS);
    const generate_result r = run(f, 40, &source, &h);
    assert_string_equal(h.text, "abc");
    assert_int_equal(r.reason, STOP_TOKEN);
    assert_int_equal(session_length(f->s), 6);
}

static void a_listener_that_has_enough_leaves_no_guess_behind(void **state) {
    scripted *f = *state;
    heard h = {.stop_after = 2};
    believer b = {"abcdefghijkl"};
    const draft_source source = {.ctx = &b, .propose = propose_text};
    scripted_say(f, 2, "abcdefghijkl", TINY_EOS);
    run(f, 40, &source, &h);
    assert_int_equal(session_length(f->s), 4); /* as without guesses: the second token was not appended */
}

static void budget_and_context_end_it_as_without_guesses(void **state) {
    scripted *f = *state;
    believer b = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    const draft_source source = {.ctx = &b, .propose = propose_text};
    for (uint32_t budget = 1; budget <= CONTEXT; budget++) {
        uint32_t lengths[2], generated[2];
        stop_reason reasons[2];
        for (uint32_t with = 0; with < 2; with++) {
            heard h = {0};
            session_truncate(f->s, 0);
            scripted_say(f, 2, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", TOKEN_NONE);
            const generate_result r = run(f, budget, with ? &source : NULL, &h);
            lengths[with] = session_length(f->s);
            generated[with] = r.n_generated;
            reasons[with] = r.reason;
        }
        assert_int_equal(lengths[0], lengths[1]);
        assert_int_equal(generated[0], generated[1]);
        assert_int_equal(reasons[0], reasons[1]);
    }
}

static uint32_t propose_nonsense(void *ctx, const int32_t *history, uint32_t n, uint32_t *out_ids, uint32_t room) {
    (void)ctx;
    (void)history;
    (void)n;
    for (uint32_t i = 0; i < room; i++) {
        out_ids[i] = TINY_VOCABULARY + 5;
    }
    return room + 1; /* more than there is room for, too */
}

static void a_source_that_guesses_nonsense_harms_nobody(void **state) {
    scripted *f = *state;
    heard h = {0};
    const draft_source source = {.propose = propose_nonsense};
    scripted_say(f, 2, "abcdef", TINY_EOS);
    const generate_result r = run(f, 40, &source, &h);
    assert_string_equal(h.text, "abcdef");
    assert_int_equal(r.n_drafted, 0);
}

static void a_plan_with_one_row_has_no_room_for_guesses(void **state) {
    scripted *f = *state;
    heard h = {0};
    believer b = {"abcdef"};
    const draft_source source = {.ctx = &b, .propose = propose_text};
    f->p->limits.max_outputs = 1;
    scripted_say(f, 2, "abcdef", TINY_EOS);
    const generate_result r = run(f, 40, &source, &h);
    assert_string_equal(h.text, "abcdef");
    assert_int_equal(r.n_drafted, 0);
    f->p->limits.max_outputs = ROWS;
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define WITH_SESSION(name) cmocka_unit_test_setup_teardown(name, open_scripted, scripted_close)
        cmocka_unit_test(the_longest_suffix_and_its_latest_place_are_taken),
        WITH_SESSION(right_guesses_save_steps_and_change_nothing),
        WITH_SESSION(wrong_guesses_are_taken_back),
        WITH_SESSION(a_stop_inside_guesses_leaves_no_guess_behind),
        WITH_SESSION(a_listener_that_has_enough_leaves_no_guess_behind),
        WITH_SESSION(budget_and_context_end_it_as_without_guesses),
        WITH_SESSION(a_source_that_guesses_nonsense_harms_nobody),
        WITH_SESSION(a_plan_with_one_row_has_no_room_for_guesses),
#undef WITH_SESSION
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
