/* robustness.h — the suites of level 6 and what they share: one plugin from its start to a session.
 *
 * Threading: one thread at a time per object, where nothing else is said.
 */
#ifndef ROBUSTNESS_H
#define ROBUSTNESS_H
#include "protocol/specimen.h"

extern const cf_suite cf_suite_memory, cf_suite_cancel, cf_suite_lives, cf_suite_threads, cf_suite_blobs, cf_suite_faults, cf_suite_weights_read;

typedef struct robust_life {
    cf_backend on;
    specimen s;
    qn_prog *prog;
    qn_session *session;
} robust_life;

/* Opens, chooses a specimen (the decoder when wants_state), compiles with DETERMINISTIC, binds, seals, makes a session. */
void robust_begin(cf_context *ctx, robust_life *out, bool wants_state, uint32_t n_workers);
void robust_end(cf_context *ctx, robust_life *self);

/* Steps n tokens from first_position on; the status is the caller's to judge. outputs: [n rows] or null. */
qn_status robust_step(cf_context *ctx, const robust_life *self, qn_session *session, uint32_t first_position, uint32_t n, float *outputs,
                      qn_error *error);
/* The same, and fails the test when the plugin refuses. */
void robust_step_done(cf_context *ctx, const robust_life *self, qn_session *session, uint32_t first_position, uint32_t n, float *outputs);

/* Elements of one output row. */
uint64_t robust_row(const robust_life *self);

/* Memory for outputs of SPECIMEN_TOKENS rows; the caller frees. */
float *robust_outputs(cf_context *ctx, const robust_life *self);

#endif
