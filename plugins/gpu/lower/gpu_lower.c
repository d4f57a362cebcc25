/* gpu_lower.c — the functions of gpu_lower.h: each finds the row of the op and asks it. */
#include "lower_internal.h"
#include "lower_rope.h"

const lower_row *lower_find_row(uint32_t op) {
    switch (op) {
#define QN_OP(NAME, number, name, since, least, most, outputs, attrs, bound) case QN_OP_##NAME: return &lower_##name;
#include <quoin/ops.def>
#undef QN_OP
    default: return NULL;
    }
}

static lower_question ask_about(const gpu_caps *caps, const qn_program *program, const qn_limits *limits, uint32_t op) {
    const qn_op *row = qn_program_op(program, op);
    return (lower_question){.caps = caps, .program = program, .limits = limits, .op = row, .attrs = qn_program_attrs(program, row)};
}

/* Classes in which the kernels compute: bytes only where the device multiplies them. */
static uint32_t offered(const gpu_caps *caps) {
    return QN_NUMERIC_F32ACC | ((caps->flags & GPU_CAP_INT_DOT) != 0 ? QN_NUMERIC_ACT8 : 0u);
}

int gpu_can_lower(const gpu_caps *caps, const qn_program *program, uint32_t op, uint32_t numeric, char text[LOWER_VERDICT_BYTES]) {
    const lower_question ask = ask_about(caps, program, NULL, op);
    const lower_row *row = lower_find_row(ask.op->op);
    if (row == NULL) {
        snprintf(text, LOWER_VERDICT_BYTES, "no kernel for op %u", ask.op->op);
        return 0;
    }
    if ((numeric & offered(caps)) == 0) {
        snprintf(text, LOWER_VERDICT_BYTES, "the kernels are of class f32acc%s only",
                 (caps->flags & GPU_CAP_INT_DOT) != 0 ? " or act8" : "");
        return 0;
    }
    return lower_can_bind(&ask, text) && (row->can == NULL || row->can(&ask, text));
}

qn_status gpu_lower_op(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    const lower_row *row = lower_find_row(call->op->op);
    return row == NULL ? qn_fail_op(err, call->index, QN_UNSUPPORTED, "no kernel for op %u", call->op->op) : row->lower(to, call, err);
}

qn_status gpu_lower_pair(gpu_lowering *to, const gpu_call *first, const gpu_call *second, qn_error *err) {
    const lower_row *row = lower_find_row(first->op->op);
    return row == NULL || row->lower_pair == NULL
               ? qn_fail_op(err, first->index, QN_INTERNAL, "op %u has no kernel for two ops", first->op->op)
               : row->lower_pair(to, first, second, err);
}

uint32_t gpu_most_launches(const gpu_caps *caps, const qn_program *program, const qn_limits *limits, uint32_t numeric, uint32_t op) {
    lower_question ask = ask_about(caps, program, limits, op);
    const lower_row *row = lower_find_row(ask.op->op);
    ask.numeric = numeric;
    return row == NULL || row->most_launches == NULL ? 1 : row->most_launches(&ask);
}

uint64_t gpu_quants_bytes(const gpu_caps *caps, const qn_program *program, const qn_limits *limits, uint32_t numeric, uint32_t op) {
    lower_question ask = ask_about(caps, program, limits, op);
    const lower_row *row = lower_find_row(ask.op->op);
    ask.numeric = numeric;
    return row == NULL || row->quants_bytes == NULL ? 0 : row->quants_bytes(&ask);
}

uint64_t gpu_scratch_bytes(const gpu_caps *caps, const qn_program *program, const qn_limits *limits, uint32_t op) {
    const lower_question ask = ask_about(caps, program, limits, op);
    const lower_row *row = lower_find_row(ask.op->op);
    return row == NULL || row->scratch_bytes == NULL ? 0 : row->scratch_bytes(&ask);
}

uint64_t gpu_table_bytes(const qn_program *program, uint32_t op) {
    const lower_question ask = ask_about(NULL, program, NULL, op);
    return ask.op->op == QN_OP_ROPE ? lower_rope_table_bytes(ask.attrs) : 0;
}

void gpu_table_write(const qn_program *program, uint32_t op, const float *factors, void *table) {
    const lower_question ask = ask_about(NULL, program, NULL, op);
    if (ask.op->op == QN_OP_ROPE) {
        lower_rope_table_write(ask.attrs, factors, table);
    }
}

uint32_t gpu_kernels_of(const gpu_caps *caps, const qn_program *program, uint32_t op, uint32_t partner, uint32_t numeric, uint32_t *kernels,
                        uint32_t room) {
    lower_question ask = ask_about(caps, program, NULL, op);
    const lower_row *row = lower_find_row(ask.op->op);
    uint32_t all[LOWER_MAX_KERNELS], n = 0;
    ask.numeric = numeric;
    if (row != NULL && partner == op) {
        n = row->kernels(&ask, all);
    } else if (row != NULL && partner > op) {
        all[n++] = row->pair_kernel(&ask);
    }
    for (uint32_t i = 0; i < n && i < room; i++) {
        kernels[i] = all[i];
    }
    return n;
}

const char *gpu_kernel_name(uint32_t kernel) {
    return kernel < GPU_N_KERNELS ? gpu_kernels[kernel].name : "copy";
}

/* Kernels store whole words. */
uint64_t gpu_state_row_bytes(qn_format format, uint64_t n_columns) {
    return (qn_format_bytes(format, n_columns) + 3) / 4 * 4;
}
