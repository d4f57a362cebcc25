/* cpu_session.c — what one stream of steps owns: states, arenas, scratch; moving cells, and taps. */
#include <string.h>

#include <quoin/blocks.h>
#include <quoin/glue_step.h>

#include "cpu_internal.h"

static uint64_t cell_bytes(const qn_buffer *info) {
    return qn_format_bytes(info->format, info->dims[0]);
}

uint64_t cpu_state_bytes(const qn_prog *prog, uint32_t buffer) {
    const qn_buffer *const info = qn_program_buffer(prog->program, buffer);
    return cell_bytes(info) * qn_buffer_rows(info, 1, 1, prog->limits.cells[info->group]);
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t arena_bytes(const qn_prog *prog) {
    return larger(larger(prog->one.shared_bytes, prog->many.shared_bytes), 64);
}

static uint64_t private_bytes(const qn_prog *prog) {
    return larger(larger(prog->one.private_bytes, prog->many.private_bytes), 64);
}

uint64_t cpu_session_bytes(const qn_prog *prog) {
    return arena_bytes(prog) + prog->n_workers * (private_bytes(prog) + prog->scratch_bytes + CPU_CHUNK_CELLS * sizeof(cpu_cells)) +
           prog->part_floats * sizeof(float) + prog->n_buffers * 2 * sizeof(void *) + sizeof(qn_session);
}

void cpu_session_scratch(const qn_session *session, cpu_piece pieces[CPU_SCRATCH_PIECES]) {
    const qn_prog *const prog = session->prog;
    const uint64_t workers = prog->n_workers;
    const cpu_piece all[CPU_SCRATCH_PIECES] = {{session->bindings, prog->n_buffers * sizeof *session->bindings},
                                               {session->arena, arena_bytes(prog)},
                                               {session->private_arena, workers * private_bytes(prog)},
                                               {session->scratch, workers * prog->scratch_bytes},
                                               {session->ranges, workers * CPU_CHUNK_CELLS * sizeof *session->ranges},
                                               {session->parts, prog->part_floats * sizeof(float)}};
    memcpy(pieces, all, sizeof all);
}

/* Large states lie in one block: the host can give it larger pages, which it could not give to each of them. */
enum { LARGE_STATES = 4u << 20 };

uint64_t cpu_state_room(const qn_prog *prog, uint32_t buffer) {
    return qn_program_buffer(prog->program, buffer)->role == QN_ROLE_STATE ? cpu_align(cpu_state_bytes(prog, buffer) + 64, 4096) : 0;
}

static bool fill_states(qn_session *session) {
    const qn_prog *const prog = session->prog;
    uint64_t total = 0;
    for (uint32_t i = 0; i < prog->n_buffers; i++) {
        total += cpu_state_room(prog, i);
    }
    if (total >= LARGE_STATES) {
        session->state_block = prog->host->mem_alloc(prog->host->ctx, QN_MEM_STATE, total, 4096);
        if (session->state_block == NULL) {
            return false;
        }
    }
    uint64_t at = 0;
    for (uint32_t i = 0; i < prog->n_buffers; i++) {
        const uint64_t room = cpu_state_room(prog, i);
        if (room > 0) {
            session->states[i] = session->state_block != NULL ? session->state_block + at
                                                              : prog->host->mem_alloc(prog->host->ctx, QN_MEM_STATE, room, 4096);
            if (session->states[i] == NULL) {
                return false;
            }
            at += room;
        }
    }
    return true;
}

static bool fill_session(qn_session *session) {
    const qn_prog *const prog = session->prog;
    const qn_host *const host = prog->host;
    void *const ctx = host->ctx;
    const uint64_t workers = prog->n_workers;
    session->states = host->mem_alloc(ctx, QN_MEM_OTHER, prog->n_buffers * sizeof *session->states + 8, 64);
    session->bindings = host->mem_alloc(ctx, QN_MEM_OTHER, prog->n_buffers * sizeof *session->bindings + 8, 64);
    session->arena = host->mem_alloc(ctx, QN_MEM_SCRATCH, arena_bytes(prog), 4096);
    session->private_arena = host->mem_alloc(ctx, QN_MEM_SCRATCH, workers * private_bytes(prog), 4096);
    session->scratch = host->mem_alloc(ctx, QN_MEM_SCRATCH, workers * prog->scratch_bytes, 4096);
    session->ranges = host->mem_alloc(ctx, QN_MEM_SCRATCH, workers * CPU_CHUNK_CELLS * sizeof *session->ranges, 64);
    session->parts = host->mem_alloc(ctx, QN_MEM_SCRATCH, prog->part_floats * sizeof(float) + 64, 64);
    if (session->states == NULL || session->bindings == NULL || session->arena == NULL || session->private_arena == NULL ||
        session->scratch == NULL || session->ranges == NULL || session->parts == NULL) {
        return false;
    }
    return fill_states(session);
}

qn_status cpu_session_new(qn_prog *prog, qn_session **out, qn_error *err) {
    if (prog == NULL || out == NULL) {
        return qn_fail(err, QN_BAD_ARG, "session_new: a null argument");
    }
    if (!prog->sealed) {
        return qn_fail(err, QN_BAD_STATE, "session_new before seal");
    }
    const qn_host *const host = prog->host;
    qn_session *const session = host->mem_alloc(host->ctx, QN_MEM_OTHER, sizeof *session, 64);
    if (session == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for a session");
    }
    session->prog = prog;
    prog->n_sessions++;
    session->private_stride = private_bytes(prog);
    if (!fill_session(session)) {
        cpu_session_free(session);
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for a session of %llu bytes of scratch and the states of %u cells",
                       (unsigned long long)cpu_session_bytes(prog), prog->n_groups > 0 ? prog->limits.cells[0] : 0);
    }
    *out = session;
    return QN_OK;
}

void cpu_session_free(qn_session *session) {
    if (session == NULL) {
        return;
    }
    const qn_host *const host = session->prog->host;
    void *const ctx = host->ctx;
    session->prog->n_sessions--;
    for (uint32_t i = 0; session->states != NULL && session->state_block == NULL && i < session->prog->n_buffers; i++) {
        host->mem_free(ctx, session->states[i]);
    }
    host->mem_free(ctx, session->state_block);
    host->mem_free(ctx, session->op_ns);
    host->mem_free(ctx, session->parts);
    host->mem_free(ctx, session->ranges);
    host->mem_free(ctx, session->scratch);
    host->mem_free(ctx, session->private_arena);
    host->mem_free(ctx, session->arena);
    host->mem_free(ctx, session->bindings);
    host->mem_free(ctx, session->states);
    host->mem_free(ctx, session);
}

/* --- Cells ------------------------------------------------------------------------------------------------------------ */

static void move_cells(qn_session *session, const qn_state_move *move) {
    const qn_prog *const prog = session->prog;
    for (uint32_t i = 0; i < prog->n_buffers; i++) {
        const qn_buffer *const info = qn_program_buffer(prog->program, i);
        if (info->role != QN_ROLE_STATE || info->group != move->group) {
            continue;
        }
        const uint64_t bytes = cell_bytes(info);
        uint8_t *const to = (uint8_t *)session->states[i] + move->to * bytes;
        if (move->kind == QN_MOVE_ZERO) {
            memset(to, 0, move->n_cells * bytes);
        } else {
            memmove(to, (uint8_t *)session->states[i] + move->from * bytes, move->n_cells * bytes);
        }
    }
}

qn_status cpu_state_move(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves, qn_error *err) {
    if (session == NULL || (moves == NULL && n_moves > 0)) {
        return qn_fail(err, QN_BAD_ARG, "state_move: a null argument");
    }
    for (uint32_t round = 0; round < 2; round++) { /* all are checked before the first is done */
        for (uint32_t i = 0; i < n_moves; i++) {
            qn_state_move move;
            const qn_status status = qn_state_move_read(session->prog->program, &session->prog->limits,
                                                        (const qn_state_move *)(const void *)((const uint8_t *)moves + i * stride),
                                                        &move, err);
            if (status != QN_OK) {
                return status;
            }
            if (round == 1) {
                move_cells(session, &move);
            }
        }
    }
    return QN_OK;
}

/* --- Taps ------------------------------------------------------------------------------------------------------------- */

qn_status cpu_tap(qn_session *session, uint32_t buffer, void *data, uint64_t room, uint64_t *out_bytes, qn_error *err) {
    if (session == NULL || out_bytes == NULL || buffer >= session->prog->n_buffers) {
        return qn_fail(err, QN_BAD_ARG, "tap: a null argument, or buffer %u does not exist", buffer);
    }
    const qn_prog *const prog = session->prog;
    if (!prog->materialize) {
        return qn_fail(err, QN_UNSUPPORTED, "tap needs a program compiled with QN_COMPILE_MATERIALIZE");
    }
    if (!session->stepped) {
        return qn_fail(err, QN_BAD_STATE, "tap before the first complete step");
    }
    const qn_buffer *const info = qn_program_buffer(prog->program, buffer);
    const void *from = NULL;
    if (info->role == QN_ROLE_STATE) {
        from = session->states[buffer];
        *out_bytes = cpu_state_bytes(prog, buffer);
    } else if (info->role == QN_ROLE_ACT) {
        from = session->arena + prog->many.places[buffer].offset;
        *out_bytes = 4u * info->dims[0] * qn_buffer_rows(info, session->last_tokens, session->last_outputs, 0);
    } else {
        return qn_fail(err, QN_UNSUPPORTED, "tap: buffer %u is neither an act buffer nor a state", buffer);
    }
    if (data != NULL) {
        memcpy(data, from, *out_bytes < room ? *out_bytes : room);
    }
    return QN_OK;
}
