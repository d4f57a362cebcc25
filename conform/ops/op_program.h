/* op_program.h — builds small programs for tests: add buffers and ops, then finish to get the flat bytes of program.h.
 *
 *     op_program *p = op_program_create();
 *     const uint32_t w = op_program_add_weight(p, "w", QN_FORMAT_Q8_0, 64, 8);
 *     const uint32_t x = op_program_add_rows(p, "x", QN_ROLE_INPUT, QN_FORMAT_F32, 64, QN_DIM_TOKENS);
 *     const uint32_t y = op_program_add_rows(p, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, 8, QN_DIM_TOKENS);
 *     op_program_add_op(p, QN_OP_MATMUL, 0, 2, (const uint32_t[]){w, x}, y, NULL, 0);
 *     const qn_program *program = op_program_finish(p);
 *
 * Threading: one thread at a time per object. Memory: owned by the op_program until op_program_destroy.
 * Errors: when memory is short or a table was too full for what was added, op_program_create or op_program_finish give
 * null; nothing else is checked, so that tests can build wrong programs.
 */
#ifndef OP_PROGRAM_H
#define OP_PROGRAM_H
#include <stdbool.h>

#include <quoin/ops.h>

#define OP_PROGRAM_ROOM 256
#define OP_PROGRAM_TEXT 8192

typedef struct op_program {
    qn_buffer buffers[OP_PROGRAM_ROOM];
    qn_op ops[OP_PROGRAM_ROOM];
    qn_cell_group groups[QN_MAX_GROUPS];
    uint32_t operands[OP_PROGRAM_ROOM * 4];
    uint64_t attrs[OP_PROGRAM_TEXT / 8];
    char names[OP_PROGRAM_TEXT];
    uint32_t n_buffers, n_ops, n_groups, n_operands, attrs_bytes, names_bytes;
    bool is_full;
    void *bytes;
} op_program;

op_program *op_program_create(void);
void op_program_destroy(op_program *program);

/* Each returns the number of the new group or buffer. */
uint32_t op_program_add_group(op_program *program, uint32_t window);
uint32_t op_program_add_weight(op_program *program, const char *name, qn_format format, uint64_t columns,
                               uint64_t rows /* 0: rank 1 */);
uint32_t op_program_add_state(op_program *program, const char *name, qn_format format, uint64_t columns,
                              uint32_t group);
/* [symbol][columns], or [symbol] when columns is 0. */
uint32_t op_program_add_rows(op_program *program, const char *name, uint32_t role, qn_format format, uint64_t columns,
                             uint32_t symbol);

/* output: a buffer, or OP_NO_OUTPUT. */
#define OP_NO_OUTPUT UINT32_MAX
void op_program_add_op(op_program *program, uint32_t op, uint32_t layer, uint32_t n_inputs, const uint32_t *inputs,
                       uint32_t output, const void *attrs, uint32_t attrs_bytes);

/* The flat bytes; valid until the next finish or destroy; null: see above. */
const qn_program *op_program_finish(op_program *program);

#endif
