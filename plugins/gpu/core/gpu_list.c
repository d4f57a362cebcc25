/* gpu_list.c — a shape of step becomes a list of launches: numbers up, the ops in order, results down. */
#include "gpu_core.h"

#define MOST_BESIDE 32u /* launches that core lets run without a barrier between them */
/* Multiply-adds between two looks at the cancel flag: milliseconds on a small device. */
#define CUT_WORK (UINT64_C(1) << 31)

/* What is gathered while one list is made. */
typedef struct maker {
    const qn_session *session;
    const gpu_shape *shape;
    gpu_block block;
    gpu_binding numbers;          /* memory of the block as kernels see it */
    gpu_lowering to;
    uint32_t rank;                /* the first launch since the last barrier */
    uint64_t work;                /* multiply-adds since the last cut */
} maker;

/* --- Views -------------------------------------------------------------------------------------------------------- */

static gpu_binding part(gpu_binding whole, uint64_t at, uint64_t bytes) {
    return (gpu_binding){whole.memory, whole.at + at, bytes < 4 ? 4 : gpu_round_up(bytes, 4)};
}

static gpu_view view_of(const maker *m, uint32_t b) {
    const qn_prog *prog = m->session->prog;
    const qn_buffer *buffer = qn_program_buffer(prog->program, b);
    const uint64_t cells = buffer->role == QN_ROLE_STATE ? prog->limits.cells[buffer->group] : 0;
    gpu_view view = {.buffer = buffer,
                     .n_columns = qn_buffer_dim(buffer, 0, m->shape->n_tokens, m->shape->n_outputs, cells),
                     .n_rows = qn_buffer_rows(buffer, m->shape->n_tokens, m->shape->n_outputs, cells)};
    view.row_bytes = buffer->format == QN_FORMAT_TERNARY ? 0 : qn_format_bytes(buffer->format, view.n_columns);
    const uint64_t bytes = view.n_rows * view.row_bytes;
    switch (buffer->role) {
    case QN_ROLE_WEIGHT:
        view.at = prog->weights[b].at;
        view.first_element = prog->weights[b].first_element;
        break;
    case QN_ROLE_STATE:
        view.at = gpu_session_state(m->session, b);
        view.row_bytes = gpu_state_row_bytes(buffer->format, view.n_columns);
        break;
    case QN_ROLE_INPUT: view.at = part(m->numbers, gpu_block_input(prog, m->shape, &m->block, b), bytes); break;
    case QN_ROLE_OUTPUT:
        view.at = part(gpu_session_region(m->session, GPU_REGION_OUTPUTS), prog->output_at[b], bytes);
        break;
    default: view.at = part(gpu_session_region(m->session, GPU_REGION_ACTS), prog->acts[b].offset, bytes); break;
    }
    return view;
}

static gpu_call call_of(const maker *m, uint32_t index) {
    const qn_program *program = m->session->prog->program;
    const qn_op *op = qn_program_op(program, index);
    const uint32_t *operands = qn_program_operands(program, op);
    gpu_call call = {.index = index, .op = op, .attrs = qn_program_attrs(program, op), .n_inputs = op->n_inputs};
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        call.in[i] = view_of(m, operands[i]);
    }
    if (op->n_outputs > 0) {
        call.out = view_of(m, operands[op->n_inputs]);
    }
    return call;
}

/* The operand that an op writes. */
static const gpu_view *written_of(const gpu_call *call) {
    return call->op->n_outputs > 0 ? &call->out : &call->in[1];
}

/* --- Launches without a barrier between them ---------------------------------------------------------------------- */

static bool do_overlap(const gpu_binding *a, const gpu_binding *b) {
    return a->memory == b->memory && a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

/* Does the launch write what the other touches? */
static bool does_disturb(const gpu_launch *launch, const gpu_launch *other) {
    for (uint32_t w = launch->n_buffers - gpu_kernel_writes(launch->kernel); w < launch->n_buffers; w++) {
        for (uint32_t b = 0; b < other->n_buffers; b++) {
            if (do_overlap(&launch->buffers[w], &other->buffers[b])) {
                return true;
            }
        }
    }
    return false;
}

/* Looks whether a launch needs to wait for those since the last barrier. What lowering has marked does not. */
static void join_rank(maker *m, uint32_t at) {
    gpu_launch *launch = &m->to.launches[at];
    bool is_beside = at > m->rank && at - m->rank < MOST_BESIDE;
    if ((launch->flags & GPU_LAUNCH_BESIDE) != 0) {
        return;
    }
    for (uint32_t i = m->rank; i < at && is_beside; i++) {
        const gpu_launch *before = &m->to.launches[i];
        is_beside = !does_disturb(launch, before) && !does_disturb(before, launch);
    }
    if (is_beside) {
        launch->flags |= GPU_LAUNCH_BESIDE;
    } else {
        m->rank = at;
    }
}

/* --- Ops ---------------------------------------------------------------------------------------------------------- */

static uint64_t work_of(const gpu_call *call) {
    return call->op->op == QN_OP_MATMUL ? call->in[0].n_rows * call->in[0].n_columns * call->out.n_rows
                                        : written_of(call)->n_columns * call->in[0].n_rows;
}

/* One op, or two that are partners; `first` is the earlier one. */
static qn_status append(maker *m, uint32_t first, uint32_t last, qn_error *err) {
    const gpu_call call = call_of(m, first);
    if (call.op->n_outputs > 0 && call.out.n_rows == 0) {
        return QN_OK; /* nothing was asked for */
    }
    m->work += work_of(&call);
    if (first == last) {
        return gpu_lower_op(&m->to, &call, err);
    }
    const gpu_call next = call_of(m, last);
    m->work += work_of(&next);
    return gpu_lower_pair(&m->to, &call, &next, err);
}

static qn_status lower_op(maker *m, uint32_t index, qn_error *err) {
    const qn_prog *prog = m->session->prog;
    const uint32_t partner = prog->partner[index], op = partner < index ? partner : index, first = m->to.n_launches;
    if (partner > index) {
        return QN_OK; /* waits for its partner */
    }
    const qn_status status = append(m, op, index, err);
    if (status != QN_OK || m->to.n_launches == first) {
        return status;
    }
    for (uint32_t i = first; i < m->to.n_launches; i++) {
        m->to.launches[i].op = op;
        join_rank(m, i);
    }
    const uint32_t flags = qn_program_op(prog->program, op)->flags | qn_program_op(prog->program, index)->flags;
    if ((flags & QN_OP_LAYER_END) != 0 && m->work >= CUT_WORK) {
        m->to.launches[m->to.n_launches - 1].flags |= GPU_LAUNCH_CUT;
        m->work = 0;
    }
    return QN_OK;
}

void gpu_list_copy(gpu_lowering *to, gpu_binding from, gpu_binding dest) {
    gpu_launch *launch = &to->launches[to->n_launches++];
    *launch = (gpu_launch){.kernel = GPU_COPY, .grid = {1, 1, 1}, .n_buffers = 2, .op = QN_NO_OP};
    launch->buffers[0] = from;
    launch->buffers[1] = dest;
}

/* --- Results ------------------------------------------------------------------------------------------------------ */

static gpu_binding readback(const maker *m, uint64_t at, uint64_t bytes) {
    return (gpu_binding){m->session->readback.memory, at, bytes};
}

/* Candidates instead of a row: ids, then values, as gpu_step.c finds them. */
static qn_status lower_top(maker *m, qn_error *err) {
    const qn_prog *prog = m->session->prog;
    const gpu_shape *shape = m->shape;
    const gpu_binding top = gpu_session_region(m->session, GPU_REGION_TOP);
    const uint64_t bytes = (uint64_t)shape->n_outputs * shape->top_k * 4, half = prog->region_bytes[GPU_REGION_TOP] / 2;
    const gpu_binding ids = part(top, 0, bytes), values = part(top, half, bytes);
    gpu_view logits = view_of(m, shape->top_buffer);
    const uint32_t first = m->to.n_launches;
    logits.n_columns = shape->top_columns;
    const qn_status status = gpu_lower_top_k(&m->to, &logits, shape->top_k, &ids, &values, err);
    for (uint32_t i = first; i < m->to.n_launches; i++) {
        m->to.launches[i].op = QN_NO_OP;
    }
    if (status == QN_OK) {
        gpu_list_copy(&m->to, ids, readback(m, prog->region_bytes[GPU_REGION_OUTPUTS], bytes));
        gpu_list_copy(&m->to, values, readback(m, prog->region_bytes[GPU_REGION_OUTPUTS] + half, bytes));
        m->to.launches[m->to.n_launches - 1].flags |= GPU_LAUNCH_BESIDE;
    }
    return status;
}

static qn_status lower_results(maker *m, qn_error *err) {
    const qn_prog *prog = m->session->prog;
    uint32_t n_copies = 0;
    for (uint32_t b = 0; b < prog->program->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(prog->program, b);
        const uint64_t bytes = gpu_block_buffer_bytes(buffer, m->shape->n_tokens, m->shape->n_outputs);
        if (buffer->role != QN_ROLE_OUTPUT || bytes == 0 || (m->shape->top_k > 0 && m->shape->top_buffer == b)) {
            continue;
        }
        gpu_list_copy(&m->to, view_of(m, b).at, readback(m, prog->output_at[b], bytes));
        m->to.launches[m->to.n_launches - 1].flags |= n_copies++ > 0 ? GPU_LAUNCH_BESIDE : 0;
    }
    return m->shape->top_k > 0 && m->shape->n_outputs > 0 ? lower_top(m, err) : QN_OK;
}

/* --- The list ----------------------------------------------------------------------------------------------------- */

gpu_lowering gpu_list_begin(const qn_session *session) {
    const qn_prog *prog = session->prog;
    return (gpu_lowering){.caps = &prog->device->caps,
                          .program = prog->program,
                          .limits = &prog->limits,
                          .flags = prog->flags,
                          .numeric = prog->numeric,
                          .scratch = gpu_session_region(session, GPU_REGION_SCRATCH),
                          .quants = gpu_session_region(session, GPU_REGION_QUANTS),
                          .zero = prog->zero,
                          .tables = prog->tables,
                          .launches = prog->launches,
                          .room = prog->room};
}

/* Where kernels find the numbers of the step. */
static gpu_step_block step_block(const maker *m) {
    const qn_prog *prog = m->session->prog;
    const uint64_t row = (uint64_t)m->shape->n_tokens * 4;
    gpu_step_block block = {.positions = part(m->numbers, m->block.positions, row),
                            .sequences = part(m->numbers, m->block.sequences, row)};
    for (uint32_t g = 0; g < prog->program->n_groups; g++) {
        block.cells[g] = part(m->numbers, m->block.cells[g], row);
        block.spans[g] = part(m->numbers, m->block.spans[g], (uint64_t)m->shape->spans[g] * sizeof(qn_span));
        block.span_at[g] = part(m->numbers, m->block.span_at[g], ((uint64_t)prog->limits.max_sequences + 1) * 4);
        block.most_visible[g] = m->shape->visible[g];
    }
    return block;
}

qn_status gpu_list_make(const qn_session *session, const gpu_shape *shape, uint32_t *out_n, qn_error *err) {
    const qn_prog *prog = session->prog;
    const gpu_binding own = gpu_session_region(session, GPU_REGION_BLOCK),
                      upload = {session->upload.memory, 0, prog->block_bytes};
    maker m = {.session = session,
               .shape = shape,
               .numbers = own.memory != NULL ? own : upload,
               .to = gpu_list_begin(session)};
    gpu_block_lay_out(prog, shape, &m.block);
    const gpu_step_block block = step_block(&m);
    m.to.block = &block;
    m.to.n_tokens = shape->n_tokens;
    m.to.n_outputs = shape->n_outputs;
    if (own.memory != NULL) {
        gpu_list_copy(&m.to, part(upload, 0, m.block.bytes), part(own, 0, m.block.bytes));
    }
    qn_status status = QN_OK;
    m.rank = m.to.n_launches;
    for (uint32_t i = 0; i < prog->program->n_ops && status == QN_OK; i++) {
        status = lower_op(&m, i, err);
    }
    if (status == QN_OK) {
        status = lower_results(&m, err);
    }
    *out_n = m.to.n_launches;
    return status;
}
