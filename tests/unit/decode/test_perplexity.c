/* test_perplexity.c — which tokens are scored, and what the number is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "decode/perplexity.h"
#include "scripted.h"
#include "text/tokenizer.h"

#define WINDOW 16u

static int open_scripted(void **state) {
    return scripted_open_rows(state, WINDOW, 8, 3);
}

/* The script gives one id the logit 1 and all others -1. */
static double surprise(bool is_foreseen) {
    const double total = exp(1.0) + (TINY_VOCABULARY - 1) * exp(-1.0);
    return log(total) - (is_foreseen ? 1.0 : -1.0);
}

static perplexity run(scripted *f, const uint32_t *ids, uint64_t n, perplexity_options options, qn_status expected) {
    perplexity p;
    error_context err = {0};
    options.workers = f->workers;
    assert_int_equal(perplexity_run(f->s, ids, n, &options, &p, &err), expected);
    return p;
}

static void only_the_second_half_of_a_window_is_scored(void **state) {
    scripted *f = *state;
    uint32_t ids[WINDOW];
    for (uint32_t i = 0; i < WINDOW; i++) {
        ids[i] = TINY_BYTE_0 + i;
        f->script[i] = TINY_BYTE_0 + i + (i >= 8); /* from position 8 on the next token is foreseen */
    }
    const perplexity p = run(f, ids, WINDOW, (perplexity_options){.window = WINDOW, .bos = TOKEN_NONE}, QN_OK);
    assert_int_equal(p.n_windows, 1);
    assert_int_equal(p.n_scored, 7); /* tokens 9 to 15 */
    assert_true(fabs(p.mean_nll - surprise(true)) < 1e-6);
    assert_true(fabs(p.value - exp(surprise(true))) < 1e-4);
    assert_true(p.error < 1e-3);
}

static void a_token_that_was_not_foreseen_counts_as_such(void **state) {
    scripted *f = *state;
    uint32_t ids[WINDOW];
    for (uint32_t i = 0; i < WINDOW; i++) {
        ids[i] = TINY_BYTE_0 + i;
        f->script[i] = TINY_BYTE_0 + i + (i >= 8 && i != 11);
    }
    const perplexity p = run(f, ids, WINDOW, (perplexity_options){.window = WINDOW, .bos = TOKEN_NONE}, QN_OK);
    assert_true(fabs(p.mean_nll - (6 * surprise(true) + surprise(false)) / 7) < 1e-6);
    assert_true(p.error > 0.0);
}

static void windows_follow_one_another_and_the_rest_is_left_out(void **state) {
    uint32_t ids[3 * WINDOW - 1];
    for (uint32_t i = 0; i < 3 * WINDOW - 1; i++) {
        ids[i] = TINY_BYTE_0 + i % 7;
    }
    const perplexity_options options = {.window = WINDOW, .bos = TOKEN_NONE};
    assert_int_equal(run(*state, ids, 3 * WINDOW - 1, options, QN_OK).n_windows, 2);
    perplexity_options fewer = options;
    fewer.max_windows = 1;
    assert_int_equal(run(*state, ids, 3 * WINDOW - 1, fewer, QN_OK).n_windows, 1);
}

static void bos_stands_in_place_of_the_first_token(void **state) {
    scripted *f = *state;
    const uint32_t ids[WINDOW] = {TINY_BYTE_0 + 9};
    run(f, ids, WINDOW, (perplexity_options){.window = WINDOW, .bos = 1}, QN_OK);
    assert_int_equal(f->s->history[0], 1);
    run(f, ids, WINDOW, (perplexity_options){.window = WINDOW, .bos = TOKEN_NONE}, QN_OK);
    assert_int_equal(f->s->history[0], TINY_BYTE_0 + 9);
}

static void what_cannot_be_scored_is_refused(void **state) {
    scripted *f = *state;
    const uint32_t ids[WINDOW] = {0};
    run(f, ids, WINDOW - 1, (perplexity_options){.window = WINDOW, .bos = TOKEN_NONE}, QN_BAD_INPUT); /* too short */
    run(f, ids, WINDOW, (perplexity_options){.window = WINDOW + 1, .bos = TOKEN_NONE}, QN_BAD_INPUT); /* beyond the context */
    run(f, ids, WINDOW, (perplexity_options){.window = 4, .bos = TOKEN_NONE}, QN_BAD_INPUT);
    f->services.cancel = 1;
    run(f, ids, WINDOW, (perplexity_options){.window = WINDOW, .bos = TOKEN_NONE, .cancel = &f->services.cancel}, QN_CANCELLED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define WITH_SESSION(name) cmocka_unit_test_setup_teardown(name, open_scripted, scripted_close)
        WITH_SESSION(only_the_second_half_of_a_window_is_scored),
        WITH_SESSION(a_token_that_was_not_foreseen_counts_as_such),
        WITH_SESSION(windows_follow_one_another_and_the_rest_is_left_out),
        WITH_SESSION(bos_stands_in_place_of_the_first_token),
        WITH_SESSION(what_cannot_be_scored_is_refused),
#undef WITH_SESSION
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
