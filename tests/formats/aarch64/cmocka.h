/* cmocka.h — as much of cmocka's interface as the tests of formats/common and formats/blocks use, for a target that
 * has no cmocka package. The first failed assertion ends the program with status 1.
 */
#ifndef BARE_CMOCKA_H
#define BARE_CMOCKA_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(function) {#function, function}

#define fail_msg(...) (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), exit(1))
#define print_message printf
#define skip() (printf("a file is missing\n"), exit(77))

#define assert_true(condition) ((condition) ? (void)0 : fail_msg("%s", #condition))
#define assert_false(condition) assert_true(!(condition))
#define assert_int_equal(a, b) assert_true((unsigned long long)(a) == (unsigned long long)(b))
#define assert_int_not_equal(a, b) assert_true((unsigned long long)(a) != (unsigned long long)(b))
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (const void *)(b))
#define assert_null(pointer) assert_true((pointer) == NULL)
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_string_equal(a, b) assert_true(strcmp((a), (b)) == 0)
#define assert_string_not_equal(a, b) assert_true(strcmp((a), (b)) != 0)
#define assert_memory_equal(a, b, size) assert_true(memcmp((a), (b), (size)) == 0)

#define cmocka_run_group_tests(tests, setup, teardown) bare_run(tests, sizeof(tests) / sizeof((tests)[0]))

static inline int bare_run(const struct CMUnitTest *tests, size_t n_tests) {
    for (size_t i = 0; i < n_tests; i++) {
        printf("%s\n", tests[i].name);
        fflush(stdout);
        tests[i].run(NULL);
    }
    return 0;
}

#endif
