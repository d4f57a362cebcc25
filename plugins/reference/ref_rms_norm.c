/* ref_rms_norm.c — RMS_NORM: y = x / sqrt(mean(x^2) + epsilon) * weight over groups of a row. */
#include "ref_internal.h"

#include <math.h>

static void normalise(const float *x, const float *weight, const qn_rms_norm_attrs *attrs, float *y) {
    double squares = 0;
    for (uint32_t i = 0; i < attrs->group; i++) {
        squares += (double)x[i] * x[i];
    }
    const double root = sqrt(squares / attrs->group + attrs->epsilon);
    for (uint32_t i = 0; i < attrs->group; i++) {
        y[i] = root == 0 ? 0 : (float)(x[i] / root * weight[i]);
    }
}

void ref_rms_norm(const ref_call *call) {
    const qn_rms_norm_attrs *attrs = call->attrs;
    const float *weight = (const float *)call->in[1].data + call->in[1].first_element;
    for (uint64_t r = 0; r < call->out.n_rows; r++) {
        for (uint64_t i = 0; i < call->out.n_columns; i += attrs->group) {
            normalise(ref_row(&call->in[0], r) + i, weight, attrs, ref_row(&call->out, r) + i);
        }
    }
}
