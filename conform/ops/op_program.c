/* op_program.c — lays the tables of a test program behind each other. */
#include "op_program.h"

#include <stdlib.h>
#include <string.h>

/* False, and remembered, when a table is full. */
static bool has_room(op_program *program, bool has) {
    program->is_full = program->is_full || !has;
    return has;
}

op_program *op_program_create(void) {
    return calloc(1, sizeof(op_program));
}

void op_program_destroy(op_program *program) {
    if (program != NULL) {
        free(program->bytes);
        free(program);
    }
}

uint32_t op_program_add_group(op_program *program, uint32_t window) {
    if (!has_room(program, program->n_groups < QN_MAX_GROUPS)) {
        return 0;
    }
    program->groups[program->n_groups].window = window;
    return program->n_groups++;
}

static qn_buffer *add_buffer(op_program *program, const char *name, uint32_t role, qn_format format, uint32_t rank) {
    const size_t name_bytes = strlen(name) + 1;
    if (!has_room(program,
                  program->n_buffers < OP_PROGRAM_ROOM && program->names_bytes + name_bytes <= sizeof program->names)) {
        return &program->buffers[0];
    }
    qn_buffer *buffer = &program->buffers[program->n_buffers++];
    *buffer = (qn_buffer){.role = role, .format = format, .rank = rank, .dims = {1, 1, 1, 1}};
    buffer->name_at = program->names_bytes;
    memcpy(program->names + program->names_bytes, name, name_bytes);
    program->names_bytes += (uint32_t)name_bytes;
    return buffer;
}

uint32_t op_program_add_weight(op_program *program, const char *name, qn_format format, uint64_t columns,
                               uint64_t rows) {
    qn_buffer *buffer = add_buffer(program, name, QN_ROLE_WEIGHT, format, rows == 0 ? 1 : 2);
    buffer->dims[0] = columns;
    buffer->dims[1] = rows == 0 ? 1 : rows;
    return program->n_buffers - 1;
}

uint32_t op_program_add_state(op_program *program, const char *name, qn_format format, uint64_t columns,
                              uint32_t group) {
    qn_buffer *buffer = add_buffer(program, name, QN_ROLE_STATE, format, 2);
    buffer->dims[0] = columns;
    buffer->dims[1] = 0;
    buffer->symbols[1] = QN_DIM_CELLS;
    buffer->group = group;
    return program->n_buffers - 1;
}

uint32_t op_program_add_rows(op_program *program, const char *name, uint32_t role, qn_format format, uint64_t columns,
                             uint32_t symbol) {
    qn_buffer *buffer = add_buffer(program, name, role, format, columns == 0 ? 1 : 2);
    const uint32_t outer = buffer->rank - 1;
    if (columns != 0) {
        buffer->dims[0] = columns;
    }
    buffer->dims[outer] = 0;
    buffer->symbols[outer] = symbol;
    return program->n_buffers - 1;
}

void op_program_add_op(op_program *program, uint32_t op, uint32_t layer, uint32_t n_inputs, const uint32_t *inputs,
                       uint32_t output, const void *attrs, uint32_t attrs_bytes) {
    const uint32_t n_outputs = output == OP_NO_OUTPUT ? 0 : 1;
    if (!has_room(program, program->n_ops < OP_PROGRAM_ROOM
                               && program->n_operands + n_inputs + n_outputs <= OP_PROGRAM_ROOM * 4
                               && program->attrs_bytes + attrs_bytes + 8 <= sizeof program->attrs)) {
        return;
    }
    program->ops[program->n_ops++] = (qn_op){.op = op, .layer = layer, .n_inputs = n_inputs, .n_outputs = n_outputs,
                                             .operands_at = program->n_operands, .attrs_at = program->attrs_bytes,
                                             .attrs_bytes = attrs_bytes};
    memcpy(program->operands + program->n_operands, inputs, n_inputs * sizeof inputs[0]);
    program->n_operands += n_inputs;
    if (n_outputs == 1) {
        program->operands[program->n_operands++] = output;
    }
    if (attrs_bytes > 0) {
        memcpy((char *)program->attrs + program->attrs_bytes, attrs, attrs_bytes);
    }
    program->attrs_bytes += (attrs_bytes + 7u) & ~7u;
}

/* Copies a section to *at, rounds *at up to the next multiple of 8, and returns where the section began. */
static uint32_t put_section(char *bytes, uint32_t *at, const void *data, size_t size) {
    const uint32_t begin = *at;
    memcpy(bytes + begin, data, size);
    *at += ((uint32_t)size + 7u) & ~7u;
    return begin;
}

const qn_program *op_program_finish(op_program *program) {
    qn_program header = {.magic = QN_PROGRAM_MAGIC, .encoding = QN_PROGRAM_ENCODING, .profile = QN_PROFILE_DECODE_CORE};
    const size_t most = sizeof *program + sizeof header + 64;
    char *bytes = program->is_full ? NULL : calloc(1, most);
    uint32_t at = sizeof header;
    free(program->bytes);
    program->bytes = NULL;
    if (bytes == NULL) {
        return NULL;
    }
    header.n_buffers = program->n_buffers;
    header.buffer_stride = sizeof(qn_buffer);
    header.buffers_at = put_section(bytes, &at, program->buffers, program->n_buffers * sizeof(qn_buffer));
    header.n_ops = program->n_ops;
    header.op_stride = sizeof(qn_op);
    header.ops_at = put_section(bytes, &at, program->ops, program->n_ops * sizeof(qn_op));
    header.n_groups = program->n_groups;
    header.group_stride = sizeof(qn_cell_group);
    header.groups_at = put_section(bytes, &at, program->groups, program->n_groups * sizeof(qn_cell_group));
    header.n_operands = program->n_operands;
    header.operands_at = put_section(bytes, &at, program->operands, program->n_operands * sizeof(uint32_t));
    header.attrs_bytes = program->attrs_bytes;
    header.attrs_at = put_section(bytes, &at, program->attrs, program->attrs_bytes);
    header.names_bytes = program->names_bytes;
    header.names_at = put_section(bytes, &at, program->names, program->names_bytes);
    header.total_bytes = at;
    memcpy(bytes, &header, sizeof header);
    /* Exactly as long as the program, so that a reader that runs past its end is seen by AddressSanitizer. */
    program->bytes = malloc(at);
    if (program->bytes != NULL) {
        memcpy(program->bytes, bytes, at);
    }
    free(bytes);
    return program->bytes;
}
