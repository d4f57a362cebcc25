/* lower_matmul.c — MATMUL: gemv for few rows of x, gemm for many, matrow on processors; one launch for each piece of the weight. */
#include "lower_internal.h"

/* From this many rows of x on the weight is decoded once for all of them. */
#define GEMM_ROWS 6u
#define GEMM_W_TILE 64u   /* tile of gemm.kernel */
#define GEMM_X_TILE 32u
#define GEMV_ROWS 2u      /* ROWS of gemv.kernel */
#define GEMV_GROUP 64u    /* its work-items */
#define LEAST_SUBGROUP 8u
#define MOST_LANES 32u
#define MATROW_ROWS 4u    /* ROWS of the matrow kernels */
#define MATROW_TOKENS 4u  /* TOKENS of matrow4 */

static int can_matmul(const lower_question *ask, char text[LOWER_VERDICT_BYTES]) {
    return lower_can_read(ask->caps, lower_operand(ask, 0), text);
}

/* Work-items of gemv that share rows: so few that each has two octets at least, because adding them up costs as well. */
static uint32_t choose_lanes(const gpu_caps *caps, uint64_t k) {
    const uint64_t n_octets = lower_ceil(k, 8);
    uint32_t lanes = 1;
    while (lanes * 2 <= MOST_LANES && lanes * 4 <= n_octets) {
        lanes *= 2;
    }
    const int has_subgroups = (caps->flags & GPU_CAP_SUBGROUPS) != 0 && caps->subgroup >= LEAST_SUBGROUP && caps->subgroup <= GEMV_GROUP;
    return has_subgroups && n_octets >= 2 * (uint64_t)caps->subgroup ? caps->subgroup : lanes;
}

/* The kernel for n_x rows of k elements of x. */
static uint32_t choose_kernel(const gpu_caps *caps, const lower_format *format, uint64_t k, uint64_t n_x) {
    if ((caps->flags & GPU_CAP_ON_CPU) != 0) {
        return n_x == 1 ? format->matrow1 : format->matrow4;
    }
    const int is_subgroup = (caps->flags & GPU_CAP_SUBGROUPS) != 0 && choose_lanes(caps, k) == caps->subgroup;
    return n_x >= GEMM_ROWS ? format->gemm : is_subgroup ? format->gemv_subgroup : format->gemv;
}

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    const lower_format *format = lower_find_format(lower_operand(ask, 0)->format);
    const uint64_t k = lower_operand(ask, 0)->dims[0];
    kernels[0] = choose_kernel(ask->caps, format, k, 1);
    kernels[1] = choose_kernel(ask->caps, format, k, UINT32_MAX);
    return 2;
}

static uint32_t count_launches(const lower_question *ask) {
    return lower_n_pieces(ask->caps, lower_operand(ask, 0));
}

static uint64_t count_groups(const lower_format *format, uint32_t kernel, uint32_t lanes, uint64_t n_rows, uint64_t n_x) {
    const uint32_t group = gpu_kernels[kernel].group;
    return kernel == format->gemm      ? lower_ceil(n_rows, GEMM_W_TILE) * lower_ceil(n_x, GEMM_X_TILE)
           : kernel == format->matrow1 ? lower_ceil(n_rows, MATROW_ROWS * group)
           : kernel == format->matrow4 ? lower_ceil(n_rows, MATROW_ROWS * group) * lower_ceil(n_x, MATROW_TOKENS)
                                       : lower_ceil(n_rows, group / lanes * GEMV_ROWS) * n_x;
}

static qn_status lower_piece_of_it(gpu_lowering *to, const gpu_call *call, const lower_piece *piece, qn_error *err) {
    const gpu_view *w = &call->in[0], *x = &call->in[1];
    const lower_format *format = lower_find_format(w->buffer->format);
    const uint32_t kernel = choose_kernel(to->caps, format, w->n_columns, x->n_rows);
    const uint32_t lanes = choose_lanes(to->caps, w->n_columns);
    const struct matmul_params params = {
        .k = (uint32_t)w->n_columns, .n = (uint32_t)piece->n_rows, .n_x = (uint32_t)x->n_rows, .first_row = (uint32_t)piece->first_row,
        .y_columns = (uint32_t)call->out.n_columns, .row_bytes = piece->row_bytes, .first_element = piece->first_element,
        .has_bias = call->n_inputs == 3, .lanes = lanes};
    const gpu_binding *bias = call->n_inputs == 3 ? &call->in[2].at : &to->zero;
    const gpu_binding *buffers[] = {&piece->w, &piece->w_scale, &x->at, bias, &call->out.at};
    const uint64_t groups = count_groups(format, kernel, lanes, piece->n_rows, x->n_rows);
    return lower_launch(to, kernel, groups, buffers, &params, call->index, err);
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    uint32_t n;
    qn_status status = lower_count(&call->out, call->index, &n, err);
    if (status == QN_OK) {
        status = lower_count(&call->in[1], call->index, &n, err);
    }
    for (uint64_t row = 0; row < call->in[0].n_rows && status == QN_OK;) {
        const lower_piece piece = lower_take_piece(to, &call->in[0], row);
        const uint32_t first = to->n_launches;
        status = lower_piece_of_it(to, call, &piece, err);
        if (status == QN_OK && row > 0 && to->n_launches > first) {
            to->launches[first].flags |= GPU_LAUNCH_BESIDE; /* pieces write different columns of y */
        }
        row += piece.n_rows;
    }
    return status;
}

const lower_row lower_matmul = {.can = can_matmul, .kernels = list_kernels, .most_launches = count_launches, .lower = lower_it};
