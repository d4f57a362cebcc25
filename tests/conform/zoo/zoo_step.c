/* zoo_step.c — faults of sessions, steps, taps and moves, and of what they compute. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

#define MOST_SESSIONS 64

/* What is known of each session: its program, and the thread that made it. */
typedef struct known_session {
    qn_session *session;
    qn_prog *prog;
    pthread_t maker;
} known_session;

static known_session known[MOST_SESSIONS];
static const qn_program *last_program; /* own copy of the last that was compiled */
static qn_limits last_limits;
static atomic_int n_stepping;

static known_session *find_session(const qn_session *session) {
    for (int i = 0; i < MOST_SESSIONS; i++) {
        if (known[i].session == session) {
            return &known[i];
        }
    }
    return NULL;
}

/* --- What is computed ------------------------------------------------------------------------------------------------- */

static qn_binding *find_output(const qn_step *step) {
    for (uint32_t i = 0; i < step->n_bindings; i++) {
        const qn_binding *binding = (const qn_binding *)(const void *)((const char *)step->bindings + i * step->binding_stride);
        if (qn_program_buffer(last_program, binding->buffer)->role == QN_ROLE_OUTPUT) {
            return (qn_binding *)(uintptr_t)binding;
        }
    }
    return NULL;
}

static void spoil(const qn_binding *output, uint64_t element) {
    if (output != NULL && element < output->bytes / sizeof(float)) {
        float *values = output->data;
        values[element] = values[element] * 1.01f + 0.01f;
    }
}

/* One element in many: which one depends on its bits alone. */
static void spoil_once_in_many(const qn_binding *output) {
    for (uint64_t i = 0; output != NULL && i < output->bytes / sizeof(float); i++) {
        uint32_t bits;
        memcpy(&bits, (const float *)output->data + i, sizeof bits);
        bits *= 2654435761u;
        if (bits >> 14 == 77) { /* one in 2^18 */
            spoil(output, i);
        }
    }
}

/* As accumulation in halves would leave it; or as sums that are cut instead of rounded, inside the bound of each. */
static void cut_bits(float *value) {
    uint32_t bits;
    memcpy(&bits, value, sizeof bits);
    bits = IS(rounds_to_half) ? (bits + 0x1000) & 0xffffe000u : bits & 0xfffffffcu;
    memcpy(value, &bits, sizeof bits);
}

static int has_odd_rows(void) {
    const qn_op *op = qn_program_op(last_program, 0);
    const uint32_t *operands = qn_program_operands(last_program, op);
    return op->op == QN_OP_MATMUL && qn_program_buffer(last_program, operands[0])->dims[0] % 2 == 1;
}

static int has_permuted_cells(const qn_step *step) {
    if (last_program->n_groups == 0) {
        return 0;
    }
    const qn_placement *placement = step->placements;
    for (uint32_t i = 0; i < placement->n_spans; i++) {
        if (placement->spans[i].first_cell != (uint32_t)placement->spans[i].first_position) {
            return 1;
        }
    }
    return 0;
}

static void spoil_results(const qn_step *step) {
    const qn_binding *output = last_program == NULL ? NULL : find_output(step);
    if (output == NULL) {
        return;
    }
    if (IS(wrong_once_in_many)) {
        spoil_once_in_many(output);
    }
    if ((IS(wrong_for_odd_rows) && has_odd_rows()) || (IS(wrong_for_permuted_cells) && has_permuted_cells(step)) ||
        (IS(wrong_with_many_workers) && zoo_host.machine->n_workers > 1) || (IS(wrong_for_the_second_sequence) && step->n_sequences > 1)) {
        spoil(output, output->bytes / sizeof(float) - 1);
    }
    for (uint64_t i = 0; (IS(rounds_to_half) || IS(cuts_its_sums)) && i < output->bytes / sizeof(float); i++) {
        cut_bits((float *)output->data + i);
    }
    if (IS(writes_behind_outputs)) {
        memset((char *)output->data + output->bytes, 0, sizeof(float));
    }
    if (IS(computes_nothing)) {
        memset(output->data, 0, output->bytes);
    }
    for (uint64_t i = 0; IS(believes_any_blob) && i < output->bytes / sizeof(float); i++) {
        ((float *)output->data)[i] *= zoo_blob_factor;
    }
}

/* --- Steps ------------------------------------------------------------------------------------------------------------ */

/* The step with cells that are out of range bent back into it. */
static const qn_step *bend_cells(const qn_step *step, qn_step *own, qn_placement *placement, uint32_t *cells) {
    if (last_program == NULL || last_program->n_groups != 1 || step->n_tokens > 64 || step->placements == NULL ||
        step->placements->cells == NULL || qn_copy_in(own, sizeof *own, QN_LEAST_qn_step, step) != QN_OK) {
        return step;
    }
    *placement = *step->placements;
    for (uint32_t i = 0; i < step->n_tokens; i++) {
        cells[i] = placement->cells[i] < last_limits.cells[0] ? placement->cells[i] : (uint32_t)step->positions[i];
    }
    placement->cells = cells;
    own->placements = placement;
    own->placement_stride = sizeof *placement;
    return own;
}

static void forget_cells(qn_session *session) {
    const qn_state_move move = {.size = sizeof move, .kind = QN_MOVE_ZERO, .n_cells = 4};
    qn_error error = {.size = sizeof error};
    (void)zoo_honest->state_move(session, &move, sizeof move, 1, &error);
}

static qn_status refuse_thread(qn_session *session, qn_error *err) {
    const known_session *k = find_session(session);
    return IS(binds_its_thread) && k != NULL && !pthread_equal(k->maker, pthread_self())
               ? qn_fail(err, QN_INTERNAL, "the context belongs to another thread") : QN_OK;
}

static void leak_in_step(void) {
    if (IS(leaks_a_descriptor_each_step)) {
        (void)open("/dev/null", O_RDONLY);
    }
    if (IS(leaks_memory_each_step)) {
        (void)zoo_host.mem_alloc(zoo_host.ctx, QN_MEM_SCRATCH, 64, 64);
    }
    if (IS(prints_in_steps)) {
        fprintf(stderr, "a step is run\n");
    }
}

static void write_first(const qn_step *step) {
    const qn_binding *output = last_program == NULL || step->bindings == NULL || step->binding_stride < sizeof *output ? NULL : find_output(step);
    if (output != NULL && output->data != NULL && output->bytes >= sizeof(float)) {
        memset(output->data, 0, sizeof(float));
    }
}

static qn_status QN_CALL step(qn_session *session, const qn_step *theirs, qn_error *err) {
    qn_step own;
    qn_placement placement;
    uint32_t cells[64];
    const qn_step *s = IS(accepts_any_cell) ? bend_cells(theirs, &own, &placement, cells) : theirs;
    qn_status status = refuse_thread(session, err);
    if (status != QN_OK) {
        return status;
    }
    leak_in_step();
    if (IS(writes_before_it_refuses)) {
        write_first(theirs);
    }
    const int n_before = atomic_fetch_add(&n_stepping, 1);
    status = zoo_honest->step(session, s, err);
    const int is_alone = n_before == 0 && atomic_load(&n_stepping) == 1;
    if (status == QN_OK) {
        spoil_results(s);
        if (IS(shares_its_scratch) && !is_alone && last_program != NULL) {
            spoil(find_output(s), 0);
        }
    }
    atomic_fetch_sub(&n_stepping, 1);
    if (status == QN_CANCELLED && IS(damages_cells_when_cancelled)) {
        forget_cells(session);
    }
    return status;
}

/* --- Sessions --------------------------------------------------------------------------------------------------------- */

static qn_session *pooled;    /* begins_with_old_state: the last session that was freed, and whose it was */
static qn_prog *pool_of;

static qn_status QN_CALL session_new(qn_prog *prog, qn_session **out, qn_error *err) {
    if (IS(begins_with_old_state) && pooled != NULL && pool_of == prog) {
        *out = pooled;
        pooled = NULL;
        return QN_OK;
    }
    const qn_status status = zoo_honest->session_new(prog, out, err);
    if (IS(allows_sessions_before_seal) && status == QN_BAD_STATE) {
        return qn_fail(err, QN_BAD_ARG, "the program is not sealed");
    }
    known_session *place = status == QN_OK ? find_session(NULL) : NULL;
    if (place != NULL) {
        *place = (known_session){*out, prog, pthread_self()};
    }
    return status;
}

static void QN_CALL session_free(qn_session *session) {
    known_session *k = session == NULL ? NULL : find_session(session);
    if (IS(begins_with_old_state) && k != NULL && pooled == NULL) {
        pooled = session;
        pool_of = k->prog;
        return;
    }
    if (k != NULL) {
        *k = (known_session){.session = NULL};
    }
    if (IS(leaks_memory_each_session) && session != NULL) {
        (void)zoo_host.mem_alloc(zoo_host.ctx, QN_MEM_SCRATCH, 64, 64);
    }
    zoo_honest->session_free(session);
}

static void QN_CALL prog_free(qn_prog *prog) {
    if (pooled != NULL && pool_of == prog) {
        *find_session(pooled) = (known_session){.session = NULL};
        zoo_honest->session_free(pooled);
        pooled = NULL;
    }
    zoo_honest->prog_free(prog);
}

/* Cell by cell from the first on, which is memmove only where the ranges do not overlap so. */
static qn_status QN_CALL state_move(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves, qn_error *err) {
    qn_state_move own;
    if (!IS(moves_cells_forwards) || n_moves != 1 || qn_copy_in(&own, sizeof own, QN_LEAST_qn_state_move, moves) != QN_OK ||
        own.kind != QN_MOVE_COPY || own.n_cells > last_limits.cells[0]) {
        return zoo_honest->state_move(session, moves, stride, n_moves, err);
    }
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < own.n_cells && status == QN_OK; i++) {
        const qn_state_move one = {sizeof one, QN_MOVE_COPY, own.group, own.from + i, own.to + i, 1};
        status = zoo_honest->state_move(session, &one, sizeof one, 1, err);
    }
    return status;
}

/* --- The program that the steps belong to ------------------------------------------------------------------------------ */

void zoo_note_program(const qn_program *program, const qn_limits *limits) {
    void *copy = malloc(program->total_bytes);
    free((void *)(uintptr_t)last_program);
    last_program = copy;
    last_limits = *limits;
    if (copy != NULL) {
        memcpy(copy, program, program->total_bytes);
    }
}

void zoo_fill_step(qn_plugin *verbs) {
    verbs->step = step;
    verbs->session_new = session_new;
    verbs->session_free = session_free;
    verbs->prog_free = prog_free;
    verbs->state_move = state_move;
}
