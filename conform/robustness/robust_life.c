/* robust_life.c — a plugin from its start to a session. */
#include <stdlib.h>
#include <string.h>

#include "robustness/robustness.h"

void robust_begin(cf_context *ctx, robust_life *out, bool wants_state, uint32_t n_workers) {
    memset(out, 0, sizeof *out);
    cf_open(ctx, &out->on, n_workers);
    if (wants_state) {
        specimen_choose_decoder(ctx, &out->on, &out->s);
    } else {
        specimen_choose(ctx, &out->on, &out->s);
    }
    out->prog = specimen_sealed(ctx, &out->on, &out->s, QN_COMPILE_DETERMINISTIC);
    out->session = specimen_session(ctx, &out->on, out->prog);
}

void robust_end(cf_context *ctx, robust_life *self) {
    self->on.verbs->session_free(self->session);
    self->on.verbs->prog_free(self->prog);
    specimen_deinit(&self->s);
    cf_close(ctx, &self->on);
}

qn_status robust_step(cf_context *ctx, const robust_life *self, qn_session *session, uint32_t first_position, uint32_t n, float *outputs,
                      qn_error *error) {
    specimen_turn turn;
    specimen_turn_init(ctx, &self->s, &turn, first_position, n);
    cf_clear(error);
    const qn_status status = self->on.verbs->step(session, &turn.step, error);
    if (outputs != NULL) {
        memcpy(outputs, turn.output, turn.n_output * sizeof(float));
    }
    specimen_turn_deinit(&turn);
    return status;
}

void robust_step_done(cf_context *ctx, const robust_life *self, qn_session *session, uint32_t first_position, uint32_t n, float *outputs) {
    qn_error error;
    const qn_status status = robust_step(ctx, self, session, first_position, n, outputs, &error);
    cf_done(ctx, "step", status, &error);
}

uint64_t robust_row(const robust_life *self) {
    for (uint32_t b = 0; b < self->s.program->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(self->s.program, b);
        if (buffer->role == QN_ROLE_OUTPUT) {
            return buffer->dims[0];
        }
    }
    return 1;
}

float *robust_outputs(cf_context *ctx, const robust_life *self) {
    float *outputs = calloc(SPECIMEN_TOKENS * robust_row(self), sizeof *outputs);
    CF_CHECK(ctx, outputs != NULL, "this machine has no memory for the test itself");
    return outputs;
}
