/* lower_rig.c — views of operands as core would make them, the lowering, and the emulator behind it. */
#include "lower_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <quoin/glue.h>

#include "emulator.h"

void lower_rig_init(lower_rig *self, const qn_program *program) {
    *self = (lower_rig){.program = program, .numeric = QN_NUMERIC_F32ACC};
    self->caps = (gpu_caps){.subgroup = 1, .max_group = 256, .compute_units = 2, .max_grid = {65535, 65535, 65535}, .shared_bytes = 32768,
                            .max_memory_bytes = UINT64_C(1) << 40, .max_binding_bytes = UINT64_C(1) << 31, .memory_align = 4};
    self->limits = (qn_limits){.size = sizeof self->limits, .max_tokens = 4096, .max_outputs = 4096, .max_sequences = 64,
                               .n_groups = program->n_groups};
    self->launches = malloc(LOWER_RIG_LAUNCHES * sizeof *self->launches);
    assert_non_null(self->launches);
}

void lower_rig_deinit(lower_rig *self) {
    free(self->launches);
}

static gpu_binding whole(gpu_memory *memory, const void *data, uint64_t bytes) {
    *memory = (gpu_memory){.bytes = bytes};
    memcpy(&memory->host, &data, sizeof data); /* what kernels only read is shared with what they do not */
    return (gpu_binding){.memory = memory, .bytes = bytes};
}

void lower_rig_set(lower_rig *self, uint32_t buffer, void *data, uint64_t bytes) {
    whole(&self->memory[buffer], data, (bytes + 3) / 4 * 4);
}

void lower_rig_place(lower_rig *self, uint32_t n_tokens, int32_t *positions, uint32_t *sequences, const uint32_t *cells, uint32_t n_spans,
                     const qn_span *spans, uint32_t n_sequences, const uint32_t *span_at) {
    uint32_t most = 1;
    for (uint32_t s = 0; s < n_sequences; s++) {
        uint32_t n = 0;
        for (uint32_t i = span_at[s]; i < span_at[s + 1]; i++) {
            n += spans[i].n_cells;
        }
        most = n > most ? n : most;
    }
    self->block.positions = whole(&self->step_memory[0], positions, n_tokens * 4);
    self->block.sequences = whole(&self->step_memory[1], sequences, n_tokens * 4);
    self->block.cells[0] = whole(&self->step_memory[2], cells, n_tokens * 4);
    self->block.spans[0] = whole(&self->step_memory[3], spans, n_spans * sizeof *spans);
    self->block.span_at[0] = whole(&self->step_memory[4], span_at, (n_sequences + 1) * 4);
    self->block.most_visible[0] = most;
}

static gpu_view view_of(lower_rig *self, uint32_t b, uint32_t n_tokens, uint32_t n_outputs) {
    const qn_buffer *buffer = qn_program_buffer(self->program, b);
    gpu_memory *memory = &self->memory[b];
    const uint64_t unit_rows = qn_buffer_rows(buffer, n_tokens, n_outputs, 0);
    gpu_view view = {.buffer = buffer, .at = {.memory = memory, .bytes = memory->bytes},
                     .n_columns = qn_buffer_dim(buffer, 0, n_tokens, n_outputs, 0), .n_rows = unit_rows};
    view.row_bytes = buffer->role == QN_ROLE_STATE ? gpu_state_row_bytes(buffer->format, view.n_columns)
                                                   : qn_format_bytes(buffer->format, view.n_columns);
    if (buffer->role == QN_ROLE_STATE) {
        view.n_rows = memory->bytes / view.row_bytes;
    }
    if (buffer->format == QN_FORMAT_TERNARY) {
        view.first_element = self->first_element[b];
        view.row_bytes = 0;
    }
    return view;
}

void lower_rig_run_launches(const gpu_launch *launches, uint32_t n, uint32_t subgroup) {
    for (uint32_t i = 0; i < n; i++) {
        emu_launch launch = {.kernel = launches[i].kernel, .grid = {launches[i].grid[0], launches[i].grid[1], launches[i].grid[2]},
                             .n_buffers = launches[i].n_buffers, .params = launches[i].params, .n_params = launches[i].n_params,
                             .subgroup = subgroup};
        for (uint32_t b = 0; b < launch.n_buffers; b++) {
            const gpu_binding *at = &launches[i].buffers[b];
            assert_true(at->at % 4 == 0 && at->bytes >= 4 && at->at + at->bytes <= at->memory->bytes);
            launch.buffers[b] = (emu_binding){(char *)at->memory->host + at->at, at->bytes};
        }
        char text[400] = "";
        if (emu_run(&launch, text, sizeof text) != 0) {
            fail_msg("%s", text);
        }
    }
}

/* Kernels that were announced, all writes behind all reads, and no neighbour at the beginning. */
static void check_launches(const lower_rig *self, uint32_t op, uint32_t partner) {
    uint32_t kernels[16];
    const uint32_t n = gpu_kernels_of(&self->caps, self->program, op, partner, self->numeric, kernels, 16);
    for (uint32_t i = 0; i < self->n_launches; i++) {
        uint32_t k = 0;
        while (k < n && kernels[k] != self->launches[i].kernel) {
            k++;
        }
        assert_true(k < n && gpu_kernel_writes(self->launches[i].kernel) < self->launches[i].n_buffers);
    }
}

static gpu_call call_of(lower_rig *self, uint32_t index, uint32_t n_tokens, uint32_t n_outputs) {
    const qn_op *op = qn_program_op(self->program, index);
    const uint32_t *operands = qn_program_operands(self->program, op);
    char text[184] = "";
    if (!gpu_can_lower(&self->caps, self->program, index, self->numeric, text)) {
        fail_msg("the verdict is no: %s", text);
    }
    gpu_call call = {.index = index, .op = op, .attrs = qn_program_attrs(self->program, op), .n_inputs = op->n_inputs};
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        call.in[i] = view_of(self, operands[i], n_tokens, n_outputs);
    }
    if (op->n_outputs == 1) {
        call.out = view_of(self, operands[op->n_inputs], n_tokens, n_outputs);
    }
    return call;
}

void lower_rig_run_pair(lower_rig *self, uint32_t index, uint32_t partner, uint32_t n_tokens, uint32_t n_outputs) {
    const gpu_call call = call_of(self, index, n_tokens, n_outputs), next = call_of(self, partner, n_tokens, n_outputs);
    static uint32_t zeros[16];
    gpu_memory zero_memory, scratch_memory, quants_memory, table_memory;
    const uint64_t scratch_bytes = gpu_scratch_bytes(&self->caps, self->program, &self->limits, index) + 4;
    const uint64_t quants_bytes = gpu_quants_bytes(&self->caps, self->program, &self->limits, self->numeric, index) + 4;
    const uint64_t table_bytes = gpu_table_bytes(self->program, index) + 4;
    void *scratch = malloc(scratch_bytes), *quants = malloc(quants_bytes), *table = malloc(table_bytes);
    gpu_binding *tables = calloc(self->program->n_ops, sizeof *tables);
    assert_true(scratch != NULL && quants != NULL && table != NULL && tables != NULL);
    gpu_table_write(self->program, index, self->factors, table);
    tables[index] = whole(&table_memory, table, table_bytes);
    gpu_lowering to = {.caps = &self->caps, .program = self->program, .limits = &self->limits, .block = &self->block,
                       .n_tokens = n_tokens, .n_outputs = n_outputs, .numeric = self->numeric,
                       .scratch = whole(&scratch_memory, scratch, scratch_bytes), .zero = whole(&zero_memory, zeros, sizeof zeros),
                       .quants = whole(&quants_memory, quants, quants_bytes), .tables = tables, .launches = self->launches,
                       .room = gpu_most_launches(&self->caps, self->program, &self->limits, self->numeric, index)};
    assert_true(to.room <= LOWER_RIG_LAUNCHES);
    qn_error err = {.size = sizeof err};
    if ((index == partner ? gpu_lower_op(&to, &call, &err) : gpu_lower_pair(&to, &call, &next, &err)) != QN_OK) {
        fail_msg("%s", err.text);
    }
    self->n_launches = to.n_launches;
    check_launches(self, index, partner);
    lower_rig_run_launches(self->launches, self->n_launches, self->subgroup);
    free(scratch);
    free(quants);
    free(table);
    free(tables);
}

void lower_rig_run(lower_rig *self, uint32_t index, uint32_t n_tokens, uint32_t n_outputs) {
    lower_rig_run_pair(self, index, index, n_tokens, n_outputs);
}
