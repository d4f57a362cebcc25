/* ref_select_rows.c — SELECT_ROWS: y[o] = x[rows[o]]. */
#include "ref_internal.h"

void ref_select_rows(const ref_call *call) {
    const int32_t *rows = call->in[1].data;
    for (uint32_t o = 0; o < call->step->n_outputs; o++) {
        memcpy(ref_row(&call->out, o), ref_row(&call->in[0], (uint64_t)rows[o]), call->out.n_columns * sizeof(float));
    }
}
