/* gate_infer.c — the model is asked, and whether it answered at all. */
#include <inttypes.h>
#include <string.h>

#include <quoin/glue.h>

#include "govern/gate.h"

static void tell_dry(const request *r, gate_result *out) {
    const policy_values *is = &r->rules->is;
    gate_say(out, VERDICT_SKIPPED, CODE_NONE, "would be asked for %s: at most %u tokens, %" PRIu64 " ms (0: any time), heat looked at every %u "
             "tokens", r->mode == OUTPUT_TEXT ? "text" : r->mode == OUTPUT_N3 ? "statements" : "one statement", is->limits.tokens,
             is->limits.deadline, is->thermal.every);
}

void gate_infer(request *r, gate_result *out) {
    error_context err = {0};
    gate_code code = CODE_INFERENCE;
    const request_answer *a = &r->answer;
    if (r->is_dry) {
        tell_dry(r, out);
        return;
    }
    if (r->world.infer == NULL) {
        gate_say(out, VERDICT_FAIL, CODE_NO_MODEL, "there is no model");
        return;
    }
    r->has_answer = r->world.infer(r->world.ctx, r, &code, &err) >= 0;
    const bool is_cancelled = r->world.cancel != NULL && qn_flag_is_up(r->world.cancel); /* while the model was opened as well, which then fails */
    if (is_cancelled) {
        gate_say(out, VERDICT_BLOCK, CODE_CANCELLED, "stopped after %u tokens", a->n_tokens);
    } else if (!r->has_answer) { /* what may be used is a question of the policy, everything else a failure */
        const bool is_denied = code == CODE_MODEL_PROVENANCE || code == CODE_SCOPE_UNKNOWN;
        gate_say(out, is_denied ? VERDICT_BLOCK : VERDICT_FAIL, code, "%s", error_text(&err));
    } else if (a->is_judged) {
        gate_say(out, VERDICT_BLOCK, CODE_SENTINEL, "a sentinel ended the answer after %u tokens", a->n_tokens);
    } else {
        gate_say(out, a->is_partial ? VERDICT_NOTE : VERDICT_PASS, CODE_NONE, "%u tokens, %u statements; ended: %s%s", a->n_tokens, r->n_claims,
                 a->stop_reason != NULL ? a->stop_reason : "-", a->is_partial ? " (partial)" : "");
    }
}
