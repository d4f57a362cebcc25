/* lower_internal.h — what the files of lower/ share: how an op says what it becomes, and how launches are appended.
 *
 *   gpu_lower.c        the functions of gpu_lower.h: finds the op's row and asks it
 *   lower_<op>.c       one op each: its kernels, its launches
 *   lower_launch.c     appends one launch: folds the grid, checks what the device can bind
 *   lower_weights.c    which kernels a weight format has; weights in pieces that a binding can hold
 *   lower_fuse.c       which ops become one launch
 *   lower_extra.c      fill and top-k
 *
 * Threading: pure but for the list that is appended to. Memory: none is taken.
 */
#ifndef LOWER_INTERNAL_H
#define LOWER_INTERNAL_H
#include "../gpu_lower.h"
#include "../kernels/kernels.h"

#include <quoin/glue.h>

#include <stdio.h>

typedef unsigned int uint;
#include "../kernels/kernel_params.h"

/* What an op is asked about. */
typedef struct lower_question {
    const gpu_caps *caps;
    const qn_program *program;
    const qn_limits *limits;  /* null where they are not known yet */
    uint32_t numeric;         /* 0 where it does not matter */
    const qn_op *op;
    const void *attrs;
} lower_question;

#define LOWER_MAX_KERNELS 8u
#define LOWER_VERDICT_BYTES 184u

typedef struct lower_row {
    /* True, or false with the reason; null: always possible. */
    int (*can)(const lower_question *ask, char text[LOWER_VERDICT_BYTES]);
    /* Writes at most LOWER_MAX_KERNELS; returns how many. */
    uint32_t (*kernels)(const lower_question *ask, uint32_t *kernels);
    /* Null: one launch, no scratch. */
    uint32_t (*most_launches)(const lower_question *ask);
    uint64_t (*scratch_bytes)(const lower_question *ask);
    uint64_t (*quants_bytes)(const lower_question *ask);
    qn_status (*lower)(gpu_lowering *to, const gpu_call *call, qn_error *err);
    /* These three or none. Does the op become one launch with `next`, which comes later? */
    int (*can_pair)(const lower_question *ask, const lower_question *next);
    uint32_t (*pair_kernel)(const lower_question *ask);
    qn_status (*lower_pair)(gpu_lowering *to, const gpu_call *call, const gpu_call *next, qn_error *err);
} lower_row;

#define QN_OP(NAME, number, name, since, least, most, outputs, attrs, bound) extern const lower_row lower_##name;
#include <quoin/ops.def>
#undef QN_OP

/* Number of the op's operand in the program; the outputs stand behind the inputs. */
static inline uint32_t lower_operand_number(const lower_question *ask, uint32_t n) {
    return qn_program_operands(ask->program, ask->op)[n];
}

static inline const qn_buffer *lower_operand(const lower_question *ask, uint32_t n) {
    return qn_program_buffer(ask->program, qn_program_operands(ask->program, ask->op)[n]);
}

/* a / b rounded up. */
static inline uint64_t lower_ceil(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

/* Null: no such op. */
const lower_row *lower_find_row(uint32_t op);

/* --- Launches --------------------------------------------------------------------------------------------------------- */

/* Appends one launch of `groups` work-groups in a line. params: the kernel's struct, of the size that kernels.def names.
 * QN_INTERNAL: no room. QN_UNSUPPORTED: a binding or the grid is more than the device has. */
qn_status lower_launch(gpu_lowering *to, uint32_t kernel, uint64_t groups, const gpu_binding *const *buffers, const void *params,
                       uint32_t op, qn_error *err);

/* The same for a kernel that works on n elements, each_item of them by one item. */
qn_status lower_elements(gpu_lowering *to, uint32_t kernel, uint64_t n, uint32_t each_item, const gpu_binding *const *buffers,
                         const void *params, uint32_t op, qn_error *err);

/* Elements that one item of the elementwise kernels handles (ITEM_ELEMENTS of common.kernel). */
#define LOWER_ITEM_ELEMENTS 4u

/* False with the reason when one row of an operand (one cell of a state) is longer than what a kernel sees at once. Whether all rows of
 * a step are is a matter of the limits, and of core. */
int lower_can_bind(const lower_question *ask, char text[LOWER_VERDICT_BYTES]);

/* Elements of an operand, when they can be counted in 32 bits. */
qn_status lower_count(const gpu_view *view, uint32_t op, uint32_t *out, qn_error *err);

/* --- Weights ---------------------------------------------------------------------------------------------------------- */

typedef struct lower_format {
    qn_format format;
    uint32_t embed, gemv, gemv_subgroup, gemm, matrow1, matrow4; /* kernels */
    uint32_t run;               /* elements of a run in decode.kernel */
} lower_format;

/* Kernels that multiply bytes. */
typedef struct lower_dot_format {
    qn_format format;
    uint32_t gemv, gemv_subgroup, gemm;
} lower_dot_format;

/* Null: the format has none. */
const lower_dot_format *lower_find_dot(qn_format format);

/* Null: no kernel reads the format. */
const lower_format *lower_find_format(qn_format format);

/* Rows of a weight that one binding holds: as many as the device allows, at most 2^29 bytes, a multiple of 4 (so that each piece
 * begins at a whole word) or all of them; 0 when not even four fit. */
uint64_t lower_piece_rows(const gpu_caps *caps, qn_format format, uint64_t n_columns, uint64_t n_rows);

/* False with the reason when the weight has a format without kernels or rows that are too long. */
int lower_can_read(const gpu_caps *caps, const qn_buffer *weight, char text[LOWER_VERDICT_BYTES]);
uint32_t lower_n_pieces(const gpu_caps *caps, const qn_buffer *weight);

typedef struct lower_piece {
    uint64_t first_row, n_rows;
    gpu_binding w, w_scale;
    uint32_t row_bytes, first_element; /* as in matmul_params */
} lower_piece;

/* The piece that begins at first_row. */
lower_piece lower_take_piece(const gpu_lowering *to, const gpu_view *weight, uint64_t first_row);

#endif
