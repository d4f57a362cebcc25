/* ref_scrub.c — the extension quoin.scrub/1. */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include "ref_internal.h"

#include <quoin/ext/scrub.h>

static qn_status QN_CALL scrub_scratch(qn_session *session, uint64_t *out_bytes, qn_error *err) {
    if (session == NULL || out_bytes == NULL) {
        return qn_fail(err, QN_BAD_ARG, "scrub: no session or no place for the size");
    }
    const qn_prog *prog = session->prog;
    const uint64_t rows = (uint64_t)ref_host(prog)->machine->n_workers * 2 * prog->row_elems * sizeof(float);
    explicit_bzero(session->arena, prog->arena_bytes);
    explicit_bzero(session->rows, rows);
    explicit_bzero(session->scores, prog->score_elems * sizeof(double));
    explicit_bzero(session->sums, prog->row_elems * sizeof(double));
    *out_bytes = prog->arena_bytes + rows + (prog->score_elems + prog->row_elems) * sizeof(double);
    return QN_OK;
}

const void *QN_CALL ref_get_ext(const char *id) {
    static const qn_scrub scrub = {.size = sizeof scrub, .scratch = scrub_scratch};
    return id != NULL && strcmp(id, QN_EXT_SCRUB) == 0 ? &scrub : NULL;
}
