/* test_opencl_process.c — what a driver changed in the process is put back. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ocl_process.h"

extern char **environ;

static volatile sig_atomic_t n_own, n_foreign;

static void count_own(int number) {
    (void)number;
    n_own++;
}

static void count_foreign(int number) {
    (void)number;
    n_foreign++;
}

static void handlers_are_those_from_before(void **state) {
    const struct sigaction own = {.sa_handler = count_own, .sa_flags = SA_RESTART}, foreign = {.sa_handler = count_foreign};
    struct sigaction got;
    ocl_process before;
    (void)state;
    sigaction(SIGUSR1, &own, NULL);
    ocl_process_take(&before);
    sigaction(SIGUSR1, &foreign, NULL);
    sigaction(SIGUSR2, &foreign, NULL);
    ocl_process_restore(&before);
    raise(SIGUSR1);
    assert_int_equal(n_own, 1);
    assert_int_equal(n_foreign, 0);
    assert_int_equal(sigaction(SIGUSR1, NULL, &got), 0);
    assert_true((got.sa_flags & SA_RESTART) != 0);
    assert_int_equal(sigaction(SIGUSR2, NULL, &got), 0);
    assert_true(got.sa_handler == SIG_DFL);
}

/* How many variables there are, and the sum of their lengths: enough to see a change. */
static uint64_t measure_variables(void) {
    uint64_t sum = 0;
    for (char **at = environ; *at != NULL; at++) {
        sum += (UINT64_C(1) << 32) + strlen(*at);
    }
    return sum;
}

static void variables_are_those_from_before(void **state) {
    ocl_process before;
    (void)state;
    setenv("OCL_TEST_OLD", "before", 1);
    const uint64_t measure = measure_variables();
    ocl_process_take(&before);
    setenv("OCL_TEST_OLD", "changed", 1);
    setenv("OCL_TEST_NEW", "1", 1);
    setenv("OCL_TEST_MORE", "2", 1);
    ocl_process_restore(&before);
    assert_null(getenv("OCL_TEST_NEW"));
    assert_null(getenv("OCL_TEST_MORE"));
    assert_string_equal(getenv("OCL_TEST_OLD"), "before");
    assert_int_equal(measure_variables(), measure);
    setenv("OCL_TEST_NEW", "3", 1); /* the environment still works */
    assert_string_equal(getenv("OCL_TEST_NEW"), "3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_are_those_from_before),
        cmocka_unit_test(variables_are_those_from_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
