/* test_bench_numbers.c — what `quoin bench` counts and compares, without looking at a clock. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/choice_speed.h"
#include "bench/comparison.h"
#include "bench/spread.h"
#include "bench/step_speed.h"
#include "bench/text_speed.h"
#include "bench/token_work.h"
#include "corpus.h"
#include "scripted.h"

static void a_median_is_the_middle_and_the_ends_are_sorted(void **state) {
    spread s = {.n = 0};
    (void)state;
    assert_true(spread_median(&s) == 0.0);
    for (int i = 0; i < 3; i++) {
        spread_add(&s, (double)((i + 1) * 7 % 5)); /* 2 4 1 */
    }
    assert_true(spread_median(&s) == 2.0 && s.values[0] == 1.0 && s.values[2] == 4.0);
    spread_add(&s, 3.0);
    assert_true(spread_median(&s) == 2.5);
}

static void a_full_spread_takes_no_more(void **state) {
    static spread s;
    (void)state;
    for (uint32_t i = 0; i < SPREAD_MOST + 5; i++) {
        spread_add(&s, 1.0);
    }
    assert_int_equal(s.n, SPREAD_MOST);
}

static void the_context_holds_the_longest_of_what_is_measured(void **state) {
    (void)state;
    step_speed_options o = {.n_prompt = 64, .n_decode = 10, .repeats = 1, .depths = {0, 20}, .n_depths = 2};
    assert_int_equal(step_speed_context(&o), 64);
    o.depths[1] = 60;
    assert_int_equal(step_speed_context(&o), 70);
}

static void a_share_needs_the_peaks_of_what_is_used_and_no_others(void **state) {
    (void)state;
    const products bytes = {.int8 = 50}, both = {.int8 = 50, .f32 = 25};
    assert_true(fabs(products_share(&bytes, 2.0, 400.0, 0.0) - 0.5) < 1e-12);
    assert_true(fabs(products_share(&both, 2.0, 400.0, 200.0) - 1.0) < 1e-12);
    assert_true(products_share(&both, 2.0, 400.0, 0.0) == 0.0);
    assert_true(products_operations(&both) == 150.0);
}

static int open_tiny(void **state) {
    return scripted_open(state, 32, 8);
}

/* Two layers of q, k, v, output and three of the feed-forward network; logits only once a prompt. */
static void products_are_those_of_the_matrices_and_logits_are_not_in_a_prompt(void **state) {
    scripted *f = *state;
    const uint64_t head = TINY_WIDTH / TINY_HEADS, kv = head * TINY_KV_HEADS;
    const uint64_t layer = 2 * TINY_WIDTH * TINY_WIDTH + 2 * TINY_WIDTH * kv + 3 * TINY_WIDTH * TINY_FF;
    const token_work work = token_work_count(f->p, 1000);
    const token_work bare = token_work_count(f->p, 0);
    assert_int_equal(work.prompt.f32, TINY_LAYERS * layer);
    assert_int_equal(work.decode.f32, TINY_LAYERS * layer + TINY_WIDTH * TINY_VOCABULARY);
    assert_int_equal(work.decode.int8 + work.prompt.int8, 0);
    assert_int_equal(work.bytes, bare.bytes + 1000);
    assert_true(bare.bytes >= 4 * work.decode.f32);
}

static void steps_are_counted_at_each_depth_and_end_inside_the_context(void **state) {
    scripted *f = *state;
    const step_speed_options o = {.n_prompt = 16, .n_decode = 3, .repeats = 2, .depths = {0, 20}, .n_depths = 2};
    static step_speed speed;
    assert_int_equal(step_speed_measure(f->s, &o, &speed, NULL), QN_OK);
    assert_int_equal(speed.prompt.n, 2);
    assert_int_equal(speed.decode[0].n, 2);
    assert_int_equal(speed.decode[1].n, 2);
    assert_true(speed.first_token_seconds > 0.0 && speed.prompt.values[0] > 0.0 && speed.decode[1].values[1] > 0.0);
    assert_int_equal(session_length(f->s), 23);
    assert_int_equal(f->s->n_logits, 1);
}

static void a_context_that_is_too_short_is_told_and_not_overrun(void **state) {
    scripted *f = *state;
    const step_speed_options o = {.n_prompt = 8, .n_decode = 8, .repeats = 1, .depths = {30}, .n_depths = 1};
    static step_speed speed;
    error_context err = {0};
    assert_int_equal(step_speed_measure(f->s, &o, &speed, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), "--ctx"));
}

static void text_is_encoded_as_a_whole(void **state) {
    scripted *f = *state;
    text_speed speed;
    assert_int_equal(text_speed_measure(f->m->tok, "abc", 3, &speed, NULL), QN_OK);
    assert_int_equal(speed.bytes, 3);
    assert_true(speed.tokens >= 3 && speed.encode_bytes_per_s > 0.0 && speed.decode_us > 0.0);
    assert_int_equal(text_speed_measure(f->m->tok, "", 0, &speed, NULL), QN_OK);
    assert_int_equal(speed.tokens, 0);
}

static void logits_without_a_number_cannot_be_measured(void **state) {
    (void)state;
    const float good[4] = {0.0f, 1.0f, 2.0f, NAN}, bad[4] = {NAN, NAN, NAN, 5.0f};
    choice_speed speed;
    assert_int_equal(choice_speed_measure(good, 4, 3, &speed, NULL), QN_OK);
    assert_true(speed.greedy_us >= 0.0 && speed.logprobs_us >= 0.0);
    assert_int_equal(choice_speed_measure(bad, 4, 3, &speed, NULL), QN_CORRUPT);
}

static json_t *make_run(double decode, double load, int threads) {
    return json_pack("{s:{s:i}, s:{s:f}, s:{s:f}, s:[{s:i, s:{s:f}}, {s:i, s:{s:f}}]}", "backend", "threads", threads, "load", "total_s", load,
                     "decode_tokens_per_s", "median", decode, "decode", "depth", 0, "tokens_per_s", "median", decode, "depth",
                     (int)decode * 100, "tokens_per_s", "median", decode);
}

static double speed_of(const json_t *rows, const char *name) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0) {
            return json_number_value(json_object_get(row, "speed"));
        }
    }
    return -1.0;
}

static void a_speed_above_one_is_faster_whichever_way_the_number_counts(void **state) {
    (void)state;
    json_t *before = make_run(10.0, 2.0, 1), *now = make_run(20.0, 1.0, 1), *rows = comparison_make(before, now);
    assert_true(speed_of(rows, "decode at depth 0") == 2.0);
    assert_true(speed_of(rows, "load") == 2.0);
    assert_true(speed_of(rows, "decode at depth 1000") == -1.0); /* the other run was not at this depth */
    assert_true(speed_of(rows, "prefill") == -1.0);
    json_decref(rows);
    json_decref(before);
    json_decref(now);
}

static void another_number_of_threads_is_said(void **state) {
    char text[128], short_text[8];
    (void)state;
    json_t *one = make_run(10.0, 2.0, 1), *two = make_run(10.0, 2.0, 2);
    comparison_caution(one, one, text, sizeof text);
    assert_string_equal(text, "");
    comparison_caution(one, two, text, sizeof text);
    assert_string_equal(text, "another number of threads");
    comparison_caution(one, two, short_text, sizeof short_text);
    assert_string_equal(short_text, "another");
    json_decref(one);
    json_decref(two);
}

static void what_is_no_earlier_run_is_refused_with_its_place(void **state) {
    static const struct {
        const char *text, *said;
    } rows[] = {{"{\"a\": ]}", "line 1, column"}, {"[1]", "decode_tokens_per_s"}, {"{\"model\": 1}", "decode_tokens_per_s"}, {"", "line 1"}};
    char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/run.json", folder);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        error_context err = {0};
        json_t *object = NULL;
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(rows[i].text, f);
        fclose(f);
        assert_int_equal(comparison_read(path, &object, &err), QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), rows[i].said));
        assert_null(object);
    }
    unlink(path);
    error_context err = {0};
    json_t *object = NULL;
    assert_int_equal(comparison_read(path, &object, &err), QN_IO);
    test_remove_tree(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_median_is_the_middle_and_the_ends_are_sorted),
        cmocka_unit_test(a_full_spread_takes_no_more),
        cmocka_unit_test(the_context_holds_the_longest_of_what_is_measured),
        cmocka_unit_test(a_share_needs_the_peaks_of_what_is_used_and_no_others),
        cmocka_unit_test_setup_teardown(products_are_those_of_the_matrices_and_logits_are_not_in_a_prompt, open_tiny, scripted_close),
        cmocka_unit_test_setup_teardown(steps_are_counted_at_each_depth_and_end_inside_the_context, open_tiny, scripted_close),
        cmocka_unit_test_setup_teardown(a_context_that_is_too_short_is_told_and_not_overrun, open_tiny, scripted_close),
        cmocka_unit_test_setup_teardown(text_is_encoded_as_a_whole, open_tiny, scripted_close),
        cmocka_unit_test(logits_without_a_number_cannot_be_measured),
        cmocka_unit_test(a_speed_above_one_is_faster_whichever_way_the_number_counts),
        cmocka_unit_test(another_number_of_threads_is_said),
        cmocka_unit_test(what_is_no_earlier_run_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
