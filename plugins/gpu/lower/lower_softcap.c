/* lower_softcap.c — SOFTCAP. */
#include "lower_internal.h"

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    (void)ask;
    kernels[0] = GPU_KERNEL_SOFTCAP;
    return 1;
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    const qn_softcap_attrs *attrs = call->attrs;
    struct softcap_params params = {.cap = attrs->cap};
    const qn_status status = lower_count(&call->out, call->index, &params.n, err);
    const gpu_binding *buffers[] = {&call->in[0].at, &call->out.at};
    return status != QN_OK ? status
                           : lower_elements(to, GPU_KERNEL_SOFTCAP, params.n, LOWER_ITEM_ELEMENTS, buffers, &params, call->index, err);
}

const lower_row lower_softcap = {.kernels = list_kernels, .lower = lower_it};
