/* cmocka.h — as much of cmocka as the op tests use, for the build for another processor, where the library itself is seldom at
 * hand. A failure ends the running test by longjmp; the group's result is the number of failed tests.
 *
 * Threading: one thread. Used by one program only: state is static to each file that includes it, but the runner's file is the one
 * that owns the jump, through the functions of cmocka_small.c.
 */
#ifndef CMOCKA_H
#define CMOCKA_H
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func, teardown_func;
    void *initial_state;
};

/* Ends the running test as failed, or as skipped. */
_Noreturn void small_fail(const char *file, int line);
_Noreturn void small_skip(void);
void cmocka_set_test_filter(const char *pattern);
int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup, CMFixtureFunction teardown);

#define print_message(...) printf(__VA_ARGS__)
#define fail_msg(...) (printf(__VA_ARGS__), printf("\n"), small_fail(__FILE__, __LINE__))
#define skip() small_skip()
#define assert_true(x) ((x) ? (void)0 : (printf("not true: %s\n", #x), small_fail(__FILE__, __LINE__)))
#define assert_non_null(x) assert_true((x) != NULL)
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_in_range(x, least, most) assert_true((x) >= (least) && (x) <= (most))
#define assert_memory_equal(a, b, n) assert_true(memcmp(a, b, n) == 0)

#endif
