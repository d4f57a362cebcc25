/* probe_measure.c — one-op programs, built, run and timed. */
#include "backends/probe_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/blocks.h>
#include <quoin/glue.h>

#include "backends/refusal.h"
#include "base/clock.h"
#include "base/program_builder.h"

#define WIDTH 2048u
#define SAMPLE_ROWS 32u
#define MAX_INPUTS 3u
#define LEAST_BYTES ((uint64_t)16 << 20)
#define MOST_BYTES ((uint64_t)32 << 20)
#define MAX_RUNS 10u
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

/* A program of one token, its buffers and what a device made of it. */
typedef struct trial {
    program_builder b;
    qn_program *program;
    uint32_t inputs[MAX_INPUTS], n_inputs, output;
    float *x;                 /* [WIDTH], bound to every input */
    float *y;                 /* [n_outputs] */
    uint64_t n_outputs;
    uint32_t n_cells;         /* 0: the program has no state */
    qn_weight weight;         /* data is null without one */
    qn_prog *prog;
    qn_session *session;
} trial;

/* Values in (-1, 1) that are the same in every run. */
static void fill_floats(float *values, uint64_t count) {
    uint32_t state = 12345;
    for (uint64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = ((float)(state >> 8) / 8388608.0f - 1.0f) * 0.999f;
    }
}

static uint32_t add_input(trial *t, uint64_t width, const char *name) {
    return t->inputs[t->n_inputs++] = program_input(&t->b, QN_FORMAT_F32, width, QN_DIM_TOKENS, name);
}

static void trial_close(trial *t, const backend *on) {
    if (t->session != NULL) {
        on->plugin->session_free(t->session);
    }
    if (t->prog != NULL) {
        on->plugin->prog_free(t->prog);
    }
    program_builder_deinit(&t->b);
    free(t->program);
    free(t->x);
    free(t->y);
}

static qn_status trial_open(trial *t, const backend *on, uint32_t output, error_context *err) {
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    const qn_limits limits = {.size = sizeof limits, .max_tokens = 1, .max_outputs = 1, .max_sequences = 1,
                              .n_groups = t->n_cells > 0, .cells = {t->n_cells}};
    const qn_compile_options options = {.size = sizeof options, .flags = QN_COMPILE_DETERMINISTIC,
                                        .numeric = QN_NUMERIC_F32ACC | QN_NUMERIC_F16ACC | QN_NUMERIC_ACT8};
    t->output = output;
    t->n_outputs = program_width(&t->b, output);
    program_mark_output(&t->b, output, "out");
    t->x = malloc(WIDTH * sizeof *t->x);
    t->y = calloc(t->n_outputs + 1, sizeof *t->y);
    if (t->x == NULL || t->y == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a probe program");
    }
    fill_floats(t->x, WIDTH);
    QN_TRY(program_builder_finish(&t->b, &t->program, err), err, "writing a probe program");
    qn_status status = on->plugin->compile(on->device, t->program, &limits, &options, &t->prog, &plugin_error);
    if (status >= 0 && t->weight.data != NULL) {
        status = on->plugin->bind_weights(t->prog, &t->weight, sizeof t->weight, 1, &plugin_error);
    }
    status = status >= 0 ? on->plugin->seal(t->prog, &plugin_error) : status;
    status = status >= 0 ? on->plugin->session_new(t->prog, &t->session, &plugin_error) : status;
    return status >= 0 ? QN_OK : backend_refuse_plugin(err, on->spec.name, "measure", status, &plugin_error);
}

/* One token; with a state, at the last cell, seeing all of them. */
static qn_status trial_run(const trial *t, const backend *on, error_context *err) {
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    const uint32_t cell = t->n_cells - (t->n_cells > 0), span_at[2] = {0, 1};
    const int32_t position = (int32_t)cell;
    const qn_span span = {0, t->n_cells, 0, 0};
    const qn_placement placement = {.size = sizeof placement, .n_spans = 1, .cells = &cell, .spans = &span, .span_at = span_at};
    qn_binding bindings[MAX_INPUTS + 1];
    for (uint32_t i = 0; i < t->n_inputs; i++) {
        bindings[i] = (qn_binding){t->inputs[i], 0, t->x, qn_program_buffer(t->program, t->inputs[i])->dims[0] * sizeof *t->x};
    }
    bindings[t->n_inputs] = (qn_binding){t->output, 0, t->y, t->n_outputs * sizeof *t->y};
    const qn_step step = {.size = sizeof step,
                          .n_tokens = 1,
                          .n_sequences = 1,
                          .positions = &position,
                          .placements = t->n_cells > 0 ? &placement : NULL,
                          .placement_stride = sizeof placement,
                          .bindings = bindings,
                          .binding_stride = sizeof bindings[0],
                          .n_bindings = t->n_inputs + 1};
    const qn_status status = on->plugin->step(t->session, &step, &plugin_error);
    return status >= 0 ? QN_OK : backend_refuse_plugin(err, on->spec.name, "measure", status, &plugin_error);
}

/* The shortest of a few runs, because whatever else the machine does only makes them longer. */
static qn_status trial_time(const trial *t, const backend *on, uint64_t *out_ns, error_context *err) {
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

/* Every byte in [0x20, 0x3B]: as a half-precision scale that is a normal number below one, wherever scales stand. */
static void fill_blocks(qn_format format, unsigned char *data, uint64_t bytes) {
    const float scale = 1.0f / 64.0f;
    uint32_t state = 54321;
    for (uint64_t i = 0; i < bytes; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (unsigned char)((state >> 24 & 0x1Bu) | 0x20u);
    }
    if (format == QN_FORMAT_TERNARY) {
        memcpy(data, &scale, sizeof scale);
    }
}

/* SAMPLE_ROWS rows at `data`, and the same as numbers at `values`; false when the format cannot be decoded here. */
static bool make_sample(qn_format format, unsigned char *data, uint64_t bytes, float *values) {
    const blk_info *info = blk_get_info(format);
    if (info == NULL || !info->can_decode) {
        return false;
    }
    fill_floats(values, (uint64_t)SAMPLE_ROWS * WIDTH);
    if (!info->can_encode || blk_encode(format, values, (uint64_t)SAMPLE_ROWS * WIDTH, data, NULL) != FMT_OK) {
        fill_blocks(format, data, bytes);
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
    const uint32_t x = add_input(&t, WIDTH, "x");
    const uint32_t w = program_weight(&t.b, format, WIDTH, bytes / sample_bytes * SAMPLE_ROWS, "w");
    t.weight = (qn_weight){.size = sizeof t.weight, .buffer = w, .flags = QN_WEIGHT_BORROW, .fd = -1, .data = data, .bytes = bytes};
    qn_status status = trial_open(&t, on, program_matmul(&t.b, w, x, PROGRAM_NO_BUFFER), err);
    status = status >= 0 ? trial_time(&t, on, &ns, err) : status;
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
    const uint32_t x = add_input(&t, WIDTH, "x");
    uint32_t last = x;
    for (uint32_t i = 0; i < n_ops; i++) {
        last = program_add(&t.b, last, x);
    }
    qn_status status = trial_open(&t, on, last, err);
    status = status >= 0 ? trial_time(&t, on, out_ns, err) : status;
    trial_close(&t, on);
    return status;
}

static qn_status time_attention(const backend *on, uint32_t n_cells, uint64_t *out_ns, error_context *err) {
    const qn_attention_attrs attention = {.size = sizeof attention, .n_head = N_HEAD, .n_kv_head = N_KV_HEAD,
                                          .head_dim = HEAD_DIM, .value_dim = HEAD_DIM, .scale = 0.125f};
    trial t = {.n_cells = n_cells};
    program_builder_init(&t.b);
    program_cell_group(&t.b, 0);
    const uint32_t q = add_input(&t, N_HEAD * HEAD_DIM, "q"), k = add_input(&t, N_KV_HEAD * HEAD_DIM, "k"),
                   v = add_input(&t, N_KV_HEAD * HEAD_DIM, "v");
    const uint32_t keys = program_state(&t.b, QN_FORMAT_F16, N_KV_HEAD * HEAD_DIM, 0, "keys"),
                   values = program_state(&t.b, QN_FORMAT_F16, N_KV_HEAD * HEAD_DIM, 0, "values");
    program_begin_layer(&t.b, 0);
    program_state_write(&t.b, k, keys);
    program_state_write(&t.b, v, values);
    const uint32_t mixed = program_attention(&t.b, q, keys, values, &attention);
    program_end_layer(&t.b);
    qn_status status = trial_open(&t, on, mixed, err);
    status = status >= 0 ? trial_time(&t, on, out_ns, err) : status;
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
