/* lower_add.c — ADD. */
#include "lower_internal.h"

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    (void)ask;
    kernels[0] = GPU_KERNEL_ADD;
    return 1;
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    const int is_weight = call->in[1].buffer->role == QN_ROLE_WEIGHT;
    struct add_params params;
    const qn_status status = lower_count(&call->out, call->index, &params.n, err);
    params.period = is_weight || params.n == 0 ? (uint32_t)call->out.n_columns : params.n;
    const gpu_binding *buffers[] = {&call->in[0].at, &call->in[1].at, &call->out.at};
    return status != QN_OK ? status
                           : lower_elements(to, GPU_KERNEL_ADD, params.n, LOWER_ITEM_ELEMENTS, buffers, &params, call->index, err);
}

const lower_row lower_add = {.kernels = list_kernels, .lower = lower_it};
