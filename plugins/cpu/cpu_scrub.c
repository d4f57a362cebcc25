/* cpu_scrub.c — quoin.scrub/1: arenas and scratch of a session. Bindings of the last step are pointers of the host's and go too. */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include <string.h>

#include <quoin/glue.h>

#include "cpu_internal.h"

static qn_status QN_CALL scrub_scratch(qn_session *session, uint64_t *out_bytes, qn_error *err) {
    if (session == NULL || out_bytes == NULL) {
        return qn_fail(err, QN_BAD_ARG, "scrub: a null argument");
    }
    cpu_piece pieces[CPU_SCRATCH_PIECES];
    *out_bytes = 0;
    cpu_session_scratch(session, pieces);
    for (uint32_t i = 0; i < CPU_SCRATCH_PIECES; i++) {
        explicit_bzero(pieces[i].memory, pieces[i].bytes);
        *out_bytes += pieces[i].bytes;
    }
    return QN_OK;
}

const qn_scrub cpu_scrub_ext = {.size = sizeof cpu_scrub_ext, .scratch = scrub_scratch};
