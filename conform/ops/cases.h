/* cases.h — what every case file needs: the harness, and which formats decode-core-0 asks for.
 *
 * No plugin's name appears in a case file: what a backend may answer is decided by the op sheet alone.
 */
#ifndef CONFORM_CASES_H
#define CONFORM_CASES_H
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

/* Weight formats of decode-core-0: CF_MUST_DECODE, the others 0. */
enum {
    MUST_F32 = CF_MUST_DECODE,
    MUST_F16 = CF_MUST_DECODE,
    MUST_BF16 = CF_MUST_DECODE,
    MUST_Q8_0 = CF_MUST_DECODE,
    MUST_Q4_0 = CF_MUST_DECODE,
    MUST_Q4_1 = CF_MUST_DECODE,
    MUST_Q5_0 = CF_MUST_DECODE,
    MUST_Q4_K = CF_MUST_DECODE,
    MUST_Q5_K = CF_MUST_DECODE,
    MUST_Q6_K = CF_MUST_DECODE,
    MUST_Q4_K_SOA = CF_MUST_DECODE,
    MUST_TERNARY = CF_MUST_DECODE,
    MUST_I8 = 0,
    MUST_Q5_1 = 0,
    MUST_Q2_K = 0,
    MUST_Q3_K = 0,
    MUST_IQ4_NL = 0,
    MUST_IQ4_XS = 0,
    MUST_TQ1_0 = 0,
    MUST_TQ2_0 = 0,
    MUST_MXFP4 = 0
};

/* Emulated devices compile each program anew: these tests may take their time. */
#define CASES_TEST(function, requirement, must) CF_LONG_TEST(function, requirement, must, 5)

/* CASES_WEIGHT_FORMATS(X): X(name) for every format that a weight matrix may have. */
#define CASES_WEIGHT_FORMATS(X)                                                                                   \
    X(F32) X(F16) X(BF16) X(I8) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q2_K) X(Q3_K) X(Q4_K) X(Q5_K) X(Q6_K) \
    X(IQ4_NL) X(IQ4_XS) X(TQ1_0) X(TQ2_0) X(MXFP4) X(Q4_K_SOA) X(TERNARY)

/* Step with `t` tokens and no outputs. */
static inline op_step case_step(uint32_t t) {
    op_step step;
    op_step_init(&step, t, 0);
    return step;
}

#endif
