/* test_streams.c — records and messages, what is dropped, END that never is, and an observer that scribbles. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sentinel/streams.h"

typedef struct pair {
    unsigned char *block;
    size_t bytes;
    run_streams run;
    observer_streams observer;
} pair;

static pair open_pair(uint32_t records, uint32_t messages) {
    pair p = {.bytes = streams_size(records, messages)};
    p.block = aligned_alloc(64, (p.bytes + 63) / 64 * 64);
    assert_non_null(p.block);
    memset(p.block, 0, p.bytes);
    run_streams_begin(&p.run, p.block, records, messages);
    assert_int_equal(observer_streams_attach(&p.observer, p.block, p.bytes, NULL), QN_OK);
    return p;
}

static void post(pair *p, uint32_t step) {
    const quoin_logit_record record = {.step = step, .token = step + 100, .logit = 1.5f, .flags = QUOIN_RECORD_DENY};
    run_streams_post(&p->run, &record);
}

static void a_record_arrives_as_it_was_posted(void **state) {
    (void)state;
    pair p = open_pair(8, 2);
    quoin_logit_record got;
    assert_false(observer_streams_take(&p.observer, &got));
    post(&p, 3);
    assert_true(observer_streams_take(&p.observer, &got));
    assert_int_equal(got.step, 3);
    assert_int_equal(got.token, 103);
    assert_int_equal(got.flags, QUOIN_RECORD_DENY);
    assert_true(got.logit == 1.5f);
    for (size_t i = 0; i < sizeof got.reserved / sizeof got.reserved[0]; i++) {
        assert_int_equal(got.reserved[i], 0);
    }
    free(p.block);
}

static void records_beyond_the_capacity_are_counted_and_gone(void **state) {
    (void)state;
    pair p = open_pair(QUOIN_OBSERVER_RECORDS, QUOIN_OBSERVER_MESSAGES);
    quoin_logit_record got;
    for (uint32_t i = 0; i < QUOIN_OBSERVER_RECORDS + 10; i++) {
        post(&p, i);
    }
    assert_int_equal(observer_streams_dropped(&p.observer), 10);
    for (uint32_t i = 0; i < QUOIN_OBSERVER_RECORDS; i++) {
        assert_true(observer_streams_take(&p.observer, &got));
        assert_int_equal(got.step, i);
    }
    assert_false(observer_streams_take(&p.observer, &got));
    post(&p, 5000);
    assert_true(observer_streams_take(&p.observer, &got));
    assert_int_equal(got.step, 5000);
    free(p.block);
}

static void end_is_never_lost_with_a_ring_of_one(void **state) {
    (void)state;
    pair p = open_pair(1, 1);
    quoin_logit_record got;
    post(&p, 0);
    post(&p, 1);
    run_streams_end(&p.run, 2, 8);
    run_streams_end(&p.run, 9, 9);
    assert_true(observer_streams_take(&p.observer, &got));
    assert_int_equal(got.step, 0);
    assert_false(p.observer.is_over);
    assert_true(observer_streams_take(&p.observer, &got));
    assert_int_equal(got.flags, QUOIN_RECORD_END);
    assert_int_equal(got.step, 2);
    assert_int_equal(got.token, 8);
    assert_true(p.observer.is_over);
    assert_false(observer_streams_take(&p.observer, &got));
    free(p.block);
}

static void an_abort_is_heard_with_who_and_why(void **state) {
    (void)state;
    pair p = open_pair(4, 2);
    quoin_control_message message;
    assert_false(run_streams_hear(&p.run, &message));
    assert_true(observer_streams_abort(&p.observer, 7, "margin is low"));
    assert_true(observer_streams_abort(&p.observer, 8, "again, and much longer than there is room for"));
    assert_false(observer_streams_abort(&p.observer, 9, "no room"));
    assert_true(run_streams_hear(&p.run, &message));
    assert_int_equal(message.kind, QUOIN_CONTROL_ABORT);
    assert_int_equal(message.step, 7);
    assert_string_equal(message.reason, "margin is low");
    assert_true(run_streams_hear(&p.run, &message));
    assert_string_equal(message.reason, "again, and much lon");
    assert_false(run_streams_hear(&p.run, &message));
    free(p.block);
}

static void what_an_observer_says_is_made_printable(void **state) {
    (void)state;
    pair p = open_pair(4, 2);
    quoin_control_message message = {.kind = QUOIN_CONTROL_ABORT};
    memset(message.reason, '\x1b', sizeof message.reason);
    assert_true(slot_ring_push(&p.observer.messages, &message));
    assert_true(run_streams_hear(&p.run, &message));
    assert_string_equal(message.reason, "???????????????????");
    free(p.block);
}

static void a_second_observer_goes_on_where_the_first_stopped(void **state) {
    (void)state;
    pair p = open_pair(4, 2);
    quoin_logit_record got;
    observer_streams second;
    post(&p, 0);
    post(&p, 1);
    assert_true(observer_streams_take(&p.observer, &got));
    assert_int_equal(observer_streams_attach(&second, p.block, p.bytes, NULL), QN_OK);
    assert_true(observer_streams_take(&second, &got));
    assert_int_equal(got.step, 1);
    free(p.block);
}

/* Each byte of the header, changed, is refused: reserved words, and the process, apart. */
static void a_header_that_lies_is_refused(void **state) {
    (void)state;
    pair p = open_pair(4, 2);
    const size_t told = offsetof(quoin_observer_header, reserved);
    error_context err = {0};
    for (size_t at = 0; at < told; at++) {
        observer_streams other;
        const bool is_pid = at >= offsetof(quoin_observer_header, pid) && at < offsetof(quoin_observer_header, record_bytes);
        p.block[at] ^= 0x41;
        assert_true((observer_streams_attach(&other, p.block, p.bytes, &err) < 0) == !is_pid);
        p.block[at] ^= 0x41;
    }
    observer_streams other;
    assert_int_equal(observer_streams_attach(&other, p.block, p.bytes - 32, &err), QN_BAD_FILE);
    assert_int_equal(observer_streams_attach(&other, p.block, 100, &err), QN_BAD_FILE);
    free(p.block);
}

/* Whatever is written over the block: the run posts, hears at most what fits, ends, and touches nothing beside the block. */
static void a_mad_observer_loses_records_and_nothing_else(void **state) {
    (void)state;
    uint64_t seed = 42;
    pair p = open_pair(16, 4);
    uint64_t n_heard = 0;
    for (uint32_t step = 0; step < 20000; step++) {
        quoin_control_message message;
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const size_t at = (size_t)(seed >> 33) % (p.bytes / 8) * 8;
        const uint64_t value = (seed & 1) != 0 ? seed >> 60 : seed ^ seed << 17;
        memcpy(p.block + at, &value, sizeof value);
        post(&p, step);
        for (uint32_t i = 0; i < 4 && run_streams_hear(&p.run, &message); i++) {
            n_heard++;
            assert_true(memchr(message.reason, '\0', sizeof message.reason) != NULL);
        }
    }
    assert_int_equal(p.run.n_posted, 20000);
    assert_true(p.run.records.count + p.run.n_dropped == 20000);
    assert_true(n_heard > 0);
    assert_int_equal(p.run.records.capacity, 16);
    run_streams_end(&p.run, 1, 0);
    free(p.block);
}

static void *run_with_threads(void *arg) {
    pair *p = arg;
    for (uint32_t i = 0; i < 50000; i++) {
        post(p, i);
    }
    run_streams_end(&p->run, 50000, 1);
    return NULL;
}

static void an_observer_in_another_thread_sees_steps_grow_and_then_the_end(void **state) {
    (void)state;
    pair p = open_pair(32, 4);
    pthread_t writer;
    uint64_t n = 0;
    uint32_t last = 0;
    assert_int_equal(pthread_create(&writer, NULL, run_with_threads, &p), 0);
    while (!p.observer.is_over) {
        quoin_logit_record got;
        if (!observer_streams_take(&p.observer, &got)) {
            sched_yield();
        } else if (!p.observer.is_over) {
            assert_true(n == 0 || got.step > last);
            assert_int_equal(got.token, got.step + 100);
            last = got.step;
            n++;
        }
    }
    pthread_join(writer, NULL);
    assert_int_equal(n + observer_streams_dropped(&p.observer), 50000);
    free(p.block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_arrives_as_it_was_posted),
        cmocka_unit_test(records_beyond_the_capacity_are_counted_and_gone),
        cmocka_unit_test(end_is_never_lost_with_a_ring_of_one),
        cmocka_unit_test(an_abort_is_heard_with_who_and_why),
        cmocka_unit_test(what_an_observer_says_is_made_printable),
        cmocka_unit_test(a_second_observer_goes_on_where_the_first_stopped),
        cmocka_unit_test(a_header_that_lies_is_refused),
        cmocka_unit_test(a_mad_observer_loses_records_and_nothing_else),
        cmocka_unit_test(an_observer_in_another_thread_sees_steps_grow_and_then_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
