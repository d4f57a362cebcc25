/* gpu_profile.c — the extension quoin.profile/1: the device's own times of launches, added up by op. */
#include "gpu_core.h"

static void forget_times(qn_session *session) {
    gpu_host_give(session->prog->device, session->op_ns);
    gpu_host_give(session->prog->device, session->launch_ns);
    session->op_ns = NULL;
    session->launch_ns = NULL;
}

static qn_status take_times(qn_session *session, qn_error *err) {
    const qn_prog *prog = session->prog;
    const uint64_t bytes = prog->program->n_ops * sizeof *session->op_ns;
    if (session->op_ns == NULL) {
        session->op_ns = gpu_host_take(prog->device, QN_MEM_OTHER, bytes);
        session->launch_ns = gpu_host_take(prog->device, QN_MEM_OTHER, prog->room * sizeof *session->launch_ns);
    }
    if (session->op_ns == NULL || session->launch_ns == NULL) {
        forget_times(session);
        return qn_fail(err, QN_NO_HOST_MEM, "profile: no host memory for the times of %u ops", prog->program->n_ops);
    }
    memset(session->op_ns, 0, bytes);
    return QN_OK;
}

static qn_status QN_CALL enable_profile(qn_session *session, uint32_t on, qn_error *err) {
    if (session == NULL) {
        return qn_fail(err, QN_BAD_ARG, "profile: no session");
    }
    qn_status status = gpu_enter(session->prog->device, err);
    if (status != QN_OK) {
        return status;
    }
    if (on == 0) {
        forget_times(session);
    } else {
        status = take_times(session, err);
    }
    return gpu_leave(session->prog->device, status);
}

static uint32_t QN_CALL read_profile(qn_session *session, uint64_t *nanoseconds, uint32_t room) {
    const uint32_t n = session == NULL ? 0 : session->prog->program->n_ops;
    for (uint32_t i = 0; i < n && i < room; i++) {
        nanoseconds[i] = session->op_ns != NULL ? session->op_ns[i] : 0;
    }
    return n;
}

void gpu_profile_add(qn_session *session, const gpu_recorded *recorded) {
    for (uint32_t i = 0; i < recorded->n_launches; i++) {
        if (recorded->ops[i] != QN_NO_OP) {
            session->op_ns[recorded->ops[i]] += session->launch_ns[i];
        }
    }
}

const qn_profile gpu_profile_ext = {.size = sizeof gpu_profile_ext, .enable = enable_profile, .read = read_profile};
