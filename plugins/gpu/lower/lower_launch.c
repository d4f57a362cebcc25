/* lower_launch.c — appends launches: the grid folded into two dimensions, bindings checked against what the device has. */
#include "lower_internal.h"

/* Kernels count in 32 bits. */
#define MOST_BYTES UINT64_C(0xfffffffc)

uint64_t gpu_most_binding(const gpu_caps *caps) {
    return caps->max_binding_bytes < MOST_BYTES ? caps->max_binding_bytes : MOST_BYTES;
}

int lower_can_bind(const lower_question *ask, char text[LOWER_VERDICT_BYTES]) {
    const uint64_t most = gpu_most_binding(ask->caps);
    for (uint32_t i = 0; i < ask->op->n_inputs + ask->op->n_outputs; i++) {
        const qn_buffer *buffer = lower_operand(ask, i);
        if (buffer->role == QN_ROLE_WEIGHT || buffer->rank < 2) {
            continue; /* weights go in pieces; ids and row numbers are one word a row */
        }
        const uint64_t bytes = gpu_state_row_bytes(buffer->format, buffer->dims[0]);
        if (bytes > most) {
            snprintf(text, LOWER_VERDICT_BYTES, "one row of operand %u has %llu bytes; a kernel of this device sees %llu at once", i,
                     (unsigned long long)bytes, (unsigned long long)most);
            return 0;
        }
    }
    return 1;
}

static qn_status check_bindings(const gpu_lowering *to, const gpu_launch *launch, qn_error *err) {
    const uint64_t most = gpu_most_binding(to->caps);
    for (uint32_t b = 0; b < launch->n_buffers; b++) {
        if (launch->buffers[b].bytes > most) {
            return qn_fail_op(err, launch->op, QN_UNSUPPORTED, "kernel %s: operand %u has %llu bytes; the device can bind %llu at once",
                              gpu_kernel_name(launch->kernel), b, (unsigned long long)launch->buffers[b].bytes, (unsigned long long)most);
        }
    }
    return QN_OK;
}

/* A line of groups as a rectangle that is hardly longer. */
static qn_status fold_grid(const gpu_lowering *to, gpu_launch *launch, uint64_t groups, qn_error *err) {
    const uint64_t rows = lower_ceil(groups, to->caps->max_grid[0]);
    if (rows > to->caps->max_grid[1] || groups > UINT32_MAX - to->caps->max_grid[0]) {
        return qn_fail_op(err, launch->op, QN_UNSUPPORTED, "kernel %s: %llu work-groups are more than the device runs at once",
                          gpu_kernel_name(launch->kernel), (unsigned long long)groups);
    }
    launch->grid[0] = (uint32_t)lower_ceil(groups, rows);
    launch->grid[1] = (uint32_t)rows;
    launch->grid[2] = 1;
    return QN_OK;
}

qn_status lower_launch(gpu_lowering *to, uint32_t kernel, uint64_t groups, const gpu_binding *const *buffers, const void *params,
                       uint32_t op, qn_error *err) {
    if (groups == 0) {
        return QN_OK;
    }
    if (to->n_launches == to->room) {
        return qn_fail_op(err, op, QN_INTERNAL, "kernel %s: the list of %u launches is full", gpu_kernel_name(kernel), to->room);
    }
    gpu_launch *launch = &to->launches[to->n_launches];
    *launch = (gpu_launch){.kernel = kernel, .n_buffers = gpu_kernels[kernel].n_buffers, .n_params = gpu_kernels[kernel].n_params, .op = op};
    memcpy(launch->params, params, launch->n_params * sizeof launch->params[0]);
    for (uint32_t b = 0; b < launch->n_buffers; b++) {
        launch->buffers[b] = *buffers[b];
    }
    qn_status status = check_bindings(to, launch, err);
    if (status == QN_OK) {
        status = fold_grid(to, launch, groups, err);
    }
    if (status == QN_OK) {
        to->n_launches++;
    }
    return status;
}

qn_status lower_elements(gpu_lowering *to, uint32_t kernel, uint64_t n, uint32_t each_item, const gpu_binding *const *buffers,
                         const void *params, uint32_t op, qn_error *err) {
    return lower_launch(to, kernel, lower_ceil(n, (uint64_t)gpu_kernels[kernel].group * each_item), buffers, params, op, err);
}

qn_status lower_count(const gpu_view *view, uint32_t op, uint32_t *out, qn_error *err) {
    if (view->n_columns > MOST_BYTES / 4 || view->n_rows > MOST_BYTES / 4 / view->n_columns) {
        return qn_fail_op(err, op, QN_UNSUPPORTED, "%llu rows of %llu elements are more than 4 GiB",
                          (unsigned long long)view->n_rows, (unsigned long long)view->n_columns);
    }
    *out = (uint32_t)(view->n_rows * view->n_columns);
    return QN_OK;
}
