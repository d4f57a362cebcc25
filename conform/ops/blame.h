/* blame.h — which op a fused program goes wrong at, when each op of the materialised one is right.
 *
 * The program is cut behind an op, whose output becomes an output of the program; cut programs are compiled as the
 * whole one was, run from the first step on, and judged (judge.h). Half of what is left is cut away each time.
 *
 * Threading: one thread.
 */
#ifndef CONFORM_BLAME_H
#define CONFORM_BLAME_H
#include "judge.h"

/* Ends the test with the name of the op. steps: from the first to the one that was wrong; text: how. */
_Noreturn void blame_fused(cf_context *ctx, const cf_backend *on, const op_model *m, const qn_limits *limits,
                           uint32_t flags, const op_step *const *steps, uint32_t n_steps, const char *text);

#endif
