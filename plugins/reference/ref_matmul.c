/* ref_matmul.c — MATMUL: y[t][n] = sum_k W[n][k] x[t][k] + bias[n].
 *
 * The rows of W are shared out among the workers of the host's team; each output element is computed by one of them, in the same
 * order always, so that the number of workers changes no bit.
 */
#include "ref_internal.h"

static double dot(const float *w, const float *x, uint64_t n) {
    double sum = 0;
    for (uint64_t k = 0; k < n; k++) {
        sum += (double)w[k] * x[k];
    }
    return sum;
}

static void QN_CALL multiply_rows(void *arg, uint32_t worker, uint32_t n_workers) {
    const ref_call *call = arg;
    const ref_view *w = &call->in[0], *x = &call->in[1], *y = &call->out;
    const uint64_t begin = w->n_rows * worker / n_workers, end = w->n_rows * (worker + 1) / n_workers;
    float *row = ref_scratch(call, worker, 0), bias = 0;
    for (uint64_t n = begin; n < end; n++) {
        ref_read_row(w, n, row);
        if (call->n_inputs == 3) {
            /* The bias is one row of F32; a part of a fused tensor may begin anywhere in it. */
            bias = ((const float *)call->in[2].data)[call->in[2].first_element + n];
        }
        for (uint64_t t = 0; t < x->n_rows; t++) {
            ref_row(y, t)[n] = (float)(dot(row, ref_row(x, t), w->n_columns) + bias);
        }
    }
}

void ref_matmul(const ref_call *call) {
    const qn_host *host = ref_host(call->session->prog);
    ref_call own = *call;
    host->team_run(host->ctx, multiply_rows, &own);
}
