/* program_builder.h — writes a flat decode program (abi/program.h) one op at a time.
 *
 * Each call appends buffers and one op and answers with the number of the op's output buffer. A call that cannot be
 * encoded makes the builder sticky-failed; program_builder_finish then tells the first reason. Shapes: `width` is the
 * contiguous row length.
 *
 * Threading: one thread at a time per builder.
 * Memory:    the builder owns growing arrays; finish moves the finished bytes to the caller, who frees them with
 *            free().
 *
 *     program_builder b;
 *     program_builder_init(&b);
 *     const uint32_t ids = program_index_input(&b, QN_DIM_TOKENS, "ids");
 *     const uint32_t table = program_weight(&b, QN_FORMAT_Q8_0, n_embd, n_vocab, "token_embd.weight");
 *     const uint32_t x = program_embed(&b, table, ids);
 */
#ifndef HOST_PROGRAM_BUILDER_H
#define HOST_PROGRAM_BUILDER_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/ops.h>

#include "base/error.h"

#define PROGRAM_NO_BUFFER UINT32_MAX

typedef struct byte_list {
    unsigned char *data;
    uint64_t size, capacity;
} byte_list;

typedef struct program_builder {
    byte_list buffers, ops, groups, operands, attrs, names;
    uint32_t layer; /* that following ops belong to; QN_NO_LAYER at first */
    const char *failure; /* static; null while all is well */
} program_builder;

void program_builder_init(program_builder *b);
void program_builder_deinit(program_builder *b);

/* Following ops belong to this layer. program_end_layer marks the last op as a layer's end and returns to no layer. */
void program_begin_layer(program_builder *b, uint32_t layer);
void program_end_layer(program_builder *b);

uint32_t program_cell_group(program_builder *b, uint32_t window);

/* Buffers. Weights: [height][width]; height 1 makes rank 1. */
uint32_t program_weight(program_builder *b, qn_format format, uint64_t width, uint64_t height, const char *name);
/* The same, of rank 2 whatever the height. */
uint32_t program_matrix(program_builder *b, qn_format format, uint64_t width, uint64_t height, const char *name);
/* The buffer's weight will come as panels (QN_BUFFER_PANELS). */
void program_set_panels(program_builder *b, uint32_t buffer);
uint32_t program_state(program_builder *b, qn_format format, uint64_t width, uint32_t group, const char *name);
uint32_t program_input(program_builder *b, qn_format format, uint64_t width, uint32_t rows_symbol, const char *name);
/* A list of I32, as long as the symbol says: ids, rows. */
uint32_t program_index_input(program_builder *b, uint32_t symbol, const char *name);

/* Ops; each returns its output buffer. */
uint32_t program_embed(program_builder *b, uint32_t table, uint32_t ids);
uint32_t program_matmul(program_builder *b, uint32_t weight, uint32_t x, uint32_t bias_or_none);
uint32_t program_add(program_builder *b, uint32_t left, uint32_t right);
uint32_t program_scale(program_builder *b, uint32_t x, float factor);
uint32_t program_rms_norm(program_builder *b, uint32_t x, uint32_t weight, float epsilon);
uint32_t program_rope(program_builder *b, uint32_t x, uint32_t factors_or_none, const qn_rope_attrs *attrs);
void program_state_write(program_builder *b, uint32_t x, uint32_t state);
uint32_t program_attention(program_builder *b, uint32_t q, uint32_t k_state, uint32_t v_state,
                           const qn_attention_attrs *attrs);
uint32_t program_gated(program_builder *b, uint32_t gate, uint32_t up, uint32_t kind);
uint32_t program_softcap(program_builder *b, uint32_t x, float cap);
uint32_t program_select_rows(program_builder *b, uint32_t x, uint32_t rows);

/* Turns the last op's output into an OUTPUT buffer of the program. */
void program_mark_output(program_builder *b, uint32_t buffer, const char *name);

/* Width of a buffer's row. */
uint64_t program_width(const program_builder *b, uint32_t buffer);

/* Moves the finished program out: *out_program is malloc'ed, freed by the caller. The builder is empty afterwards. */
qn_status program_builder_finish(program_builder *b, qn_program **out_program, error_context *err);

#endif
