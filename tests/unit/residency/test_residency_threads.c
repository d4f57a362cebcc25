/* test_residency_threads.c — sessions on several threads while others evict and load. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/log.h"
#include "residency/residency.h"

#define N_USERS 3u
#define N_ROUNDS 100u

static const model_identity alpha = {.device = 1, .inode = 10, .size = 100, .modified_ns = 1000};

typedef struct shared {
    residency *r;
    _Atomic uint32_t n_inside;    /* sessions that believe to be there */
    _Atomic bool is_over;
    _Atomic uint32_t n_begun, n_wrong;
    uint32_t n_listened;          /* under the residency's lock */
} shared;

static void listen(void *ctx, const residency_change *change) {
    shared *s = ctx;
    (void)change;
    s->n_listened++;
}

static void *use(void *arg) {
    shared *s = arg;
    while (!atomic_load(&s->is_over)) {
        if (residency_begin(s->r, &alpha, NULL) == QN_OK) {
            atomic_fetch_add(&s->n_inside, 1);
            atomic_fetch_add(&s->n_begun, 1);
            atomic_fetch_sub(&s->n_inside, 1);
            if (residency_end(s->r, NULL) != QN_OK) {
                atomic_fetch_add(&s->n_wrong, 1);
            }
        }
    }
    return NULL;
}

static void look_for_users(void *ctx, scrub_report *report) {
    shared *s = ctx;
    (void)report;
    if (atomic_load(&s->n_inside) != 0) {
        atomic_fetch_add(&s->n_wrong, 1);
    }
}

static void no_session_is_there_while_the_model_is_scrubbed(void **state) {
    (void)state;
    shared s = {0};
    pthread_t users[N_USERS];
    const residency_options options = {NULL, listen, &s};
    const residency_eviction how = {.wait_ms = 10000, .scrub = look_for_users, .ctx = &s};
    log_set_level(0);
    assert_int_equal(residency_create(&options, &s.r, NULL), QN_OK);
    for (uint32_t i = 0; i < N_USERS; i++) {
        assert_int_equal(pthread_create(&users[i], NULL, use, &s), 0);
    }
    for (uint32_t i = 0; i < N_ROUNDS; i++) {
        assert_int_equal(residency_load(s.r, &alpha, 1, NULL, NULL), QN_OK);
        assert_int_equal(residency_validated(s.r, NULL), QN_OK);
        assert_int_equal(residency_ready(s.r, 2, NULL), QN_OK);
        const uint32_t before = atomic_load(&s.n_begun);
        for (uint32_t turn = 0; turn < 1000000 && atomic_load(&s.n_begun) == before; turn++) {
        }
        assert_int_equal(residency_evict(s.r, &alpha, &how, NULL, NULL), QN_OK);
    }
    atomic_store(&s.is_over, true);
    for (uint32_t i = 0; i < N_USERS; i++) {
        pthread_join(users[i], NULL);
    }
    assert_int_equal(atomic_load(&s.n_wrong), 0);
    assert_true(atomic_load(&s.n_begun) > 0);
    assert_true(s.n_listened >= N_ROUNDS * 5);
    residency_destroy(s.r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_session_is_there_while_the_model_is_scrubbed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
