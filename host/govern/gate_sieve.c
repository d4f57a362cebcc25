/* gate_sieve.c — a statement that a sieve made: was it the clear choice? */
#include <math.h>

#include "govern/gate.h"

void gate_sieve(request *r, gate_result *out) {
    const request_answer *a = &r->answer;
    const double least = r->rules->is.sieve.margin;
    if (r->is_dry) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "a margin below %.3f would have to be looked at (0: none)", least);
    } else if (!a->is_structured) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "no sieve was used");
    } else if (a->needs_review || (least > 0.0 && a->margin < least)) {
        gate_say(out, VERDICT_REVIEW, CODE_MARGIN, "margin %.3f is below %s", a->margin, a->needs_review ? "the sieve's own" : "the policy's");
    } else if (isinf(a->margin)) {
        gate_say(out, VERDICT_PASS, CODE_NONE, "nothing else was allowed");
    } else {
        gate_say(out, VERDICT_PASS, CODE_NONE, "margin %.3f", a->margin);
    }
}
