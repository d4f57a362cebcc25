/* gpu_tap.c — reading a buffer after a step of a materialised program. */
#include "gpu_core.h"

#define BOUNCE_BYTES 8192u

/* States are padded on the device and not at the host: the first `bytes` of the rows without their padding. */
static qn_status read_rows(const qn_session *session, gpu_binding from, uint64_t stride, uint64_t row, char *to,
                           uint64_t bytes, qn_error *err) {
    qn_device *device = session->prog->device;
    char bounce[BOUNCE_BYTES];
    qn_status status = QN_OK;
    if (stride == row) {
        return bytes == 0 ? QN_OK : gpu_download(device, from.memory, from.at, to, bytes, err);
    }
    const uint64_t most_rows = stride < BOUNCE_BYTES ? BOUNCE_BYTES / stride : 1;
    for (uint64_t first = 0; first * row < bytes && status == QN_OK; first += most_rows) {
        const uint64_t left = bytes - first * row, n = left / row < most_rows ? (left + row - 1) / row : most_rows;
        if (stride > BOUNCE_BYTES) { /* one row, straight to its place */
            status = gpu_download(device, from.memory, from.at + first * stride, to + first * row,
                                  left < row ? left : row, err);
            continue;
        }
        status = gpu_download(device, from.memory, from.at + first * stride, bounce, n * stride, err);
        for (uint64_t i = 0; i < n && status == QN_OK; i++) {
            const uint64_t rest = left - i * row;
            memcpy(to + (first + i) * row, bounce + i * stride, rest < row ? rest : row);
        }
    }
    return status;
}

static qn_status read_buffer(const qn_session *session, uint32_t buffer, void *data, uint64_t room, uint64_t *out_bytes,
                             qn_error *err) {
    const qn_prog *prog = session->prog;
    const qn_buffer *b = qn_program_buffer(prog->program, buffer);
    if ((prog->flags & QN_COMPILE_MATERIALIZE) == 0) {
        return qn_fail(err, QN_UNSUPPORTED, "tap: the program was not compiled with MATERIALIZE");
    }
    if (session->n_tokens == 0) {
        return qn_fail(err, QN_BAD_STATE, "tap: no step has been run");
    }
    if (b->role != QN_ROLE_ACT && b->role != QN_ROLE_STATE) {
        return qn_fail(err, QN_BAD_ARG, "tap: buffer %u (%s) is neither act nor state", buffer,
                       qn_program_name(prog->program, b));
    }
    if (b->role == QN_ROLE_STATE) {
        const uint64_t row = qn_format_bytes(b->format, b->dims[0]);
        *out_bytes = row * prog->limits.cells[b->group];
        return read_rows(session, gpu_session_state(session, buffer), gpu_state_row_bytes(b->format, b->dims[0]), row,
                         data, room < *out_bytes ? room : *out_bytes, err);
    }
    gpu_binding from = gpu_session_region(session, GPU_REGION_ACTS);
    from.at += prog->acts[buffer].offset;
    *out_bytes = gpu_block_buffer_bytes(b, session->n_tokens, session->n_outputs);
    return read_rows(session, from, 1, 1, data, room < *out_bytes ? room : *out_bytes, err);
}

qn_status QN_CALL gpu_tap(qn_session *session, uint32_t buffer, void *data, uint64_t room, uint64_t *out_bytes,
                          qn_error *err) {
    if (session == NULL || out_bytes == NULL || buffer >= session->prog->program->n_buffers
        || (data == NULL && room > 0)) {
        return qn_fail(err, QN_BAD_ARG, "tap: no session, no place for the size, or no buffer %u", buffer);
    }
    qn_device *device = session->prog->device;
    const qn_status status = gpu_enter(device, err);
    return status == QN_OK ? gpu_leave(device, read_buffer(session, buffer, data, room, out_bytes, err)) : status;
}
