/* cpu_step.c — the step verb: what the host gives is checked, then the team walks through the plan once. */
#include <string.h>

#include <quoin/glue_step.h>

#include "cpu_internal.h"

/* A sequence cannot see more cells than there are: what attention keeps per cell is sized by that. */
static qn_status check_visible(const qn_prog *prog, const qn_step *step, qn_error *err) {
    for (uint32_t g = 0; g < prog->n_groups; g++) {
        const qn_placement *const placement = qn_step_placement(step, g);
        for (uint32_t s = 0; s < step->n_sequences; s++) {
            uint64_t cells = 0;
            for (uint32_t i = placement->span_at[s]; i < placement->span_at[s + 1]; i++) {
                cells += placement->spans[i].n_cells;
            }
            if (cells > prog->limits.cells[g]) {
                return qn_fail(err, QN_BAD_ARG, "step: the spans of sequence %u in group %u hold %llu cells; the group has %u", s, g,
                               (unsigned long long)cells, prog->limits.cells[g]);
            }
        }
    }
    return QN_OK;
}

static void take_bindings(qn_session *session, const qn_step *step) {
    memset(session->bindings, 0, session->prog->n_buffers * sizeof *session->bindings);
    for (uint32_t i = 0; i < step->n_bindings; i++) {
        const qn_binding *const binding =
            (const qn_binding *)(const void *)((const uint8_t *)step->bindings + i * step->binding_stride);
        session->bindings[binding->buffer] = binding;
    }
}

qn_status cpu_step(qn_session *session, const qn_step *theirs, qn_error *err) {
    qn_step step;
    if (session == NULL || theirs == NULL) {
        return qn_fail(err, QN_BAD_ARG, "step: a null argument");
    }
    const qn_prog *const prog = session->prog;
    const qn_host *const host = prog->host;
    qn_status status = qn_step_read(prog->program, &prog->limits, theirs, &step, err);
    status = status != QN_OK ? status : check_visible(prog, &step, err);
    if (status != QN_OK) {
        return status;
    }
    take_bindings(session, &step);
    cpu_run run = {.session = session, .prog = prog, .kernels = &prog->device->ops, .step = &step,
                   .n_tokens = step.n_tokens, .n_outputs = step.n_outputs};
    run.plan = prog->has_one && step.n_tokens == 1 ? &prog->one : &prog->many;
    atomic_init(&run.stop_stage, CPU_NONE);
    host->team_run(host->ctx, cpu_run_worker, &run);
    if (atomic_load_explicit(&run.stop_stage, memory_order_relaxed) != CPU_NONE) {
        session->stepped = false; /* what a tap would read is half of this step */
        return qn_fail(err, QN_CANCELLED, "the step was cancelled");
    }
    session->last_tokens = step.n_tokens;
    session->last_outputs = step.n_outputs;
    session->stepped = true;
    return QN_OK;
}
