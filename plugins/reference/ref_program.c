/* ref_program.c — from the program's bytes to something that can make sessions: check, plan, compile, bind, seal. */
#include "ref_internal.h"

static void *take(const qn_host *host, uint32_t kind, uint64_t bytes) {
    return host->mem_alloc(host->ctx, kind, bytes == 0 ? 1 : bytes, 64);
}

/* Copies and checks the compile options. */
static qn_status read_options(const qn_compile_options *theirs, qn_compile_options *own, qn_error *err) {
    const qn_status status = qn_copy_in(own, sizeof *own, QN_LEAST_qn_compile_options, theirs);
    if (status != QN_OK) {
        return qn_fail(err, status, "compile options: absent, too short, or with a member that is not known here");
    }
    if ((own->flags & ~(uint32_t)(QN_COMPILE_MATERIALIZE | QN_COMPILE_DETERMINISTIC)) != 0) {
        return qn_fail(err, QN_TOO_NEW, "compile options: flags 0x%x are not known here", own->flags);
    }
    if ((own->numeric & QN_NUMERIC_F32ACC) == 0) {
        return qn_fail(err, QN_UNSUPPORTED, "numeric classes 0x%x: the reference backend has f32acc only", own->numeric);
    }
    if (own->n_options > 0) {
        return qn_fail(err, QN_UNSUPPORTED, "option '%s' is unknown: the reference backend has none",
                       own->options == NULL ? "" : own->options[0].key);
    }
    return QN_OK;
}

static qn_status read_program(const qn_program *program, qn_error *err) {
    return program == NULL ? qn_fail(err, QN_BAD_ARG, "no program") : qn_program_validate(program, program->total_bytes, err);
}

qn_status QN_CALL ref_check(qn_device *device, const qn_program *program, const qn_compile_options *options, qn_verdict *verdicts,
                            uint64_t stride, qn_error *err) {
    qn_compile_options own;
    qn_status status = read_program(program, err);
    if (status == QN_OK) {
        status = read_options(options, &own, err);
    }
    if (status != QN_OK) {
        return status;
    }
    if (device == NULL || verdicts == NULL || stride < QN_LEAST_qn_verdict || stride % 8 != 0) {
        return qn_fail(err, QN_BAD_ARG, "check: no device or no place for the verdicts");
    }
    for (uint32_t i = 0; i < program->n_ops; i++) {
        qn_verdict *verdict = (qn_verdict *)(void *)((char *)verdicts + i * stride);
        verdict->verdict = QN_VERDICT_YES;
        verdict->text[0] = '\0';
    }
    return QN_OK;
}

/* --- Sizes ------------------------------------------------------------------------------------------------------------ */

static uint64_t find_score_elems(const qn_prog *prog) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < prog->program->n_ops; i++) {
        const qn_op *op = qn_program_op(prog->program, i);
        if (op->op == QN_OP_ATTENTION) {
            const qn_attention_attrs *attrs = qn_program_attrs(prog->program, op);
            const uint32_t state = qn_program_operands(prog->program, op)[1];
            const uint64_t n = (uint64_t)attrs->n_head * prog->limits.cells[qn_program_buffer(prog->program, state)->group];
            most = n > most ? n : most;
        }
    }
    return most;
}

/* Fills state_at, state_bytes, row_elems and score_elems. */
static qn_status lay_out(qn_prog *prog, qn_error *err) {
    const qn_program *program = prog->program;
    prog->row_elems = 1;
    prog->score_elems = find_score_elems(prog);
    prog->state_bytes = 0;
    for (uint32_t b = 0; b < program->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(program, b);
        if (buffer->symbols[0] == QN_DIM_FIXED && buffer->dims[0] > prog->row_elems) {
            prog->row_elems = buffer->dims[0];
        }
        if (buffer->role == QN_ROLE_STATE) {
            /* At most 2^43 bytes a row and 2^32 cells: the product fits once the sum is kept below 2^62. */
            const uint64_t cells = prog->limits.cells[buffer->group], row = qn_format_bytes(buffer->format, buffer->dims[0]);
            if (row > ((UINT64_C(1) << 61) - prog->state_bytes) / cells) {
                return qn_fail(err, QN_NO_HOST_MEM, "state buffer %s is too large with %llu cells", qn_program_name(program, buffer),
                               (unsigned long long)cells);
            }
            prog->state_at[b] = prog->state_bytes;
            prog->state_bytes += (row * cells + 63) / 64 * 64;
        }
    }
    return qn_plan_acts(program, &prog->limits, prog->flags, prog->acts, &prog->arena_bytes, err);
}

uint64_t ref_session_state_bytes(const qn_prog *prog) {
    return prog->state_bytes;
}

uint64_t ref_session_scratch_bytes(const qn_prog *prog, uint32_t n_workers) {
    return prog->arena_bytes + (uint64_t)n_workers * 2 * prog->row_elems * sizeof(float)
           + (prog->score_elems + prog->row_elems) * sizeof(double);
}

static uint64_t weight_bytes(const qn_program *program, uint32_t b) {
    const qn_buffer *buffer = qn_program_buffer(program, b);
    return qn_format_bytes(buffer->format, buffer->dims[0] * qn_buffer_rows(buffer, 0, 0, 0));
}

/* Bytes that compile takes for its own copies and tables. */
static uint64_t code_bytes(const qn_program *program) {
    return program->total_bytes + program->n_buffers * (sizeof(ref_weight) + sizeof(qn_act_slot) + sizeof(uint64_t)) + sizeof(qn_prog);
}

qn_status QN_CALL ref_plan(qn_device *device, const qn_program *program, const qn_limits *limits, const qn_compile_options *options,
                           qn_memory_plan *out, qn_error *err) {
    qn_prog *prog = NULL;
    qn_status status = ref_compile(device, program, limits, options, &prog, err);
    if (status != QN_OK) {
        return status;
    }
    qn_memory_plan plan = {.size = sizeof plan, .numeric = QN_NUMERIC_F32ACC};
    plan.host_bytes[QN_MEM_CODE] = code_bytes(program);
    plan.host_bytes[QN_MEM_STATE] = ref_session_state_bytes(prog);
    plan.host_bytes[QN_MEM_SCRATCH] = ref_session_scratch_bytes(prog, ref_host(prog)->machine->n_workers) + sizeof(qn_session);
    for (uint32_t b = 0; b < program->n_buffers; b++) {
        plan.borrowed_bytes += qn_program_buffer(program, b)->role == QN_ROLE_WEIGHT ? weight_bytes(program, b) : 0;
    }
    ref_prog_free(prog);
    status = qn_copy_out(out, QN_LEAST_qn_memory_plan, &plan, sizeof plan);
    return status == QN_OK ? QN_OK : qn_fail(err, status, "plan: no place for the result");
}

/* --- Compile ---------------------------------------------------------------------------------------------------------- */

static qn_prog *make_prog(qn_device *device, const qn_program *program) {
    const qn_host *host = &device->plugin->host;
    qn_prog *prog = take(host, QN_MEM_CODE, sizeof *prog);
    if (prog == NULL) {
        return NULL;
    }
    prog->device = device;
    device->n_programs++;
    prog->program = take(host, QN_MEM_CODE, program->total_bytes);
    prog->weights = take(host, QN_MEM_CODE, program->n_buffers * sizeof *prog->weights);
    prog->acts = take(host, QN_MEM_CODE, program->n_buffers * sizeof *prog->acts);
    prog->state_at = take(host, QN_MEM_CODE, program->n_buffers * sizeof *prog->state_at);
    if (prog->program == NULL || prog->weights == NULL || prog->acts == NULL || prog->state_at == NULL) {
        ref_prog_free(prog);
        return NULL;
    }
    memcpy(prog->program, program, program->total_bytes);
    return prog;
}

qn_status QN_CALL ref_compile(qn_device *device, const qn_program *program, const qn_limits *limits,
                              const qn_compile_options *options, qn_prog **out, qn_error *err) {
    qn_compile_options own_options;
    qn_limits own_limits;
    qn_status status = device == NULL || out == NULL ? qn_fail(err, QN_BAD_ARG, "compile: no device or no place for the result")
                                                     : read_program(program, err);
    if (status == QN_OK) {
        status = read_options(options, &own_options, err);
    }
    if (status == QN_OK) {
        status = qn_limits_read(program, limits, &own_limits, err);
    }
    if (status != QN_OK) {
        return status;
    }
    qn_prog *prog = make_prog(device, program);
    if (prog == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "compile: no memory for %llu bytes", (unsigned long long)code_bytes(program));
    }
    prog->limits = own_limits;
    prog->flags = own_options.flags;
    status = lay_out(prog, err);
    if (status != QN_OK) {
        ref_prog_free(prog);
        return status;
    }
    *out = prog;
    return QN_OK;
}

void QN_CALL ref_prog_free(qn_prog *prog) {
    if (prog == NULL) {
        return;
    }
    const qn_host *host = ref_host(prog);
    if (prog->n_sessions > 0) {
        host->log(host->ctx, QN_LOG_ERROR, "reference: prog_free while a session is there: its memory is kept");
        return;
    }
    for (uint32_t b = 0; prog->weights != NULL && prog->program != NULL && b < prog->program->n_buffers; b++) {
        host->mem_free(host->ctx, prog->weights[b].copy);
    }
    prog->device->n_programs--;
    host->mem_free(host->ctx, prog->program);
    host->mem_free(host->ctx, prog->weights);
    host->mem_free(host->ctx, prog->acts);
    host->mem_free(host->ctx, prog->state_at);
    host->mem_free(host->ctx, prog);
}

/* --- Weights ---------------------------------------------------------------------------------------------------------- */

static qn_status check_weight(const qn_prog *prog, const qn_weight *weight, qn_error *err) {
    const qn_program *program = prog->program;
    if (weight->buffer >= program->n_buffers || qn_program_buffer(program, weight->buffer)->role != QN_ROLE_WEIGHT) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: buffer %u is not a weight", weight->buffer);
    }
    const qn_buffer *buffer = qn_program_buffer(program, weight->buffer);
    const char *name = qn_program_name(program, buffer);
    const uint64_t count = buffer->dims[0] * qn_buffer_rows(buffer, 0, 0, 0);
    if (prog->weights[weight->buffer].data != NULL) {
        return qn_fail(err, QN_BAD_STATE, "bind_weights: %s is bound already", name);
    }
    if (weight->flags != QN_WEIGHT_COPY && weight->flags != QN_WEIGHT_BORROW) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: %s: flags 0x%x are neither COPY nor BORROW", name, weight->flags);
    }
    if (weight->data == NULL || (uintptr_t)weight->data % 4 != 0) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: %s: data at %p is not aligned to 4", name, weight->data);
    }
    if (weight->first_element > QN_MAX_ELEMENTS
        || (buffer->format != QN_FORMAT_TERNARY && weight->first_element % qn_format_find(buffer->format)->block_elems != 0)) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: %s: first element %llu is not at a block of %s", name,
                       (unsigned long long)weight->first_element, qn_format_name(buffer->format));
    }
    if (weight->bytes < qn_format_bytes(buffer->format, weight->first_element + count)) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: %s: %llu bytes, %llu are needed", name, (unsigned long long)weight->bytes,
                       (unsigned long long)qn_format_bytes(buffer->format, weight->first_element + count));
    }
    return QN_OK;
}

static qn_status bind_weight(qn_prog *prog, const qn_weight *weight, qn_error *err) {
    const qn_host *host = ref_host(prog);
    const qn_buffer *buffer = qn_program_buffer(prog->program, weight->buffer);
    ref_weight *place = &prog->weights[weight->buffer];
    void *copy = NULL;
    if (weight->flags == QN_WEIGHT_COPY) {
        const uint64_t bytes = qn_format_bytes(buffer->format,
                                               weight->first_element + buffer->dims[0] * qn_buffer_rows(buffer, 0, 0, 0));
        copy = take(host, QN_MEM_WEIGHTS, bytes);
        if (copy == NULL) {
            return qn_fail(err, QN_NO_HOST_MEM, "bind_weights: %s: no memory for %llu bytes", qn_program_name(prog->program, buffer),
                           (unsigned long long)bytes);
        }
        memcpy(copy, weight->data, bytes);
    }
    place->copy = copy;
    place->data = copy != NULL ? copy : weight->data;
    place->first_element = weight->first_element;
    return QN_OK;
}

qn_status QN_CALL ref_bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights, qn_error *err) {
    if (prog == NULL || (n_weights > 0 && (weights == NULL || stride < QN_LEAST_qn_weight || stride % 8 != 0))) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: no program, or %u weights %llu bytes apart", n_weights, (unsigned long long)stride);
    }
    if (prog->is_sealed) {
        return qn_fail(err, QN_BAD_STATE, "bind_weights: the program is sealed");
    }
    for (uint32_t i = 0; i < n_weights; i++) {
        qn_weight own;
        qn_status status = qn_copy_in(&own, sizeof own, QN_LEAST_qn_weight, (const char *)weights + i * stride);
        if (status != QN_OK) {
            return qn_fail(err, status, "bind_weights: weight %u is too short or has a member that is not known here", i);
        }
        status = check_weight(prog, &own, err);
        if (status == QN_OK) {
            status = bind_weight(prog, &own, err);
        }
        if (status != QN_OK) {
            return status;
        }
    }
    return QN_OK;
}

qn_status QN_CALL ref_seal(qn_prog *prog, qn_error *err) {
    if (prog == NULL) {
        return qn_fail(err, QN_BAD_ARG, "seal: no program");
    }
    if (prog->is_sealed) {
        return qn_fail(err, QN_BAD_STATE, "seal: the program is sealed already");
    }
    for (uint32_t b = 0; b < prog->program->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(prog->program, b);
        if (buffer->role == QN_ROLE_WEIGHT && prog->weights[b].data == NULL) {
            return qn_fail(err, QN_BAD_ARG, "seal: weight %u (%s) is not bound", b, qn_program_name(prog->program, buffer));
        }
    }
    prog->is_sealed = 1;
    return QN_OK;
}

uint64_t QN_CALL ref_describe(qn_prog *prog, uint32_t op, char *text, uint64_t room) {
    char line[96] = "reference: scalar C, double accumulators";
    if (prog != NULL && op < prog->program->n_ops) {
        snprintf(line, sizeof line, "%s:ref", qn_op_name(qn_program_op(prog->program, op)->op));
    }
    if (text != NULL && room > 0) {
        snprintf(text, room, "%s", line);
    }
    return strlen(line);
}
