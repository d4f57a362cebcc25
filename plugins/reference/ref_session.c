/* ref_session.c — state and scratch of one stream of steps. */
#include "ref_internal.h"

qn_status QN_CALL ref_session_new(qn_prog *prog, qn_session **out, qn_error *err) {
    if (prog == NULL || out == NULL) {
        return qn_fail(err, QN_BAD_ARG, "session_new: no program or no place for the result");
    }
    if (!prog->is_sealed) {
        return qn_fail(err, QN_BAD_STATE, "session_new: the program is not sealed");
    }
    const qn_host *host = ref_host(prog);
    const uint64_t n_rows = (uint64_t)host->machine->n_workers * 2;
    qn_session *session = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, sizeof *session, 64);
    if (session == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "session_new: no memory for %zu bytes", sizeof *session);
    }
    session->prog = prog;
    prog->n_sessions++;
    session->state = host->mem_alloc(host->ctx, QN_MEM_STATE, prog->state_bytes, 64);
    session->arena = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, prog->arena_bytes, 64);
    session->rows = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, n_rows * prog->row_elems * sizeof(float), 64);
    session->scores = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, prog->score_elems * sizeof(double), 64);
    session->sums = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, prog->row_elems * sizeof(double), 64);
    if (session->state == NULL || session->arena == NULL || session->rows == NULL || session->scores == NULL
        || session->sums == NULL) {
        ref_session_free(session);
        return qn_fail(err, QN_NO_HOST_MEM, "session_new: no memory for %llu bytes of state and %llu of scratch",
                       (unsigned long long)ref_session_state_bytes(prog),
                       (unsigned long long)ref_session_scratch_bytes(prog, host->machine->n_workers));
    }
    *out = session;
    return QN_OK;
}

void QN_CALL ref_session_free(qn_session *session) {
    if (session == NULL) {
        return;
    }
    const qn_host *host = ref_host(session->prog);
    session->prog->n_sessions--;
    host->mem_free(host->ctx, session->state);
    host->mem_free(host->ctx, session->arena);
    host->mem_free(host->ctx, session->rows);
    host->mem_free(host->ctx, session->scores);
    host->mem_free(host->ctx, session->sums);
    host->mem_free(host->ctx, session);
}

static void move_cells(qn_session *session, const qn_state_move *move) {
    const qn_program *program = session->prog->program;
    for (uint32_t b = 0; b < program->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(program, b);
        if (buffer->role == QN_ROLE_STATE && buffer->group == move->group) {
            const uint64_t row = qn_format_bytes(buffer->format, buffer->dims[0]);
            char *cells = session->state + session->prog->state_at[b];
            if (move->kind == QN_MOVE_ZERO) {
                memset(cells + move->to * row, 0, move->n_cells * row);
            } else {
                memmove(cells + move->to * row, cells + move->from * row, move->n_cells * row);
            }
        }
    }
}

qn_status QN_CALL ref_state_move(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves, qn_error *err) {
    if (session == NULL || (n_moves > 0 && (moves == NULL || stride < sizeof(qn_state_move)))) {
        return qn_fail(err, QN_BAD_ARG, "state_move: no session, or %u moves %llu bytes apart", n_moves, (unsigned long long)stride);
    }
    /* All are checked before any is done: a refused call changes nothing. */
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < n_moves; i++) {
            qn_state_move own;
            const qn_status status = qn_state_move_read(session->prog->program, &session->prog->limits,
                                                        (const qn_state_move *)(const void *)((const char *)moves + i * stride), &own, err);
            if (status != QN_OK) {
                return status;
            }
            if (turn == 1) {
                move_cells(session, &own);
            }
        }
    }
    return QN_OK;
}

qn_status QN_CALL ref_tap(qn_session *session, uint32_t buffer, void *data, uint64_t room, uint64_t *out_bytes, qn_error *err) {
    if (session == NULL || out_bytes == NULL || buffer >= session->prog->program->n_buffers || (data == NULL && room > 0)) {
        return qn_fail(err, QN_BAD_ARG, "tap: no session, no place for the size, or no buffer %u", buffer);
    }
    const qn_prog *prog = session->prog;
    const qn_buffer *b = qn_program_buffer(prog->program, buffer);
    if ((prog->flags & QN_COMPILE_MATERIALIZE) == 0) {
        return qn_fail(err, QN_UNSUPPORTED, "tap: the program was not compiled with MATERIALIZE");
    }
    if (session->n_tokens == 0) {
        return qn_fail(err, QN_BAD_STATE, "tap: no step has been run");
    }
    if (b->role != QN_ROLE_ACT && b->role != QN_ROLE_STATE) {
        return qn_fail(err, QN_BAD_ARG, "tap: buffer %u (%s) is neither act nor state", buffer, qn_program_name(prog->program, b));
    }
    const char *source = b->role == QN_ROLE_STATE ? session->state + prog->state_at[buffer] : session->arena + prog->acts[buffer].offset;
    *out_bytes = qn_buffer_rows(b, session->n_tokens, session->n_outputs, prog->limits.cells[b->group])
                 * qn_format_bytes(b->format, qn_buffer_dim(b, 0, session->n_tokens, session->n_outputs, 0));
    if (room > 0) {
        memcpy(data, source, room < *out_bytes ? room : *out_bytes);
    }
    return QN_OK;
}
