/* gate_cancel.c — a request that nobody wants any more computes nothing. */
#include "govern/gate.h"

#include <quoin/glue.h>

void gate_cancel(request *r, gate_result *out) {
    if (r->world.cancel != NULL && qn_flag_is_up(r->world.cancel)) {
        gate_say(out, VERDICT_BLOCK, CODE_CANCELLED, "stopped before anything was computed");
    }
}
