/* plan.c — check, plan, compile, bind, seal. */
#include "decode/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "backends/crash_report.h"
#include "base/machine.h"
#include "decode/plan_bind.h"
#include "model/weight_check.h"

#define DEFAULT_CHUNK 512u
/* Windowed layers keep this many cells more than window + chunk, so that short roll-backs (chat edits) need no new
 * prefill. */
#define WINDOW_SLACK 64u

qn_status plan_plugin_error(const plan *p, const char *stage, qn_status code, const qn_error *plugin_error,
                            error_context *err) {
    char where[96] = "";
    if (plugin_error->op != QN_NO_OP && plugin_error->op < p->dec->program->n_ops) {
        const qn_op *op = qn_program_op(p->dec->program, plugin_error->op);
        const int n = snprintf(where, sizeof where, " op %u (%s", plugin_error->op, qn_op_name(op->op));
        if (op->layer != QN_NO_LAYER) {
            snprintf(where + n, sizeof where - (size_t)n, ", layer %u): ", op->layer);
        } else {
            snprintf(where + n, sizeof where - (size_t)n, "): ");
        }
    }
    char native[40] = "";
    if (plugin_error->native_code != 0) {
        snprintf(native, sizeof native, " (native code %" PRId64 ")", plugin_error->native_code);
    }
    return FAIL(err, code, "backend %s failed at %s:%s %s: %s%s", p->on->spec.name, stage, where, status_name(code),
                plugin_error->text[0] != '\0' ? plugin_error->text : "no reason given", native);
}

static void set_limits(plan *p, const plan_options *options) {
    const uint32_t chunk = options->max_chunk > 0 ? options->max_chunk : DEFAULT_CHUNK;
    p->n_ctx = options->n_ctx;
    p->limits = (qn_limits){.size = sizeof p->limits,
                            .max_tokens = chunk < p->n_ctx ? chunk : p->n_ctx,
                            .max_sequences = 1,
                            .n_groups = p->dec->n_groups};
    p->limits.max_outputs = options->max_outputs > 0 ? options->max_outputs : 1;
    if (p->limits.max_outputs > p->limits.max_tokens) {
        p->limits.max_outputs = p->limits.max_tokens;
    }
    for (uint32_t g = 0; g < p->dec->n_groups; g++) {
        const uint64_t window = p->dec->group_window[g];
        const uint64_t wanted = window + p->limits.max_tokens + WINDOW_SLACK;
        p->limits.cells[g] = window > 0 && wanted < p->n_ctx ? (uint32_t)wanted : p->n_ctx;
    }
}

/* The first op that the plugin refuses makes the whole program refused: no silent mixes. */
static qn_status check_ops(plan *p, const qn_compile_options *compile, error_context *err) {
    const qn_program *program = p->dec->program;
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    qn_verdict *verdicts = calloc(program->n_ops, sizeof *verdicts);
    if (verdicts == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for %u verdicts", program->n_ops);
    }
    for (uint32_t i = 0; i < program->n_ops; i++) {
        verdicts[i].size = sizeof verdicts[i];
    }
    qn_status status = p->on->plugin->check(p->on->device, program, compile, verdicts, sizeof *verdicts, &plugin_error);
    if (status < 0) {
        status = plan_plugin_error(p, "check", status, &plugin_error, err);
    }
    for (uint32_t i = 0; i < program->n_ops && status >= 0; i++) {
        p->n_emulated += verdicts[i].verdict == QN_VERDICT_EMULATED;
        if (verdicts[i].verdict == QN_VERDICT_NO) {
            plugin_error.op = i;
            snprintf(plugin_error.text, sizeof plugin_error.text, "%s", verdicts[i].text);
            status = plan_plugin_error(p, "check", QN_UNSUPPORTED, &plugin_error, err);
        }
    }
    free(verdicts);
    return status < 0 ? status : QN_OK;
}

const char *plan_numeric_name(uint32_t numeric) {
    return numeric == QN_NUMERIC_ACT8 ? "act8" : numeric == QN_NUMERIC_F16ACC ? "f16acc" : "f32acc";
}

static qn_status check_memory(const plan *p, error_context *err) {
    uint64_t needed = p->memory.peak_load_bytes;
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        needed += p->memory.host_bytes[kind];
    }
    const uint64_t available = machine_available_memory();
    if (needed > available) {
        return FAIL(err, QN_NO_HOST_MEM,
                    "does not fit: needs %.1f MiB beside the mapped file, %.1f MiB are free; use a smaller --ctx (now "
                    "%u) or a smaller model",
                    (double)needed / 1048576.0, (double)available / 1048576.0, p->n_ctx);
    }
    return QN_OK;
}

/* Lazy integrity: only what is bound is read, and it is read before it is bound. */
static qn_status check_bound(const plan *p, const plan_options *options, error_context *err) {
    if (options->check_with == NULL) {
        return QN_OK;
    }
    bool *is_wanted = calloc(p->m->n_tensors + 1, sizeof *is_wanted);
    if (is_wanted == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for checking weights");
    }
    for (uint32_t i = 0; i < p->dec->n_weights; i++) {
        is_wanted[p->dec->weights[i].tensor - p->m->tensors] = true;
    }
    const weight_check check = {.check_values = options->check_values, .is_wanted = is_wanted,
                                .progress = options->progress, .ctx = options->progress_ctx};
    const qn_status status = weight_check_run(p->m, &check, options->check_with, err);
    free(is_wanted);
    return status;
}

/* Asks for standard blocks where panels were offered; false when none were. */
static bool ask_for_blocks(qn_program *program) {
    bool had_panels = false;
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        qn_buffer *buffer = (qn_buffer *)(void *)((uint8_t *)program + program->buffers_at + (uint64_t)i * program->buffer_stride);
        had_panels = had_panels || (buffer->flags & QN_BUFFER_PANELS) != 0;
        buffer->flags &= ~(uint32_t)QN_BUFFER_PANELS;
    }
    return had_panels;
}

/* Panels first; a plugin that does not know them is asked again about the same program in standard blocks. */
static qn_status settle_ops(plan *p, const qn_compile_options *compile, error_context *err) {
    const qn_status status = check_ops(p, compile, err);
    if (status < 0 && ask_for_blocks(p->dec->program)) {
        error_clear(err);
        p->n_emulated = 0;
        return check_ops(p, compile, err);
    }
    return status;
}

static qn_status make_plan_here(plan *p, const plan_options *options, error_context *err) {
    const decoder_options build_options = {.state_format = options->state_format,
                                           .n_ctx = options->n_ctx,
                                           .deltas = options->deltas,
                                           .n_deltas = options->n_deltas};
    QN_TRY(decoder_build(p->m, &build_options, &p->dec, err), err, "building the decode program");
    set_limits(p, options);
    const uint32_t any = QN_NUMERIC_F32ACC | QN_NUMERIC_F16ACC | QN_NUMERIC_ACT8;
    const qn_compile_options compile = {.size = sizeof compile,
                                        .flags = QN_COMPILE_DETERMINISTIC | options->compile_flags,
                                        .numeric = options->numeric != 0 ? options->numeric : any};
    QN_TRY(settle_ops(p, &compile, err), err, "asking backend %s about the model", p->on->spec.name);
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    p->memory.size = sizeof p->memory;
    qn_status status = p->on->plugin->plan(p->on->device, p->dec->program, &p->limits, &compile, &p->memory,
                                           &plugin_error);
    if (status < 0) {
        return plan_plugin_error(p, "plan", status, &plugin_error, err);
    }
    if (options->on_memory != NULL) {
        options->on_memory(options->ctx, p);
    }
    QN_TRY(check_memory(p, err), err, "planning memory");
    status = p->on->plugin->compile(p->on->device, p->dec->program, &p->limits, &compile, &p->prog, &plugin_error);
    if (status < 0) {
        return plan_plugin_error(p, "compile", status, &plugin_error, err);
    }
    QN_TRY(check_bound(p, options, err), err, "checking the weights");
    return plan_bind(p, err);
}

/* Whatever of the plugin runs meanwhile, preparing the model is what it does. */
static qn_status make_plan(plan *p, const plan_options *options, error_context *err) {
    crash_report_enter(p->on->spec.name, "prepare");
    const qn_status status = make_plan_here(p, options, err);
    crash_report_leave();
    return status;
}

qn_status plan_create(const model *m, const backend *on, const plan_options *options, plan **out_plan,
                      error_context *err) {
    plan *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the plan");
    }
    p->m = m;
    p->on = on;
    const qn_status status = make_plan(p, options, err);
    if (status < 0) {
        plan_destroy(p);
        return status;
    }
    *out_plan = p;
    return QN_OK;
}

void plan_destroy(plan *p) {
    if (p != NULL) {
        if (p->prog != NULL) {
            p->on->plugin->prog_free(p->prog);
        }
        decoder_destroy(p->dec);
        free(p);
    }
}
