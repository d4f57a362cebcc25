/* specimen_turn.c — one step with its memory. */
#include <stdlib.h>
#include <string.h>

#include "protocol/specimen.h"

#define GUARD_BYTES 64u
#define GUARD 0xa5
#define UNWRITTEN 0xee

static void fill_numbers(const qn_buffer *buffer, int32_t *numbers, uint32_t first_position, uint32_t n, uint32_t vocab) {
    for (uint32_t i = 0; i < n; i++) {
        numbers[i] = buffer->symbols[0] == QN_DIM_TOKENS ? (int32_t)((first_position + i) * 7 % vocab) : (int32_t)i;
    }
}

static void fill_floats(float *values, uint32_t first_position, uint64_t n_rows, uint64_t n_columns) {
    for (uint64_t row = 0; row < n_rows; row++) {
        for (uint64_t c = 0; c < n_columns; c++) {
            values[row * n_columns + c] = (float)((int64_t)((first_position + row) * 31 + c * 17) % 29 - 14) / 16.0f;
        }
    }
}

static void fill_input(const specimen *s, const qn_buffer *buffer, void *data, uint32_t first_position, uint32_t n_tokens) {
    if (buffer->format == QN_FORMAT_I32) {
        fill_numbers(buffer, data, first_position, n_tokens, s->vocab);
    } else {
        fill_floats(data, first_position, n_tokens, buffer->dims[0]);
    }
}

static void add_binding(cf_context *ctx, const specimen *s, specimen_turn *t, uint32_t number, uint32_t first_position) {
    const qn_buffer *buffer = qn_program_buffer(s->program, number);
    const uint32_t n = t->step.n_tokens;
    const uint64_t bytes = qn_buffer_rows(buffer, n, n, 0) * qn_format_bytes(buffer->format, qn_buffer_dim(buffer, 0, n, n, 0));
    const uint32_t at = t->step.n_bindings++;
    CF_CHECK(ctx, at < SPECIMEN_BINDINGS, "the specimen has more inputs and outputs than its room");
    unsigned char *memory = malloc(bytes + GUARD_BYTES);
    CF_CHECK(ctx, memory != NULL, "this machine has no memory for the test itself");
    memset(memory + bytes, GUARD, GUARD_BYTES);
    t->memory[at] = memory;
    t->bindings[at] = (qn_binding){.buffer = number, .data = memory, .bytes = bytes};
    if (buffer->role == QN_ROLE_INPUT) {
        fill_input(s, buffer, memory, first_position, n);
    } else {
        t->output = (const float *)(const void *)memory;
        t->n_output = bytes / sizeof(float);
    }
}

static void place(const specimen *s, specimen_turn *t, uint32_t first_position) {
    const uint32_t n = t->step.n_tokens;
    for (uint32_t i = 0; i < n; i++) {
        t->positions[i] = (int32_t)(first_position + i);
        t->cells[i] = first_position + i;
    }
    t->spans[0] = (qn_span){.first_cell = 0, .n_cells = first_position + n, .first_position = 0};
    t->span_at[0] = 0;
    t->span_at[1] = 1;
    t->placements[0] = (qn_placement){.size = sizeof t->placements[0], .n_spans = 1, .cells = t->cells, .spans = t->spans, .span_at = t->span_at};
    t->step.positions = t->positions;
    t->step.placements = s->has_state ? t->placements : NULL;
    t->step.placement_stride = sizeof t->placements[0];
}

void specimen_turn_init(cf_context *ctx, const specimen *self, specimen_turn *out, uint32_t first_position, uint32_t n_tokens) {
    memset(out, 0, sizeof *out);
    out->step = (qn_step){.size = sizeof out->step, .n_tokens = n_tokens, .n_outputs = n_tokens, .n_sequences = 1};
    place(self, out, first_position);
    for (uint32_t b = 0; b < self->program->n_buffers; b++) {
        const uint32_t role = qn_program_buffer(self->program, b)->role;
        if (role == QN_ROLE_INPUT || role == QN_ROLE_OUTPUT) {
            add_binding(ctx, self, out, b, first_position);
        }
    }
    out->step.bindings = out->bindings;
    out->step.binding_stride = sizeof out->bindings[0];
    specimen_turn_prefill(out);
}

void specimen_turn_deinit(specimen_turn *self) {
    for (uint32_t i = 0; i < SPECIMEN_BINDINGS; i++) {
        free(self->memory[i]);
    }
    memset(self, 0, sizeof *self);
}

void specimen_turn_prefill(specimen_turn *self) {
    for (uint32_t i = 0; i < self->step.n_bindings; i++) {
        if (self->memory[i] == (const void *)self->output) {
            memset(self->memory[i], UNWRITTEN, self->n_output * sizeof(float));
        }
    }
}

bool specimen_turn_is_untouched(const specimen_turn *self) {
    const unsigned char *bytes = (const unsigned char *)self->output;
    for (uint64_t i = 0; i < self->n_output * sizeof(float); i++) {
        if (bytes[i] != UNWRITTEN) {
            return false;
        }
    }
    return true;
}

bool specimen_turn_is_overrun(const specimen_turn *self) {
    for (uint32_t i = 0; i < self->step.n_bindings; i++) {
        const unsigned char *behind = (const unsigned char *)self->memory[i] + self->bindings[i].bytes;
        for (uint32_t g = 0; g < GUARD_BYTES; g++) {
            if (behind[g] != GUARD) {
                return true;
            }
        }
    }
    return false;
}
