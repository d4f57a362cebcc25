/* test_secret.c — keys find their slots in tables of every size, and nobody can tell which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/secret.h"

static void every_slot_lies_in_its_table(void **state) {
    const uint64_t multiplier = secret_multiplier();
    (void)state;
    for (uint64_t n_slots = 1; n_slots != 0; n_slots <<= 1) {
        for (uint64_t key = 0; key < 1000; key++) {
            assert_true(secret_slot(key << 54 | key, multiplier, n_slots) < n_slots);
        }
    }
}

static void keys_that_differ_only_in_their_upper_bits_spread(void **state) {
    enum { N = 4096 };
    static unsigned n_in[N];
    const uint64_t multiplier = secret_multiplier();
    unsigned most = 0;
    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        const unsigned n = ++n_in[secret_slot(i << 48, multiplier, N)];
        most = n > most ? n : most;
    }
    assert_true(most < N / 8);
}

static void multipliers_are_odd_and_differ(void **state) {
    (void)state;
    const uint64_t a = secret_multiplier(), b = secret_multiplier();
    assert_true((a & 1) != 0 && (b & 1) != 0 && a != b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slot_lies_in_its_table),
        cmocka_unit_test(keys_that_differ_only_in_their_upper_bits_spread),
        cmocka_unit_test(multipliers_are_odd_and_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
