/* test_process_guard.c — what is changed between take and restore is put back and named. */
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/process_guard.h"

static void on_signal(int number) {
    (void)number;
}

static void change_handler(void) {
    signal(SIGUSR1, on_signal);
}

static void change_rounding(void) {
    fesetround(FE_UPWARD);
}

static void change_umask(void) {
    umask(0123);
}

static void change_folder(void) {
    assert_int_equal(chdir("/"), 0);
}

static void add_variable(void) {
    setenv("QUOIN_TEST_VARIABLE", "1", 1);
}

static void change_variable(void) {
    setenv("HOME", "/elsewhere", 1);
}

static void remove_variable(void) {
    unsetenv("HOME");
}

static const struct {
    void (*change)(void);
    const char *words;
} changes[] = {{change_handler, "handler of SIGUSR1"}, {change_rounding, "floating-point control"}, {change_umask, "umask"},
               {change_folder, "working folder"},      {add_variable, "environment"},               {change_variable, "environment"},
               {remove_variable, "environment"}};

static void each_change_is_named_and_put_back(void **state) {
    (void)state;
    setenv("HOME", "/here", 1);
    assert_int_equal(chdir("/tmp"), 0);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        process_state before;
        char changed[256];
        process_state_take(&before);
        changes[i].change();
        assert_true(process_state_restore(&before, changed, sizeof changed, NULL, 0));
        assert_string_equal(changed, changes[i].words);
        process_state_take(&before);
        assert_false(process_state_restore(&before, changed, sizeof changed, NULL, 0));
    }
    char folder[64];
    struct sigaction now;
    assert_string_equal(getcwd(folder, sizeof folder), "/tmp");
    assert_string_equal(getenv("HOME"), "/here");
    assert_null(getenv("QUOIN_TEST_VARIABLE"));
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_int_equal(sigaction(SIGUSR1, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
}

static void several_changes_are_all_named(void **state) {
    (void)state;
    process_state before;
    char changed[256];
    process_state_take(&before);
    change_umask();
    change_handler();
    assert_true(process_state_restore(&before, changed, sizeof changed, NULL, 0));
    assert_string_equal(changed, "handler of SIGUSR1, umask");
}

static void arithmetic_is_no_change(void **state) {
    (void)state;
    process_state before;
    char changed[256];
    volatile double zero = 0.0;
    process_state_take(&before);
    const volatile double infinite = 1.0 / zero; /* sets a flag */
    (void)infinite;
    assert_false(process_state_restore(&before, changed, sizeof changed, NULL, 0));
}

static void a_descriptor_that_was_left_open_is_counted(void **state) {
    (void)state;
    process_state before;
    char changed[256], grown[128];
    process_state_take(&before);
    const int fd = open("/dev/null", O_RDONLY);
    assert_false(process_state_restore(&before, changed, sizeof changed, grown, sizeof grown));
    assert_string_equal(grown, "1 descriptor");
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_named_and_put_back),
        cmocka_unit_test(several_changes_are_all_named),
        cmocka_unit_test(arithmetic_is_no_change),
        cmocka_unit_test(a_descriptor_that_was_left_open_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
