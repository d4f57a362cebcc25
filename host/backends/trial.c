/* trial.c — small programs, built, bound and run. */
#include "backends/trial.h"

#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "backends/refusal.h"

void trial_fill_floats(float *values, uint64_t count) {
    uint32_t state = 12345;
    for (uint64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = ((float)(state >> 8) / 8388608.0f - 1.0f) * 0.999f;
    }
}

uint32_t trial_input(trial *t, uint64_t width, const char *name) {
    t->width = width > t->width ? width : t->width;
    return t->inputs[t->n_inputs++] = program_input(&t->b, QN_FORMAT_F32, width, QN_DIM_TOKENS, name);
}

void trial_close(trial *t, const backend *on) {
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

static qn_limits make_limits(const trial *t) {
    return (qn_limits){.size = sizeof(qn_limits), .max_tokens = 1, .max_outputs = 1, .max_sequences = 1,
                       .n_groups = t->n_cells > 0, .cells = {t->n_cells}};
}

static qn_compile_options make_options(void) {
    return (qn_compile_options){.size = sizeof(qn_compile_options), .flags = QN_COMPILE_DETERMINISTIC,
                                .numeric = QN_NUMERIC_F32ACC | QN_NUMERIC_F16ACC | QN_NUMERIC_ACT8};
}

qn_status trial_open(trial *t, const backend *on, uint32_t output, error_context *err) {
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    const qn_limits limits = make_limits(t);
    const qn_compile_options options = make_options();
    t->output = output;
    t->n_outputs = program_width(&t->b, output);
    program_mark_output(&t->b, output, "out");
    t->x = malloc(t->width * sizeof *t->x);
    t->y = calloc(t->n_outputs + 1, sizeof *t->y);
    if (t->x == NULL || t->y == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a probe program");
    }
    trial_fill_floats(t->x, t->width);
    QN_TRY(program_builder_finish(&t->b, &t->program, err), err, "writing a probe program");
    qn_status status = on->plugin->compile(on->device, t->program, &limits, &options, &t->prog, &plugin_error);
    if (status >= 0 && t->weight.data != NULL) {
        status = on->plugin->bind_weights(t->prog, &t->weight, sizeof t->weight, 1, &plugin_error);
    }
    status = status >= 0 ? on->plugin->seal(t->prog, &plugin_error) : status;
    status = status >= 0 ? on->plugin->session_new(t->prog, &t->session, &plugin_error) : status;
    return status >= 0 ? QN_OK : backend_refuse_plugin(err, on->spec.name, "measure", status, &plugin_error);
}

qn_status trial_run(const trial *t, const backend *on, error_context *err) {
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    const uint32_t cell = t->n_cells - (t->n_cells > 0), span_at[2] = {0, 1};
    const int32_t position = (int32_t)cell;
    const qn_span span = {0, t->n_cells, 0, 0};
    const qn_placement placement = {.size = sizeof placement, .n_spans = 1, .cells = &cell, .spans = &span, .span_at = span_at};
    qn_binding bindings[TRIAL_MOST_INPUTS + 1];
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

uint64_t trial_copy_bytes(const trial *t, const backend *on) {
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    const qn_limits limits = make_limits(t);
    const qn_compile_options options = make_options();
    qn_memory_plan memory = {.size = sizeof memory};
    const qn_status status = on->plugin->plan(on->device, t->program, &limits, &options, &memory, &plugin_error);
    return status >= 0 ? memory.host_bytes[QN_MEM_WEIGHTS] + memory.device_bytes[QN_MEM_WEIGHTS] : 0;
}

/* Every byte in [0x20, 0x3B]: as a half-precision scale that is a normal number below one, wherever scales stand. */
void trial_fill_blocks(qn_format format, unsigned char *data, uint64_t bytes) {
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
