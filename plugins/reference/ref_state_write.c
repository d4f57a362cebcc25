/* ref_state_write.c — STATE_WRITE: state[cells[t]] = x[t], rounded to nearest even to the state's format. */
#include "ref_internal.h"

#include <quoin/blocks.h>

static void write_row(const float *x, uint64_t n, qn_format format, char *row) {
    if (format == QN_FORMAT_F32) {
        memcpy(row, x, n * sizeof *x);
    } else if (format == QN_FORMAT_Q8_0) {
        /* A block with a value that is not finite cannot be encoded; its content is unspecified, and zeros stand for it. */
        for (uint64_t i = 0; i < n; i += 32, row += 34) {
            if (blk_encode(format, x + i, 32, row, NULL) != FMT_OK) {
                memset(row, 0, 34);
            }
        }
    } else {
        for (uint64_t i = 0; i < n; i++) {
            const uint16_t word = format == QN_FORMAT_F16 ? blk_f32_to_f16(x[i]) : blk_f32_to_bf16(x[i]);
            memcpy(row + 2 * i, &word, sizeof word);
        }
    }
}

void ref_state_write(const ref_call *call) {
    const ref_view *x = &call->in[0], *state = &call->in[1];
    const uint32_t *cells = qn_step_placement(call->step, state->buffer->group)->cells;
    const uint64_t row_bytes = qn_format_bytes(state->buffer->format, state->n_columns);
    for (uint32_t t = 0; t < call->step->n_tokens; t++) {
        write_row(ref_row(x, t), x->n_columns, state->buffer->format, (char *)state->data + cells[t] * row_bytes);
    }
}
