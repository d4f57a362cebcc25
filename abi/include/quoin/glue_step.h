/* glue_step.h — optional help for plugin authors: are limits, a step and a state move what program.h allows?
 *
 *   qn_limits_read       copies and checks the limits that a program is compiled with
 *   qn_step_read         copies and checks one step: symbols, positions, cells, spans, bindings, ids and row numbers
 *   qn_state_move_read   copies and checks one move
 *   qn_step_binding      memory of an input or output buffer in a checked step
 *   qn_step_placement    placement of a cell group in a checked step
 *
 * A step that qn_step_read accepts can be run without further checks: no index in it leads outside a buffer.
 *
 * Threading: pure functions. Memory: the caller's; nothing is allocated. C99 and C++.
 * Names that end in an underscore are not for use outside this file.
 * Since: 0.0
 */
#ifndef QUOIN_GLUE_STEP_H
#define QUOIN_GLUE_STEP_H
#include <quoin/glue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* BAD_ARG or TOO_NEW with a text, or QN_OK with *own filled. */
QN_GLUE qn_status qn_limits_read(const qn_program *program, const qn_limits *theirs, qn_limits *own, qn_error *err) {
    const qn_status status = qn_copy_in(own, sizeof *own, QN_LEAST_qn_limits, theirs);
    if (status != QN_OK) {
        return qn_fail(err, status, "limits: absent, too short, or with a member that is not known here");
    }
    if (own->max_tokens == 0 || own->max_outputs == 0 || own->max_outputs > own->max_tokens || own->max_sequences == 0) {
        return qn_fail(err, QN_BAD_ARG, "limits: %u tokens, %u outputs, %u sequences; each is at least 1, outputs are at most tokens",
                       own->max_tokens, own->max_outputs, own->max_sequences);
    }
    if (own->n_groups != program->n_groups) {
        return qn_fail(err, QN_BAD_ARG, "limits: %u cell groups, the program has %u", own->n_groups, program->n_groups);
    }
    for (uint32_t g = 0; g < own->n_groups; g++) {
        if (own->cells[g] == 0) {
            return qn_fail(err, QN_BAD_ARG, "limits: cell group %u has no cells", g);
        }
    }
    return QN_OK;
}

QN_GLUE const qn_placement *qn_step_placement(const qn_step *step, uint32_t group) {
    return (const qn_placement *)(const void *)((const char *)step->placements + group * step->placement_stride);
}

/* The binding of a buffer, or null when the step has none. */
QN_GLUE const qn_binding *qn_step_binding(const qn_step *step, uint32_t buffer) {
    for (uint32_t i = 0; i < step->n_bindings; i++) {
        const qn_binding *b = (const qn_binding *)(const void *)((const char *)step->bindings + i * step->binding_stride);
        if (b->buffer == buffer) {
            return b;
        }
    }
    return NULL;
}

/* --- Tokens and cells ------------------------------------------------------------------------------------------------- */

QN_GLUE uint32_t qn_step_sequence_(const qn_step *s, uint32_t token) {
    return s->sequences == NULL ? 0 : s->sequences[token];
}

QN_GLUE qn_status qn_step_tokens_(const qn_step *s, const qn_limits *limits, qn_error *err) {
    if (s->n_tokens == 0 || s->n_tokens > limits->max_tokens || s->n_outputs > limits->max_outputs || s->n_sequences == 0
        || s->n_sequences > limits->max_sequences) {
        return qn_fail(err, QN_BAD_ARG, "step: %u tokens, %u outputs, %u sequences; compiled for at most %u, %u, %u", s->n_tokens, s->n_outputs,
                       s->n_sequences, limits->max_tokens, limits->max_outputs, limits->max_sequences);
    }
    if (s->positions == NULL) {
        return qn_fail(err, QN_BAD_ARG, "step: no positions");
    }
    for (uint32_t t = 0; t < s->n_tokens; t++) {
        if (s->positions[t] < 0 || qn_step_sequence_(s, t) >= s->n_sequences) {
            return qn_fail(err, QN_BAD_ARG, "step: token %u: position %d in sequence %u of %u", t, s->positions[t], qn_step_sequence_(s, t),
                           s->n_sequences);
        }
    }
    return QN_OK;
}

QN_GLUE qn_status qn_step_spans_(const qn_step *s, const qn_placement *p, uint32_t group, uint32_t n_cells, qn_error *err) {
    if (p->span_at == NULL || p->span_at[0] != 0 || p->span_at[s->n_sequences] != p->n_spans || (p->n_spans > 0 && p->spans == NULL)) {
        return qn_fail(err, QN_BAD_ARG, "step: cell group %u: span_at does not lead from 0 to %u", group, p->n_spans);
    }
    for (uint32_t i = 0; i < s->n_sequences; i++) {
        if (p->span_at[i] > p->span_at[i + 1]) {
            return qn_fail(err, QN_BAD_ARG, "step: cell group %u: span_at of sequence %u goes backwards", group, i);
        }
    }
    for (uint32_t i = 0; i < p->n_spans; i++) {
        const qn_span *span = &p->spans[i];
        if (span->n_cells > n_cells || span->first_cell > n_cells - span->n_cells || span->first_position < 0
            || span->n_cells > (uint32_t)(INT32_MAX - span->first_position)) {
            return qn_fail(err, QN_BAD_ARG, "step: cell group %u: span %u of %u cells from %u, position %d; there are %u cells", group, i,
                           span->n_cells, span->first_cell, span->first_position, n_cells);
        }
    }
    return QN_OK;
}

/* True when a span of the token's sequence has its cell at its position. */
QN_GLUE int qn_step_sees_itself_(const qn_step *s, const qn_placement *p, uint32_t token) {
    const uint32_t sequence = qn_step_sequence_(s, token);
    for (uint32_t i = p->span_at[sequence]; i < p->span_at[sequence + 1]; i++) {
        const qn_span *span = &p->spans[i];
        if (s->positions[token] >= span->first_position && (uint32_t)(s->positions[token] - span->first_position) < span->n_cells
            && span->first_cell + (uint32_t)(s->positions[token] - span->first_position) == p->cells[token]) {
            return 1;
        }
    }
    return 0;
}

QN_GLUE int qn_step_cell_is_taken_(const qn_placement *p, uint32_t token) {
    for (uint32_t t = 0; t < token; t++) {
        if (p->cells[t] == p->cells[token]) {
            return 1;
        }
    }
    return 0;
}

QN_GLUE qn_status qn_step_group_(const qn_step *s, uint32_t group, uint32_t n_cells, qn_error *err) {
    const qn_placement *p = qn_step_placement(s, group);
    qn_status status;
    if (p->size < QN_LEAST_qn_placement || p->cells == NULL) {
        return qn_fail(err, QN_BAD_ARG, "step: cell group %u: its placement is too short or has no cells", group);
    }
    status = qn_step_spans_(s, p, group, n_cells, err);
    for (uint32_t t = 0; t < s->n_tokens && status == QN_OK; t++) {
        if (p->cells[t] >= n_cells || qn_step_cell_is_taken_(p, t)) {
            status = qn_fail(err, QN_BAD_ARG, "step: cell group %u: token %u goes to cell %u, which is taken or beyond the %u cells", group, t,
                             p->cells[t], n_cells);
        } else if (!qn_step_sees_itself_(s, p, t)) {
            status = qn_fail(err, QN_BAD_ARG, "step: cell group %u: token %u does not see its own cell %u at position %d", group, t,
                             p->cells[t], s->positions[t]);
        }
    }
    return status;
}

/* --- Bindings --------------------------------------------------------------------------------------------------------- */

QN_GLUE qn_status qn_step_buffer_(const qn_program *program, const qn_step *s, uint32_t index, qn_error *err) {
    const qn_buffer *buffer = qn_program_buffer(program, index);
    const qn_binding *binding = qn_step_binding(s, index);
    const uint64_t bytes = qn_buffer_rows(buffer, s->n_tokens, s->n_outputs, 0)
                           * qn_format_bytes(buffer->format, qn_buffer_dim(buffer, 0, s->n_tokens, s->n_outputs, 0));
    if (binding == NULL) {
        return qn_fail(err, QN_BAD_ARG, "step: buffer %u (%s) is not bound", index, qn_program_name(program, buffer));
    }
    if (binding->bytes != bytes || (bytes > 0 && binding->data == NULL) || (uintptr_t)binding->data % 4 != 0) {
        return qn_fail(err, QN_BAD_ARG, "step: buffer %u (%s) is bound to %llu bytes at %p; it needs %llu, aligned to 4", index,
                       qn_program_name(program, buffer), (unsigned long long)binding->bytes, binding->data, (unsigned long long)bytes);
    }
    return QN_OK;
}

QN_GLUE qn_status qn_step_bindings_(const qn_program *program, const qn_step *s, qn_error *err) {
    uint32_t n_bound = 0;
    if (s->n_bindings > 0 && (s->bindings == NULL || s->binding_stride < QN_LEAST_qn_binding || s->binding_stride % 8 != 0)) {
        return qn_fail(err, QN_BAD_ARG, "step: %u bindings, %llu bytes apart", s->n_bindings, (unsigned long long)s->binding_stride);
    }
    for (uint32_t b = 0; b < program->n_buffers; b++) {
        const uint32_t role = qn_program_buffer(program, b)->role;
        if (role == QN_ROLE_INPUT || role == QN_ROLE_OUTPUT) {
            const qn_status status = qn_step_buffer_(program, s, b, err);
            if (status != QN_OK) {
                return status;
            }
            n_bound++;
        }
    }
    /* Each is bound once: as many bindings as buffers, and every buffer was found. */
    return n_bound == s->n_bindings ? QN_OK : qn_fail(err, QN_BAD_ARG, "step: %u bindings for %u inputs and outputs", s->n_bindings, n_bound);
}

/* Token ids of EMBED and row numbers of SELECT_ROWS. */
QN_GLUE qn_status qn_step_numbers_(const qn_program *program, const qn_step *s, qn_error *err) {
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        const uint32_t *operands = qn_program_operands(program, op);
        if (op->op == QN_OP_EMBED || op->op == QN_OP_SELECT_ROWS) {
            const int32_t *numbers = (const int32_t *)qn_step_binding(s, operands[1])->data;
            const uint32_t count = op->op == QN_OP_EMBED ? s->n_tokens : s->n_outputs;
            const uint64_t limit = op->op == QN_OP_EMBED ? qn_program_buffer(program, operands[0])->dims[1] : s->n_tokens;
            for (uint32_t n = 0; n < count; n++) {
                if (numbers[n] < 0 || (uint64_t)numbers[n] >= limit) {
                    return qn_fail_op(err, i, QN_BAD_ARG, "step: %s: element %u is %d; it must be at least 0 and below %llu", qn_op_name(op->op),
                                      n, numbers[n], (unsigned long long)limit);
                }
            }
        }
    }
    return QN_OK;
}

/* Copies *theirs and checks all of it against the program (validated) and the limits (read). BAD_ARG or TOO_NEW with a text, or
 * QN_OK with *own filled; the arrays stay the caller's. */
QN_GLUE qn_status qn_step_read(const qn_program *program, const qn_limits *limits, const qn_step *theirs, qn_step *own, qn_error *err) {
    qn_status status = qn_copy_in(own, sizeof *own, QN_LEAST_qn_step, theirs);
    if (status != QN_OK) {
        return qn_fail(err, status, "step: absent, too short, or with a member that is not known here");
    }
    status = qn_step_tokens_(own, limits, err);
    if (status == QN_OK && program->n_groups > 0
        && (own->placements == NULL || own->placement_stride < QN_LEAST_qn_placement || own->placement_stride % 8 != 0)) {
        status = qn_fail(err, QN_BAD_ARG, "step: the program has %u cell groups and the step no placements", program->n_groups);
    }
    for (uint32_t g = 0; g < program->n_groups && status == QN_OK; g++) {
        status = qn_step_group_(own, g, limits->cells[g], err);
    }
    if (status == QN_OK) {
        status = qn_step_bindings_(program, own, err);
    }
    return status == QN_OK ? qn_step_numbers_(program, own, err) : status;
}

/* --- Moves ------------------------------------------------------------------------------------------------------------ */

QN_GLUE qn_status qn_state_move_read(const qn_program *program, const qn_limits *limits, const qn_state_move *theirs, qn_state_move *own,
                                     qn_error *err) {
    const qn_status status = qn_copy_in(own, sizeof *own, QN_LEAST_qn_state_move, theirs);
    uint32_t cells;
    if (status != QN_OK) {
        return qn_fail(err, status, "state_move: absent, too short, or with a member that is not known here");
    }
    if ((own->kind != QN_MOVE_COPY && own->kind != QN_MOVE_ZERO) || own->group >= program->n_groups) {
        return qn_fail(err, QN_BAD_ARG, "state_move: kind %u in cell group %u of %u", own->kind, own->group, program->n_groups);
    }
    cells = limits->cells[own->group];
    if (own->n_cells > cells || own->to > cells - own->n_cells || (own->kind == QN_MOVE_COPY && own->from > cells - own->n_cells)) {
        return qn_fail(err, QN_BAD_ARG, "state_move: %u cells from %u to %u; cell group %u has %u", own->n_cells, own->from, own->to, own->group,
                       cells);
    }
    return QN_OK;
}

#ifdef __cplusplus
}
#endif
#endif
