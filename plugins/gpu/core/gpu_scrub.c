/* gpu_scrub.c — the extension quoin.scrub/1: regions on the device, and the two windows of the host. */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include "gpu_core.h"

static uint64_t clear_window(const gpu_piece *piece) {
    if (piece->memory == NULL) {
        return 0;
    }
    explicit_bzero(piece->memory->host, (size_t)piece->memory->bytes);
    return piece->memory->bytes;
}

/* The windows first: what fails on the device does not keep them. */
static qn_status clear_all(qn_session *session, uint64_t *bytes, qn_error *err) {
    *bytes = clear_window(&session->upload) + clear_window(&session->readback);
    const qn_status status = gpu_scratch_clear(session, err);
    for (uint32_t i = 0; i < session->prog->session_pools.n && status == QN_OK; i++) {
        *bytes += session->pools[i].memory->bytes;
    }
    return status;
}

static qn_status QN_CALL scrub_scratch(qn_session *session, uint64_t *out_bytes, qn_error *err) {
    if (session == NULL || out_bytes == NULL) {
        return qn_fail(err, QN_BAD_ARG, "scrub: no session or no place for the size");
    }
    *out_bytes = 0;
    const qn_status status = gpu_enter(session->prog->device, err);
    return status == QN_OK ? gpu_leave(session->prog->device, clear_all(session, out_bytes, err)) : status;
}

const qn_scrub gpu_scrub_ext = {.size = sizeof gpu_scrub_ext, .scratch = scrub_scratch};
