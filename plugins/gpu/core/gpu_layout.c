/* gpu_layout.c — where everything of a program and its sessions will lie, and how much that is. Takes no memory, so
 * plan can ask. */
#include "gpu_core.h"

/* Smaller weights are copied even where the device reads the host's pages: an import costs a page at least and a driver
 * object. */
#define LEAST_IMPORT_BYTES 65536u
#define LEAST_MOVE_BYTES 65536u

static uint64_t count_elements(const qn_buffer *buffer) {
    return buffer->dims[0] * qn_buffer_rows(buffer, 0, 0, 0);
}

uint64_t gpu_weight_bytes(const qn_buffer *buffer) {
    const uint64_t count = count_elements(buffer);
    /* TERNARY: the scale, and digits from the byte that holds the first one, whose first four may belong to other
     * rows. */
    const uint64_t bytes =
        buffer->format == QN_FORMAT_TERNARY ? 4 + (count + 8) / 5 : qn_format_bytes(buffer->format, count);
    return gpu_round_up(bytes, 4);
}

/* --- Weights and tables ------------------------------------------------------------------------------------------- */

static qn_status place_weights(qn_prog *prog, qn_error *err) {
    const gpu_caps *caps = &prog->device->caps;
    qn_status status = QN_OK;
    for (uint32_t b = 0; b < prog->program->n_buffers && status == QN_OK; b++) {
        const qn_buffer *buffer = qn_program_buffer(prog->program, b);
        gpu_weight *weight = &prog->weights[b];
        weight->slot.pool = GPU_NONE;
        if (buffer->role != QN_ROLE_WEIGHT) {
            continue;
        }
        const uint64_t bytes = gpu_weight_bytes(buffer);
        weight->is_borrowed = (caps->flags & GPU_CAP_UNIFIED) != 0 && bytes >= LEAST_IMPORT_BYTES;
        if (weight->is_borrowed) {
            prog->borrowed_bytes += bytes;
        } else {
            status = gpu_pools_place(caps, &prog->weight_pools, bytes, qn_program_name(prog->program, buffer),
                                     &weight->slot, err);
        }
    }
    return status;
}

static void lay_out_tables(qn_prog *prog) {
    const qn_program *program = prog->program;
    prog->tables_bytes = GPU_PLACE_ALIGN; /* the zeros */
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        const uint64_t bytes = gpu_table_bytes(program, i);
        prog->tables[i] = (gpu_binding){NULL, prog->tables_bytes, bytes};
        prog->tables_bytes += gpu_round_up(bytes, GPU_PLACE_ALIGN);
        if (op->op == QN_OP_ROPE && op->n_inputs == 2) {
            const uint32_t factors = qn_program_operands(program, op)[1];
            prog->values_bytes +=
                prog->weights[factors].has_values ? 0 : qn_program_buffer(program, factors)->dims[0] * sizeof(float);
            prog->weights[factors].has_values = true;
        }
    }
}

/* --- States, acts, outputs ---------------------------------------------------------------------------------------- */

/* A buffer that kernels see through one binding. */
static qn_status check_binding(const qn_prog *prog, const qn_buffer *buffer, uint64_t bytes, qn_error *err) {
    const uint64_t most = gpu_most_binding(&prog->device->caps);
    return bytes <= most
               ? QN_OK
               : qn_fail(err, QN_NO_DEVICE_MEM,
                         "%s: %llu bytes asked for, a kernel of this device sees %llu at once; use fewer "
                         "cells or tokens a step",
                         qn_program_name(prog->program, buffer), (unsigned long long)bytes, (unsigned long long)most);
}

static qn_status place_states(qn_prog *prog, uint64_t *out_row_bytes, qn_error *err) {
    const qn_program *program = prog->program;
    qn_status status = QN_OK;
    *out_row_bytes = 0;
    for (uint32_t b = 0; b < program->n_buffers && status == QN_OK; b++) {
        const qn_buffer *buffer = qn_program_buffer(program, b);
        prog->states[b].pool = GPU_NONE;
        if (buffer->role != QN_ROLE_STATE) {
            continue;
        }
        /* At most 2^43 bytes a row and 2^32 cells. */
        const uint64_t row = gpu_state_row_bytes(buffer->format, buffer->dims[0]),
                       cells = prog->limits.cells[buffer->group];
        const uint64_t bytes = row > (UINT64_C(1) << 61) / cells ? UINT64_C(1) << 61 : row * cells;
        *out_row_bytes = row > *out_row_bytes ? row : *out_row_bytes;
        status = check_binding(prog, buffer, bytes, err);
        if (status == QN_OK) {
            status = gpu_pools_place(&prog->device->caps, &prog->state_pools, bytes, qn_program_name(program, buffer),
                                     &prog->states[b], err);
        }
    }
    return status;
}

static qn_status lay_out_acts(qn_prog *prog, qn_error *err) {
    qn_status status =
        gpu_acts_plan(prog->program, &prog->limits, prog->flags, prog->acts, &prog->region_bytes[GPU_REGION_ACTS], err);
    for (uint32_t b = 0; b < prog->program->n_buffers && status == QN_OK; b++) {
        status = check_binding(prog, qn_program_buffer(prog->program, b), prog->acts[b].bytes, err);
    }
    return status;
}

bool gpu_layout_is_sampled(const qn_buffer *buffer) {
    return buffer->role == QN_ROLE_OUTPUT && buffer->rank == 2 && buffer->format == QN_FORMAT_F32
           && buffer->symbols[1] == QN_DIM_OUTPUTS;
}

static qn_status lay_out_outputs(qn_prog *prog, uint64_t *out_scratch, qn_error *err) {
    const qn_limits *limits = &prog->limits;
    qn_status status = QN_OK;
    *out_scratch = 0;
    for (uint32_t b = 0; b < prog->program->n_buffers && status == QN_OK; b++) {
        const qn_buffer *buffer = qn_program_buffer(prog->program, b);
        if (buffer->role != QN_ROLE_OUTPUT) {
            continue;
        }
        const uint64_t bytes = gpu_block_buffer_bytes(buffer, limits->max_tokens, limits->max_outputs);
        prog->output_at[b] = prog->region_bytes[GPU_REGION_OUTPUTS];
        prog->region_bytes[GPU_REGION_OUTPUTS] += gpu_round_up(bytes, GPU_PLACE_ALIGN);
        status = check_binding(prog, buffer, bytes, err);
        if (gpu_layout_is_sampled(buffer)) {
            const uint64_t scratch =
                gpu_top_k_bytes(&prog->device->caps, buffer->dims[0], limits->max_outputs, GPU_MAX_TOP_K);
            prog->region_bytes[GPU_REGION_TOP] =
                2 * gpu_round_up((uint64_t)limits->max_outputs * GPU_MAX_TOP_K * 4, GPU_PLACE_ALIGN);
            *out_scratch = scratch > *out_scratch ? scratch : *out_scratch;
        }
    }
    prog->readback_bytes = prog->region_bytes[GPU_REGION_OUTPUTS] + prog->region_bytes[GPU_REGION_TOP];
    return status;
}

/* Inputs lie in the block of the step's numbers. */
static qn_status check_inputs(const qn_prog *prog, qn_error *err) {
    qn_status status = QN_OK;
    for (uint32_t b = 0; b < prog->program->n_buffers && status == QN_OK; b++) {
        const qn_buffer *buffer = qn_program_buffer(prog->program, b);
        if (buffer->role == QN_ROLE_INPUT) {
            status = check_binding(prog, buffer, gpu_block_buffer_bytes(buffer, prog->limits.max_tokens, prog->limits.max_outputs), err);
        }
    }
    return status;
}

/* --- Sessions ----------------------------------------------------------------------------------------------------- */

static uint64_t find_scratch_bytes(const qn_prog *prog, uint64_t row_bytes, uint64_t top_bytes) {
    uint64_t most = row_bytes == 0 ? top_bytes : row_bytes;
    most = most < LEAST_MOVE_BYTES && row_bytes > 0 ? LEAST_MOVE_BYTES : most;
    most = top_bytes > most ? top_bytes : most;
    for (uint32_t i = 0; i < prog->program->n_ops; i++) {
        const uint64_t bytes = gpu_scratch_bytes(&prog->device->caps, prog->program, &prog->limits, i);
        most = bytes > most ? bytes : most;
    }
    return gpu_round_up(most, 4);
}

/* One op's activations in bytes are there at a time. */
static uint64_t find_quants_bytes(const qn_prog *prog) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < prog->program->n_ops; i++) {
        const uint64_t bytes = gpu_quants_bytes(&prog->device->caps, prog->program, &prog->limits, prog->numeric, i);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static qn_status place_regions(qn_prog *prog, qn_error *err) {
    static const char *const names[GPU_REGIONS] = {"numbers of a step", "activations", "scratch",
                                                   "activations in bytes", "outputs", "candidates"};
    qn_status status = QN_OK;
    for (uint32_t r = 0; r < GPU_REGIONS && status == QN_OK; r++) {
        prog->regions[r].pool = GPU_NONE;
        if (prog->region_bytes[r] > 0) {
            status = gpu_pools_place(&prog->device->caps, &prog->session_pools, prog->region_bytes[r], names[r],
                                     &prog->regions[r], err);
        }
    }
    return status;
}

/* Launches of a step: the ops, a copy before and one behind for each output, and sampling. */
static void count_launches(qn_prog *prog) {
    const qn_program *program = prog->program;
    uint32_t n_states = 0;
    prog->room = 4 + GPU_MOST_EXTRA;
    for (uint32_t b = 0; b < program->n_buffers; b++) {
        const uint32_t role = qn_program_buffer(program, b)->role;
        prog->room += role == QN_ROLE_OUTPUT;
        n_states += role == QN_ROLE_STATE;
    }
    for (uint32_t i = 0; i < program->n_ops; i++) {
        prog->room += gpu_most_launches(&prog->device->caps, program, &prog->limits, prog->numeric, i);
    }
    prog->move_room = n_states < 16 ? 64 : n_states < 128 ? 4 * n_states : 512;
}

qn_status gpu_layout_make(qn_prog *prog, qn_error *err) {
    uint64_t row_bytes = 0, top_bytes = 0;
    gpu_shape largest;
    gpu_block block;
    qn_status status = place_weights(prog, err);
    lay_out_tables(prog);
    if (status == QN_OK) {
        status = place_states(prog, &row_bytes, err);
    }
    if (status == QN_OK) {
        status = lay_out_acts(prog, err);
    }
    if (status == QN_OK) {
        status = lay_out_outputs(prog, &top_bytes, err);
    }
    if (status == QN_OK) {
        status = check_inputs(prog, err);
    }
    if (status != QN_OK) {
        return status;
    }
    gpu_block_largest(prog, &largest);
    gpu_block_lay_out(prog, &largest, &block);
    prog->block_bytes = block.bytes;
    /* Where the device reads the host's memory, kernels read the numbers of a step where they were written. */
    prog->region_bytes[GPU_REGION_BLOCK] = (prog->device->caps.flags & GPU_CAP_UNIFIED) != 0 ? 0 : block.bytes;
    prog->region_bytes[GPU_REGION_SCRATCH] = find_scratch_bytes(prog, row_bytes, top_bytes);
    prog->region_bytes[GPU_REGION_QUANTS] = find_quants_bytes(prog);
    count_launches(prog);
    return place_regions(prog, err);
}

/* --- Plan --------------------------------------------------------------------------------------------------------- */

uint64_t gpu_layout_code_bytes(const qn_prog *prog) {
    const qn_program *program = prog->program;
    const uint64_t n_launches = prog->room > prog->move_room ? prog->room : prog->move_room;
    return sizeof *prog + program->total_bytes + n_launches * sizeof(gpu_launch)
           + program->n_ops * (sizeof prog->tables[0] + sizeof prog->partner[0])
           + program->n_buffers
                 * (sizeof prog->weights[0] + sizeof prog->weight_memory[0] + sizeof prog->acts[0]
                    + sizeof prog->states[0] + sizeof prog->output_at[0] + 2 * sizeof prog->weight_pools.bytes[0]);
}

void gpu_layout_plan(const qn_prog *prog, qn_memory_plan *plan) {
    const gpu_caps *caps = &prog->device->caps;
    const uint64_t step_room = (uint64_t)GPU_RECORDINGS * prog->room;
    plan->numeric = prog->numeric;
    plan->borrowed_bytes = prog->borrowed_bytes;
    plan->device_bytes[QN_MEM_WEIGHTS] = gpu_pools_bytes(caps, &prog->weight_pools);
    plan->device_bytes[QN_MEM_STATE] = gpu_pools_bytes(caps, &prog->state_pools);
    plan->device_bytes[QN_MEM_SCRATCH] = gpu_pools_bytes(caps, &prog->session_pools);
    plan->device_bytes[QN_MEM_CODE] = gpu_memory_bytes(caps, prog->tables_bytes);
    plan->host_bytes[QN_MEM_CODE] = gpu_layout_code_bytes(prog) + prog->values_bytes;
    plan->host_bytes[QN_MEM_SCRATCH] =
        sizeof(qn_session) + prog->state_pools.n * sizeof(gpu_piece) + gpu_memory_bytes(caps, prog->block_bytes)
        + gpu_memory_bytes(caps, prog->readback_bytes) + step_room * (caps->launch_bytes + sizeof(uint32_t))
        + prog->move_room * caps->launch_bytes + (GPU_RECORDINGS + 1) * caps->recording_bytes;
}
