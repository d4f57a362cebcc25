/* ref_run.c — one step: every op of the program in order. */
#include "ref_internal.h"

#include <quoin/blocks.h>

void ref_read_row(const ref_view *view, uint64_t row, float *out) {
    blk_decode(view->buffer->format, view->data, view->first_element + row * view->n_columns, view->n_columns, out);
}

static ref_view view_of(const qn_session *session, const qn_step *step, uint32_t b) {
    const qn_prog *prog = session->prog;
    const qn_buffer *buffer = qn_program_buffer(prog->program, b);
    const uint64_t cells = prog->limits.cells[buffer->group];
    ref_view view = {.buffer = buffer, .n_columns = qn_buffer_dim(buffer, 0, step->n_tokens, step->n_outputs, cells),
                     .n_rows = qn_buffer_rows(buffer, step->n_tokens, step->n_outputs, cells)};
    switch (buffer->role) {
    case QN_ROLE_WEIGHT: {
        const ref_weight *weight = &prog->weights[b];
        /* Weights are only read; the view is shared with buffers that are not. */
        memcpy(&view.data, &weight->data, sizeof view.data);
        view.first_element = weight->first_element;
        break;
    }
    case QN_ROLE_STATE: view.data = session->state + prog->state_at[b]; break;
    case QN_ROLE_ACT: view.data = session->arena + prog->acts[b].offset; break;
    default: view.data = qn_step_binding(step, b)->data; break;
    }
    return view;
}

static void run_op(qn_session *session, const qn_step *step, const qn_op *op) {
    const qn_program *program = session->prog->program;
    const uint32_t *operands = qn_program_operands(program, op);
    ref_call call = {.session = session, .step = step, .attrs = qn_program_attrs(program, op), .n_inputs = op->n_inputs};
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        call.in[i] = view_of(session, step, operands[i]);
    }
    if (op->n_outputs > 0) {
        call.out = view_of(session, step, operands[op->n_inputs]);
    }
    switch (op->op) {
#define QN_OP(NAME, number, name, since, least, most, outputs, attrs, bound) case number: ref_##name(&call); break;
#include <quoin/ops.def>
#undef QN_OP
    default: break; /* the program was validated */
    }
}

qn_status QN_CALL ref_step(qn_session *session, const qn_step *theirs, qn_error *err) {
    qn_step step;
    if (session == NULL) {
        return qn_fail(err, QN_BAD_ARG, "step: no session");
    }
    const qn_prog *prog = session->prog;
    const qn_status status = qn_step_read(prog->program, &prog->limits, theirs, &step, err);
    if (status != QN_OK) {
        return status;
    }
    session->n_tokens = 0;
    for (uint32_t i = 0; i < prog->program->n_ops; i++) {
        if (qn_flag_is_up(ref_host(prog)->cancel)) {
            return qn_fail_op(err, i, QN_CANCELLED, "step: cancelled before op %u of %u", i, prog->program->n_ops);
        }
        run_op(session, &step, qn_program_op(prog->program, i));
    }
    session->n_tokens = step.n_tokens;
    session->n_outputs = step.n_outputs;
    return QN_OK;
}
