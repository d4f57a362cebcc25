/* cmocka.h — as much of cmocka's interface as the op tests use, for a target that has no cmocka package. The first failed
 * assertion ends the program with status 1. */
#ifndef BARE_CMOCKA_H
#define BARE_CMOCKA_H
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    int (*setup_func)(void **state);
    int (*teardown_func)(void **state);
    void *initial_state;
};

#define fail_msg(...) (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), exit(1))
#define print_message printf

#define assert_true(condition) ((condition) ? (void)0 : fail_msg("%s", #condition))
#define assert_false(condition) assert_true(!(condition))
#define assert_int_equal(a, b) assert_true((unsigned long long)(a) == (unsigned long long)(b))
#define assert_null(pointer) assert_true((pointer) == NULL)
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_memory_equal(a, b, size) assert_true(memcmp((a), (b), (size)) == 0)

static const char *bare_filter;

__attribute__((unused)) static void cmocka_set_test_filter(const char *pattern) {
    bare_filter = pattern;
}

__attribute__((unused)) static int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n_tests,
                                                           int (*setup)(void **), int (*teardown)(void **)) {
    (void)group;
    (void)setup;
    (void)teardown;
    for (size_t i = 0; i < n_tests; i++) {
        void *state = tests[i].initial_state;
        if (bare_filter == NULL || fnmatch(bare_filter, tests[i].name, 0) == 0) {
            printf("%s\n", tests[i].name);
            fflush(stdout);
            tests[i].test_func(&state);
        }
    }
    return 0;
}

#endif
