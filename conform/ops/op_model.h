/* op_model.h — a program with everything that it is run on: weights, and what its inputs hold.
 *
 *     op_model m;
 *     op_model_init(&m, ctx, DATA_REAL, salt);
 *     const uint32_t w = op_model_weight(&m, "w", QN_FORMAT_Q8_0, 64, 8);
 *     const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, 64, QN_DIM_TOKENS);
 *     const uint32_t y = op_model_rows(&m, "y", QN_ROLE_OUTPUT, 8, QN_DIM_TOKENS);
 *     op_program_add_op(m.builder, QN_OP_MATMUL, 0, 2, (const uint32_t[]){w, x}, y, NULL, 0);
 *     op_model_finish(&m);
 *     op_step step;
 *     op_step_init(&step, 3, 0);
 *     step.inputs[x] = op_model_values(&m, false, 3 * 64);
 *     … rig_run (rig.h), oracle_run_step (oracle_run.h)
 *     op_model_free(&m);
 *
 * Threading: one thread at a time per object. Memory: everything is the model's until op_model_free.
 */
#ifndef CONFORM_OP_MODEL_H
#define CONFORM_OP_MODEL_H
#include "op_data.h"
#include "op_program.h"

typedef struct op_model {
    cf_context *ctx;
    cf_random random;
    uint32_t kind;                       /* DATA_* of weights to come */
    scratch memory;
    op_program *builder;
    const qn_program *program;           /* after op_model_finish */
    op_weight weights[OP_PROGRAM_ROOM];  /* by buffer */
} op_model;

void op_model_init(op_model *self, cf_context *ctx, uint32_t kind, uint64_t salt);
void op_model_free(op_model *self);
void op_model_finish(op_model *self);

/* A weight of random content; rows 0: rank 1. */
uint32_t op_model_weight(op_model *self, const char *name, qn_format format, uint64_t columns, uint64_t rows);
/* The same as the last rows of a tensor with first_rows more before them. */
uint32_t op_model_weight_behind(op_model *self, const char *name, qn_format format, uint64_t columns, uint64_t rows,
                                uint64_t first_rows);
/* With this root mean square. */
uint32_t op_model_weight_sized(op_model *self, const char *name, qn_format format, uint64_t columns, uint64_t rows,
                               double size);
/* Rows of the tensor that is bound to weight buffer `of`, from first_row on, as a weight of its own. */
uint32_t op_model_weight_of(op_model *self, const char *name, uint32_t of, uint64_t first_row, uint64_t rows);
/* The weight will be bound as panels (QN_BUFFER_PANELS), its tensor's rows in front of it too. Before op_model_finish. */
void op_model_into_panels(op_model *self, uint32_t buffer);
/* An F32 weight [n] with these values. */
uint32_t op_model_vector(op_model *self, const char *name, const float *values, uint64_t n);
/* [symbol][columns] F32, an input, act or output. */
uint32_t op_model_rows(op_model *self, const char *name, uint32_t role, uint64_t columns, uint32_t symbol);
/* [symbol] I32 input. */
uint32_t op_model_numbers(op_model *self, const char *name, uint32_t symbol);

/* n random values, of the model's kind. */
float *op_model_values(op_model *self, bool has_peaks, uint64_t n);
/* count zeroed elements. */
void *op_model_take(op_model *self, uint64_t count, size_t size);

/* One step: sizes, placements (borrowed), and what the inputs hold. */
typedef struct op_step {
    uint32_t n_tokens, n_outputs, n_sequences;
    const int32_t *positions;            /* borrowed */
    const uint32_t *sequences;           /* borrowed; null: all 0 */
    const qn_placement *placements;      /* borrowed, one for each group */
    const void *inputs[OP_PROGRAM_ROOM]; /* borrowed, by buffer: exactly as many rows as the step has */
} op_step;

/* n_tokens tokens of one sequence at positions 0, 1, 2, … (at most 4096). */
void op_step_init(op_step *self, uint32_t n_tokens, uint32_t n_outputs);

/* Limits with `cells` cells in each group of the program. */
qn_limits op_model_limits(const op_model *self, uint32_t tokens, uint32_t outputs, uint32_t sequences, uint32_t cells);

/* Rows and elements of a buffer in a step. */
uint64_t op_step_rows(const op_step *self, const qn_buffer *buffer);
uint64_t op_step_elements(const op_step *self, const qn_buffer *buffer);

#endif
