/* cpu_program.c — check, plan and compile: from the flat program to decoded ops, weight forms and plans. */
#include <string.h>

#include <quoin/glue_program.h>
#include <quoin/glue_step.h>

#include "cpu_internal.h"

/* --- Verdicts --------------------------------------------------------------------------------------------------------- */

static bool is_float_format(qn_format format) {
    return format == QN_FORMAT_F32 || format == QN_FORMAT_F16 || format == QN_FORMAT_BF16;
}

/* Sizes that fit the 32-bit counts of the kernels. */
static bool has_small_dims(const qn_buffer *buffer) {
    return buffer->dims[0] <= INT32_MAX && qn_buffer_rows(buffer, 1, 1, 1) <= INT32_MAX;
}

static const char *refuse_state(const qn_program *program, const uint32_t *operands, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last; i++) {
        const qn_format format = qn_program_buffer(program, operands[i])->format;
        if (!is_float_format(format) && format != QN_FORMAT_Q8_0) {
            return "state is kept as F32, F16, BF16 or Q8_0 only";
        }
    }
    return NULL;
}

static const char *refuse_attention(const qn_program *program, const qn_op *op, const uint32_t *operands) {
    const qn_attention_attrs *const a = qn_program_attrs(program, op);
    const bool k_is_q8 = qn_program_buffer(program, operands[1])->format == QN_FORMAT_Q8_0;
    const bool v_is_q8 = qn_program_buffer(program, operands[2])->format == QN_FORMAT_Q8_0;
    if ((k_is_q8 && a->head_dim % CPU_BLOCK != 0) || (v_is_q8 && a->value_dim % CPU_BLOCK != 0)) {
        return "state is kept as Q8_0 only when a head is a multiple of 32 long";
    }
    return refuse_state(program, operands, 1, 3);
}

/* Rows so long that a panel of them would have 2^32 bytes. */
static bool has_long_panels(const qn_buffer *buffer) {
    const uint32_t kind = blk_panel_find(buffer->format);
    cpu_panels panels;
    return buffer->role == QN_ROLE_WEIGHT && buffer->rank == 2 && kind != BLK_NO_PANELS &&
           !blk_panels_init(&panels, kind, buffer->dims[1], buffer->dims[0]);
}

/* Why this op cannot be run, or null. */
static const char *refuse_op(const qn_program *program, const qn_op *op) {
    const uint32_t *const operands = qn_program_operands(program, op);
    for (uint32_t i = 0; i < op->n_inputs + op->n_outputs; i++) {
        if (!has_small_dims(qn_program_buffer(program, operands[i]))) {
            return "a dimension exceeds 2^31";
        }
        if (has_long_panels(qn_program_buffer(program, operands[i]))) {
            return "sixteen rows of a weight exceed 2^32 bytes";
        }
    }
    switch (op->op) {
    case QN_OP_STATE_WRITE: return refuse_state(program, operands, 1, 2);
    case QN_OP_ATTENTION: return refuse_attention(program, op, operands);
    case QN_OP_EMBED: case QN_OP_MATMUL: case QN_OP_ADD: case QN_OP_SCALE: case QN_OP_RMS_NORM: case QN_OP_ROPE:
    case QN_OP_GATED: case QN_OP_SOFTCAP: case QN_OP_SELECT_ROWS: return NULL;
    default: return "this op is not known to the cpu backend";
    }
}

static uint32_t choose_numeric(const qn_compile_options *options) {
    return (options->numeric & QN_NUMERIC_ACT8) != 0 ? QN_NUMERIC_ACT8
         : (options->numeric & QN_NUMERIC_F32ACC) != 0 ? QN_NUMERIC_F32ACC : 0;
}

static qn_status copy_options(const qn_compile_options *theirs, qn_compile_options *out, qn_error *err) {
    const qn_status status = qn_copy_in(out, sizeof *out, QN_LEAST_qn_compile_options, theirs);
    if (status != QN_OK) {
        return qn_fail(err, status, "compile options of a size that this plugin does not know");
    }
    if ((out->flags & ~(uint32_t)(QN_COMPILE_MATERIALIZE | QN_COMPILE_DETERMINISTIC)) != 0) {
        return qn_fail(err, QN_TOO_NEW, "compile options: flags 0x%x are not known here", out->flags);
    }
    if (choose_numeric(out) == 0) {
        return qn_fail(err, QN_UNSUPPORTED, "the cpu backend offers the numeric classes f32acc and act8 only");
    }
    if (out->n_options > 0) {
        return qn_fail(err, QN_UNSUPPORTED, "the cpu backend has no option '%s' at compile", out->options[0].key);
    }
    return QN_OK;
}

qn_status cpu_check(qn_device *device, const qn_program *program, const qn_compile_options *theirs, qn_verdict *verdicts,
                    uint64_t stride, qn_error *err) {
    qn_compile_options options;
    if (device == NULL || program == NULL || theirs == NULL || verdicts == NULL) {
        return qn_fail(err, QN_BAD_ARG, "check: a null argument");
    }
    qn_status status = copy_options(theirs, &options, err);
    if (status == QN_OK) {
        status = qn_program_validate_flags(program, program->total_bytes, QN_BUFFER_PANELS, err);
    }
    for (uint32_t i = 0; status == QN_OK && i < program->n_ops; i++) {
        qn_verdict *const verdict = (qn_verdict *)(void *)((char *)verdicts + i * stride);
        const char *const why = refuse_op(program, qn_program_op(program, i));
        verdict->verdict = why == NULL ? QN_VERDICT_YES : QN_VERDICT_NO;
        snprintf(verdict->text, sizeof verdict->text, "%s", why == NULL ? "" : why);
    }
    return status;
}

/* --- Decoding --------------------------------------------------------------------------------------------------------- */

static void decode_op(const qn_program *program, uint32_t index, cpu_op *out) {
    const qn_op *const op = qn_program_op(program, index);
    const uint32_t *const operands = qn_program_operands(program, op);
    out->kind = op->op;
    out->layer = op->layer;
    out->flags = op->flags;
    out->n_inputs = op->n_inputs;
    for (uint32_t i = 0; i < 3; i++) {
        out->in[i] = i < op->n_inputs ? operands[i] : CPU_NONE;
    }
    out->out = op->n_outputs > 0 ? operands[op->n_inputs] : CPU_NONE;
    out->rope = CPU_NONE;
    if (op->attrs_bytes > 0) {
        memcpy(&out->attrs, qn_program_attrs(program, op), op->attrs_bytes < sizeof out->attrs ? op->attrs_bytes : sizeof out->attrs);
    }
}

/* Index of the rope table of op `index`; ropes with equal attributes share one. `head_dim` and `n_head` do not matter. */
static uint32_t find_rope(qn_prog *prog, uint32_t index) {
    const cpu_op *const op = &prog->ops[index];
    cpu_rope_spec spec = {.attrs = op->attrs.rope, .factors = op->in[1], .frequency = NULL};
    const qn_buffer *const y = qn_program_buffer(prog->program, op->out);
    spec.symbol = y->rank > 1 ? y->symbols[1] : QN_DIM_FIXED;
    spec.attrs.size = spec.attrs.n_head = spec.attrs.head_dim = spec.attrs.pairing = 0;
    for (uint32_t i = 0; i < prog->n_ropes; i++) {
        const cpu_rope_spec *const other = &prog->ropes[i];
        if (memcmp(&other->attrs, &spec.attrs, sizeof spec.attrs) == 0 && other->factors == spec.factors &&
            other->symbol == spec.symbol) {
            return i;
        }
    }
    prog->ropes[prog->n_ropes] = spec;
    return prog->n_ropes++;
}

static void decode_ops(qn_prog *prog) {
    for (uint32_t i = 0; i < prog->n_ops; i++) {
        decode_op(prog->program, i, &prog->ops[i]);
        if (prog->ops[i].kind == QN_OP_ROPE) {
            prog->ops[i].rope = find_rope(prog, i);
        }
    }
    for (uint32_t i = 0; i < prog->n_buffers; i++) {
        const qn_buffer *const info = qn_program_buffer(prog->program, i);
        if (info->role == QN_ROLE_WEIGHT) {
            prog->weights[i].form = cpu_weight_form(prog, i);
        }
        prog->n_bindings += info->role == QN_ROLE_INPUT || info->role == QN_ROLE_OUTPUT;
    }
}

/* --- Scratch ---------------------------------------------------------------------------------------------------------- */

/* Parts that attention over `cells` cells is split into at most; every span may add an incomplete one. */
static uint64_t max_parts(uint32_t cells) {
    return (uint64_t)cells / CPU_CHUNK_CELLS + 1;
}

static void size_scratch(qn_prog *prog) {
    prog->scratch_bytes = CPU_GEMM_SCRATCH;
    for (uint32_t i = 0; i < prog->n_ops; i++) {
        const cpu_op *const op = &prog->ops[i];
        uint64_t bytes = 0;
        if (op->kind == QN_OP_MATMUL) {
            bytes = CPU_GEMM_SCRATCH + cpu_align(qn_program_buffer(prog->program, op->in[0])->dims[0] * 4u, 64);
        } else if (op->kind == QN_OP_ATTENTION) {
            const qn_attention_attrs *const a = &op->attrs.attention;
            bytes = cpu_attention_scratch(a->head_dim, a->value_dim, a->n_head / a->n_kv_head);
            const uint64_t parts = max_parts(prog->limits.cells[qn_program_buffer(prog->program, op->in[1])->group]);
            const uint64_t rows = prog->limits.max_tokens < CPU_FEW_TOKENS ? prog->limits.max_tokens : CPU_FEW_TOKENS;
            const uint64_t floats = rows * a->n_head * parts * (a->value_dim + 2u);
            prog->part_floats = floats > prog->part_floats ? floats : prog->part_floats;
        }
        prog->scratch_bytes = bytes > prog->scratch_bytes ? bytes : prog->scratch_bytes;
    }
    prog->scratch_bytes = cpu_align(prog->scratch_bytes, 4096);
}

/* --- Compile ---------------------------------------------------------------------------------------------------------- */

static void *take(const qn_host *host, uint64_t count, uint64_t size) {
    return host->mem_alloc(host->ctx, QN_MEM_OTHER, count * size + 64, 64);
}

static qn_status fill_prog(qn_prog *prog, const qn_program *program, qn_error *err) {
    const qn_host *const host = prog->host;
    prog->program = take(host, 1, program->total_bytes);
    prog->ops = take(host, program->n_ops, sizeof *prog->ops);
    prog->weights = take(host, program->n_buffers, sizeof *prog->weights);
    prog->quantized = take(host, program->n_buffers, sizeof *prog->quantized);
    prog->ropes = take(host, program->n_ops, sizeof *prog->ropes);
    if (prog->program == NULL || prog->ops == NULL || prog->weights == NULL || prog->quantized == NULL || prog->ropes == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for a program of %u ops", program->n_ops);
    }
    memcpy(prog->program, program, program->total_bytes);
    prog->n_buffers = program->n_buffers;
    prog->n_ops = program->n_ops;
    prog->n_groups = program->n_groups;
    for (uint32_t i = 0; i < prog->n_ops; i++) {
        const char *const why = refuse_op(program, qn_program_op(program, i));
        if (why != NULL) {
            if (err != NULL) {
                err->op = i;
            }
            return qn_fail(err, QN_UNSUPPORTED, "op %u (%s): %s", i, qn_op_name(qn_program_op(program, i)->op), why);
        }
    }
    decode_ops(prog);
    cpu_plan_slots(prog);
    size_scratch(prog);
    for (uint32_t i = 0; i < prog->n_ropes; i++) {
        prog->ropes[i].frequency = take(host, prog->ropes[i].attrs.n_rot / 2, sizeof(double));
        if (prog->ropes[i].frequency == NULL) {
            return qn_fail(err, QN_NO_HOST_MEM, "no host memory for a rope table");
        }
    }
    prog->has_one = !prog->materialize;
    if (!cpu_plan_build(prog, false, &prog->many) || (prog->has_one && !cpu_plan_build(prog, true, &prog->one))) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for the plan of %u ops", program->n_ops);
    }
    return QN_OK;
}

qn_status cpu_compile(qn_device *device, const qn_program *program, const qn_limits *limits, const qn_compile_options *theirs,
                      qn_prog **out, qn_error *err) {
    qn_compile_options options;
    qn_limits own_limits;
    if (device == NULL || program == NULL || limits == NULL || theirs == NULL || out == NULL) {
        return qn_fail(err, QN_BAD_ARG, "compile: a null argument");
    }
    qn_status status = copy_options(theirs, &options, err);
    status = status != QN_OK ? status : qn_program_validate_flags(program, program->total_bytes, QN_BUFFER_PANELS, err);
    status = status != QN_OK ? status : qn_limits_read(program, limits, &own_limits, err);
    if (status != QN_OK) {
        return status;
    }
    const qn_host *const host = device->plugin->host;
    qn_prog *const prog = take(host, 1, sizeof *prog);
    if (prog == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for a program");
    }
    prog->device = device;
    device->n_programs++;
    prog->host = host;
    prog->limits = own_limits;
    prog->numeric = choose_numeric(&options);
    prog->materialize = (options.flags & QN_COMPILE_MATERIALIZE) != 0;
    prog->n_workers = host->machine->n_workers;
    status = fill_prog(prog, program, err);
    if (status != QN_OK) {
        cpu_prog_free(prog);
        return status;
    }
    *out = prog;
    return QN_OK;
}

void cpu_prog_free(qn_prog *prog) {
    if (prog == NULL) {
        return;
    }
    const qn_host *const host = prog->host;
    if (prog->n_sessions > 0) {
        host->log(host->ctx, QN_LOG_ERROR, "cpu: prog_free while a session is there: its memory is kept");
        return;
    }
    prog->device->n_programs--;
    for (uint32_t i = 0; i < prog->n_ropes; i++) {
        host->mem_free(host->ctx, prog->ropes[i].frequency);
    }
    for (uint32_t i = 0; prog->weights != NULL && i < prog->n_buffers; i++) {
        host->mem_free(host->ctx, prog->weights[i].owned);
    }
    cpu_plan_free(host, &prog->one);
    cpu_plan_free(host, &prog->many);
    host->mem_free(host->ctx, prog->ropes);
    host->mem_free(host->ctx, prog->quantized);
    host->mem_free(host->ctx, prog->weights);
    host->mem_free(host->ctx, prog->ops);
    host->mem_free(host->ctx, prog->program);
    host->mem_free(host->ctx, prog);
}

/* --- Memory plan ------------------------------------------------------------------------------------------------------ */

qn_status cpu_plan_memory(qn_device *device, const qn_program *program, const qn_limits *limits,
                          const qn_compile_options *options, qn_memory_plan *out, qn_error *err) {
    qn_prog *prog = NULL;
    qn_memory_plan plan = {0};
    qn_status status = cpu_compile(device, program, limits, options, &prog, err);
    if (status != QN_OK) {
        return status;
    }
    plan.numeric = prog->numeric;
    for (uint32_t i = 0; i < prog->n_buffers; i++) {
        const qn_buffer *const info = qn_program_buffer(prog->program, i);
        if (info->role == QN_ROLE_WEIGHT) {
            const uint64_t packed = cpu_weight_bytes(prog, i);
            plan.host_bytes[QN_MEM_WEIGHTS] += packed;
            plan.borrowed_bytes += packed == 0 ? cpu_weight_borrowed(prog, i) : 0;
        }
        plan.host_bytes[QN_MEM_STATE] += cpu_state_room(prog, i);
    }
    plan.host_bytes[QN_MEM_SCRATCH] = cpu_session_bytes(prog);
    plan.host_bytes[QN_MEM_OTHER] = prog->program->total_bytes + prog->n_ops * (sizeof(cpu_op) + 4 * sizeof(cpu_stage)) +
                                    prog->n_buffers * (sizeof(cpu_weight) + 2 * sizeof(cpu_place));
    cpu_prog_free(prog);
    status = qn_copy_out(out, QN_LEAST_qn_memory_plan, &plan, sizeof plan);
    return status == QN_OK ? QN_OK : qn_fail(err, status, "plan: no place for the result");
}

/* --- Words ------------------------------------------------------------------------------------------------------------ */

static void name_matmul(const qn_prog *prog, const cpu_op *op, char *text, size_t room) {
    const cpu_ops *const kernels = &prog->device->ops;
    const cpu_weight *const weight = &prog->weights[op->in[0]];
    const bool panels = weight->form == CPU_WEIGHT_PANELS;
    char format[24];
    snprintf(format, sizeof format, "%s", qn_format_name(qn_program_buffer(prog->program, op->in[0])->format));
    for (char *c = format; *c != '\0'; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    }
    snprintf(text, room, "matmul_%s%s:%s", format, panels && prog->numeric == QN_NUMERIC_ACT8 ? "_act8" : "",
             panels ? kernels->panel_isa : kernels->rows_isa);
}

uint64_t cpu_describe(qn_prog *prog, uint32_t op, char *text, uint64_t room) {
    char line[256] = "";
    if (prog == NULL) {
        return 0;
    }
    const cpu_ops *const kernels = &prog->device->ops;
    if (op < prog->n_ops) {
        const cpu_op *const it = &prog->ops[op];
        if (it->kind == QN_OP_MATMUL) {
            name_matmul(prog, it, line, sizeof line);
        } else {
            snprintf(line, sizeof line, "%s:%s", qn_op_name(it->kind),
                     it->kind == QN_OP_ATTENTION ? kernels->attention_isa
                     : it->kind == QN_OP_EMBED || it->kind == QN_OP_SELECT_ROWS ? "c" : kernels->vector_isa);
        }
    } else {
        snprintf(line, sizeof line, "cpu %s, %s, %s, %u workers, %u ops, %u stages, %u for single tokens", CPU_VERSION,
                 prog->device->isa_text, prog->numeric == QN_NUMERIC_ACT8 ? "act8" : "f32acc", prog->n_workers, prog->n_ops,
                 prog->many.n_stages, prog->one.n_stages);
    }
    if (text != NULL && room > 0) {
        snprintf(text, room, "%s", line);
    }
    return strlen(line);
}
