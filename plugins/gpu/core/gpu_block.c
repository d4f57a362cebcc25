/* gpu_block.c — the numbers of a step as words in memory: where they lie for a shape, and writing them.
 *
 *   positions [T] | sequences [T] | per group: cells [T], span_at [max_sequences + 1], spans [room][4] | inputs
 *
 * Each begins at a multiple of 64 bytes. Room for spans is a power of two, so that few shapes come of many placements.
 */
#include "gpu_core.h"

#define REGION_ALIGN 64u
#define LEAST_SPANS 4u
#define LEAST_VISIBLE 256u

uint64_t gpu_block_buffer_bytes(const qn_buffer *buffer, uint32_t n_tokens, uint32_t n_outputs) {
    return qn_buffer_rows(buffer, n_tokens, n_outputs, 0)
           * qn_format_bytes(buffer->format, qn_buffer_dim(buffer, 0, n_tokens, n_outputs, 0));
}

static uint64_t append(gpu_block *block, uint64_t bytes) {
    const uint64_t at = block->bytes;
    block->bytes += gpu_round_up(bytes, REGION_ALIGN);
    return at;
}

void gpu_block_lay_out(const qn_prog *prog, const gpu_shape *shape, gpu_block *out) {
    const qn_program *program = prog->program;
    const uint64_t row = (uint64_t)shape->n_tokens * 4;
    *out = (gpu_block){0};
    out->positions = append(out, row);
    out->sequences = append(out, row);
    for (uint32_t g = 0; g < program->n_groups; g++) {
        out->cells[g] = append(out, row);
        out->span_at[g] = append(out, ((uint64_t)prog->limits.max_sequences + 1) * 4);
        out->spans[g] = append(out, (uint64_t)shape->spans[g] * sizeof(qn_span));
    }
    out->inputs = out->bytes;
    for (uint32_t b = 0; b < program->n_buffers; b++) {
        if (qn_program_buffer(program, b)->role == QN_ROLE_INPUT) {
            append(out, gpu_block_buffer_bytes(qn_program_buffer(program, b), shape->n_tokens, shape->n_outputs));
        }
    }
}

uint64_t gpu_block_input(const qn_prog *prog, const gpu_shape *shape, const gpu_block *block, uint32_t buffer) {
    uint64_t at = block->inputs;
    for (uint32_t b = 0; b < buffer; b++) {
        const qn_buffer *other = qn_program_buffer(prog->program, b);
        if (other->role == QN_ROLE_INPUT) {
            at += gpu_round_up(gpu_block_buffer_bytes(other, shape->n_tokens, shape->n_outputs), REGION_ALIGN);
        }
    }
    return at;
}

/* --- Shapes ------------------------------------------------------------------------------------------------------- */

/* The smallest of least, 2 least, 4 least, … that holds n; most when that is less. */
static uint32_t find_bucket(uint64_t n, uint32_t least, uint64_t most) {
    uint64_t bucket = least;
    while (bucket < n) {
        bucket *= 2;
    }
    bucket = bucket < most ? bucket : most;
    return bucket < UINT32_MAX ? (uint32_t)bucket : UINT32_MAX;
}

/* Spans that are not empty and do not overlap within a sequence have a cell each. */
static uint64_t most_spans(const qn_prog *prog, uint32_t group) {
    return (uint64_t)prog->limits.max_sequences * prog->limits.cells[group];
}

static qn_status measure_group(const qn_prog *prog, const qn_step *step, uint32_t group, gpu_shape *out,
                               qn_error *err) {
    const qn_placement *placement = qn_step_placement(step, group);
    const uint32_t capacity = prog->limits.cells[group];
    uint64_t n_spans = 0, visible = 0;
    for (uint32_t s = 0; s < step->n_sequences; s++) {
        uint64_t cells = 0;
        for (uint32_t i = placement->span_at[s]; i < placement->span_at[s + 1]; i++) {
            cells += placement->spans[i].n_cells;
            n_spans += placement->spans[i].n_cells > 0;
        }
        if (cells > capacity) {
            return qn_fail(err, QN_BAD_ARG,
                           "step: cell group %u: the spans of sequence %u have %llu cells together; there are %u",
                           group, s, (unsigned long long)cells, capacity);
        }
        visible = cells > visible ? cells : visible;
    }
    out->spans[group] = find_bucket(n_spans, LEAST_SPANS, UINT64_MAX);
    out->visible[group] = find_bucket(visible, LEAST_VISIBLE, capacity);
    return QN_OK;
}

qn_status gpu_block_shape(const qn_prog *prog, const qn_step *step, gpu_shape *out, qn_error *err) {
    qn_status status = QN_OK;
    *out = (gpu_shape){.n_tokens = step->n_tokens, .n_outputs = step->n_outputs};
    for (uint32_t g = 0; g < prog->program->n_groups && status == QN_OK; g++) {
        status = measure_group(prog, step, g, out, err);
    }
    return status;
}

void gpu_block_largest(const qn_prog *prog, gpu_shape *out) {
    *out = (gpu_shape){.n_tokens = prog->limits.max_tokens, .n_outputs = prog->limits.max_outputs};
    for (uint32_t g = 0; g < prog->program->n_groups; g++) {
        out->spans[g] = find_bucket(most_spans(prog, g), LEAST_SPANS, UINT64_MAX);
        out->visible[g] = prog->limits.cells[g];
    }
}

/* --- Writing ------------------------------------------------------------------------------------------------------ */

static void write_group(const qn_step *step, uint32_t group, const gpu_block *block, char *to) {
    const qn_placement *placement = qn_step_placement(step, group);
    uint32_t *span_at = (uint32_t *)(void *)(to + block->span_at[group]);
    qn_span *spans = (qn_span *)(void *)(to + block->spans[group]);
    uint32_t n = 0;
    memcpy(to + block->cells[group], placement->cells, (size_t)step->n_tokens * 4);
    for (uint32_t s = 0; s < step->n_sequences; s++) {
        span_at[s] = n;
        for (uint32_t i = placement->span_at[s]; i < placement->span_at[s + 1]; i++) {
            if (placement->spans[i].n_cells > 0) {
                spans[n++] = placement->spans[i];
            }
        }
    }
    span_at[step->n_sequences] = n;
}

void gpu_block_write(const qn_prog *prog, const qn_step *step, const gpu_shape *shape, void *to) {
    char *base = to;
    gpu_block block;
    gpu_block_lay_out(prog, shape, &block);
    memcpy(base + block.positions, step->positions, (size_t)step->n_tokens * 4);
    if (step->sequences != NULL) {
        memcpy(base + block.sequences, step->sequences, (size_t)step->n_tokens * 4);
    } else {
        memset(base + block.sequences, 0, (size_t)step->n_tokens * 4);
    }
    for (uint32_t g = 0; g < prog->program->n_groups; g++) {
        write_group(step, g, &block, base);
    }
    for (uint32_t b = 0; b < prog->program->n_buffers; b++) {
        if (qn_program_buffer(prog->program, b)->role == QN_ROLE_INPUT) {
            const qn_binding *binding = qn_step_binding(step, b);
            if (binding->bytes > 0) {
                memcpy(base + gpu_block_input(prog, shape, &block, b), binding->data, (size_t)binding->bytes);
            }
        }
    }
}
