/* cpu_profile.c — the extension quoin.profile/1: nanoseconds per op, by worker 0's clock. A stage's time includes the wait at the barrier
 * before it, so imbalance between workers is seen where it hurts. */
#include <string.h>

#include <quoin/ext/profile.h>
#include <quoin/glue.h>

#include "cpu_internal.h"

static qn_status QN_CALL enable_profile(qn_session *session, uint32_t on, qn_error *err) {
    const qn_host *const host = session->prog->host;
    const uint64_t bytes = (uint64_t)session->prog->n_ops * sizeof *session->op_ns;
    if (on == 0) {
        host->mem_free(host->ctx, session->op_ns);
        session->op_ns = NULL;
        return QN_OK;
    }
    if (session->op_ns == NULL) {
        session->op_ns = host->mem_alloc(host->ctx, QN_MEM_OTHER, bytes, 64);
    }
    if (session->op_ns == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for the times of %u ops", session->prog->n_ops);
    }
    memset(session->op_ns, 0, bytes);
    return QN_OK;
}

static uint32_t QN_CALL read_profile(qn_session *session, uint64_t *nanoseconds, uint32_t room) {
    const uint32_t n = session->prog->n_ops;
    for (uint32_t i = 0; i < n && i < room; i++) {
        nanoseconds[i] = session->op_ns != NULL ? session->op_ns[i] : 0;
    }
    return n;
}

void cpu_profile_add(qn_session *session, uint32_t op, uint64_t nanoseconds) {
    if (op < session->prog->n_ops) {
        session->op_ns[op] += nanoseconds;
    }
}

const void *QN_CALL cpu_get_ext(const char *id) {
    static const qn_profile profile = {.size = sizeof profile, .enable = enable_profile, .read = read_profile};
    if (id != NULL && strcmp(id, QN_EXT_SCRUB) == 0) {
        return &cpu_scrub_ext;
    }
    if (id != NULL && strcmp(id, QN_EXT_PEAK) == 0) {
        return &cpu_peak_ext;
    }
    return id != NULL && strcmp(id, QN_EXT_PROFILE) == 0 ? &profile : NULL;
}
