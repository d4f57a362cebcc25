/* gpu_session.c — memory of one stream of steps: states, scratch, and the two windows through which the host looks. */
#include "gpu_core.h"

gpu_binding gpu_session_region(const qn_session *session, uint32_t region) {
    const qn_prog *prog = session->prog;
    const gpu_slot *slot = &prog->regions[region];
    if (slot->pool == GPU_NONE) {
        return (gpu_binding){0};
    }
    return (gpu_binding){session->pools[slot->pool].memory, slot->at, prog->region_bytes[region]};
}

gpu_binding gpu_session_state(const qn_session *session, uint32_t buffer) {
    const qn_prog *prog = session->prog;
    const qn_buffer *b = qn_program_buffer(prog->program, buffer);
    const gpu_slot *slot = &prog->states[buffer];
    return (gpu_binding){session->state[slot->pool].memory, slot->at,
                         gpu_state_row_bytes(b->format, b->dims[0]) * prog->limits.cells[b->group]};
}

static qn_status take_pools(qn_session *session, uint32_t kind, const gpu_pools *pools, gpu_piece *pieces,
                            qn_error *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < pools->n && status == QN_OK; i++) {
        status = gpu_memory_take(session->prog->device, kind, GPU_PLACE_DEVICE, pools->bytes[i], &pieces[i], err);
    }
    return status;
}

static qn_status take_memory(qn_session *session, qn_error *err) {
    const qn_prog *prog = session->prog;
    qn_device *device = prog->device;
    session->state = gpu_host_take(device, QN_MEM_SCRATCH, prog->state_pools.n * sizeof *session->state);
    if (session->state == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "session_new: no host memory for %u pieces of state", prog->state_pools.n);
    }
    qn_status status = take_pools(session, QN_MEM_STATE, &prog->state_pools, session->state, err);
    if (status == QN_OK) {
        status = take_pools(session, QN_MEM_SCRATCH, &prog->session_pools, session->pools, err);
    }
    if (status == QN_OK) {
        status = gpu_memory_take(device, QN_MEM_SCRATCH, GPU_PLACE_UPLOAD, prog->block_bytes, &session->upload, err);
    }
    if (status == QN_OK && prog->readback_bytes > 0) {
        status =
            gpu_memory_take(device, QN_MEM_SCRATCH, GPU_PLACE_READBACK, prog->readback_bytes, &session->readback, err);
    }
    return status;
}

/* Gives back what a session holds; its device is locked. */
static void destroy_session(qn_session *session) {
    qn_prog *prog = session->prog;
    qn_device *device = prog->device;
    gpu_recordings_free(session);
    for (uint32_t i = 0; i < prog->state_pools.n && session->state != NULL; i++) {
        gpu_memory_give(device, &session->state[i]);
    }
    for (uint32_t i = 0; i < GPU_REGIONS; i++) {
        gpu_memory_give(device, &session->pools[i]);
    }
    gpu_memory_give(device, &session->upload);
    gpu_memory_give(device, &session->readback);
    gpu_host_give(device, session->state);
    gpu_host_give(device, session->op_ns);
    gpu_host_give(device, session->launch_ns);
    prog->n_sessions--;
    gpu_host_give(device, session);
}

static qn_status make_session(qn_prog *prog, qn_session **out, qn_error *err) {
    if (!prog->is_sealed) {
        return qn_fail(err, QN_BAD_STATE, "session_new: the program is not sealed");
    }
    qn_session *session = gpu_host_take(prog->device, QN_MEM_SCRATCH, sizeof *session);
    if (session == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "session_new: no host memory for %zu bytes", sizeof *session);
    }
    session->prog = prog;
    prog->n_sessions++;
    qn_status status = take_memory(session, err);
    if (status == QN_OK) {
        status = gpu_recordings_new(session, err);
    }
    if (status == QN_OK) {
        status = gpu_state_clear(session, err);
    }
    if (status != QN_OK) {
        destroy_session(session);
        return status;
    }
    *out = session;
    return QN_OK;
}

qn_status QN_CALL gpu_session_new(qn_prog *prog, qn_session **out, qn_error *err) {
    if (prog == NULL || out == NULL) {
        return qn_fail(err, QN_BAD_ARG, "session_new: no program or no place for the result");
    }
    const qn_status status = gpu_enter(prog->device, err);
    return status == QN_OK ? gpu_leave(prog->device, make_session(prog, out, err)) : status;
}

void QN_CALL gpu_session_free(qn_session *session) {
    if (session == NULL) {
        return;
    }
    qn_device *device = session->prog->device;
    pthread_mutex_lock(&device->lock);
    destroy_session(session);
    pthread_mutex_unlock(&device->lock);
}
