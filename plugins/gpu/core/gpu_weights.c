/* gpu_weights.c — binding: in place where the device reads the host's pages, otherwise a copy of the file's bytes; and
 * the tables that only seal can make. */
#include "gpu_core.h"

#define UPLOAD_BYTES (UINT64_C(16) << 20) /* between two looks at the cancel flag */

/* The bytes of a tensor that a weight needs. */
typedef struct source {
    const uint8_t *data;          /* first byte; TERNARY: of the digits */
    uint64_t bytes;
    uint64_t first_element;       /* TERNARY: of the weight in these digits */
    const uint8_t *tensor;        /* TERNARY: begins with the scale */
} source;

static const qn_buffer *buffer_of(const qn_prog *prog, uint32_t b) {
    return qn_program_buffer(prog->program, b);
}

static source find_source(const qn_buffer *buffer, const qn_weight *weight) {
    const uint64_t count = buffer->dims[0] * qn_buffer_rows(buffer, 0, 0, 0), first = weight->first_element;
    const uint8_t *tensor = weight->data;
    if (buffer->format == QN_FORMAT_TERNARY) {
        return (source){tensor + 4 + first / 5, (first % 5 + count + 4) / 5, first % 5, tensor};
    }
    const qn_format_info *format = qn_format_find(buffer->format);
    return (source){tensor + first / format->block_elems * format->block_bytes, qn_format_bytes(buffer->format, count),
                    0, NULL};
}

static qn_status check_weight(const qn_prog *prog, const qn_weight *weight, qn_error *err) {
    if (weight->buffer >= prog->program->n_buffers || buffer_of(prog, weight->buffer)->role != QN_ROLE_WEIGHT) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: buffer %u is not a weight", weight->buffer);
    }
    const qn_buffer *buffer = buffer_of(prog, weight->buffer);
    const char *name = qn_program_name(prog->program, buffer);
    const uint64_t count = buffer->dims[0] * qn_buffer_rows(buffer, 0, 0, 0);
    if (prog->weights[weight->buffer].is_bound) {
        return qn_fail(err, QN_BAD_STATE, "bind_weights: %s is bound already", name);
    }
    if (weight->flags != QN_WEIGHT_COPY && weight->flags != QN_WEIGHT_BORROW) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: %s: flags 0x%x are neither COPY nor BORROW", name,
                       weight->flags);
    }
    if (weight->data == NULL || (uintptr_t)weight->data % 4 != 0) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: %s: data at %p is not aligned to 4", name, weight->data);
    }
    if (weight->first_element > QN_MAX_ELEMENTS
        || (buffer->format != QN_FORMAT_TERNARY
            && weight->first_element % qn_format_find(buffer->format)->block_elems != 0)) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: %s: first element %llu is not at a block of %s", name,
                       (unsigned long long)weight->first_element, qn_format_name(buffer->format));
    }
    if (weight->bytes < qn_format_bytes(buffer->format, weight->first_element + count)) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: %s: %llu bytes, %llu are needed", name,
                       (unsigned long long)weight->bytes,
                       (unsigned long long)qn_format_bytes(buffer->format, weight->first_element + count));
    }
    return QN_OK;
}

/* --- Copies ------------------------------------------------------------------------------------------------------- */

static qn_status upload(qn_device *device, gpu_memory *to, uint64_t at, const uint8_t *data, uint64_t bytes,
                        qn_error *err) {
    qn_status status = QN_OK;
    for (uint64_t done = 0; done < bytes && status == QN_OK;) {
        const uint64_t now = bytes - done < UPLOAD_BYTES ? bytes - done : UPLOAD_BYTES;
        if (qn_flag_is_up(gpu_host(device)->cancel)) {
            return qn_fail(err, QN_CANCELLED, "bind_weights: cancelled");
        }
        status = gpu_upload(device, to, at + done, data + done, now, err);
        done += now;
    }
    return status;
}

/* The memory for a copy: the pool that was planned, or one that was not, because the pages could not be used in
 * place. */
static qn_status take_place(qn_prog *prog, gpu_weight *weight, uint64_t bytes, gpu_memory **out, uint64_t *out_at,
                            qn_error *err) {
    const bool is_planned = weight->slot.pool != GPU_NONE;
    gpu_piece *piece = is_planned ? &prog->weight_memory[weight->slot.pool] : &weight->own;
    qn_status status = QN_OK;
    if (piece->memory == NULL) {
        const uint64_t whole = is_planned ? prog->weight_pools.bytes[weight->slot.pool] : bytes;
        status = gpu_memory_take(prog->device, QN_MEM_WEIGHTS, GPU_PLACE_DEVICE, whole, piece, err);
    }
    *out = piece->memory;
    *out_at = is_planned ? weight->slot.at : 0;
    return status;
}

static qn_status bind_copy(qn_prog *prog, const qn_weight *theirs, const source *from, gpu_weight *weight,
                           qn_error *err) {
    const qn_host *host = gpu_host(prog->device);
    const uint64_t bytes = gpu_weight_bytes(buffer_of(prog, theirs->buffer)),
                   scale_bytes = from->tensor != NULL ? 4 : 0;
    gpu_memory *memory = NULL;
    uint64_t at = 0;
    qn_status status = take_place(prog, weight, bytes, &memory, &at, err);
    if (status == QN_OK && scale_bytes > 0) {
        status = upload(prog->device, memory, at, from->tensor, scale_bytes, err);
    }
    if (status == QN_OK) {
        status = upload(prog->device, memory, at + scale_bytes, from->data, from->bytes, err);
    }
    if (status != QN_OK) {
        gpu_memory_give(prog->device, &weight->own);
        return status;
    }
    weight->at = (gpu_binding){memory, at, bytes};
    weight->first_element = from->first_element;
    if (theirs->flags == QN_WEIGHT_BORROW && host->weight_done != NULL) {
        host->weight_done(host->ctx, from->data, from->bytes);
    }
    return QN_OK;
}

/* --- In place ----------------------------------------------------------------------------------------------------- */

/* True when the kernels will read the host's pages. Nothing is lost when not: the copy says what is wrong, if anything
 * is. */
static bool bind_in_place(qn_prog *prog, const source *from, gpu_weight *weight) {
    qn_device *device = prog->device;
    const uint8_t *begin = from->tensor != NULL ? from->tensor : from->data;
    const uint64_t bytes = (uint64_t)(from->data - begin) + from->bytes,
                   skipped = from->tensor != NULL ? (uint64_t)(from->data - begin - 4) : 0;
    gpu_memory *memory = NULL;
    uint64_t at = 0;
    qn_error unused = {.size = sizeof unused};
    if ((uintptr_t)begin % 4 != 0
        || gpu_the_driver.memory_import(device->driver, begin, bytes, &memory, &at, &unused) != QN_OK) {
        return false;
    }
    if (at % 4 != 0) {
        gpu_the_driver.memory_free(device->driver, memory);
        return false;
    }
    weight->own = (gpu_piece){.memory = memory, .kind = QN_MEM_WEIGHTS, .place = GPU_PLACE_DEVICE};
    weight->at = (gpu_binding){memory, at, gpu_round_up(bytes, 4)};
    weight->first_element = skipped * 5 + from->first_element;
    return true;
}

/* --- One weight --------------------------------------------------------------------------------------------------- */

/* Factors of a ROPE stand in its table. */
static qn_status keep_values(qn_prog *prog, const qn_buffer *buffer, const source *from, gpu_weight *weight,
                             qn_error *err) {
    const uint64_t bytes = buffer->dims[0] * sizeof(float);
    if (!weight->has_values || weight->values != NULL) {
        return QN_OK;
    }
    weight->values = gpu_host_take(prog->device, QN_MEM_CODE, bytes);
    if (weight->values == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "bind_weights: no host memory for %llu bytes", (unsigned long long)bytes);
    }
    memcpy(weight->values, from->data, bytes);
    return QN_OK;
}

static qn_status bind_one(qn_prog *prog, const qn_weight *theirs, qn_error *err) {
    const qn_status sound = check_weight(prog, theirs, err);
    if (sound != QN_OK) {
        return sound;
    }
    const qn_buffer *buffer = buffer_of(prog, theirs->buffer);
    const source from = find_source(buffer, theirs);
    gpu_weight *weight = &prog->weights[theirs->buffer];
    qn_status status = keep_values(prog, buffer, &from, weight, err);
    if (status == QN_OK
        && !(weight->is_borrowed && theirs->flags == QN_WEIGHT_BORROW && bind_in_place(prog, &from, weight))) {
        status = bind_copy(prog, theirs, &from, weight, err);
    }
    weight->is_bound = status == QN_OK;
    return status;
}

qn_status QN_CALL gpu_bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights,
                                   qn_error *err) {
    if (prog == NULL || (n_weights > 0 && (weights == NULL || stride < QN_LEAST_qn_weight || stride % 8 != 0))) {
        return qn_fail(err, QN_BAD_ARG, "bind_weights: no program, or %u weights %llu bytes apart", n_weights,
                       (unsigned long long)stride);
    }
    qn_status status = gpu_enter(prog->device, err);
    if (status != QN_OK) {
        return status;
    }
    if (prog->is_sealed) {
        status = qn_fail(err, QN_BAD_STATE, "bind_weights: the program is sealed");
    }
    for (uint32_t i = 0; i < n_weights && status == QN_OK; i++) {
        qn_weight own;
        status = qn_copy_in(&own, sizeof own, QN_LEAST_qn_weight, (const char *)weights + i * stride);
        status = status == QN_OK
                     ? bind_one(prog, &own, err)
                     : qn_fail(err, status,
                               "bind_weights: weight %u is too short or has a member that is not known here", i);
    }
    return gpu_leave(prog->device, status);
}

/* --- Seal --------------------------------------------------------------------------------------------------------- */

static void write_tables(const qn_prog *prog, char *to) {
    const qn_program *program = prog->program;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        const bool has_factors = op->op == QN_OP_ROPE && op->n_inputs == 2;
        if (prog->tables[i].bytes > 0) {
            gpu_table_write(program, i, has_factors ? prog->weights[qn_program_operands(program, op)[1]].values : NULL,
                            to + prog->tables[i].at);
        }
    }
}

/* Zeros and constants go to the device in one piece. */
static qn_status make_tables(qn_prog *prog, qn_error *err) {
    qn_device *device = prog->device;
    char *bytes = gpu_host_take(device, QN_MEM_OTHER, prog->tables_bytes);
    if (bytes == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "seal: no host memory for %llu bytes",
                       (unsigned long long)prog->tables_bytes);
    }
    write_tables(prog, bytes);
    qn_status status =
        gpu_memory_take(device, QN_MEM_CODE, GPU_PLACE_DEVICE, prog->tables_bytes, &prog->tables_memory, err);
    if (status == QN_OK) {
        status = gpu_upload(device, prog->tables_memory.memory, 0, bytes, prog->tables_bytes, err);
    }
    if (status != QN_OK) {
        gpu_memory_give(device, &prog->tables_memory);
    }
    gpu_host_give(device, bytes);
    for (uint32_t i = 0; i < prog->program->n_ops; i++) {
        prog->tables[i].memory = prog->tables_memory.memory;
    }
    prog->zero = (gpu_binding){prog->tables_memory.memory, 0, 64};
    return status;
}

static qn_status seal_locked(qn_prog *prog, qn_error *err) {
    if (prog->is_sealed) {
        return qn_fail(err, QN_BAD_STATE, "seal: the program is sealed already");
    }
    for (uint32_t b = 0; b < prog->program->n_buffers; b++) {
        if (buffer_of(prog, b)->role == QN_ROLE_WEIGHT && !prog->weights[b].is_bound) {
            return qn_fail(err, QN_BAD_ARG, "seal: weight %u (%s) is not bound", b,
                           qn_program_name(prog->program, buffer_of(prog, b)));
        }
    }
    const qn_status status = make_tables(prog, err);
    prog->is_sealed = status == QN_OK;
    return status;
}

qn_status QN_CALL gpu_seal(qn_prog *prog, qn_error *err) {
    if (prog == NULL) {
        return qn_fail(err, QN_BAD_ARG, "seal: no program");
    }
    const qn_status status = gpu_enter(prog->device, err);
    return status == QN_OK ? gpu_leave(prog->device, seal_locked(prog, err)) : status;
}

void gpu_weights_free(qn_prog *prog) {
    qn_device *device = prog->device;
    for (uint32_t b = 0; b < prog->program->n_buffers; b++) {
        gpu_memory_give(device, &prog->weights[b].own);
        gpu_memory_give(device, &prog->weight_memory[b]);
        gpu_host_give(device, prog->weights[b].values);
    }
    gpu_memory_give(device, &prog->tables_memory);
}
