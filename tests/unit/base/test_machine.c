/* test_machine.c — the facts of the machine that the test runs on, and the mask of its features. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/machine.h"

static void the_facts_make_sense(void **state) {
    (void)state;
    qn_machine machine;
    unsetenv("QUOIN_CPU_MASK");
    assert_int_equal(machine_detect(&machine, NULL), QN_OK);
    assert_int_equal(machine.size, sizeof machine);
    assert_true(machine.n_cores >= 1 && machine.n_workers >= 1 && machine.n_workers <= machine.n_cores);
    assert_true(machine.page_bytes >= 4096 && (machine.page_bytes & (machine.page_bytes - 1)) == 0);
    assert_true(machine.memory_bytes > UINT64_C(1) << 26);
    assert_true(machine_available_memory() <= machine.memory_bytes);
}

static void a_mask_takes_features_away_and_adds_none(void **state) {
    (void)state;
    static const char *const levels[] = {"c",
#if defined(__x86_64__)
                                         "avx2", "avx512", "avx512vnni",
#elif defined(__aarch64__)
                                         "neon", "dotprod",
#endif
                                         "all"};
    qn_machine all, masked;
    uint64_t before = 0;
    unsetenv("QUOIN_CPU_MASK");
    assert_int_equal(machine_detect(&all, NULL), QN_OK);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        uint64_t mask = 0;
        assert_int_equal(machine_parse_mask(levels[i], &mask, NULL), QN_OK);
        assert_true((mask & before) == before); /* each level has those below it */
        before = mask;
        setenv("QUOIN_CPU_MASK", levels[i], 1);
        assert_int_equal(machine_detect(&masked, NULL), QN_OK);
        assert_true(masked.cpu_features[0] == (all.cpu_features[0] & mask));
    }
    unsetenv("QUOIN_CPU_MASK");
}

static void what_the_system_has_not_enabled_is_not_among_the_features(void **state) {
    (void)state;
    qn_machine machine;
    unsetenv("QUOIN_CPU_MASK");
    assert_int_equal(machine_detect(&machine, NULL), QN_OK);
    assert_true((machine.cpu_features[0] & machine_disabled_features()) == 0);
}

static void an_unknown_level_is_refused_with_the_variable(void **state) {
    (void)state;
    static const char *const words[] = {"avx3", "AVX2", " ", "avx2,avx512", "0"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        qn_machine machine;
        error_context err = {0};
        setenv("QUOIN_CPU_MASK", words[i], 1);
        assert_int_equal(machine_detect(&machine, &err), QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), "QUOIN_CPU_MASK="));
        assert_non_null(strstr(error_text(&err), words[i]));
    }
    unsetenv("QUOIN_CPU_MASK");
}

static void features_are_listed_by_name(void **state) {
    (void)state;
    char text[256], small[4];
    qn_machine machine = {.size = sizeof machine};
    assert_string_equal(machine_describe_features(&machine, text, sizeof text), "baseline");
    machine.cpu_features[0] = 3;
    machine_describe_features(&machine, text, sizeof text);
#if defined(__x86_64__)
    assert_string_equal(text, "avx2 avx512");
#elif defined(__aarch64__)
    assert_string_equal(text, "neon dotprod");
#endif
    machine_describe_features(&machine, small, sizeof small);
    assert_true(strlen(small) < sizeof small);
    assert_true(strlen(machine_cpu_name(text, sizeof text)) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_facts_make_sense),
        cmocka_unit_test(a_mask_takes_features_away_and_adds_none),
        cmocka_unit_test(what_the_system_has_not_enabled_is_not_among_the_features),
        cmocka_unit_test(an_unknown_level_is_refused_with_the_variable),
        cmocka_unit_test(features_are_listed_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
