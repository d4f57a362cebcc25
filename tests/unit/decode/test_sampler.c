/* test_sampler.c — from logits to a token. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "decode/sampler.h"

#define N_VOCAB 8u
#define N_DRAWS 20000u

static const float plain[N_VOCAB] = {0.0f, 1.0f, 2.0f, 3.0f, 3.0f, -1.0f, 0.5f, 9.0f};

/* Row 7 is padding: the tokenizer has 7 tokens only. */
static sampler make_sampler(sampler_options options) {
    sampler s;
    assert_int_equal(sampler_create(&options, N_VOCAB, N_VOCAB - 1, &s, NULL), QN_OK);
    return s;
}

static uint32_t choose(sampler *s, const int32_t *recent, uint32_t n_recent) {
    float logits[N_VOCAB];
    uint32_t id = UINT32_MAX;
    memcpy(logits, plain, sizeof logits);
    assert_int_equal(sampler_choose(s, logits, recent, n_recent, &id, NULL), QN_OK);
    return id;
}

static void greedy_takes_the_lowest_id_on_ties_and_never_a_padding_row(void **state) {
    (void)state;
    sampler s = make_sampler(sampler_defaults());
    assert_int_equal(choose(&s, NULL, 0), 3);
    sampler_destroy(&s);
}

static void no_finite_logit_is_an_error_and_no_id(void **state) {
    (void)state;
    sampler s = make_sampler(sampler_defaults());
    float logits[N_VOCAB];
    uint32_t id = 77;
    for (uint32_t i = 0; i < N_VOCAB; i++) {
        logits[i] = i % 2 == 0 ? NAN : -INFINITY;
    }
    logits[7] = 1.0f; /* padding only */
    assert_int_equal(sampler_choose(&s, logits, NULL, 0, &id, NULL), QN_CORRUPT);
    assert_int_equal(id, 77);
    sampler_destroy(&s);
}

static void bias_forbids_and_prefers(void **state) {
    (void)state;
    sampler_options o = sampler_defaults();
    o.n_biases = 2;
    o.biases[0].id = 3;
    o.biases[0].value = -INFINITY;
    o.biases[1].id = 6;
    o.biases[1].value = 5.0f;
    sampler s = make_sampler(o);
    assert_int_equal(choose(&s, NULL, 0), 6);
    sampler_destroy(&s);
}

static void a_recent_token_is_penalised_once_however_often_it_came(void **state) {
    (void)state;
    const int32_t recent[] = {3, 3, 3, 3};
    sampler_options o = sampler_defaults();
    o.repeat_penalty = 1.4f; /* 3 / 1.4 = 2.14 is still above 2, three times it would not be */
    o.n_biases = 1;
    o.biases[0].id = 4;
    o.biases[0].value = -INFINITY;
    sampler s = make_sampler(o);
    assert_int_equal(choose(&s, recent, 4), 3);
    sampler_destroy(&s);
}

static void the_same_seed_gives_the_same_ids(void **state) {
    (void)state;
    sampler_options o = sampler_defaults();
    o.temperature = 1.0f;
    o.seed = 42;
    sampler a = make_sampler(o), b = make_sampler(o);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(choose(&a, NULL, 0), choose(&b, NULL, 0));
    }
    sampler_destroy(&a);
    sampler_destroy(&b);
}

/* Draws often and compares with the softmax within four standard deviations. */
static void draws_follow_the_softmax(void **state) {
    (void)state;
    sampler_options o = sampler_defaults();
    uint32_t counts[N_VOCAB] = {0};
    double total = 0.0;
    o.temperature = 0.8f;
    o.seed = 7;
    sampler s = make_sampler(o);
    for (uint32_t i = 0; i < N_DRAWS; i++) {
        counts[choose(&s, NULL, 0)]++;
    }
    for (uint32_t i = 0; i < N_VOCAB - 1; i++) {
        total += exp((double)plain[i] / 0.8);
    }
    for (uint32_t i = 0; i < N_VOCAB - 1; i++) {
        const double p = exp((double)plain[i] / 0.8) / total;
        const double slack = 4.0 * sqrt(p * (1.0 - p) / N_DRAWS);
        assert_true(fabs((double)counts[i] / N_DRAWS - p) <= slack);
    }
    assert_int_equal(counts[7], 0);
    sampler_destroy(&s);
}

/* Each cut leaves exactly these ids. */
static void cuts_leave_what_they_say(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t top_k;
        float top_p, min_p, temperature;
        uint32_t kept; /* bit i: id i may come */
    } rows[] = {{"top-k 2", 2, 1.0f, 0.0f, 1.0f, 0x18},      {"top-k 3", 3, 1.0f, 0.0f, 1.0f, 0x1C},
                {"top-p 0.5", 0, 0.5f, 0.0f, 1.0f, 0x18},     {"top-p 0", 0, 0.0f, 0.0f, 1.0f, 0x08},
                {"min-p 0.3", 0, 1.0f, 0.3f, 1.0f, 0x1C},     {"tiny temperature", 0, 1.0f, 0.0f, 1e-30f, 0x18},
                {"top-k 1 is greedy", 1, 1.0f, 0.0f, 1.0f, 0x08}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        sampler_options o = sampler_defaults();
        uint32_t seen = 0;
        o.top_k = rows[row].top_k;
        o.top_p = rows[row].top_p;
        o.min_p = rows[row].min_p;
        o.temperature = rows[row].temperature;
        sampler s = make_sampler(o);
        for (uint32_t i = 0; i < 2000; i++) {
            seen |= 1u << choose(&s, NULL, 0);
        }
        if (seen != rows[row].kept) {
            fail_msg("%s: ids %x came, %x should", rows[row].name, seen, rows[row].kept);
        }
        sampler_destroy(&s);
    }
}

/* Draws over a vocabulary of many blocks: all but `heavy` have next to no weight each, but together they have half of it. */
#define N_WIDE 5000u
static uint32_t count_heavy(float top_p, float min_p, uint32_t n_draws) {
    static float logits[N_WIDE];
    sampler_options o = sampler_defaults();
    sampler s;
    uint32_t n_heavy = 0;
    o.temperature = 1.0f;
    o.top_p = top_p;
    o.min_p = min_p;
    o.seed = 11;
    assert_int_equal(sampler_create(&o, N_WIDE, N_WIDE, &s, NULL), QN_OK);
    for (uint32_t i = 0; i < N_WIDE; i++) {
        logits[i] = i == 4321 ? logf(N_WIDE - 1) : 0.0f;
    }
    for (uint32_t i = 0; i < n_draws; i++) {
        uint32_t id = 0;
        assert_int_equal(sampler_choose(&s, logits, NULL, 0, &id, NULL), QN_OK);
        n_heavy += id == 4321;
    }
    sampler_destroy(&s);
    return n_heavy;
}

static void a_draw_among_all_reaches_behind_the_best_ones(void **state) {
    (void)state;
    const uint32_t n = count_heavy(1.0f, 0.0f, 2000);
    assert_true(fabs(n / 2000.0 - 0.5) < 4.0 * sqrt(0.25 / 2000.0));
    assert_int_equal(count_heavy(0.4f, 0.0f, 200), 200);
    assert_int_equal(count_heavy(1.0f, 0.5f, 200), 200);
    const uint32_t cut = count_heavy(0.75f, 0.0f, 2000); /* 1/2 of 3/4 */
    assert_true(fabs(cut / 2000.0 - 2.0 / 3.0) < 4.0 * sqrt(0.2223 / 2000.0));
}

static void options_out_of_range_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *name;
        float temperature, top_p, min_p, repeat_penalty;
    } rows[] = {{"--temp", -1.0f, 1.0f, 0.0f, 1.0f},
                {"--temp", NAN, 1.0f, 0.0f, 1.0f},
                {"--top-p", 0.0f, 1.5f, 0.0f, 1.0f},
                {"--min-p", 0.0f, 1.0f, 1.0f, 1.0f},
                {"--repeat-penalty", 0.0f, 1.0f, 0.0f, 0.0f}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        sampler_options o = sampler_defaults();
        error_context err = {0};
        sampler s;
        o.temperature = rows[row].temperature;
        o.top_p = rows[row].top_p;
        o.min_p = rows[row].min_p;
        o.repeat_penalty = rows[row].repeat_penalty;
        assert_int_equal(sampler_create(&o, N_VOCAB, N_VOCAB, &s, &err), QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), rows[row].name));
    }
}

/* What a device gives: the k best of the rows that are no padding. */
static uint32_t choose_from_best(sampler *s) {
    static const uint32_t ids[] = {3, 4, 2, 1, 6, 0, 5};
    float values[N_VOCAB];
    uint32_t id = UINT32_MAX;
    for (uint32_t i = 0; i < N_VOCAB - 1; i++) {
        values[i] = plain[ids[i]];
    }
    assert_int_equal(sampler_choose_top(s, ids, values, sampler_needs(s), &id, NULL), QN_OK);
    return id;
}

static void candidates_of_a_device_give_the_same_ids(void **state) {
    (void)state;
    static const struct {
        float temperature;
        uint32_t top_k, needs;
        float top_p;
    } rows[] = {{0.0f, 0, 1, 1.0f}, {0.0f, 5, 1, 1.0f}, {2.0f, 1, 1, 1.0f}, {2.0f, 2, 2, 1.0f}, {1.0f, 5, 5, 1.0f}, {1.5f, 7, 7, 0.8f}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sampler_options o = sampler_defaults();
        o.temperature = rows[i].temperature;
        o.top_k = rows[i].top_k;
        o.top_p = rows[i].top_p;
        o.seed = i;
        sampler whole = make_sampler(o), best = make_sampler(o);
        assert_int_equal(sampler_needs(&best), rows[i].needs);
        for (uint32_t n = 0; n < 200; n++) {
            assert_int_equal(choose_from_best(&best), choose(&whole, NULL, 0));
        }
        sampler_destroy(&whole);
        sampler_destroy(&best);
    }
}

static void what_changes_logits_needs_all_of_them(void **state) {
    (void)state;
    sampler_options o = sampler_defaults();
    o.temperature = 1.0f;
    sampler all = make_sampler(o);
    o.top_k = 3;
    o.repeat_penalty = 1.1f;
    sampler penalised = make_sampler(o);
    o.repeat_penalty = 1.0f;
    o.n_biases = 1;
    sampler biased = make_sampler(o);
    assert_int_equal(sampler_needs(&all), 0);
    assert_int_equal(sampler_needs(&penalised), 0);
    assert_int_equal(sampler_needs(&biased), 0);
    sampler_destroy(&all);
    sampler_destroy(&penalised);
    sampler_destroy(&biased);
}

static void no_candidate_is_an_error_and_no_id(void **state) {
    (void)state;
    sampler s = make_sampler(sampler_defaults());
    uint32_t id = 77;
    assert_int_equal(sampler_choose_top(&s, NULL, NULL, 0, &id, NULL), QN_CORRUPT);
    assert_int_equal(id, 77);
    sampler_destroy(&s);
}

static void the_top_list_holds_log_probabilities_in_order(void **state) {
    (void)state;
    sampler s = make_sampler(sampler_defaults());
    sampler_candidate top[3];
    double total = 0.0;
    for (uint32_t i = 0; i < N_VOCAB - 1; i++) {
        total += exp((double)plain[i]);
    }
    assert_int_equal(sampler_top(&s, plain, 3, top), 3);
    assert_int_equal(top[0].id, 3);
    assert_int_equal(top[1].id, 4);
    assert_int_equal(top[2].id, 2);
    assert_true(fabs((double)top[2].value - (2.0 - log(total))) < 1e-5);
    sampler_destroy(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_takes_the_lowest_id_on_ties_and_never_a_padding_row),
        cmocka_unit_test(no_finite_logit_is_an_error_and_no_id),
        cmocka_unit_test(bias_forbids_and_prefers),
        cmocka_unit_test(a_recent_token_is_penalised_once_however_often_it_came),
        cmocka_unit_test(the_same_seed_gives_the_same_ids),
        cmocka_unit_test(draws_follow_the_softmax),
        cmocka_unit_test(cuts_leave_what_they_say),
        cmocka_unit_test(a_draw_among_all_reaches_behind_the_best_ones),
        cmocka_unit_test(options_out_of_range_are_refused_by_name),
        cmocka_unit_test(candidates_of_a_device_give_the_same_ids),
        cmocka_unit_test(what_changes_logits_needs_all_of_them),
        cmocka_unit_test(no_candidate_is_an_error_and_no_id),
        cmocka_unit_test(the_top_list_holds_log_probabilities_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
