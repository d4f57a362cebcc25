/* ref_gated.c — GATED: y = f(gate) * up, f = SiLU or GELU in its tanh form. */
#include "ref_internal.h"

#include <math.h>

#define ROOT_2_OVER_PI 0.797884560802865355879892119868763737

static double activate(double x, uint32_t kind) {
    if (kind == QN_GATED_SILU) {
        return x / (1 + exp(-x));
    }
    return x / 2 * (1 + tanh(ROOT_2_OVER_PI * (x + 0.044715 * x * x * x)));
}

void ref_gated(const ref_call *call) {
    const qn_gated_attrs *attrs = call->attrs;
    const uint64_t n = call->out.n_rows * call->out.n_columns;
    const float *gate = call->in[0].data, *up = call->in[1].data;
    float *y = call->out.data;
    for (uint64_t i = 0; i < n; i++) {
        y[i] = (float)(activate(gate[i], attrs->kind) * up[i]);
    }
}
