/* lower_gated.c — GATED. */
#include "lower_internal.h"

static uint32_t find_kernel(const qn_gated_attrs *attrs) {
    return attrs->kind == QN_GATED_SILU ? GPU_KERNEL_GATED_SILU : GPU_KERNEL_GATED_GELU;
}

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    kernels[0] = find_kernel(ask->attrs);
    return 1;
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    struct gated_params params;
    const qn_status status = lower_count(&call->out, call->index, &params.n, err);
    const gpu_binding *buffers[] = {&call->in[0].at, &call->in[1].at, &call->out.at};
    return status != QN_OK ? status
                           : lower_elements(to, find_kernel(call->attrs), params.n, LOWER_ITEM_ELEMENTS, buffers, &params, call->index, err);
}

const lower_row lower_gated = {.kernels = list_kernels, .lower = lower_it};
