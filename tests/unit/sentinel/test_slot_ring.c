/* test_slot_ring.c — order, fullness, counts that cannot be, and two threads at once. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sentinel/slot_ring.h"

#define MOST 64u

typedef struct ring {
    ring_slot slots[MOST];
    _Atomic uint64_t head, tail;
    ring_end writer, reader;
} ring;

static void open_ring(ring *r, uint32_t capacity) {
    memset(r, 0, sizeof *r);
    r->writer = (ring_end){r->slots, capacity, 0, &r->head, &r->tail};
    r->reader = (ring_end){r->slots, capacity, 0, &r->tail, &r->head};
}

static bool push(ring *r, uint64_t value) {
    const uint64_t words[SLOT_WORDS] = {value, ~value, value * 3, value ^ 0x55};
    return slot_ring_push(&r->writer, words);
}

/* UINT64_MAX: empty. */
static uint64_t pop(ring *r) {
    uint64_t words[SLOT_WORDS];
    if (!slot_ring_pop(&r->reader, words)) {
        return UINT64_MAX;
    }
    assert_true(words[1] == ~words[0] && words[2] == words[0] * 3 && words[3] == (words[0] ^ 0x55));
    return words[0];
}

static void what_is_pushed_is_popped_in_order_at_every_capacity(void **state) {
    (void)state;
    ring r;
    for (uint32_t capacity = 1; capacity <= MOST; capacity++) {
        uint64_t next = 0;
        open_ring(&r, capacity);
        for (uint32_t round = 0; round < 5; round++) {
            for (uint32_t i = 0; i < capacity; i++) {
                assert_true(push(&r, round * 100 + i));
            }
            assert_false(push(&r, 7));
            for (uint32_t i = 0; i < capacity; i++) {
                next = pop(&r);
                assert_int_equal(next, round * 100 + i);
            }
            assert_true(pop(&r) == UINT64_MAX);
        }
    }
}

static void a_tail_that_cannot_be_makes_the_ring_full(void **state) {
    (void)state;
    static const uint64_t nonsense[] = {1, 5, UINT64_MAX, UINT64_MAX - 3, UINT64_C(1) << 63};
    ring r;
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        open_ring(&r, 4);
        atomic_store(&r.tail, nonsense[i]);
        const bool is_taken = push(&r, 1);
        assert_int_equal(is_taken, nonsense[i] > UINT64_MAX - 3); /* as if so many were waiting: there may be room */
        assert_true(r.writer.count <= 1);
    }
}

static void a_head_that_cannot_be_makes_the_ring_empty(void **state) {
    (void)state;
    static const uint64_t nonsense[] = {5, UINT64_MAX, UINT64_C(1) << 40};
    ring r;
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        open_ring(&r, 4);
        atomic_store(&r.head, nonsense[i]);
        assert_true(pop(&r) == UINT64_MAX);
        assert_int_equal(r.reader.count, 0);
    }
}

#define N_STRESS 200000u

static void *write_all(void *arg) {
    ring *r = arg;
    for (uint64_t i = 0; i < N_STRESS;) {
        if (push(r, i)) {
            i++;
        } else {
            sched_yield();
        }
    }
    return NULL;
}

static void two_threads_lose_nothing_and_swap_nothing(void **state) {
    (void)state;
    static const uint32_t capacities[] = {1, 3, 64};
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        static ring r;
        pthread_t writer;
        uint64_t next = 0;
        open_ring(&r, capacities[i]);
        assert_int_equal(pthread_create(&writer, NULL, write_all, &r), 0);
        while (next < N_STRESS) {
            const uint64_t value = pop(&r);
            if (value == UINT64_MAX) {
                sched_yield();
            } else {
                assert_int_equal(value, next);
                next++;
            }
        }
        pthread_join(writer, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_pushed_is_popped_in_order_at_every_capacity),
        cmocka_unit_test(a_tail_that_cannot_be_makes_the_ring_full),
        cmocka_unit_test(a_head_that_cannot_be_makes_the_ring_empty),
        cmocka_unit_test(two_threads_lose_nothing_and_swap_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
