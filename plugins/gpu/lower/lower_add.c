/* lower_add.c — ADD; and ADD with the RMS_NORM of its result. */
#include "lower_internal.h"

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    (void)ask;
    kernels[0] = GPU_KERNEL_ADD;
    return 1;
}

/* After how many elements b repeats. */
static uint32_t find_period(const gpu_call *call, uint32_t n) {
    return call->in[1].buffer->role == QN_ROLE_WEIGHT || n == 0 ? (uint32_t)call->out.n_columns : n;
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    struct add_params params;
    const qn_status status = lower_count(&call->out, call->index, &params.n, err);
    params.period = find_period(call, params.n);
    const gpu_binding *buffers[] = {&call->in[0].at, &call->in[1].at, &call->out.at};
    return status != QN_OK ? status
                           : lower_elements(to, GPU_KERNEL_ADD, params.n, LOWER_ITEM_ELEMENTS, buffers, &params, call->index, err);
}

/* --- With a norm ------------------------------------------------------------------------------------------------------ */

static int can_pair(const lower_question *ask, const lower_question *next) {
    return next->op->op == QN_OP_RMS_NORM && lower_operand_number(next, 0) == lower_operand_number(ask, 2);
}

static uint32_t find_kernel(const gpu_caps *caps) {
    return (caps->flags & GPU_CAP_ON_CPU) != 0 ? GPU_KERNEL_ADD_RMS_NORM_CPU : GPU_KERNEL_ADD_RMS_NORM;
}

static uint32_t name_pair(const lower_question *ask) {
    return find_kernel(ask->caps);
}

static qn_status lower_both(gpu_lowering *to, const gpu_call *call, const gpu_call *norm, qn_error *err) {
    const qn_rms_norm_attrs *attrs = norm->attrs;
    uint32_t n;
    const qn_status status = lower_count(&call->out, call->index, &n, err);
    if (status != QN_OK) {
        return status;
    }
    const struct add_rms_norm_params params = {.n_groups = n / attrs->group, .group = attrs->group, .epsilon = attrs->epsilon,
                                               .period = find_period(call, n)};
    const gpu_binding *buffers[] = {&call->in[0].at, &call->in[1].at, &norm->in[1].at, &call->out.at, &norm->out.at};
    return lower_launch(to, find_kernel(to->caps), params.n_groups, buffers, &params, call->index, err);
}

const lower_row lower_add = {.kernels = list_kernels, .lower = lower_it, .can_pair = can_pair, .pair_kernel = name_pair,
                             .lower_pair = lower_both};
