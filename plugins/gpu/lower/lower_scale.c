/* lower_scale.c — SCALE. */
#include "lower_internal.h"

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    (void)ask;
    kernels[0] = GPU_KERNEL_SCALE;
    return 1;
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    const qn_scale_attrs *attrs = call->attrs;
    struct scale_params params = {.factor = attrs->factor};
    const qn_status status = lower_count(&call->out, call->index, &params.n, err);
    const gpu_binding *buffers[] = {&call->in[0].at, &call->out.at};
    return status != QN_OK ? status
                           : lower_elements(to, GPU_KERNEL_SCALE, params.n, LOWER_ITEM_ELEMENTS, buffers, &params, call->index, err);
}

const lower_row lower_scale = {.kernels = list_kernels, .lower = lower_it};
