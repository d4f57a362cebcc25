/* ref_embed.c — EMBED: y[t] = decode(table row ids[t]). */
#include "ref_internal.h"

void ref_embed(const ref_call *call) {
    const int32_t *ids = call->in[1].data;
    for (uint32_t t = 0; t < call->step->n_tokens; t++) {
        ref_read_row(&call->in[0], (uint64_t)ids[t], ref_row(&call->out, t));
    }
}
