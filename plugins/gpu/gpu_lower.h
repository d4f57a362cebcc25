/* gpu_lower.h — between core/ and lower/: what an op of a program becomes.
 *
 * core/ calls, per op of ops.def, gpu_can_<op> at check and gpu_lower_<op> for each new shape of a step; lower/<op>.c has both.
 * Lowering takes no memory: it appends to a list that has room (gpu_most_launches says how much a program can need).
 *
 * Threading: one thread at a time. Memory: borrowed.
 */
#ifndef GPU_LOWER_H
#define GPU_LOWER_H
#include "gpu_driver.h"

/* An operand, where it lies on the device. */
typedef struct gpu_view {
    const qn_buffer *buffer;
    gpu_binding at;           /* the whole of it; weights: from the first row on (TERNARY: from the tensor's scale on) */
    uint64_t n_columns;
    uint64_t n_rows;          /* in this step; states: cells */
    uint64_t row_bytes;       /* stride; states are padded to whole words, TERNARY has none (0) */
    uint64_t first_element;   /* TERNARY only */
} gpu_view;

/* Numbers of the step that change from run to run, as words in device memory. Their places are fixed per lowering. */
typedef struct gpu_step_block {
    gpu_binding positions;    /* [n_tokens] i32 */
    gpu_binding sequences;    /* [n_tokens] u32 */
    gpu_binding cells[QN_MAX_GROUPS];   /* [n_tokens] u32, of each cell group */
    gpu_binding spans[QN_MAX_GROUPS];   /* [any][4] qn_span, grouped by sequence; none is empty */
    gpu_binding span_at[QN_MAX_GROUPS]; /* [max_sequences + 1] u32 */
    uint32_t most_visible[QN_MAX_GROUPS]; /* cells that one token may see in the steps that this lowering is for: a power of two
                                             times 256, or the capacity; attention is split by it */
} gpu_step_block;

typedef struct gpu_lowering {
    const gpu_caps *caps;
    const qn_program *program;
    const qn_limits *limits;
    const gpu_step_block *block;
    uint32_t n_tokens, n_outputs;  /* of this shape */
    uint32_t flags;                /* QN_COMPILE_* */
    uint32_t numeric;              /* the class that was chosen */
    gpu_binding scratch;           /* gpu_scratch_bytes of it, free for the launches of one op */
    gpu_binding quants;            /* gpu_quants_bytes of it: activations in bytes, made once for all ops that read them */
    const qn_buffer *quantized;    /* whose bytes lie there, in the launches so far; null: nobody's */
    gpu_binding zero;              /* 64 bytes of zeros: stands in for operands that are absent */
    const gpu_binding *tables;     /* [n_ops] constants of each op (gpu_table_bytes of them), e.g. frequencies of ROPE */
    gpu_launch *launches;
    uint32_t n_launches, room;
} gpu_lowering;

typedef struct gpu_call {
    uint32_t index;           /* of the op */
    const qn_op *op;
    const void *attrs;
    uint32_t n_inputs;
    gpu_view in[3];
    gpu_view out;             /* STATE_WRITE has none */
} gpu_call;

/* Is the op possible on such a device? Fills the verdict's text when not. All of its kernels are found by gpu_kernels_of. */
int gpu_can_lower(const gpu_caps *caps, const qn_program *program, uint32_t op, uint32_t numeric, char text[184]);

/* Which ops become one launch: partner[i] (of n_ops) is the op that op i goes with, or i itself. The earlier one of two waits for the
 * later one, at most GPU_FUSED_WITHIN ops, none of which needs it. Under MATERIALIZE nobody has a partner; results are the same, to the bit
 * where the device's compiler treats both kernels alike. */
#define GPU_FUSED_WITHIN 4u
void gpu_fuse(const qn_program *program, uint32_t flags, uint32_t *partner);

/* Appends the launches of one op, or of two that are partners (the earlier one first); QN_INTERNAL when the room is too small. core/
 * fills launch.op and sets BESIDE on launches where the data allows it; it is set here where only lowering knows that it does. */
qn_status gpu_lower_op(gpu_lowering *to, const gpu_call *call, qn_error *err);
qn_status gpu_lower_pair(gpu_lowering *to, const gpu_call *first, const gpu_call *second, qn_error *err);
/* A kernel's last bindings are those that it writes: how many. */
uint32_t gpu_kernel_writes(uint32_t kernel);

/* Upper bounds, for any shape within the limits: launches of one op, bytes that it needs of quants and of scratch, bytes of its constant
 * table. */
uint32_t gpu_most_launches(const gpu_caps *caps, const qn_program *program, const qn_limits *limits, uint32_t numeric, uint32_t op);
uint64_t gpu_quants_bytes(const gpu_caps *caps, const qn_program *program, const qn_limits *limits, uint32_t numeric, uint32_t op);
uint64_t gpu_scratch_bytes(const gpu_caps *caps, const qn_program *program, const qn_limits *limits, uint32_t op);
uint64_t gpu_table_bytes(const qn_program *program, uint32_t op);
/* Writes the constant table of an op (ROPE: a frequency and a magnitude per pair, from the attributes and the factor weights as f32
 * or null). */
void gpu_table_write(const qn_program *program, uint32_t op, const float *factors, void *table);

/* Kernels that an op may be lowered to, for opening them at compile; returns the count, writes at most room. Those of two partners are the
 * earlier one's. */
uint32_t gpu_kernels_of(const gpu_caps *caps, const qn_program *program, uint32_t op, uint32_t partner, uint32_t numeric, uint32_t *kernels,
                        uint32_t room);
/* "gemv_q4_k" */
const char *gpu_kernel_name(uint32_t kernel);

/* What one binding may span: no more than kernels can count, whatever the device has. */
uint64_t gpu_most_binding(const gpu_caps *caps);

/* The row stride of a state buffer on the device. */
uint64_t gpu_state_row_bytes(qn_format format, uint64_t n_columns);

/* Launches for what is not an op: zeroing words (any number of them, caps.max_binding_bytes or less), and the k greatest of each row
 * of logits. Of `to` only caps, scratch, zero and the list are looked at. A list with room for GPU_MOST_EXTRA more suffices. */
#define GPU_MOST_EXTRA 8u
qn_status gpu_lower_fill(gpu_lowering *to, const gpu_binding *where, uint32_t word, qn_error *err);

/* logits: n_rows of n_columns F32, row_bytes apart. ids: [n_rows][k] u32, values: [n_rows][k] F32; best first, of equal ones the
 * lower id first. What is NaN or infinite is passed over; when fewer than k are left, the rest has the id UINT32_MAX.
 * k: 1 to GPU_MAX_TOP_K and at most n_columns. scratch: gpu_top_k_bytes. */
#define GPU_MAX_TOP_K 64u
uint64_t gpu_top_k_bytes(const gpu_caps *caps, uint64_t n_columns, uint32_t n_rows, uint32_t k);
qn_status gpu_lower_top_k(gpu_lowering *to, const gpu_view *logits, uint32_t k, const gpu_binding *ids, const gpu_binding *values,
                          qn_error *err);
/* Their kernels; as gpu_kernels_of. */
uint32_t gpu_extra_kernels(uint32_t *kernels, uint32_t room);

#endif
