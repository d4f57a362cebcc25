/* token_work.c — walking over the ops. */
#include "bench/token_work.h"

#include <quoin/glue.h>
#include <quoin/ops.h>

/* The model's tensors that a step reads whole. An embedding that is not the output as well gives a row a token: nothing beside the rest. */
static uint64_t count_bytes(const plan *p) {
    const model_tensor *table = model_find(p->m, "token_embd.weight");
    const bool is_tied = model_find(p->m, "output.weight") == NULL;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->dec->n_weights; i++) {
        const weight_binding *w = &p->dec->weights[i];
        const bool is_only_gathered = w->tensor == table && !is_tied;
        bytes += w->first_element == 0 && !is_only_gathered ? w->tensor->bytes : 0;
    }
    return bytes;
}

static bool is_counted_as_bytes(const plan *p, qn_format format) {
    const qn_format_info *info = qn_format_find(format);
    return p->memory.numeric == QN_NUMERIC_ACT8 && info != NULL && info->block_elems > 1;
}

static void add_matmul(const plan *p, const qn_op *op, token_work *work) {
    const qn_program *program = p->dec->program;
    const uint32_t *operands = qn_program_operands(program, op);
    const qn_buffer *weight = qn_program_buffer(program, operands[0]);
    const qn_buffer *rows = qn_program_buffer(program, operands[op->n_inputs]);
    const uint64_t n = weight->dims[0] * weight->dims[1];
    const bool is_int8 = is_counted_as_bytes(p, weight->format);
    *(is_int8 ? &work->decode.int8 : &work->decode.f32) += n;
    if (rows->symbols[rows->rank - 1] != QN_DIM_OUTPUTS) {
        *(is_int8 ? &work->prompt.int8 : &work->prompt.f32) += n;
    }
}

token_work token_work_count(const plan *p, uint64_t more_bytes) {
    token_work work = {.bytes = count_bytes(p) + more_bytes};
    for (uint32_t i = 0; i < p->dec->program->n_ops; i++) {
        const qn_op *op = qn_program_op(p->dec->program, i);
        if (op->op == QN_OP_MATMUL) {
            add_matmul(p, op, &work);
        }
    }
    return work;
}

double products_share(const products *p, double tokens_per_second, double int8_peak, double f32_peak) {
    if ((p->int8 > 0 && int8_peak <= 0.0) || (p->f32 > 0 && f32_peak <= 0.0)) {
        return 0.0;
    }
    const double int8_seconds = p->int8 > 0 ? 2.0 * (double)p->int8 / int8_peak : 0.0;
    const double f32_seconds = p->f32 > 0 ? 2.0 * (double)p->f32 / f32_peak : 0.0;
    return tokens_per_second * (int8_seconds + f32_seconds);
}
