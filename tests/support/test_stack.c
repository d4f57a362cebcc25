/* test_stack.c — a context without a run, and a stack of everything. */
#include "test_stack.h"

#include "core/cf_run.h"

qn_status QN_CALL quoin_reference_query(const qn_query_in *in, qn_query_out *out);

cf_context *test_context(void) {
    static cf_run run = {.has_told_facts = true};
    static cf_context ctx;
    ctx = (cf_context){.query = quoin_reference_query, .n_workers = 2, .numeric = QN_NUMERIC_F32ACC, .seed = 1, .run = &run};
    return &ctx;
}

void test_stack_init(stack *out) {
    stack_shape shape = stack_mixed_shape(2);
    shape.n_vocab = TEST_STACK_VOCAB;
    stack_init(out, test_context(), stack_family_of_everything(), &shape, 11);
}

qn_limits test_limits(uint32_t tokens, uint32_t outputs, uint32_t sequences, uint32_t n_groups, uint32_t cells) {
    qn_limits limits = {.size = sizeof limits, .max_tokens = tokens, .max_outputs = outputs, .max_sequences = sequences,
                        .n_groups = n_groups};
    for (uint32_t g = 0; g < n_groups; g++) {
        limits.cells[g] = cells;
    }
    return limits;
}
