/* lower_fuse.c — which ops become one launch: pairs that a row says can be (lower_row.can_pair), near enough to each other. */
#include "lower_internal.h"

static lower_question ask_about(const qn_program *program, uint32_t op) {
    const qn_op *row = qn_program_op(program, op);
    return (lower_question){.program = program, .op = row, .attrs = qn_program_attrs(program, row)};
}

/* What an op writes: its output or, without one, the state that is its second input. */
static uint32_t find_written(const lower_question *ask) {
    return lower_operand_number(ask, ask->op->n_outputs > 0 ? ask->op->n_inputs : 1);
}

static int does_need(const lower_question *ask, const lower_question *earlier) {
    const uint32_t written = find_written(earlier);
    for (uint32_t i = 0; i < ask->op->n_inputs + ask->op->n_outputs; i++) {
        if (lower_operand_number(ask, i) == written) {
            return 1;
        }
    }
    return 0;
}

/* The first op behind `op` that it can go with, or itself; an op that needs its result ends the search. */
static uint32_t find_partner(const qn_program *program, const lower_row *row, uint32_t op, const uint32_t *partner) {
    const lower_question ask = ask_about(program, op);
    for (uint32_t j = op + 1; j < program->n_ops && j <= op + GPU_FUSED_WITHIN; j++) {
        const lower_question next = ask_about(program, j);
        if (partner[j] == j && row->can_pair(&ask, &next)) {
            return j;
        }
        if (does_need(&next, &ask)) {
            return op;
        }
    }
    return op;
}

void gpu_fuse(const qn_program *program, uint32_t flags, uint32_t *partner) {
    for (uint32_t i = 0; i < program->n_ops; i++) {
        partner[i] = i;
    }
    for (uint32_t i = 0; i < program->n_ops && (flags & QN_COMPILE_MATERIALIZE) == 0; i++) {
        const lower_row *row = lower_find_row(qn_program_op(program, i)->op);
        if (partner[i] == i && row != NULL && row->can_pair != NULL) {
            const uint32_t j = find_partner(program, row, i, partner);
            partner[i] = j;
            partner[j] = i;
        }
    }
}

/* Two outputs of two ops; the values and the ids of top_k. */
uint32_t gpu_kernel_writes(uint32_t kernel) {
    switch (kernel) {
    case GPU_KERNEL_ADD_RMS_NORM:
    case GPU_KERNEL_ADD_RMS_NORM_CPU:
    case GPU_KERNEL_ROPE_PAIR:
    case GPU_KERNEL_STATE_WRITE_PAIR_F32:
    case GPU_KERNEL_STATE_WRITE_PAIR_F16:
    case GPU_KERNEL_STATE_WRITE_PAIR_BF16:
    case GPU_KERNEL_TOP_K: return 2;
    default: return 1;
    }
}
