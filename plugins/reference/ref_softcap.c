/* ref_softcap.c — SOFTCAP: y = cap * tanh(x / cap). */
#include "ref_internal.h"

#include <math.h>

void ref_softcap(const ref_call *call) {
    const qn_softcap_attrs *attrs = call->attrs;
    const uint64_t n = call->out.n_rows * call->out.n_columns;
    const float *x = call->in[0].data;
    float *y = call->out.data;
    for (uint64_t i = 0; i < n; i++) {
        y[i] = (float)(attrs->cap * tanh((double)x[i] / attrs->cap));
    }
}
