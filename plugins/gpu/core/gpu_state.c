/* gpu_state.c — cells of the states: zeroing, and moving as memmove would, by copies that do not overlap; zeroing what steps leave besides. */
#include "gpu_core.h"

/* Launches that wait to be run. */
typedef struct batch {
    qn_session *session;
    gpu_lowering list;
} batch;

static batch begin_batch(qn_session *session) {
    batch self = {session, gpu_list_begin(session)};
    self.list.room = session->prog->move_room;
    return self;
}

static qn_status run_batch(batch *self, qn_error *err) {
    qn_device *device = self->session->prog->device;
    const uint32_t n = self->list.n_launches;
    self->list.n_launches = 0;
    if (n == 0) {
        return QN_OK;
    }
    const qn_status status = gpu_the_driver.record(device->driver, self->session->moves, self->list.launches, n, err);
    return status == QN_OK ? gpu_run(device, self->session->moves, NULL, err) : status;
}

/* Room for what one fill or one pair of copies needs. */
static qn_status make_room(batch *self, qn_error *err) {
    return self->list.room - self->list.n_launches < GPU_MOST_EXTRA ? run_batch(self, err) : QN_OK;
}

static qn_status add_fill(batch *self, gpu_binding where, qn_error *err) {
    const qn_status status = make_room(self, err);
    const uint32_t first = self->list.n_launches;
    if (status != QN_OK || where.bytes == 0) {
        return status;
    }
    const qn_status lowered = gpu_lower_fill(&self->list, &where, 0, err);
    for (uint32_t i = first; i < self->list.n_launches; i++) {
        self->list.launches[i].op = QN_NO_OP;
    }
    return lowered;
}

static gpu_binding rows_of(const gpu_binding *state, uint64_t row_bytes, uint64_t first, uint64_t n) {
    return (gpu_binding){state->memory, state->at + first * row_bytes, n * row_bytes};
}

static qn_status add_copy(batch *self, gpu_binding from, gpu_binding to, qn_error *err) {
    const qn_status status = make_room(self, err);
    if (status == QN_OK) {
        gpu_list_copy(&self->list, from, to);
    }
    return status;
}

/* Rows that overlap go through scratch, a piece at a time, from the end that is not overwritten first. */
static qn_status add_shift(batch *self, const gpu_binding *state, uint64_t row, const qn_state_move *move,
                           qn_error *err) {
    const uint64_t room = self->list.scratch.bytes / row, n = move->n_cells;
    qn_status status = QN_OK;
    for (uint64_t done = 0; done < n && status == QN_OK;) {
        const uint64_t now = n - done < room ? n - done : room;
        const uint64_t at = move->to < move->from ? done : n - done - now;
        const gpu_binding scratch = {self->list.scratch.memory, self->list.scratch.at, now * row};
        status = add_copy(self, rows_of(state, row, move->from + at, now), scratch, err);
        if (status == QN_OK) {
            status = add_copy(self, scratch, rows_of(state, row, move->to + at, now), err);
        }
        done += now;
    }
    return status;
}

static qn_status add_move(batch *self, uint32_t buffer, const qn_state_move *move, qn_error *err) {
    const qn_buffer *b = qn_program_buffer(self->session->prog->program, buffer);
    const gpu_binding state = gpu_session_state(self->session, buffer);
    const uint64_t row = gpu_state_row_bytes(b->format, b->dims[0]);
    const uint32_t distance = move->from < move->to ? move->to - move->from : move->from - move->to;
    if (move->kind == QN_MOVE_ZERO) {
        return add_fill(self, rows_of(&state, row, move->to, move->n_cells), err);
    }
    if (distance == 0 || move->n_cells == 0) {
        return QN_OK;
    }
    return distance < move->n_cells ? add_shift(self, &state, row, move, err)
                                    : add_copy(self, rows_of(&state, row, move->from, move->n_cells),
                                               rows_of(&state, row, move->to, move->n_cells), err);
}

static qn_status add_moves(batch *self, const qn_state_move *move, qn_error *err) {
    const qn_program *program = self->session->prog->program;
    qn_status status = QN_OK;
    for (uint32_t b = 0; b < program->n_buffers && status == QN_OK; b++) {
        const qn_buffer *buffer = qn_program_buffer(program, b);
        if (buffer->role == QN_ROLE_STATE && buffer->group == move->group) {
            status = add_move(self, b, move, err);
        }
    }
    return status;
}

static qn_status read_move(const qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t i,
                           qn_state_move *own, qn_error *err) {
    const qn_prog *prog = session->prog;
    return qn_state_move_read(prog->program, &prog->limits,
                              (const qn_state_move *)(const void *)((const char *)moves + i * stride), own, err);
}

qn_status QN_CALL gpu_state_move(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves,
                                 qn_error *err) {
    qn_state_move own;
    qn_status status = QN_OK;
    if (session == NULL || (n_moves > 0 && (moves == NULL || stride < QN_LEAST_qn_state_move || stride % 4 != 0))) {
        return qn_fail(err, QN_BAD_ARG, "state_move: no session, or %u moves %llu bytes apart", n_moves,
                       (unsigned long long)stride);
    }
    /* All are checked before any is done: a refused call changes nothing. */
    for (uint32_t i = 0; i < n_moves && status == QN_OK; i++) {
        status = read_move(session, moves, stride, i, &own, err);
    }
    if (status == QN_OK) {
        status = gpu_enter(session->prog->device, err);
    }
    if (status != QN_OK) {
        return status;
    }
    batch all = begin_batch(session);
    for (uint32_t i = 0; i < n_moves && status == QN_OK; i++) {
        status = read_move(session, moves, stride, i, &own, err);
        status = status == QN_OK ? add_moves(&all, &own, err) : status;
    }
    status = status == QN_OK ? run_batch(&all, err) : status;
    return gpu_leave(session->prog->device, status);
}

qn_status gpu_state_clear(qn_session *session, qn_error *err) {
    const qn_prog *prog = session->prog;
    batch all = begin_batch(session);
    qn_status status = QN_OK;
    for (uint32_t b = 0; b < prog->program->n_buffers && status == QN_OK; b++) {
        if (qn_program_buffer(prog->program, b)->role == QN_ROLE_STATE) {
            status = add_fill(&all, gpu_session_state(session, b), err);
        }
    }
    return status == QN_OK ? run_batch(&all, err) : status;
}

/* What one fill may span. */
#define LARGEST_FILL (UINT64_C(1) << 30)

static qn_status add_memory_fill(batch *self, gpu_memory *memory, qn_error *err) {
    const uint64_t most = self->list.caps->max_binding_bytes / GPU_PLACE_ALIGN * GPU_PLACE_ALIGN;
    const uint64_t piece = most < LARGEST_FILL ? most : LARGEST_FILL;
    qn_status status = QN_OK;
    for (uint64_t at = 0; at < memory->bytes && status == QN_OK; at += piece) {
        const uint64_t left = memory->bytes - at;
        status = add_fill(self, (gpu_binding){memory, at, left < piece ? left : piece}, err);
    }
    return status;
}

qn_status gpu_scratch_clear(qn_session *session, qn_error *err) {
    batch all = begin_batch(session);
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < session->prog->session_pools.n && status == QN_OK; i++) {
        status = add_memory_fill(&all, session->pools[i].memory, err);
    }
    return status == QN_OK ? run_batch(&all, err) : status;
}
