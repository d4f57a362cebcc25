/* lower_rms_norm.c — RMS_NORM: one work-group for each group of elements. */
#include "lower_internal.h"

static uint32_t find_kernel(const gpu_caps *caps) {
    return (caps->flags & GPU_CAP_ON_CPU) != 0 ? GPU_KERNEL_RMS_NORM_CPU : GPU_KERNEL_RMS_NORM;
}

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    kernels[0] = find_kernel(ask->caps);
    return 1;
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    const qn_rms_norm_attrs *attrs = call->attrs;
    struct rms_norm_params params = {.group = attrs->group, .epsilon = attrs->epsilon};
    uint32_t n;
    const qn_status status = lower_count(&call->out, call->index, &n, err);
    if (status != QN_OK) {
        return status;
    }
    params.n_groups = n / attrs->group;
    const gpu_binding *buffers[] = {&call->in[0].at, &call->in[1].at, &call->out.at};
    return lower_launch(to, find_kernel(to->caps), params.n_groups, buffers, &params, call->index, err);
}

const lower_row lower_rms_norm = {.kernels = list_kernels, .lower = lower_it};
