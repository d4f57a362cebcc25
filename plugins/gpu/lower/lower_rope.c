/* lower_rope.c — ROPE: a table of frequencies made once in 64 bits, and one launch, which two of them share whose heads are alike. */
#include "lower_internal.h"
#include "lower_rope.h"

#include <math.h>

#define PI 3.14159265358979323846264338327950288

/* The pair whose wavelength fits `turns` times into the original context. */
static double find_pair(const qn_rope_attrs *attrs, double turns) {
    return attrs->n_rot * log(attrs->n_ctx_orig / (2 * PI * turns)) / (2 * log(attrs->base));
}

/* What the angle of a pair is multiplied by: linear scaling, or YaRN's mix of scaled and not. */
static double find_stretch(const qn_rope_attrs *attrs, uint32_t pair) {
    if (attrs->ext_factor == 0) {
        return attrs->freq_scale;
    }
    const double start = fmax(0, floor(find_pair(attrs, attrs->beta_fast)));
    const double end = fmin(attrs->n_rot - 1.0, ceil(find_pair(attrs, attrs->beta_slow)));
    const double ramp = 1 - fmin(fmax((pair - start) / fmax(0.001, end - start), 0), 1);
    const double mix = ramp * attrs->ext_factor;
    return attrs->freq_scale * (1 - mix) + mix;
}

uint64_t lower_rope_table_bytes(const qn_rope_attrs *attrs) {
    return (uint64_t)(attrs->n_rot / 2) * 2 * sizeof(float);
}

void lower_rope_table_write(const qn_rope_attrs *attrs, const float *factors, float *table) {
    const double magnitude = attrs->attn_factor * (attrs->ext_factor == 0 ? 1 : 1 + 0.1 * log(1 / (double)attrs->freq_scale));
    for (uint32_t i = 0; i < attrs->n_rot / 2; i++) {
        const double turn = pow(attrs->base, -2.0 * i / attrs->n_rot) / (factors == NULL ? 1.0 : (double)factors[i]);
        table[2 * i] = (float)(turn * find_stretch(attrs, i));
        table[2 * i + 1] = (float)magnitude;
    }
}

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    (void)ask;
    kernels[0] = GPU_KERNEL_ROPE;
    return 1;
}

/* Pairs that are turned and elements that are copied, of a head. */
static uint32_t count_slots(const qn_rope_attrs *attrs) {
    return attrs->n_rot / 2 + (attrs->head_dim - attrs->n_rot);
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    const qn_rope_attrs *attrs = call->attrs;
    const uint32_t slots = count_slots(attrs);
    struct rope_params params = {.slots = slots, .n_rot = attrs->n_rot, .head_dim = attrs->head_dim, .n_head = attrs->n_head,
                                 .is_adjacent = attrs->pairing == QN_ROPE_ADJACENT};
    uint32_t n;
    const qn_status status = lower_count(&call->out, call->index, &n, err);
    if (status != QN_OK) {
        return status;
    }
    params.n = n / attrs->head_dim * slots;
    const gpu_binding *table = attrs->n_rot == 0 ? &to->zero : &to->tables[call->index];
    const gpu_binding *buffers[] = {&call->in[0].at, &to->block->positions, table, &call->out.at};
    return lower_elements(to, GPU_KERNEL_ROPE, params.n, 1, buffers, &params, call->index, err);
}

/* --- Two of them -------------------------------------------------------------------------------------------------------- */

static int can_pair(const lower_question *ask, const lower_question *next) {
    if (next->op->op != QN_OP_ROPE || next->op->n_inputs != ask->op->n_inputs) {
        return 0;
    }
    const qn_rope_attrs *own = ask->attrs;
    qn_rope_attrs theirs;
    memcpy(&theirs, next->attrs, sizeof theirs);
    theirs.n_head = own->n_head;
    return memcmp(own, &theirs, sizeof theirs) == 0 &&
           (ask->op->n_inputs == 1 || lower_operand_number(ask, 1) == lower_operand_number(next, 1));
}

static uint32_t name_pair(const lower_question *ask) {
    (void)ask;
    return GPU_KERNEL_ROPE_PAIR;
}

static qn_status lower_both(gpu_lowering *to, const gpu_call *call, const gpu_call *next, qn_error *err) {
    const qn_rope_attrs *attrs = call->attrs, *theirs = next->attrs;
    const uint32_t slots = count_slots(attrs);
    uint32_t n = 0, n2 = 0;
    qn_status status = lower_count(&call->out, call->index, &n, err);
    if (status == QN_OK) {
        status = lower_count(&next->out, next->index, &n2, err);
    }
    if (status == QN_OK && n > UINT32_MAX - n2) {
        status = qn_fail_op(err, call->index, QN_UNSUPPORTED, "%u and %u elements are more than a kernel counts", n, n2);
    }
    if (status != QN_OK) {
        return status;
    }
    const struct rope_pair_params params = {.n = n / attrs->head_dim * slots, .n2 = n2 / attrs->head_dim * slots, .slots = slots,
                                            .n_rot = attrs->n_rot, .head_dim = attrs->head_dim, .n_head = attrs->n_head,
                                            .n_head2 = theirs->n_head, .is_adjacent = attrs->pairing == QN_ROPE_ADJACENT};
    const gpu_binding *table = attrs->n_rot == 0 ? &to->zero : &to->tables[call->index];
    const gpu_binding *buffers[] = {&call->in[0].at, &next->in[0].at, &to->block->positions, table, &call->out.at, &next->out.at};
    return lower_elements(to, GPU_KERNEL_ROPE_PAIR, (uint64_t)params.n + params.n2, 1, buffers, &params, call->index, err);
}

const lower_row lower_rope = {.kernels = list_kernels, .lower = lower_it, .can_pair = can_pair, .pair_kernel = name_pair,
                              .lower_pair = lower_both};
