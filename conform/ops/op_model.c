/* op_model.c — programs with their data. */
#include "op_model.h"

#include <string.h>

#include <quoin/panels.h>

#define MOST_TOKENS 4096u

void op_model_init(op_model *self, cf_context *ctx, uint32_t kind, uint64_t salt) {
    memset(self, 0, sizeof *self);
    self->ctx = ctx;
    self->random = cf_random_make(ctx, salt);
    self->kind = kind;
    self->builder = op_program_create();
    CF_CHECK(ctx, self->builder != NULL, "the suite has no memory");
}

void op_model_free(op_model *self) {
    op_program_destroy(self->builder);
    scratch_free(&self->memory);
    memset(self, 0, sizeof *self);
}

void op_model_finish(op_model *self) {
    self->program = op_program_finish(self->builder);
    CF_CHECK(self->ctx, self->program != NULL, "the suite has no room for its program");
}

void *op_model_take(op_model *self, uint64_t count, size_t size) {
    return scratch_take(self->ctx, &self->memory, count, size);
}

uint32_t op_model_weight_behind(op_model *self, const char *name, qn_format format, uint64_t columns, uint64_t rows,
                                uint64_t first_rows) {
    const uint32_t buffer = op_program_add_weight(self->builder, name, format, columns, rows);
    self->weights[buffer] = op_weight_make(self->ctx, &self->memory, &self->random, format, self->kind,
                                           first_rows * columns, columns * (rows == 0 ? 1 : rows));
    return buffer;
}

uint32_t op_model_weight_sized(op_model *self, const char *name, qn_format format, uint64_t columns, uint64_t rows,
                               double size) {
    const uint32_t buffer = op_program_add_weight(self->builder, name, format, columns, rows);
    self->weights[buffer] = op_weight_make_sized(self->ctx, &self->memory, &self->random, format, size, 0,
                                                 columns * (rows == 0 ? 1 : rows));
    return buffer;
}

uint32_t op_model_weight_of(op_model *self, const char *name, uint32_t of, uint64_t first_row, uint64_t rows) {
    const op_weight *const whole = &self->weights[of];
    const qn_buffer tensor = self->builder->buffers[of];
    const uint32_t buffer = op_program_add_weight(self->builder, name, tensor.format, tensor.dims[0], rows);
    op_weight *const part = &self->weights[buffer];
    *part = *whole;
    part->first = whole->first + first_row * tensor.dims[0];
    part->values = whole->values + first_row * tensor.dims[0];
    part->count = rows * tensor.dims[0];
    return buffer;
}

uint32_t op_model_weight(op_model *self, const char *name, qn_format format, uint64_t columns, uint64_t rows) {
    return op_model_weight_behind(self, name, format, columns, rows, 0);
}

void op_model_into_panels(op_model *self, uint32_t buffer) {
    qn_buffer *const shape = &self->builder->buffers[buffer];
    op_weight *const w = &self->weights[buffer];
    const uint32_t kind = blk_panel_find(shape->format);
    blk_panels p;
    CF_CHECK(self->ctx, kind != BLK_NO_PANELS && blk_panels_init(&p, kind, (w->first + w->count) / shape->dims[0], shape->dims[0]),
             "format %u has no panels", shape->format);
    w->n_panel_bytes = blk_panels_bytes(&p);
    char *const room = op_model_take(self, w->n_panel_bytes + BLK_PANEL_ALIGN, 1);
    w->panels = room + (BLK_PANEL_ALIGN - (uintptr_t)room % BLK_PANEL_ALIGN) % BLK_PANEL_ALIGN;
    memcpy(w->panels, w->bytes, blk_panels_head(&p) != 0 ? sizeof(float) : 0); /* the scale of TERNARY */
    blk_panels_pack(&p, (uint8_t *)w->panels + blk_panels_head(&p), 0, p.n_panels, w->bytes, 0);
    shape->flags |= QN_BUFFER_PANELS;
}

uint32_t op_model_vector(op_model *self, const char *name, const float *values, uint64_t n) {
    const uint32_t buffer = op_program_add_weight(self->builder, name, QN_FORMAT_F32, n, 0);
    op_weight *const weight = &self->weights[buffer];
    weight->n_bytes = n * sizeof *values;
    weight->bytes = op_model_take(self, n, sizeof *values);
    weight->values = weight->bytes;
    weight->count = n;
    memcpy(weight->bytes, values, weight->n_bytes);
    return buffer;
}

uint32_t op_model_rows(op_model *self, const char *name, uint32_t role, uint64_t columns, uint32_t symbol) {
    return op_program_add_rows(self->builder, name, role, QN_FORMAT_F32, columns, symbol);
}

uint32_t op_model_numbers(op_model *self, const char *name, uint32_t symbol) {
    return op_program_add_rows(self->builder, name, QN_ROLE_INPUT, QN_FORMAT_I32, 0, symbol);
}

float *op_model_values(op_model *self, bool has_peaks, uint64_t n) {
    float *const values = op_model_take(self, n, sizeof *values);
    op_fill(&self->random, self->kind, has_peaks, n, values);
    return values;
}

void op_step_init(op_step *self, uint32_t n_tokens, uint32_t n_outputs) {
    static int32_t ascending[MOST_TOKENS];
    if (ascending[MOST_TOKENS - 1] == 0) {
        for (uint32_t i = 0; i < MOST_TOKENS; i++) {
            ascending[i] = (int32_t)i;
        }
    }
    memset(self, 0, sizeof *self);
    self->n_tokens = n_tokens;
    self->n_outputs = n_outputs;
    self->n_sequences = 1;
    self->positions = ascending;
}

qn_limits op_model_limits(const op_model *self, uint32_t tokens, uint32_t outputs, uint32_t sequences, uint32_t cells) {
    qn_limits limits = {.size = sizeof limits, .max_tokens = tokens, .max_outputs = outputs == 0 ? 1 : outputs,
                        .max_sequences = sequences, .n_groups = self->builder->n_groups};
    for (uint32_t g = 0; g < limits.n_groups; g++) {
        limits.cells[g] = cells;
    }
    return limits;
}

uint64_t op_step_rows(const op_step *self, const qn_buffer *buffer) {
    switch (buffer->symbols[buffer->rank - 1]) {
    case QN_DIM_TOKENS: return self->n_tokens;
    case QN_DIM_OUTPUTS: return self->n_outputs;
    default: return buffer->rank == 1 ? 1 : buffer->dims[buffer->rank - 1];
    }
}

uint64_t op_step_elements(const op_step *self, const qn_buffer *buffer) {
    return op_step_rows(self, buffer) * (buffer->rank == 1 ? 1 : buffer->dims[0]);
}
