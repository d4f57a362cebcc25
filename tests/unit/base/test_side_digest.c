/* test_side_digest.c — the same digest as beside nothing, and it stops when it is told to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/side_digest.h"

#define SIZE (UINT64_C(9) << 20)

static fmt_status digest_bytes(void *ctx, span_watch watch, uint8_t out[SHA256_BYTES]) {
    return span_digest((fmt_span){ctx, SIZE}, &watch, out);
}

/* Goes on until it is stopped. */
static fmt_status wait_for_stop(void *ctx, span_watch watch, uint8_t out[SHA256_BYTES]) {
    (void)ctx;
    (void)out;
    while (watch.progress(watch.progress_ctx, 1, 2)) {
    }
    return FMT_CANCELLED;
}

static bool refuse(void *ctx, uint64_t done, uint64_t total) {
    ++*(unsigned *)ctx;
    assert_true(done <= total);
    return false;
}

static void it_is_the_digest_of_the_bytes(void **state) {
    uint8_t *bytes = malloc(SIZE), expected[SHA256_BYTES], got[SHA256_BYTES];
    side_digest side;
    (void)state;
    memset(bytes, 0x5A, SIZE);
    assert_true(sha256_digest(bytes, SIZE, expected));
    side_digest_begin(&side, digest_bytes, bytes);
    assert_int_equal(side_digest_end(&side, NULL, NULL, got), FMT_OK);
    assert_memory_equal(got, expected, SHA256_BYTES);
    free(bytes);
}

static void who_waits_for_it_may_stop_it(void **state) {
    uint8_t digest[SHA256_BYTES];
    unsigned n_calls = 0;
    side_digest side;
    (void)state;
    side_digest_begin(&side, wait_for_stop, NULL);
    assert_int_equal(side_digest_end(&side, refuse, &n_calls, digest), FMT_CANCELLED);
    assert_true(n_calls > 0);
}

static void what_is_abandoned_stops_and_may_be_abandoned_again(void **state) {
    side_digest side, none = {.fn = NULL};
    (void)state;
    side_digest_begin(&side, wait_for_stop, NULL);
    side_digest_abandon(&side);
    side_digest_abandon(&side);
    side_digest_abandon(&none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_digest_of_the_bytes),
        cmocka_unit_test(who_waits_for_it_may_stop_it),
        cmocka_unit_test(what_is_abandoned_stops_and_may_be_abandoned_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
