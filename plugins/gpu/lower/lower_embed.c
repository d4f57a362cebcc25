/* lower_embed.c — EMBED: one launch for each piece of the table. */
#include "lower_internal.h"

static int can_embed(const lower_question *ask, char text[LOWER_VERDICT_BYTES]) {
    return lower_can_read(ask->caps, lower_operand(ask, 0), text);
}

static uint32_t list_kernels(const lower_question *ask, uint32_t *kernels) {
    kernels[0] = lower_find_format(lower_operand(ask, 0)->format)->embed;
    return 1;
}

static uint32_t count_launches(const lower_question *ask) {
    return lower_n_pieces(ask->caps, lower_operand(ask, 0));
}

static qn_status lower_it(gpu_lowering *to, const gpu_call *call, qn_error *err) {
    const gpu_view *table = &call->in[0];
    const lower_format *format = lower_find_format(table->buffer->format);
    uint32_t n;
    qn_status status = lower_count(&call->out, call->index, &n, err);
    for (uint64_t row = 0; row < table->n_rows && status == QN_OK;) {
        const lower_piece piece = lower_take_piece(to, table, row);
        const struct embed_params params = {.n_columns = (uint32_t)table->n_columns, .n_tokens = to->n_tokens, .first_row = (uint32_t)row,
                                            .n_rows = (uint32_t)piece.n_rows, .row_bytes = piece.row_bytes,
                                            .first_element = piece.first_element};
        const gpu_binding *buffers[] = {&piece.w, &piece.w_scale, &call->in[1].at, &call->out.at};
        const uint64_t octets = lower_ceil(table->n_columns, format->run) * (format->run / 8) * to->n_tokens;
        const uint32_t first = to->n_launches;
        status = lower_elements(to, format->embed, octets, 1, buffers, &params, call->index, err);
        if (status == QN_OK && row > 0) {
            to->launches[first].flags |= GPU_LAUNCH_BESIDE; /* pieces write different rows of y */
        }
        row += piece.n_rows;
    }
    return status;
}

const lower_row lower_embed = {.can = can_embed, .kernels = list_kernels, .most_launches = count_launches, .lower = lower_it};
