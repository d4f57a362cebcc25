/* lower_matmul.c — MATMUL: gemv for few rows of x, gemm for many, matrow on processors; one launch for each piece of the weight. In class
 * ACT8 formats that can be multiplied as bytes are, by the first two of these; a launch before them makes bytes of x, unless an op before
 * has done so.
 */
#include "lower_internal.h"

/* From this many rows of x on the weight is decoded once for all of them. */
#define GEMM_ROWS 6u
#define GEMM_W_TILE 64u   /* tile of gemm.kernel */
#define GEMM_X_TILE 32u
#define GEMV_ROWS 2u      /* ROWS of gemv.kernel */
#define GEMV_GROUP 64u    /* its work-items */
#define LEAST_SUBGROUP 4u
#define MOST_LANES 32u
#define MATROW_ROWS 4u    /* ROWS of the matrow kernels */
#define MATROW_TOKENS 4u  /* TOKENS of matrow4 */
#define BLOCK 32u         /* elements of x that share a scale in quantize.kernel */
#define QUANT_BYTES 40u   /* of a block: its elements, scale and sum */
#define QUANT_ITEMS 8u    /* work-items of a block */

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
    const int has_subgroups = (caps->flags & GPU_CAP_SUBGROUPS) != 0 && caps->subgroup >= LEAST_SUBGROUP && GEMV_GROUP % caps->subgroup == 0;
    return has_subgroups && n_octets >= 2 * (uint64_t)caps->subgroup ? caps->subgroup : lanes;
}

/* The byte kernels of the weight where they are to be used, or null. */
static const lower_dot_format *choose_dot(const gpu_caps *caps, uint32_t numeric, qn_format format) {
    return numeric == QN_NUMERIC_ACT8 && (caps->flags & GPU_CAP_INT_DOT) != 0 ? lower_find_dot(format) : NULL;
}

/* The kernel for n_x rows of k elements of x. */
static uint32_t choose_kernel(const gpu_caps *caps, uint32_t numeric, qn_format weight, uint64_t k, uint64_t n_x) {
    const lower_format *format = lower_find_format(weight);
    const lower_dot_format *dot = choose_dot(caps, numeric, weight);
    const int is_subgroup = (caps->flags & GPU_CAP_SUBGROUPS) != 0 && choose_lanes(caps, k) == caps->subgroup;
    if (dot != NULL) {
        return n_x >= GEMM_ROWS ? dot->gemm : is_subgroup ? dot->gemv_subgroup : dot->gemv;
    }
    if ((caps->flags & GPU_CAP_ON_CPU) != 0) {
        return n_x == 1 ? format->matrow1 : format->matrow4;
    }
    return n_x >= GEMM_ROWS ? format->gemm : is_subgroup ? format->gemv_subgroup : format->gemv;
}

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    const qn_buffer *w = lower_operand(ask, 0);
    kernels[0] = choose_kernel(ask->caps, ask->numeric, w->format, w->dims[0], 1);
    kernels[1] = choose_kernel(ask->caps, ask->numeric, w->format, w->dims[0], UINT32_MAX);
    kernels[2] = GPU_KERNEL_QUANTIZE;
    return choose_dot(ask->caps, ask->numeric, w->format) != NULL ? 3 : 2;
}

static uint32_t count_launches(const lower_question *ask) {
    const qn_buffer *w = lower_operand(ask, 0);
    return lower_n_pieces(ask->caps, w) + (choose_dot(ask->caps, ask->numeric, w->format) != NULL);
}

static uint64_t count_quants(const lower_question *ask) {
    const qn_buffer *x = lower_operand(ask, 1);
    const uint64_t n_blocks = x->dims[0] / BLOCK * qn_buffer_rows(x, ask->limits->max_tokens, ask->limits->max_outputs, 0);
    return choose_dot(ask->caps, ask->numeric, lower_operand(ask, 0)->format) != NULL ? n_blocks * QUANT_BYTES : 0;
}

static uint64_t count_groups(uint32_t kernel, int is_gemm, uint32_t lanes, uint64_t n_rows, uint64_t n_x, const lower_format *format) {
    const uint32_t group = gpu_kernels[kernel].group;
    return is_gemm                     ? lower_ceil(n_rows, GEMM_W_TILE) * lower_ceil(n_x, GEMM_X_TILE)
           : kernel == format->matrow1 ? lower_ceil(n_rows, MATROW_ROWS * group)
           : kernel == format->matrow4 ? lower_ceil(n_rows, MATROW_ROWS * group) * lower_ceil(n_x, MATROW_TOKENS)
                                       : lower_ceil(n_rows, group / lanes * GEMV_ROWS) * n_x;
}

/* Makes bytes of x where they are read and not there yet; *out_x: what the kernels read. */
static qn_status prepare_x(gpu_lowering *to, const gpu_call *call, gpu_binding *out_x, qn_error *err) {
    const gpu_view *x = &call->in[1];
    *out_x = x->at;
    if (choose_dot(to->caps, to->numeric, call->in[0].buffer->format) == NULL) {
        return QN_OK;
    }
    const struct quantize_params params = {.n_blocks = (uint32_t)(x->n_rows * x->n_columns / BLOCK)};
    *out_x = to->quants;
    out_x->bytes = params.n_blocks * QUANT_BYTES;
    if (to->quantized == x->buffer) {
        return QN_OK;
    }
    const gpu_binding *buffers[] = {&x->at, out_x};
    to->quantized = x->buffer;
    return lower_elements(to, GPU_KERNEL_QUANTIZE, (uint64_t)params.n_blocks * QUANT_ITEMS, 1, buffers, &params, call->index, err);
}

static qn_status lower_piece_of_it(gpu_lowering *to, const gpu_call *call, const gpu_binding *bytes_or_x, const lower_piece *piece,
                                   qn_error *err) {
    const gpu_view *w = &call->in[0], *x = &call->in[1];
    const lower_format *format = lower_find_format(w->buffer->format);
    const lower_dot_format *dot = lower_find_dot(w->buffer->format);
    const uint32_t kernel = choose_kernel(to->caps, to->numeric, w->buffer->format, w->n_columns, x->n_rows);
    const int is_gemm = kernel == format->gemm || (dot != NULL && kernel == dot->gemm);
    const uint32_t lanes = choose_lanes(to->caps, w->n_columns);
    const struct matmul_params params = {
        .k = (uint32_t)w->n_columns, .n = (uint32_t)piece->n_rows, .n_x = (uint32_t)x->n_rows, .first_row = (uint32_t)piece->first_row,
        .y_columns = (uint32_t)call->out.n_columns, .row_bytes = piece->row_bytes, .first_element = piece->first_element,
        .has_bias = call->n_inputs == 3, .lanes = lanes};
    const gpu_binding *bias = call->n_inputs == 3 ? &call->in[2].at : &to->zero;
    const gpu_binding *buffers[] = {&piece->w, &piece->w_scale, bytes_or_x, bias, &call->out.at};
    const uint64_t groups = count_groups(kernel, is_gemm, lanes, piece->n_rows, x->n_rows, format);
    return lower_launch(to, kernel, groups, buffers, &params, call->index, err);
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    gpu_binding x = call->in[1].at;
    uint32_t n;
    qn_status status = lower_count(&call->out, call->index, &n, err);
    if (status == QN_OK) {
        status = lower_count(&call->in[1], call->index, &n, err);
    }
    if (status == QN_OK) {
        status = prepare_x(to, call, &x, err);
    }
    for (uint64_t row = 0; row < call->in[0].n_rows && status == QN_OK;) {
        const lower_piece piece = lower_take_piece(to, &call->in[0], row);
        const uint32_t first = to->n_launches;
        status = lower_piece_of_it(to, call, &x, &piece, err);
        if (status == QN_OK && row > 0 && to->n_launches > first) {
            to->launches[first].flags |= GPU_LAUNCH_BESIDE; /* pieces write different columns of y */
        }
        row += piece.n_rows;
    }
    return status;
}

const lower_row lower_matmul = {.can = can_matmul, .kernels = list_kernels, .most_launches = count_launches,
                                .quants_bytes = count_quants, .lower = lower_it};
