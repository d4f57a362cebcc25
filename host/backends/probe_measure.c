/* probe_measure.c — one-op programs, held against what they must compute, and timed. */
#include "backends/probe_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/blocks.h>
#include <quoin/glue.h>

#include "backends/refusal.h"
#include "backends/trial.h"
#include "base/clock.h"

#define WIDTH 2048u
#define SAMPLE_ROWS 32u
#define LEAST_BYTES ((uint64_t)16 << 20)
#define MOST_BYTES ((uint64_t)32 << 20)
#define MAX_RUNS 200u
#define RUN_SECONDS 0.05
#define CHAIN 32u
#define N_HEAD 8u
#define N_KV_HEAD 2u
#define HEAD_DIM 64u
#define SHORT_CELLS 256u
#define LONG_CELLS 4096u
/* Largest error of activations that are rounded to 8 bits, as a share of each block's largest activation, and a little more. */
#define ACT8_ERROR (0.6 / 127.0)
#define ACT8_BLOCK 32u

/* The shortest of a few runs, because whatever else the machine does only makes them longer. */
static qn_status time_trial(const trial *t, const backend *on, uint64_t *out_ns, error_context *err) {
    double best = INFINITY;
    const double until = clock_seconds() + RUN_SECONDS;
    for (uint32_t run = 0; run < MAX_RUNS && (run < 2 || clock_seconds() < until); run++) {
        const double begin = clock_seconds();
        QN_TRY(trial_run(t, on, err), err, "timing");
        best = fmin(best, clock_seconds() - begin);
    }
    *out_ns = (uint64_t)(best * 1e9) + 1;
    return QN_OK;
}

/* --- Weights ---------------------------------------------------------------------------------------------------------- */

/* SAMPLE_ROWS rows at `data`, and the same as numbers at `values`; false when the format cannot be decoded here. */
static bool make_sample(qn_format format, unsigned char *data, uint64_t bytes, float *values) {
    const blk_info *info = blk_get_info(format);
    if (info == NULL || !info->can_decode) {
        return false;
    }
    trial_fill_floats(values, (uint64_t)SAMPLE_ROWS * WIDTH);
    if (!info->can_encode || blk_encode(format, values, (uint64_t)SAMPLE_ROWS * WIDTH, data, NULL) != FMT_OK) {
        trial_fill_blocks(format, data, bytes);
    }
    return blk_decode(format, data, 0, (uint64_t)SAMPLE_ROWS * WIDTH, values) == FMT_OK;
}

/* The right product of a row, and how far a device may be off. */
static double multiply(const float *row, const float *x, double *out_bound) {
    double sum = 0.0, bound = 0.0;
    for (uint32_t at = 0; at < WIDTH; at += ACT8_BLOCK) {
        double largest = 0.0, weights = 0.0;
        for (uint32_t i = at; i < at + ACT8_BLOCK; i++) {
            sum += (double)row[i] * (double)x[i];
            largest = fmax(largest, fabs((double)x[i]));
            weights += fabs((double)row[i]);
        }
        bound += largest * weights * ACT8_ERROR;
    }
    *out_bound = bound;
    return sum;
}

static qn_status check_product(const trial *t, const backend *on, qn_format format, const float *sample, error_context *err) {
    const double slack = (on->info.numeric & QN_NUMERIC_F16ACC) != 0 ? 4.0 : 1.0;
    for (uint64_t row = 0; row < t->n_outputs; row++) {
        double bound;
        const double wanted = multiply(sample + row % SAMPLE_ROWS * WIDTH, t->x, &bound);
        if (!(fabs((double)t->y[row] - wanted) <= bound * slack)) {
            return backend_refuse(err, on->spec.name, "known answer", QN_CORRUPT, "matmul with %s: row %llu is %g, must be %g",
                                  qn_format_name(format), (unsigned long long)row, (double)t->y[row], wanted);
        }
    }
    return QN_OK;
}

static uint64_t choose_bytes(const backend *on, bool is_timed, uint64_t sample_bytes) {
    const uint64_t cache = on->info.device_class == QN_DEVICE_CPU ? on->host_cache_bytes : 0;
    const uint64_t wanted = 2 * cache > MOST_BYTES ? MOST_BYTES : 2 * cache < LEAST_BYTES ? LEAST_BYTES : 2 * cache;
    return is_timed ? wanted / sample_bytes * sample_bytes : sample_bytes;
}

/* A matrix that repeats the sample, except where the format has one scale for the whole tensor. */
static qn_status measure_format(const backend *on, qn_format format, bool is_timed, unsigned char *data, float *sample,
                                probe_rate *out, error_context *err) {
    const uint64_t sample_bytes = qn_format_bytes(format, (uint64_t)SAMPLE_ROWS * WIDTH);
    uint64_t bytes = choose_bytes(on, is_timed && format != QN_FORMAT_TERNARY, sample_bytes), ns = 0;
    trial t = {0};
    if (sample_bytes == 0 || !make_sample(format, data, sample_bytes, sample)) {
        return QN_OK;
    }
    for (uint64_t at = sample_bytes; at < bytes; at += sample_bytes) {
        memcpy(data + at, data, sample_bytes);
    }
    program_builder_init(&t.b);
    const uint32_t x = trial_input(&t, WIDTH, "x");
    const uint32_t w = program_weight(&t.b, format, WIDTH, bytes / sample_bytes * SAMPLE_ROWS, "w");
    t.weight = (qn_weight){.size = sizeof t.weight, .buffer = w, .flags = QN_WEIGHT_BORROW, .fd = -1, .data = data, .bytes = bytes};
    qn_status status = trial_open(&t, on, program_matmul(&t.b, w, x, PROGRAM_NO_BUFFER), err);
    status = status >= 0 ? time_trial(&t, on, &ns, err) : status;
    status = status >= 0 ? check_product(&t, on, format, sample, err) : status;
    trial_close(&t, on);
    out->bytes_per_s = status < 0 ? 0 : is_timed ? (uint64_t)((double)bytes / (double)ns * 1e9) : 1;
    return status;
}

qn_status probe_measure_formats(const backend *on, const qn_format *formats, uint32_t n_formats, bool is_timed,
                                probe_device *out, error_context *err) {
    void *data = NULL;
    float *sample = malloc((size_t)SAMPLE_ROWS * WIDTH * sizeof *sample);
    qn_status status = QN_OK;
    if (posix_memalign(&data, 4096, MOST_BYTES) != 0 || sample == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory for probe weights");
    }
    for (uint32_t i = 0; i < n_formats && status >= 0 && out->n_rates < PROBE_MAX_RATES; i++) {
        error_context refusal = {0};
        probe_rate *rate = &out->rates[out->n_rates++];
        *rate = (probe_rate){formats[i], 0};
        status = measure_format(on, formats[i], is_timed, data, sample, rate, &refusal);
        if (status == QN_UNSUPPORTED) { /* a rate of 0 says it */
            status = QN_OK;
        } else if (status < 0 && err != NULL) {
            *err = refusal;
        }
    }
    free(data);
    free(sample);
    return status;
}

/* --- Steps ------------------------------------------------------------------------------------------------------------ */

static qn_status time_chain(const backend *on, uint32_t n_ops, uint64_t *out_ns, error_context *err) {
    trial t = {0};
    program_builder_init(&t.b);
    const uint32_t x = trial_input(&t, WIDTH, "x");
    uint32_t last = x;
    for (uint32_t i = 0; i < n_ops; i++) {
        last = program_add(&t.b, last, x);
    }
    qn_status status = trial_open(&t, on, last, err);
    status = status >= 0 ? time_trial(&t, on, out_ns, err) : status;
    trial_close(&t, on);
    return status;
}

static qn_status time_attention(const backend *on, uint32_t n_cells, uint64_t *out_ns, error_context *err) {
    const qn_attention_attrs attention = {.size = sizeof attention, .n_head = N_HEAD, .n_kv_head = N_KV_HEAD,
                                          .head_dim = HEAD_DIM, .value_dim = HEAD_DIM, .scale = 0.125f};
    trial t = {.n_cells = n_cells};
    program_builder_init(&t.b);
    program_cell_group(&t.b, 0);
    const uint32_t q = trial_input(&t, N_HEAD * HEAD_DIM, "q"), k = trial_input(&t, N_KV_HEAD * HEAD_DIM, "k"),
                   v = trial_input(&t, N_KV_HEAD * HEAD_DIM, "v");
    const uint32_t keys = program_state(&t.b, QN_FORMAT_F16, N_KV_HEAD * HEAD_DIM, 0, "keys"),
                   values = program_state(&t.b, QN_FORMAT_F16, N_KV_HEAD * HEAD_DIM, 0, "values");
    program_begin_layer(&t.b, 0);
    program_state_write(&t.b, k, keys);
    program_state_write(&t.b, v, values);
    const uint32_t mixed = program_attention(&t.b, q, keys, values, &attention);
    program_end_layer(&t.b);
    qn_status status = trial_open(&t, on, mixed, err);
    status = status >= 0 ? time_trial(&t, on, out_ns, err) : status;
    trial_close(&t, on);
    return status;
}

qn_status probe_measure_steps(const backend *on, probe_device *out, error_context *err) {
    const double kv_bytes = 2.0 * 2.0 * N_KV_HEAD * HEAD_DIM * (LONG_CELLS - SHORT_CELLS);
    uint64_t chain = 0, near = 0, far = 0;
    QN_TRY(time_chain(on, 1, &out->step_ns, err), err, "measuring a step");
    QN_TRY(time_chain(on, CHAIN + 1, &chain, err), err, "measuring ops");
    QN_TRY(time_attention(on, SHORT_CELLS, &near, err), err, "measuring attention");
    QN_TRY(time_attention(on, LONG_CELLS, &far, err), err, "measuring attention");
    out->op_ns = chain > out->step_ns ? (chain - out->step_ns) / CHAIN : 0;
    out->kv_bytes_per_s = (uint64_t)(kv_bytes * 1e9 / (double)(far > near ? far - near : 1));
    out->is_measured = true;
    return QN_OK;
}
