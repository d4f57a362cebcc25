/* test_stack.h — the decoder of two layers and every op (conform/ops/stack.h) for tests that look at programs and steps without the
 * conformance suite's frame, and the reference backend to run it on.
 *
 * Buffers 0 and 1 are the ids and rows, 2 the embedding, a Q8_0 weight; two cell groups.
 *
 * Threading: one thread at a time.
 */
#ifndef TEST_STACK_H
#define TEST_STACK_H
#include "rig.h"
#include "stack.h"

#define TEST_STACK_VOCAB 96
#define TEST_STACK_EMBEDDING 2

/* A context outside a run: a failure in it ends the program. The reference backend, class F32ACC, seed 1. */
cf_context *test_context(void);

void test_stack_init(stack *out);

qn_limits test_limits(uint32_t tokens, uint32_t outputs, uint32_t sequences, uint32_t n_groups, uint32_t cells);

#endif
