/* lower_select_rows.c — SELECT_ROWS. */
#include "lower_internal.h"

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    (void)ask;
    kernels[0] = GPU_KERNEL_SELECT_ROWS;
    return 1;
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    struct select_rows_params params = {.n_columns = (uint32_t)call->out.n_columns};
    uint32_t n_in;
    qn_status status = lower_count(&call->in[0], call->index, &n_in, err);
    if (status == QN_OK) {
        status = lower_count(&call->out, call->index, &params.n, err);
    }
    const gpu_binding *buffers[] = {&call->in[0].at, &call->in[1].at, &call->out.at};
    return status != QN_OK
               ? status
               : lower_elements(to, GPU_KERNEL_SELECT_ROWS, params.n, LOWER_ITEM_ELEMENTS, buffers, &params, call->index, err);
}

const lower_row lower_select_rows = {.kernels = list_kernels, .lower = lower_it};
