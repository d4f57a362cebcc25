/* ref_scale.c — SCALE: y = factor * x, one product rounded once. */
#include "ref_internal.h"

void ref_scale(const ref_call *call) {
    const qn_scale_attrs *attrs = call->attrs;
    const uint64_t n = call->out.n_rows * call->out.n_columns;
    const float *x = call->in[0].data;
    float *y = call->out.data;
    for (uint64_t i = 0; i < n; i++) {
        y[i] = attrs->factor * x[i];
    }
}
