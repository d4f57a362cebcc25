/* test_host_services.c — what plugins get from the host: memory that is accounted and aligned, and the team. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backends/host_services.h"

#define N_WORKERS 3u

typedef struct fixture {
    team *workers;
    host_services services;
} fixture;

static int open_services(void **state) {
    static fixture f;
    const qn_machine machine = {.size = sizeof machine, .n_workers = 64, .n_cores = 64};
    if (team_create(N_WORKERS, &f.workers, NULL) != QN_OK) {
        return -1;
    }
    host_services_init(&f.services, &machine, f.workers);
    *state = &f;
    return 0;
}

static int close_services(void **state) {
    team_destroy(((fixture *)*state)->workers);
    return 0;
}

static void the_machine_that_plugins_see_has_the_team_s_size(void **state) {
    const fixture *f = *state;
    assert_int_equal(f->services.table.machine->n_workers, N_WORKERS);
}

static void memory_is_zeroed_and_aligned_as_asked(void **state) {
    fixture *f = *state;
    const qn_host *host = &f->services.table;
    for (uint64_t align = 1; align <= 4096; align *= 2) {
        unsigned char *memory = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, 100, align);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % align, 0);
        for (size_t i = 0; i < 100; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xA5, 100);
        host->mem_free(host->ctx, memory);
    }
}

static void impossible_requests_answer_null_and_count_nothing(void **state) {
    fixture *f = *state;
    const qn_host *host = &f->services.table;
    const unsigned long long before = atomic_load(&f->services.n_allocations);
    assert_null(host->mem_alloc(host->ctx, QN_MEM_SCRATCH, 16, 8192));
    assert_null(host->mem_alloc(host->ctx, QN_MEM_SCRATCH, 16, 96));
    assert_null(host->mem_alloc(host->ctx, QN_MEM_SCRATCH, UINT64_MAX - 10, 64));
    assert_int_equal(atomic_load(&f->services.n_allocations), before);
    assert_int_equal(atomic_load(&f->services.used[QN_MEM_SCRATCH]), 0);
}

static void bytes_are_accounted_by_kind_with_their_peak(void **state) {
    fixture *f = *state;
    const qn_host *host = &f->services.table;
    void *first = host->mem_alloc(host->ctx, QN_MEM_STATE, 1000, 64);
    void *second = host->mem_alloc(host->ctx, QN_MEM_STATE, 500, 64);
    assert_int_equal(atomic_load(&f->services.used[QN_MEM_STATE]), 1500);
    host->mem_free(host->ctx, first);
    assert_int_equal(atomic_load(&f->services.used[QN_MEM_STATE]), 500);
    assert_int_equal(atomic_load(&f->services.peak[QN_MEM_STATE]), 1500);
    host->mem_free(host->ctx, second);
    host->mem_free(host->ctx, NULL);
    assert_int_equal(atomic_load(&f->services.used[QN_MEM_STATE]), 0);
}

static void noted_bytes_count_like_allocated_ones_and_unknown_kinds_as_other(void **state) {
    fixture *f = *state;
    const qn_host *host = &f->services.table;
    host->mem_note(host->ctx, QN_MEM_WEIGHTS, 4096);
    host->mem_note(host->ctx, 77, 10);
    assert_int_equal(atomic_load(&f->services.used[QN_MEM_WEIGHTS]), 4096);
    assert_int_equal(atomic_load(&f->services.used[QN_MEM_OTHER]), 10);
    host->mem_note(host->ctx, QN_MEM_WEIGHTS, -4096);
    host->mem_note(host->ctx, 77, -10);
    assert_int_equal(atomic_load(&f->services.used[QN_MEM_WEIGHTS]), 0);
    assert_int_equal(atomic_load(&f->services.peak[QN_MEM_WEIGHTS]), 4096);
}

typedef struct share {
    const qn_host *host;
    atomic_uint n_taken, n_behind_barrier;
} share;

static void QN_CALL take_numbers(void *arg, uint32_t worker, uint32_t n_workers) {
    share *s = arg;
    (void)worker;
    while (s->host->team_next(s->host->ctx) < 100) {
        atomic_fetch_add(&s->n_taken, 1);
    }
    s->host->team_barrier(s->host->ctx);
    if (atomic_load(&s->n_taken) == 100 && n_workers == N_WORKERS) {
        atomic_fetch_add(&s->n_behind_barrier, 1);
    }
}

static void the_team_shares_numbers_and_meets_at_the_barrier(void **state) {
    fixture *f = *state;
    share s = {.host = &f->services.table};
    s.host->team_run(s.host->ctx, take_numbers, &s);
    assert_int_equal(atomic_load(&s.n_taken), 100);
    assert_int_equal(atomic_load(&s.n_behind_barrier), N_WORKERS);
}

static void the_clock_runs_and_cancel_is_the_host_s_flag(void **state) {
    fixture *f = *state;
    const qn_host *host = &f->services.table;
    const uint64_t before = host->time_ns(host->ctx);
    assert_true(host->time_ns(host->ctx) >= before);
    assert_int_equal(*host->cancel, 0);
    f->services.cancel = 1;
    assert_int_equal(*host->cancel, 1);
    f->services.cancel = 0;
    assert_null(host->get_ext(host->ctx, "quoin.nobody-knows/1"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_that_plugins_see_has_the_team_s_size),
        cmocka_unit_test(memory_is_zeroed_and_aligned_as_asked),
        cmocka_unit_test(impossible_requests_answer_null_and_count_nothing),
        cmocka_unit_test(bytes_are_accounted_by_kind_with_their_peak),
        cmocka_unit_test(noted_bytes_count_like_allocated_ones_and_unknown_kinds_as_other),
        cmocka_unit_test(the_team_shares_numbers_and_meets_at_the_barrier),
        cmocka_unit_test(the_clock_runs_and_cancel_is_the_host_s_flag),
    };
    return cmocka_run_group_tests(tests, open_services, close_services);
}
