/* program_builder.c — the sections of a program grow apart and are put together at the end. */
#include "base/program_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_ALIGN 8u

/* Zeroed room for `size` more bytes; null when the builder has failed, or when there is nothing to append. */
static void *append_bytes(program_builder *b, byte_list *list, uint64_t size) {
    if (b->failure != NULL || size == 0) {
        return NULL;
    }
    if (list->size + size > list->capacity) {
        const uint64_t capacity = (list->size + size) * 2 + 256;
        unsigned char *data = realloc(list->data, capacity);
        if (data == NULL) {
            b->failure = "out of memory for the decode program";
            return NULL;
        }
        list->data = data;
        list->capacity = capacity;
    }
    unsigned char *at = list->data + list->size;
    memset(at, 0, size);
    list->size += size;
    return at;
}

void program_builder_init(program_builder *b) {
    memset(b, 0, sizeof *b);
    b->layer = QN_NO_LAYER;
}

void program_builder_deinit(program_builder *b) {
    byte_list *const lists[] = {&b->buffers, &b->ops, &b->groups, &b->operands, &b->attrs, &b->names};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        free(lists[i]->data);
    }
    program_builder_init(b);
}

void program_begin_layer(program_builder *b, uint32_t layer) {
    b->layer = layer;
}

void program_end_layer(program_builder *b) {
    if (b->failure == NULL && b->ops.size >= sizeof(qn_op)) {
        ((qn_op *)(void *)(b->ops.data + b->ops.size))[-1].flags |= QN_OP_LAYER_END;
    }
    b->layer = QN_NO_LAYER;
}

uint32_t program_cell_group(program_builder *b, uint32_t window) {
    const uint32_t index = (uint32_t)(b->groups.size / sizeof(qn_cell_group));
    qn_cell_group *group = append_bytes(b, &b->groups, sizeof *group);
    if (group != NULL) {
        group->window = window;
    }
    return index;
}

static uint32_t append_name(program_builder *b, const char *name) {
    const uint32_t at = (uint32_t)b->names.size;
    const size_t size = strlen(name) + 1;
    char *copy = append_bytes(b, &b->names, size);
    if (copy != NULL) {
        memcpy(copy, name, size);
    }
    return at;
}

static uint32_t append_buffer(program_builder *b, const qn_buffer *buffer, const char *name) {
    const uint32_t index = (uint32_t)(b->buffers.size / sizeof *buffer);
    const uint32_t name_at = append_name(b, name);
    qn_buffer *stored = append_bytes(b, &b->buffers, sizeof *buffer);
    if (stored != NULL) {
        *stored = *buffer;
        stored->name_at = name_at;
    }
    return index;
}

static qn_buffer *find_buffer(const program_builder *b, uint32_t index) {
    return (uint64_t)index * sizeof(qn_buffer) < b->buffers.size ? (qn_buffer *)(void *)b->buffers.data + index : NULL;
}

uint64_t program_width(const program_builder *b, uint32_t buffer) {
    const qn_buffer *found = find_buffer(b, buffer);
    return found == NULL ? 0 : found->dims[0];
}

uint32_t program_weight(program_builder *b, qn_format format, uint64_t width, uint64_t height, const char *name) {
    const qn_buffer buffer = {
        .role = QN_ROLE_WEIGHT, .format = format, .rank = height == 1 ? 1 : 2, .dims = {width, height, 1, 1}};
    return append_buffer(b, &buffer, name);
}

uint32_t program_matrix(program_builder *b, qn_format format, uint64_t width, uint64_t height, const char *name) {
    const qn_buffer buffer = {.role = QN_ROLE_WEIGHT, .format = format, .rank = 2, .dims = {width, height, 1, 1}};
    return append_buffer(b, &buffer, name);
}

void program_set_panels(program_builder *b, uint32_t buffer) {
    qn_buffer *stored = find_buffer(b, buffer);
    if (stored != NULL) {
        stored->flags |= QN_BUFFER_PANELS;
    }
}

uint32_t program_state(program_builder *b, qn_format format, uint64_t width, uint32_t group, const char *name) {
    const qn_buffer buffer = {.role = QN_ROLE_STATE,
                              .format = format,
                              .rank = 2,
                              .group = group,
                              .dims = {width, 0, 1, 1},
                              .symbols = {QN_DIM_FIXED, QN_DIM_CELLS, QN_DIM_FIXED, QN_DIM_FIXED}};
    return append_buffer(b, &buffer, name);
}

static uint32_t append_rows(program_builder *b, uint32_t role, qn_format format, uint64_t width, uint32_t symbol,
                            const char *name) {
    const qn_buffer buffer = {.role = role, .format = format, .rank = 2, .dims = {width, 0, 1, 1},
                              .symbols = {QN_DIM_FIXED, symbol, QN_DIM_FIXED, QN_DIM_FIXED}};
    return append_buffer(b, &buffer, name);
}

uint32_t program_input(program_builder *b, qn_format format, uint64_t width, uint32_t rows_symbol, const char *name) {
    return append_rows(b, QN_ROLE_INPUT, format, width, rows_symbol, name);
}

uint32_t program_index_input(program_builder *b, uint32_t symbol, const char *name) {
    const qn_buffer buffer = {
        .role = QN_ROLE_INPUT, .format = QN_FORMAT_I32, .rank = 1, .dims = {0, 1, 1, 1}, .symbols = {symbol}};
    return append_buffer(b, &buffer, name);
}

/* Symbol of a buffer's rows: what follows from it has as many rows. */
static uint32_t rows_symbol_of(const program_builder *b, uint32_t index) {
    const qn_buffer *buffer = find_buffer(b, index);
    return buffer == NULL ? QN_DIM_TOKENS : buffer->symbols[buffer->rank == 1 ? 0 : 1];
}

static void append_op(program_builder *b, uint32_t op, const uint32_t *operands, uint32_t n_inputs, uint32_t n_outputs,
                      const void *attrs, uint32_t attrs_bytes) {
    const uint32_t n_operands = n_inputs + n_outputs;
    const uint32_t operands_at = (uint32_t)(b->operands.size / sizeof(uint32_t));
    const uint32_t attrs_at = (uint32_t)b->attrs.size;
    void *list = append_bytes(b, &b->operands, n_operands * sizeof(uint32_t));
    void *stored = append_bytes(b, &b->attrs, (attrs_bytes + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN);
    qn_op *entry = append_bytes(b, &b->ops, sizeof *entry);
    if (entry != NULL) {
        memcpy(list, operands, n_operands * sizeof(uint32_t));
        if (attrs_bytes > 0) {
            memcpy(stored, attrs, attrs_bytes);
        }
        *entry = (qn_op){.op = op,
                         .layer = b->layer,
                         .n_inputs = n_inputs,
                         .n_outputs = n_outputs,
                         .operands_at = operands_at,
                         .attrs_at = attrs_bytes > 0 ? attrs_at : 0,
                         .attrs_bytes = attrs_bytes};
    }
}

/* Appends an op with one F32 output of `width`, rows as `like`; returns the output. */
static uint32_t append_simple(program_builder *b, uint32_t op, const uint32_t *inputs, uint32_t n_inputs,
                              uint64_t width, uint32_t rows_symbol, const void *attrs, uint32_t attrs_bytes) {
    uint32_t operands[8];
    memcpy(operands, inputs, n_inputs * sizeof operands[0]);
    char name[32];
    snprintf(name, sizeof name, "act.%u", (unsigned)(b->buffers.size / sizeof(qn_buffer)));
    operands[n_inputs] = append_rows(b, QN_ROLE_ACT, QN_FORMAT_F32, width, rows_symbol, name);
    append_op(b, op, operands, n_inputs, 1, attrs, attrs_bytes);
    return operands[n_inputs];
}

uint32_t program_embed(program_builder *b, uint32_t table, uint32_t ids) {
    return append_simple(b, QN_OP_EMBED, (const uint32_t[]){table, ids}, 2, program_width(b, table),
                         rows_symbol_of(b, ids), NULL, 0);
}

uint32_t program_matmul(program_builder *b, uint32_t weight, uint32_t x, uint32_t bias_or_none) {
    const qn_buffer *matrix = find_buffer(b, weight);
    const uint64_t width = matrix == NULL ? 0 : matrix->dims[1];
    const uint32_t n_inputs = bias_or_none == PROGRAM_NO_BUFFER ? 2 : 3;
    return append_simple(b, QN_OP_MATMUL, (const uint32_t[]){weight, x, bias_or_none}, n_inputs, width,
                         rows_symbol_of(b, x), NULL, 0);
}

uint32_t program_add(program_builder *b, uint32_t left, uint32_t right) {
    return append_simple(b, QN_OP_ADD, (const uint32_t[]){left, right}, 2, program_width(b, left),
                         rows_symbol_of(b, left), NULL, 0);
}

uint32_t program_scale(program_builder *b, uint32_t x, float factor) {
    const qn_scale_attrs attrs = {sizeof attrs, factor};
    return append_simple(b, QN_OP_SCALE, &x, 1, program_width(b, x), rows_symbol_of(b, x), &attrs, sizeof attrs);
}

uint32_t program_rms_norm(program_builder *b, uint32_t x, uint32_t weight, float epsilon) {
    const qn_rms_norm_attrs attrs = {sizeof attrs, (uint32_t)program_width(b, weight), epsilon, 0};
    return append_simple(b, QN_OP_RMS_NORM, (const uint32_t[]){x, weight}, 2, program_width(b, x), rows_symbol_of(b, x),
                         &attrs, sizeof attrs);
}

uint32_t program_rope(program_builder *b, uint32_t x, uint32_t factors_or_none, const qn_rope_attrs *attrs) {
    const uint32_t n_inputs = factors_or_none == PROGRAM_NO_BUFFER ? 1 : 2;
    return append_simple(b, QN_OP_ROPE, (const uint32_t[]){x, factors_or_none}, n_inputs, program_width(b, x),
                         rows_symbol_of(b, x), attrs, sizeof *attrs);
}

void program_state_write(program_builder *b, uint32_t x, uint32_t state) {
    append_op(b, QN_OP_STATE_WRITE, (const uint32_t[]){x, state}, 2, 0, NULL, 0);
}

uint32_t program_attention(program_builder *b, uint32_t q, uint32_t k_state, uint32_t v_state,
                           const qn_attention_attrs *attrs) {
    return append_simple(b, QN_OP_ATTENTION, (const uint32_t[]){q, k_state, v_state}, 3,
                         (uint64_t)attrs->n_head * attrs->value_dim, rows_symbol_of(b, q), attrs, sizeof *attrs);
}

uint32_t program_gated(program_builder *b, uint32_t gate, uint32_t up, uint32_t kind) {
    const qn_gated_attrs attrs = {sizeof attrs, kind};
    return append_simple(b, QN_OP_GATED, (const uint32_t[]){gate, up}, 2, program_width(b, gate),
                         rows_symbol_of(b, gate), &attrs, sizeof attrs);
}

uint32_t program_softcap(program_builder *b, uint32_t x, float cap) {
    const qn_softcap_attrs attrs = {sizeof attrs, cap};
    return append_simple(b, QN_OP_SOFTCAP, &x, 1, program_width(b, x), rows_symbol_of(b, x), &attrs, sizeof attrs);
}

uint32_t program_select_rows(program_builder *b, uint32_t x, uint32_t rows) {
    return append_simple(b, QN_OP_SELECT_ROWS, (const uint32_t[]){x, rows}, 2, program_width(b, x),
                         rows_symbol_of(b, rows), NULL, 0);
}

void program_mark_output(program_builder *b, uint32_t buffer, const char *name) {
    const uint32_t name_at = append_name(b, name);
    qn_buffer *found = find_buffer(b, buffer);
    if (found != NULL && b->failure == NULL) {
        found->role = QN_ROLE_OUTPUT;
        found->name_at = name_at;
    }
}

/* Copies a section behind what is there and returns its offset. */
static uint32_t place_section(unsigned char *program, uint64_t *at, const byte_list *section) {
    *at = (*at + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN;
    const uint64_t begin = *at;
    if (section->size > 0) {
        memcpy(program + begin, section->data, section->size);
    }
    *at += section->size;
    return (uint32_t)begin;
}

qn_status program_builder_finish(program_builder *b, qn_program **out_program, error_context *err) {
    const uint64_t room = sizeof(qn_program) + b->buffers.size + b->ops.size + b->groups.size + b->operands.size +
                          b->attrs.size + b->names.size + (uint64_t)SECTION_ALIGN * 8;
    unsigned char *bytes = b->failure == NULL && room < UINT32_MAX ? calloc(1, room) : NULL;
    if (bytes == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s",
                    b->failure != NULL ? b->failure : "the decode program does not fit in memory");
    }
    qn_program *program = (qn_program *)(void *)bytes;
    *program = (qn_program){.magic = QN_PROGRAM_MAGIC,
                            .encoding = QN_PROGRAM_ENCODING,
                            .profile = QN_PROFILE_DECODE_CORE,
                            .n_buffers = (uint32_t)(b->buffers.size / sizeof(qn_buffer)),
                            .buffer_stride = sizeof(qn_buffer),
                            .n_ops = (uint32_t)(b->ops.size / sizeof(qn_op)),
                            .op_stride = sizeof(qn_op),
                            .n_groups = (uint32_t)(b->groups.size / sizeof(qn_cell_group)),
                            .group_stride = sizeof(qn_cell_group),
                            .n_operands = (uint32_t)(b->operands.size / sizeof(uint32_t)),
                            .attrs_bytes = (uint32_t)b->attrs.size,
                            .names_bytes = (uint32_t)b->names.size};
    uint64_t at = sizeof *program;
    program->buffers_at = place_section(bytes, &at, &b->buffers);
    program->ops_at = place_section(bytes, &at, &b->ops);
    program->groups_at = place_section(bytes, &at, &b->groups);
    program->operands_at = place_section(bytes, &at, &b->operands);
    program->attrs_at = place_section(bytes, &at, &b->attrs);
    program->names_at = place_section(bytes, &at, &b->names);
    program->total_bytes = (at + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN;
    program_builder_deinit(b);
    *out_program = program;
    return QN_OK;
}
