/* test_team.c — workers, barrier, counter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/team.h"

#define ROUNDS 2000u
#define MAX_WORKERS 8u

typedef struct job {
    team *t;
    uint32_t values[MAX_WORKERS];
    atomic_uint n_runs, n_wrong;
    unsigned char given[ROUNDS];
} job;

static void count_run(void *arg, uint32_t worker, uint32_t n_workers) {
    job *j = arg;
    atomic_fetch_add(&j->n_runs, 1);
    if (worker >= n_workers) {
        atomic_fetch_add(&j->n_wrong, 1);
    }
}

/* Every worker writes, all meet, every worker reads all, all meet: a lost write is seen at once. */
static void write_meet_read(void *arg, uint32_t worker, uint32_t n_workers) {
    job *j = arg;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        j->values[worker] = round;
        team_barrier(j->t);
        for (uint32_t i = 0; i < n_workers; i++) {
            if (j->values[i] != round) {
                atomic_fetch_add(&j->n_wrong, 1);
            }
        }
        team_barrier(j->t);
    }
}

static void take_numbers(void *arg, uint32_t worker, uint32_t n_workers) {
    job *j = arg;
    (void)worker;
    (void)n_workers;
    for (uint64_t i; (i = team_next(j->t)) < ROUNDS;) {
        j->given[i]++;
    }
}

static void every_worker_runs_once_and_barriers_hold_for_any_size(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= MAX_WORKERS; n++) {
        job *j = calloc(1, sizeof *j);
        assert_int_equal(team_create(n, &j->t, NULL), QN_OK);
        assert_int_equal(team_size(j->t), n);
        team_run(j->t, count_run, j);
        assert_int_equal(atomic_load(&j->n_runs), n);
        team_run(j->t, write_meet_read, j);
        assert_int_equal(atomic_load(&j->n_wrong), 0);
        team_destroy(j->t);
        free(j);
    }
}

static void the_counter_gives_each_number_once_and_starts_again(void **state) {
    (void)state;
    job *j = calloc(1, sizeof *j);
    assert_int_equal(team_create(3, &j->t, NULL), QN_OK);
    team_run(j->t, take_numbers, j);
    team_run(j->t, take_numbers, j);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        assert_int_equal(j->given[i], 2);
    }
    team_destroy(j->t);
    free(j);
}

static void a_team_that_fell_asleep_wakes_up(void **state) {
    (void)state;
    const struct timespec nap = {0, 20000000};
    job *j = calloc(1, sizeof *j);
    assert_int_equal(team_create(4, &j->t, NULL), QN_OK);
    for (uint32_t i = 0; i < 5; i++) {
        nanosleep(&nap, NULL);
        team_run(j->t, count_run, j);
    }
    assert_int_equal(atomic_load(&j->n_runs), 20);
    team_destroy(j->t);
    free(j);
}

static void sizes_outside_the_range_are_refused(void **state) {
    (void)state;
    error_context err = {0};
    team *t = NULL;
    assert_int_equal(team_create(0, &t, &err), QN_BAD_INPUT);
    assert_int_equal(team_create(257, &t, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "257"));
    assert_null(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_worker_runs_once_and_barriers_hold_for_any_size),
        cmocka_unit_test(the_counter_gives_each_number_once_and_starts_again),
        cmocka_unit_test(a_team_that_fell_asleep_wakes_up),
        cmocka_unit_test(sizes_outside_the_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
