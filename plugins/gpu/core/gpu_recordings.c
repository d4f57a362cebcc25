/* gpu_recordings.c — one recording per shape of step. All are made with the session, so that a step takes no memory; a
 * shape that is new takes the place of the one that was not used for the longest time. */
#include "gpu_core.h"

static qn_status make_one(qn_session *session, gpu_recorded *recorded, qn_error *err) {
    const qn_prog *prog = session->prog;
    recorded->ops = gpu_host_take(prog->device, QN_MEM_SCRATCH, prog->room * sizeof *recorded->ops);
    if (recorded->ops == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "session_new: no host memory for %u launches", prog->room);
    }
    return gpu_the_driver.recording_new(prog->device->driver, prog->room, &recorded->recording, err);
}

qn_status gpu_recordings_new(qn_session *session, qn_error *err) {
    qn_status status =
        gpu_the_driver.recording_new(session->prog->device->driver, session->prog->move_room, &session->moves, err);
    for (uint32_t i = 0; i < GPU_RECORDINGS && status == QN_OK; i++) {
        status = make_one(session, &session->recorded[i], err);
    }
    return status;
}

void gpu_recordings_free(qn_session *session) {
    qn_device *device = session->prog->device;
    if (session->moves != NULL) {
        gpu_the_driver.recording_free(device->driver, session->moves);
    }
    for (uint32_t i = 0; i < GPU_RECORDINGS; i++) {
        if (session->recorded[i].recording != NULL) {
            gpu_the_driver.recording_free(device->driver, session->recorded[i].recording);
        }
        gpu_host_give(device, session->recorded[i].ops);
    }
}

static qn_status record(qn_session *session, gpu_recorded *into, const gpu_shape *shape, qn_error *err) {
    const qn_prog *prog = session->prog;
    uint32_t n = 0;
    into->n_launches = 0;
    qn_status status = gpu_list_make(session, shape, &n, err);
    if (status == QN_OK && n > 0) {
        status = gpu_the_driver.record(prog->device->driver, into->recording, prog->launches, n, err);
    }
    if (status != QN_OK) {
        return status;
    }
    for (uint32_t i = 0; i < n; i++) {
        into->ops[i] = prog->launches[i].op;
    }
    into->shape = *shape;
    into->n_launches = n;
    return QN_OK;
}

qn_status gpu_recordings_find(qn_session *session, const gpu_shape *shape, gpu_recorded **out, qn_error *err) {
    gpu_recorded *oldest = &session->recorded[0];
    session->n_steps++;
    for (uint32_t i = 0; i < GPU_RECORDINGS; i++) {
        gpu_recorded *here = &session->recorded[i];
        if (here->n_launches > 0 && memcmp(&here->shape, shape, sizeof *shape) == 0) {
            here->last_use = session->n_steps;
            *out = here;
            return QN_OK;
        }
        oldest = here->last_use < oldest->last_use ? here : oldest;
    }
    const qn_status status = record(session, oldest, shape, err);
    if (status == QN_OK) {
        oldest->last_use = session->n_steps;
        *out = oldest;
    }
    return status;
}
