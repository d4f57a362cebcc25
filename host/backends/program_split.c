/* program_split.c — which buffers each part reads and writes, and the bytes of both. */
#include "backends/program_split.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#define SECTION_ALIGN 8u
#define NONE UINT32_MAX

/* A part while it is made. */
typedef struct making {
    const qn_program *whole;
    uint32_t begin, end; /* its ops */
    program_part *part;
    uint32_t n_buffers, n_operands;
} making;

uint32_t program_count_layers(const qn_program *program) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        n += (qn_program_op(program, i)->flags & QN_OP_LAYER_END) != 0;
    }
    return n;
}

/* The op behind the end of the n-th layer. */
static uint32_t find_border(const qn_program *program, uint32_t n_layers) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        seen += (qn_program_op(program, i)->flags & QN_OP_LAYER_END) != 0;
        if (seen == n_layers) {
            return i + 1;
        }
    }
    return NONE;
}

/* Gives every buffer that these ops touch a number, in the order of the whole program. */
static qn_status number_buffers(making *m, error_context *err) {
    const qn_program *whole = m->whole;
    m->part->part_of = calloc(whole->n_buffers + 1u, sizeof *m->part->part_of);
    m->part->whole_of = calloc(whole->n_buffers + 1u, sizeof *m->part->whole_of);
    if (m->part->part_of == NULL || m->part->whole_of == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a part of the program");
    }
    for (uint32_t i = m->begin; i < m->end; i++) {
        const qn_op *op = qn_program_op(whole, i);
        const uint32_t *operands = qn_program_operands(whole, op);
        m->n_operands += op->n_inputs + op->n_outputs;
        for (uint32_t k = 0; k < op->n_inputs + op->n_outputs; k++) {
            m->part->part_of[operands[k]] = 1;
        }
    }
    for (uint32_t b = 0; b < whole->n_buffers; b++) {
        if (m->part->part_of[b] != 0) {
            m->part->whole_of[m->n_buffers] = b;
            m->part->part_of[b] = m->n_buffers++;
        } else {
            m->part->part_of[b] = NONE;
        }
    }
    return QN_OK;
}

/* The one act buffer that the first part writes and the second reads. */
static qn_status find_hidden(const qn_program *whole, const program_split *split, uint32_t *out, error_context *err) {
    uint32_t n = 0;
    for (uint32_t b = 0; b < whole->n_buffers; b++) {
        const bool is_in_both = split->parts[0].part_of[b] != NONE && split->parts[1].part_of[b] != NONE;
        const uint32_t role = qn_program_buffer(whole, b)->role;
        if (is_in_both && role != QN_ROLE_WEIGHT && role != QN_ROLE_INPUT) {
            *out = b;
            n++;
        }
    }
    const qn_buffer *hidden = n == 1 ? qn_program_buffer(whole, *out) : NULL;
    if (hidden == NULL || hidden->role != QN_ROLE_ACT || hidden->rank != 2 || hidden->symbols[1] != QN_DIM_TOKENS ||
        hidden->format != QN_FORMAT_F32) {
        return FAIL(err, QN_UNSUPPORTED, "this model cannot be divided between devices: %u buffers cross the border", n);
    }
    return QN_OK;
}

static uint64_t align_section(uint64_t at) {
    return (at + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN;
}

/* Where each section lies; the whole size. */
static uint64_t lay_out(const making *m, qn_program *out) {
    uint64_t at = sizeof(qn_program);
    *out = *m->whole;
    out->n_buffers = m->n_buffers;
    out->n_ops = m->end - m->begin;
    out->n_operands = m->n_operands;
    out->buffer_stride = sizeof(qn_buffer);
    out->op_stride = sizeof(qn_op);
    out->group_stride = sizeof(qn_cell_group);
    out->buffers_at = (uint32_t)at;
    at = align_section(at + (uint64_t)out->n_buffers * sizeof(qn_buffer));
    out->ops_at = (uint32_t)at;
    at = align_section(at + (uint64_t)out->n_ops * sizeof(qn_op));
    out->groups_at = (uint32_t)at;
    at = align_section(at + (uint64_t)out->n_groups * sizeof(qn_cell_group));
    out->operands_at = (uint32_t)at;
    at = align_section(at + (uint64_t)out->n_operands * sizeof(uint32_t));
    out->attrs_at = (uint32_t)at;
    at = align_section(at + out->attrs_bytes);
    out->names_at = (uint32_t)at;
    at = align_section(at + out->names_bytes);
    out->total_bytes = at;
    return at;
}

static void copy_ops(const making *m, char *bytes, const qn_program *head) {
    qn_op *ops = (qn_op *)(void *)(bytes + head->ops_at);
    uint32_t *operands = (uint32_t *)(void *)(bytes + head->operands_at), used = 0;
    for (uint32_t i = m->begin; i < m->end; i++) {
        const qn_op *op = qn_program_op(m->whole, i);
        const uint32_t *from = qn_program_operands(m->whole, op);
        qn_op *to = &ops[i - m->begin];
        *to = *op;
        to->operands_at = used;
        for (uint32_t k = 0; k < op->n_inputs + op->n_outputs; k++) {
            operands[used++] = m->part->part_of[from[k]];
        }
    }
}

static qn_status make_program(making *m, uint32_t hidden, uint32_t hidden_role, error_context *err) {
    qn_program head;
    const uint64_t bytes = lay_out(m, &head);
    char *made = bytes < UINT32_MAX ? calloc(1, (size_t)bytes) : NULL;
    if (made == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a part of the program");
    }
    memcpy(made, &head, sizeof head);
    qn_buffer *buffers = (qn_buffer *)(void *)(made + head.buffers_at);
    for (uint32_t b = 0; b < m->n_buffers; b++) {
        buffers[b] = *qn_program_buffer(m->whole, m->part->whole_of[b]);
    }
    m->part->hidden = m->part->part_of[hidden];
    buffers[m->part->hidden].role = hidden_role;
    for (uint32_t g = 0; g < head.n_groups; g++) {
        memcpy(made + head.groups_at + g * sizeof(qn_cell_group), qn_program_group(m->whole, g), sizeof(qn_cell_group));
    }
    copy_ops(m, made, &head);
    memcpy(made + head.attrs_at, (const char *)m->whole + m->whole->attrs_at, head.attrs_bytes);
    memcpy(made + head.names_at, (const char *)m->whole + m->whole->names_at, head.names_bytes);
    m->part->program = (qn_program *)(void *)made;
    return QN_OK;
}

static qn_status make_parts(const qn_program *program, program_split *out, error_context *err) {
    making first = {.whole = program, .begin = 0, .end = out->border, .part = &out->parts[0]};
    making second = {.whole = program, .begin = out->border, .end = program->n_ops, .part = &out->parts[1]};
    uint32_t hidden = NONE;
    QN_TRY(number_buffers(&first, err), err, "dividing the program");
    QN_TRY(number_buffers(&second, err), err, "dividing the program");
    QN_TRY(find_hidden(program, out, &hidden, err), err, "dividing the program");
    out->hidden_width = qn_program_buffer(program, hidden)->dims[0];
    QN_TRY(make_program(&first, hidden, QN_ROLE_OUTPUT, err), err, "dividing the program");
    return make_program(&second, hidden, QN_ROLE_INPUT, err);
}

qn_status program_split_at(const qn_program *program, uint32_t n_layers, program_split *out, error_context *err) {
    const uint32_t n = program_count_layers(program);
    memset(out, 0, sizeof *out);
    if (n_layers == 0 || n_layers >= n) {
        return FAIL(err, QN_BAD_INPUT, "the model has %u layers: 1 to %u of them can be put on a device of their own, not %u", n,
                    n > 0 ? n - 1 : 0, n_layers);
    }
    out->border = find_border(program, n_layers);
    const qn_status status = make_parts(program, out, err);
    if (status < 0) {
        program_split_deinit(out);
    }
    return status;
}

void program_split_deinit(program_split *split) {
    for (int i = 0; i < 2; i++) {
        free(split->parts[i].program);
        free(split->parts[i].whole_of);
        free(split->parts[i].part_of);
    }
    memset(split, 0, sizeof *split);
}
