/* workload.c — adding up the buffers of a decode program. */
#include "decode/workload.h"

#include <string.h>

#include <quoin/glue.h>

#include "backends/program_split.h"

static void add_weights(workload *w, qn_format format, uint64_t bytes) {
    for (uint32_t i = 0; i < PROBE_MAX_RATES; i++) {
        if (i == w->n_weights) {
            w->n_weights++;
            w->weights[i].format = format;
        }
        if (w->weights[i].format == format) {
            w->weights[i].bytes += bytes;
            return;
        }
    }
    w->weights[PROBE_MAX_RATES - 1].bytes += bytes; /* more formats than are told apart: the last one stands for them */
}

static uint64_t buffer_bytes(const qn_buffer *buffer) {
    uint64_t elements = 1;
    for (uint32_t d = 0; d < buffer->rank; d++) {
        elements *= buffer->dims[d];
    }
    return qn_format_bytes(buffer->format, elements);
}

static void add_program(const qn_program *program, workload *w) {
    w->n_ops = program->n_ops;
    w->n_layers = program_count_layers(program);
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        const qn_buffer *buffer = qn_program_buffer(program, i);
        w->memory_bytes += buffer->role == QN_ROLE_WEIGHT ? buffer_bytes(buffer) : 0;
    }
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        if (op->op == QN_OP_MATMUL) {
            const uint32_t *operands = qn_program_operands(program, op);
            for (uint32_t k = 0; k < op->n_inputs && operands[k] < program->n_buffers; k++) {
                const qn_buffer *buffer = qn_program_buffer(program, operands[k]);
                if (buffer->role == QN_ROLE_WEIGHT && buffer->rank > 1) {
                    add_weights(w, buffer->format, buffer_bytes(buffer));
                }
            }
        }
    }
}

qn_status workload_measure(const model *m, const decoder_options *options, workload *out, error_context *err) {
    decoder *d = NULL;
    memset(out, 0, sizeof *out);
    QN_TRY(decoder_build(m, options, &d, err), err, "counting what a token needs");
    add_program(d->program, out);
    for (uint32_t g = 0; g < d->n_groups; g++) {
        const uint32_t window = d->group_window[g];
        const uint64_t cells = window > 0 && window < options->n_ctx ? window : options->n_ctx;
        out->kv_bytes += cells * d->state_bytes_per_cell[g];
    }
    out->memory_bytes += out->kv_bytes;
    decoder_destroy(d);
    return QN_OK;
}
