/* gpu_scrub.c — the extension quoin.scrub/1: regions on the device, and the two windows of the host. */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include "gpu_core.h"

/* Zeros go to the device as any other bytes do: that is slower than a kernel and needs none. */
static qn_status clear_piece(qn_session *session, const gpu_piece *piece, uint64_t *bytes, qn_error *err) {
    static const char zeros[65536];
    if (piece->memory == NULL) {
        return QN_OK;
    }
    const uint64_t size = piece->memory->bytes;
    *bytes += size;
    if (piece->memory->host != NULL) {
        explicit_bzero(piece->memory->host, (size_t)size);
        return QN_OK;
    }
    qn_status status = QN_OK;
    for (uint64_t at = 0; at < size && status == QN_OK; at += sizeof zeros) {
        const uint64_t now = size - at < sizeof zeros ? size - at : sizeof zeros;
        status = gpu_upload(session->prog->device, piece->memory, at, zeros, now, err);
    }
    return status;
}

static qn_status clear_all(qn_session *session, uint64_t *bytes, qn_error *err) {
    qn_status status = clear_piece(session, &session->upload, bytes, err);
    for (uint32_t i = 0; i < GPU_REGIONS && status == QN_OK; i++) {
        status = clear_piece(session, &session->pools[i], bytes, err);
    }
    return status == QN_OK ? clear_piece(session, &session->readback, bytes, err) : status;
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
