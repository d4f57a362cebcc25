/* test_score.c — predicted milliseconds, and who goes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "backends/score.h"

static const workload model = {.weights = {{QN_FORMAT_Q8_0, 2000000000}, {QN_FORMAT_F16, 500000000}},
                               .n_weights = 2,
                               .kv_bytes = 1000000000,
                               .n_ops = 1000};

/* Reads Q8_0 with `speed` bytes per second, and the rest as fast. */
static candidate make_candidate(const char *name, uint64_t speed) {
    return (candidate){.name = name,
                       .device = {.info = {.device_class = QN_DEVICE_GPU, .id = "0000:01:00.0"},
                                  .is_measured = true,
                                  .step_ns = 50000,
                                  .op_ns = 1000,
                                  .kv_bytes_per_s = speed,
                                  .rates = {{QN_FORMAT_Q8_0, speed}, {QN_FORMAT_F16, speed}},
                                  .n_rates = 2}};
}

static void the_parts_of_a_token_are_added_up(void **state) {
    (void)state;
    candidate c = make_candidate("a", 10000000000);
    qn_format format;
    c.device.kv_bytes_per_s = 100000000000;
    assert_true(score_predict(&c, &model, &format));
    assert_true(c.is_measured);
    assert_float_equal(c.ms, 200.0 + 50.0 + 10.0 + 1.0 + 0.05, 1e-6);
}

static void a_format_that_cannot_be_run_is_told(void **state) {
    (void)state;
    candidate c = make_candidate("a", 10000000000);
    qn_format format = 0;
    c.device.rates[1].bytes_per_s = 0;
    assert_false(score_predict(&c, &model, &format));
    assert_int_equal(format, QN_FORMAT_F16);
}

static void what_was_not_measured_is_no_number(void **state) {
    (void)state;
    candidate c = make_candidate("a", 10000000000);
    qn_format format;
    c.device.n_rates = 1;
    assert_true(score_predict(&c, &model, &format));
    assert_false(c.is_measured);
    c = make_candidate("a", 10000000000);
    c.device.is_measured = false;
    assert_true(score_predict(&c, &model, &format));
    assert_false(c.is_measured);
}

static const char *rank(candidate *candidates, uint32_t n, char *text) {
    text[0] = '\0';
    score_rank(candidates, n);
    for (uint32_t i = 0; i < n; i++) {
        strncat(text, candidates[i].name, 1);
    }
    return text;
}

static candidate make_timed(const char *name, double ms) {
    candidate c = make_candidate(name, 1);
    c.is_measured = true;
    c.ms = ms;
    return c;
}

static void the_fastest_goes_first(void **state) {
    (void)state;
    char text[8];
    candidate all[] = {make_timed("c", 30), make_timed("a", 50), make_timed("d", 10), make_timed("b", 40)};
    assert_string_equal(rank(all, 4, text), "dcba");
    candidate one[] = {make_timed("x", 1)};
    assert_string_equal(rank(one, 1, text), "x");
    assert_string_equal(rank(one, 0, text), "");
}

static void within_three_percent_memory_and_then_the_name_decide(void **state) {
    (void)state;
    char text[8];
    candidate names[] = {make_timed("c", 100), make_timed("b", 102.9), make_timed("a", 103.1)};
    assert_string_equal(rank(names, 3, text), "bca"); /* then a against c alone: nearly as fast, c is first by speed no more */
    candidate memory[] = {make_timed("a", 100), make_timed("z", 102)};
    memory[1].device.info.flags = QN_DEVICE_HOST_MEMORY;
    assert_string_equal(rank(memory, 2, text), "za");
    memory[0] = make_timed("z", 104);
    memory[1] = make_timed("a", 100);
    memory[0].device.info.flags = QN_DEVICE_HOST_MEMORY;
    assert_string_equal(rank(memory, 2, text), "az");
}

static void a_device_that_is_too_small_takes_the_layers_that_fit(void **state) {
    (void)state;
    const workload large = {.n_layers = 10, .memory_bytes = 1000};
    candidate small = make_timed("s", 20), rest = make_timed("c", 100);
    assert_true(score_divide(&small, &rest, &large, 500)); /* nine tenths of the room: 4.5 layers */
    assert_int_equal(small.n_layers, 4);
    assert_float_equal(small.ms, 20 * 0.4 + 100 * 0.6, 1e-9);
    small = make_timed("s", 20);
    assert_false(score_divide(&small, &rest, &large, 100));
    assert_false(score_divide(&small, &rest, &large, 5000)); /* it would fit as a whole */
    rest.is_measured = false;
    assert_false(score_divide(&small, &rest, &large, 500));
}

static void what_was_not_measured_comes_behind_by_its_class(void **state) {
    (void)state;
    char text[8];
    candidate all[] = {make_timed("c", 0), make_timed("a", 0), make_timed("i", 0), make_timed("g", 0), make_timed("m", 900)};
    const uint32_t classes[] = {QN_DEVICE_CPU, QN_DEVICE_ACCELERATOR, QN_DEVICE_IGPU, QN_DEVICE_GPU, QN_DEVICE_CPU};
    for (size_t i = 0; i < 5; i++) {
        all[i].device.info.device_class = classes[i];
        all[i].is_measured = i == 4;
    }
    assert_string_equal(rank(all, 5, text), "mgiac");
}

static void only_ids_that_name_a_device_can_be_the_same_one(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool is_same;
    } rows[] = {{"0000:65:00.0", "0000:65:00.0", true}, {"0000:65:00.0", "0000:66:00.0", false}, {"uuid=1", "uuid=1", true},
                {"cpu", "cpu", false},                  {"0", "0", false},                       {"uuid=1", "uuid=2", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        candidate a = make_timed("a", 1), b = make_timed("b", 1);
        memcpy(a.device.info.id, rows[i].a, strlen(rows[i].a) + 1);
        memcpy(b.device.info.id, rows[i].b, strlen(rows[i].b) + 1);
        assert_int_equal(score_is_same_device(&a, &b), rows[i].is_same);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_token_are_added_up),
        cmocka_unit_test(a_format_that_cannot_be_run_is_told),
        cmocka_unit_test(what_was_not_measured_is_no_number),
        cmocka_unit_test(the_fastest_goes_first),
        cmocka_unit_test(within_three_percent_memory_and_then_the_name_decide),
        cmocka_unit_test(a_device_that_is_too_small_takes_the_layers_that_fit),
        cmocka_unit_test(what_was_not_measured_comes_behind_by_its_class),
        cmocka_unit_test(only_ids_that_name_a_device_can_be_the_same_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
