/* cases.h — the case tables, one suite per op of ops.def.
 *
 * No plugin's name appears in a case file: what a backend may answer is decided by the op sheet alone.
 */
#ifndef TEST_CASES_H
#define TEST_CASES_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"
#include "oracle/oracle.h"

typedef struct op_test {
    const char *name;   /* a sentence */
    void (*run)(harness *h);
} op_test;

typedef struct op_suite {
    uint32_t op;        /* QN_OP_*, or QN_NO_OP for tests of whole programs */
    const op_test *tests;
    size_t n_tests;
} op_suite;

#define OP_TEST(function) {#function, function}
#define OP_SUITE(name, number, tests) const op_suite name = {number, tests, sizeof tests / sizeof tests[0]}

extern const op_suite suite_embed, suite_matmul, suite_add, suite_scale, suite_rms_norm, suite_rope, suite_state_write,
    suite_attention, suite_gated, suite_softcap, suite_select_rows, suite_programs;

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
