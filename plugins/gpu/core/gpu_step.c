/* gpu_step.c — one step: check, write its numbers, run the recording of its shape, hand out the results. */
#include "gpu_core.h"

/* What was copied to the host's window goes where the step wants it. */
static void give_results(const qn_session *session, const qn_step *step, const gpu_top *top) {
    const qn_prog *prog = session->prog;
    const char *window = session->readback.memory == NULL ? NULL : session->readback.memory->host;
    for (uint32_t b = 0; b < prog->program->n_buffers; b++) {
        if (qn_program_buffer(prog->program, b)->role == QN_ROLE_OUTPUT && (top == NULL || top->buffer != b)) {
            const qn_binding *binding = qn_step_binding(step, b);
            if (binding->bytes > 0) {
                memcpy(binding->data, window + prog->output_at[b], (size_t)binding->bytes);
            }
        }
    }
    if (top != NULL && step->n_outputs > 0) {
        const char *results = window + prog->region_bytes[GPU_REGION_OUTPUTS];
        const size_t bytes = (size_t)step->n_outputs * top->k * 4;
        memcpy(top->ids, results, bytes);
        memcpy(top->values, results + prog->region_bytes[GPU_REGION_TOP] / 2, bytes);
    }
}

static qn_status run(qn_session *session, const gpu_shape *shape, qn_error *err) {
    qn_device *device = session->prog->device;
    gpu_recorded *recorded = NULL;
    qn_status status = gpu_recordings_find(session, shape, &recorded, err);
    if (status != QN_OK || recorded->n_launches == 0) {
        return status;
    }
    if (session->op_ns != NULL) {
        memset(session->launch_ns, 0, recorded->n_launches * sizeof *session->launch_ns);
    }
    status = gpu_run(device, recorded->recording, session->op_ns != NULL ? session->launch_ns : NULL, err);
    if (status == QN_OK && session->op_ns != NULL) {
        gpu_profile_add(session, recorded);
    }
    return status;
}

static qn_status run_locked(qn_session *session, const qn_step *step, const gpu_shape *shape, const gpu_top *top,
                            qn_error *err) {
    const qn_prog *prog = session->prog;
    session->n_tokens = 0;
    if (qn_flag_is_up(gpu_host(prog->device)->cancel)) {
        return qn_fail(err, QN_CANCELLED, "step: cancelled before it began");
    }
    gpu_block_write(prog, step, shape, session->upload.memory->host);
    qn_status status = run(session, shape, err);
    if (status == QN_OK) {
        status = gpu_fault_pass(prog->device, QN_FAULT_STEP, err);
    }
    if (status == QN_OK) {
        give_results(session, step, top);
        session->n_tokens = step->n_tokens;
        session->n_outputs = step->n_outputs;
    }
    return status;
}

qn_status gpu_step_run(qn_session *session, const qn_step *theirs, const gpu_top *top, qn_error *err) {
    qn_step step;
    gpu_shape shape;
    const qn_prog *prog = session->prog;
    qn_status status = qn_step_read(prog->program, &prog->limits, theirs, &step, err);
    if (status == QN_OK) {
        status = gpu_block_shape(prog, &step, &shape, err);
    }
    if (status == QN_OK) {
        status = gpu_enter(prog->device, err);
    }
    if (status != QN_OK) {
        return status;
    }
    if (top != NULL) {
        shape.top_buffer = top->buffer;
        shape.top_k = top->k;
        shape.top_columns = top->n_columns;
    }
    return gpu_leave(prog->device, run_locked(session, &step, &shape, top, err));
}

qn_status QN_CALL gpu_step(qn_session *session, const qn_step *step, qn_error *err) {
    return session == NULL ? qn_fail(err, QN_BAD_ARG, "step: no session") : gpu_step_run(session, step, NULL, err);
}
