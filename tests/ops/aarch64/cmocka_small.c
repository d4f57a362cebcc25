/* cmocka_small.c — the runner behind cmocka.h of this folder. */
#include <setjmp.h>
#include <stdbool.h>

#include "cmocka.h"

static jmp_buf back;
static const char *filter;

void cmocka_set_test_filter(const char *pattern) {
    filter = pattern;
}

_Noreturn void small_fail(const char *file, int line) {
    printf("%s:%d: failed\n", file, line);
    longjmp(back, 1);
}

_Noreturn void small_skip(void) {
    longjmp(back, 2);
}

/* True when the name holds the filter's text; a star at either end is taken off. */
static bool is_wanted(const char *name) {
    char text[128];
    if (filter == NULL) {
        return true;
    }
    const char *const from = filter[0] == '*' ? filter + 1 : filter;
    size_t n = strlen(from);
    n = n > 0 && from[n - 1] == '*' ? n - 1 : n;
    n = n < sizeof text ? n : sizeof text - 1;
    memcpy(text, from, n);
    text[n] = '\0';
    return strstr(name, text) != NULL;
}

/* 0 passed, 1 failed, 2 skipped. */
static int run_one(const struct CMUnitTest *test) {
    void *state = test->initial_state;
    const int outcome = setjmp(back);
    if (outcome == 0) {
        test->test_func(&state);
    }
    return outcome;
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup, CMFixtureFunction teardown) {
    static const char *const words[] = {"OK", "FAILED", "SKIPPED"};
    int n_failed = 0;
    (void)setup;
    (void)teardown;
    for (volatile size_t i = 0; i < n; i++) {
        if (is_wanted(tests[i].name)) {
            const int outcome = run_one(&tests[i]);
            printf("[ %7s ] %s: %s\n", words[outcome], name, tests[i].name);
            fflush(stdout);
            n_failed += outcome == 1;
        }
    }
    printf("%d failed\n", n_failed);
    return n_failed;
}
