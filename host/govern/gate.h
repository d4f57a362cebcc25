/* gate.h — one question about a request, and its answer.
 *
 *     cancel ─► thermal ─► intent ─► scope ─► licence ─► facts ─► egress ─► identity ─► infer
 *           ─► sieve ─► rules ─► output ─► grounding ─► commit ─► report
 *
 * A gate looks at the request, may write what it found into it, and says one thing. BLOCK and FAIL end the run: only report is asked then.
 * After REVIEW the others are still asked, since one of them may have a reason to block; nothing is committed.
 *
 * Threading: as request.h.
 */
#ifndef HOST_GATE_H
#define HOST_GATE_H
#include "govern/request.h"

/* *out has the gate's name and PASS. */
typedef void gate_fn(request *r, gate_result *out);

typedef uint32_t gate_phase;
enum { GATE_BEFORE = 0, GATE_INFER = 1, GATE_AFTER = 2, GATE_REPORT = 3 };

typedef struct gate_row {
    const char *name;
    gate_phase phase;
    gate_fn *ask;
    const char *asks; /* the question, for --explain */
} gate_row;

const gate_row *gate_rows(uint32_t *out_count);

gate_fn gate_cancel, gate_thermal, gate_intent, gate_scope, gate_licence, gate_facts, gate_egress, gate_identity, gate_infer, gate_sieve, gate_rules,
    gate_output, gate_grounding, gate_commit, gate_report;

void gate_say(gate_result *out, gate_verdict verdict, gate_code code, const char *format, ...) ERROR_PRINTF(4, 5);
/* FAIL with the words of an error. */
void gate_say_error(gate_result *out, gate_code code, const error_context *err);

/* Whether a gate so far wants somebody to look. */
bool gate_wants_review(const request *r);

/* Asks all gates in order and settles the outcome. The answer may be shown only after this, and only when governed_may_show says so. */
void gates_run(request *r);
/* False for what was blocked or failed. */
bool governed_may_show(const request *r);

#endif
