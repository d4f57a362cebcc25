/* gate_facts.c — statements of granted scopes are put into the prompt, and nothing else is. */
#include "govern/gate.h"

void gate_facts(request *r, gate_result *out) {
    error_context err = {0};
    if (r->world.gather == NULL || r->n_scopes == 0) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "nothing was asked for");
    } else if (r->is_dry) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "statements of %u scopes would be looked for", r->n_scopes);
    } else if (r->world.gather(r->world.ctx, r, &err) < 0) {
        gate_say_error(out, CODE_SCOPE_FILE, &err);
    } else {
        gate_say(out, VERDICT_PASS, CODE_NONE, "%u statements stand in the prompt", r->n_facts);
    }
}
