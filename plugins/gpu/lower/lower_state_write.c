/* lower_state_write.c — STATE_WRITE: rows of a state are padded to whole words. */
#include "lower_internal.h"

static int find_kernel(qn_format format, uint32_t *out_kernel) {
    switch (format) {
    case QN_FORMAT_F32: *out_kernel = GPU_KERNEL_STATE_WRITE_F32; return 1;
    case QN_FORMAT_F16: *out_kernel = GPU_KERNEL_STATE_WRITE_F16; return 1;
    case QN_FORMAT_BF16: *out_kernel = GPU_KERNEL_STATE_WRITE_BF16; return 1;
    default: return 0;
    }
}

static int can_write(const lower_question *ask, char text[LOWER_VERDICT_BYTES]) {
    uint32_t kernel;
    const qn_format format = lower_operand(ask, 1)->format;
    if (!find_kernel(format, &kernel)) {
        snprintf(text, LOWER_VERDICT_BYTES, "no kernel writes a state of format %s; F32, F16 and BF16 are possible", qn_format_name(format));
        return 0;
    }
    return 1;
}

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    return find_kernel(lower_operand(ask, 1)->format, &kernels[0]) ? 1 : 0;
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    const gpu_view *x = &call->in[0], *state = &call->in[1];
    const struct state_write_params params = {.n_columns = (uint32_t)x->n_columns, .n_tokens = to->n_tokens,
                                              .row_words = (uint32_t)(state->row_bytes / 4)};
    uint32_t kernel = 0, n;
    const qn_status status = lower_count(x, call->index, &n, err);
    if (status != QN_OK || !find_kernel(state->buffer->format, &kernel)) {
        return status != QN_OK ? status : qn_fail_op(err, call->index, QN_UNSUPPORTED, "no kernel writes a state of this format");
    }
    const gpu_binding *buffers[] = {&x->at, &to->block->cells[state->buffer->group], &state->at};
    return lower_elements(to, kernel, (uint64_t)params.n_tokens * params.row_words, 1, buffers, &params, call->index, err);
}

/* --- Two of them, keys and values --------------------------------------------------------------------------------------- */

static int can_pair(const lower_question *ask, const lower_question *next) {
    if (next->op->op != QN_OP_STATE_WRITE) {
        return 0;
    }
    const qn_buffer *own = lower_operand(ask, 1), *theirs = lower_operand(next, 1);
    return own->format == theirs->format && own->group == theirs->group;
}

static uint32_t find_pair_kernel(qn_format format) {
    return format == QN_FORMAT_F32   ? GPU_KERNEL_STATE_WRITE_PAIR_F32
           : format == QN_FORMAT_F16 ? GPU_KERNEL_STATE_WRITE_PAIR_F16
                                     : GPU_KERNEL_STATE_WRITE_PAIR_BF16;
}

static uint32_t name_pair(const lower_question *ask) {
    return find_pair_kernel(lower_operand(ask, 1)->format);
}

static qn_status lower_both(gpu_lowering *to, const gpu_call *call, const gpu_call *next, qn_error *err) {
    const gpu_view *x = &call->in[0], *x2 = &next->in[0], *state = &call->in[1], *state2 = &next->in[1];
    const struct state_write_pair_params params = {
        .n_columns = (uint32_t)x->n_columns, .n_columns2 = (uint32_t)x2->n_columns, .n_tokens = to->n_tokens,
        .row_words = (uint32_t)(state->row_bytes / 4), .row_words2 = (uint32_t)(state2->row_bytes / 4)};
    uint32_t n;
    qn_status status = lower_count(x, call->index, &n, err);
    if (status == QN_OK) {
        status = lower_count(x2, next->index, &n, err);
    }
    const gpu_binding *buffers[] = {&x->at, &x2->at, &to->block->cells[state->buffer->group], &state->at, &state2->at};
    const uint64_t n_words = to->n_tokens * ((uint64_t)params.row_words + params.row_words2);
    return status != QN_OK ? status : lower_elements(to, find_pair_kernel(state->buffer->format), n_words, 1, buffers, &params, call->index, err);
}

const lower_row lower_state_write = {.can = can_write, .kernels = list_kernels, .lower = lower_it, .can_pair = can_pair,
                                     .pair_kernel = name_pair, .lower_pair = lower_both};
