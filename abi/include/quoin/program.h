/* program.h — the flat decode program, what it is compiled with, and what one step gives and takes.
 *
 * A program is one block of bytes without pointers: it can be hashed, stored as a test vector or sent to another process. It is
 * straight-line code in single-assignment form: every `act` and `output` buffer is written by exactly one op, and an op reads only
 * what stands before it. Prefill and decode are the same program with another number of tokens.
 *
 *   +--------+------------------+--------------+--------+-------------+------------+-------+
 *   | header | buffers[n]       | ops[n]       | groups | operand list| attributes | names |
 *   +--------+------------------+--------------+--------+-------------+------------+-------+
 *   offsets in the header are bytes from its start; each section begins at a multiple of 8.
 *
 * Shapes: dims[0] is the contiguous row length, dims[1] the number of rows, and so on. A dimension is a number or a symbol that
 * each step fixes: TOKENS (rows of this step), OUTPUTS (rows asked for), CELLS (capacity of the buffer's cell group).
 * Weights are all fixed. States are [CELLS][columns]. Input, output and act buffers have TOKENS or OUTPUTS as their outermost dimension
 * and fixed ones inside. An output is never read by an op; a state is read only after the op that writes it.
 * Formats: act, input and output buffers are F32 or I32. Weights have any format of formats.def. State is F32, F16 or BF16
 * (Q8_0 where the plugin's verdict says yes).
 *
 * Ownership, errors, threads: as abi.h.
 * Since: 0.0
 */
#ifndef QUOIN_PROGRAM_H
#define QUOIN_PROGRAM_H
#include <quoin/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QN_PROGRAM_MAGIC 0x50514e51u /* "QNQP" */
#define QN_PROGRAM_ENCODING 0u
#define QN_PROFILE_DECODE_CORE "decode-core-0"

enum { QN_ROLE_WEIGHT = 1, QN_ROLE_STATE = 2, QN_ROLE_INPUT = 3, QN_ROLE_OUTPUT = 4, QN_ROLE_ACT = 5 };
enum { QN_DIM_FIXED = 0, QN_DIM_TOKENS = 1, QN_DIM_OUTPUTS = 2, QN_DIM_CELLS = 3 };

#define QN_NO_LAYER UINT32_MAX
#define QN_MAX_RANK 4
#define QN_MAX_BUFFERS 65536u
#define QN_MAX_OPS 65536u
#define QN_MAX_GROUPS 16u

typedef uint32_t qn_format;
enum {
#define QN_FORMAT(name, number, elems, bytes, kind, layout) QN_FORMAT_##name = number,
#include <quoin/formats.def>
#undef QN_FORMAT
    QN_FORMAT_END_ = 65535
};

enum {
    QN_BUFFER_PANELS = 1u /* a weight [N][K] is bound as panels of sixteen rows (weights below): the same bits, rearranged. A plugin
                             that does not know them answers TOO_NEW to the program, and the host asks again with standard blocks */
};

typedef struct qn_buffer {
    uint32_t role;      /* QN_ROLE_* */
    qn_format format;
    uint32_t rank;      /* 1..4 */
    uint32_t group;     /* state: its cell group; otherwise 0 */
    uint64_t dims[QN_MAX_RANK];   /* unused ones are 1; symbolic ones 0 */
    uint32_t symbols[QN_MAX_RANK]; /* QN_DIM_* */
    uint32_t name_at;   /* offset in the names section of a terminated string, for messages */
    uint32_t flags;     /* QN_BUFFER_* */
} qn_buffer;

enum { QN_OP_LAYER_END = 1u /* a device border may be put behind this op */ };

typedef struct qn_op {
    uint32_t op;         /* QN_OP_* of ops.h */
    uint32_t flags;
    uint32_t layer;      /* or QN_NO_LAYER */
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t operands_at; /* index in the operand list: inputs, then outputs; each a buffer number */
    uint32_t attrs_at;   /* offset in the attributes section, a multiple of 8 */
    uint32_t attrs_bytes; /* 0 when the op has none */
} qn_op;

typedef struct qn_cell_group {
    uint32_t window;     /* 0: full attention; otherwise the longest distance that layers of this group look back + 1 */
    uint32_t flags;      /* 0 */
} qn_cell_group;

typedef struct qn_program {
    uint32_t magic;
    uint32_t encoding;
    uint64_t total_bytes;
    char profile[32];
    uint32_t n_buffers, buffer_stride, buffers_at;
    uint32_t n_ops, op_stride, ops_at;
    uint32_t n_groups, group_stride, groups_at;
    uint32_t n_operands, operands_at; /* u32 each */
    uint32_t attrs_at, attrs_bytes;
    uint32_t names_at, names_bytes;
    uint32_t reserved[3];
} qn_program;

/* The largest step that will be asked for. */
typedef struct qn_limits {
    uint32_t size;
    uint32_t max_tokens;    /* TOKENS of one step; >= 1 */
    uint32_t max_outputs;   /* OUTPUTS of one step; >= 1, <= max_tokens */
    uint32_t max_sequences; /* sequences of one step; >= 1 */
    uint32_t n_groups;      /* as in the program */
    uint32_t reserved;
    uint32_t cells[QN_MAX_GROUPS]; /* capacity of each cell group */
} qn_limits;

enum {
    QN_COMPILE_MATERIALIZE = 1u,   /* every act buffer is written and readable through tap; nothing is fused away */
    QN_COMPILE_DETERMINISTIC = 2u  /* equal inputs give equal bits, whatever the number of workers */
};

typedef struct qn_compile_options {
    uint32_t size;
    uint32_t flags;        /* QN_COMPILE_* */
    uint32_t numeric;      /* mask of allowed QN_NUMERIC_*; the plugin takes the fastest of them that it offers */
    uint32_t n_options;
    const qn_option *options; /* that apply at compile */
} qn_compile_options;

enum { QN_VERDICT_NO = 0, QN_VERDICT_YES = 1, QN_VERDICT_EMULATED = 2 /* yes, but slow */ };

typedef struct qn_verdict {
    uint32_t size;
    uint32_t verdict;
    char text[184];        /* why not; empty for yes */
} qn_verdict;

typedef struct qn_memory_plan {
    uint32_t size;
    uint32_t numeric;      /* the class that compile will take */
    uint64_t host_bytes[QN_MEM_KINDS];   /* private host memory by kind */
    uint64_t device_bytes[QN_MEM_KINDS];
    uint64_t borrowed_bytes; /* weights used in place */
    uint64_t peak_load_bytes; /* additional, only while binding */
} qn_memory_plan;

enum {
    QN_WEIGHT_COPY = 1u,   /* data is valid during the call only */
    QN_WEIGHT_BORROW = 2u  /* data is valid until prog_free, read-only */
};

/* The weight of a buffer with QN_BUFFER_PANELS: `data` is the start of the tensor's panels as <quoin/panels.h> defines them (for
 * TERNARY the 64 bytes with the scale), aligned to 64; first_element is the first of a row whose number is a multiple of 16; the
 * rows of the buffer end where the tensor's do, or their number is a multiple of 16 too. */
typedef struct qn_weight {
    uint32_t size;
    uint32_t buffer;       /* number of a weight buffer; its format and dims are the program's */
    uint32_t flags;        /* exactly one of QN_WEIGHT_* */
    int32_t fd;            /* file that the data is mapped from, or -1 */
    const void *data;      /* start of the tensor that holds the weight; aligned to 4 at least */
    uint64_t bytes;        /* readable bytes from data on */
    uint64_t fd_offset;    /* of data in fd */
    uint64_t first_element; /* the buffer's elements begin at this element of the tensor (rows of a fused tensor); a multiple
                               of the format's block, except TERNARY, where any element may be the first */
} qn_weight;

/* Consecutive cells that hold consecutive positions of one sequence: cell first_cell + i holds position first_position + i. */
typedef struct qn_span {
    uint32_t first_cell;
    uint32_t n_cells;
    int32_t first_position;
    uint32_t reserved;
} qn_span;

/* Placement of one cell group in one step. A token of sequence s sees the cells of spans[span_at[s] .. span_at[s + 1]) whose
 * position is at most its own (and within its window); the cells written by this step are among them. */
typedef struct qn_placement {
    uint32_t size;
    uint32_t n_spans;
    const uint32_t *cells;   /* [n_tokens] cell that receives the state of each token; no cell twice */
    const qn_span *spans;    /* [n_spans] grouped by sequence */
    const uint32_t *span_at; /* [n_sequences + 1] */
} qn_placement;

/* One input or output buffer of this step. */
typedef struct qn_binding {
    uint32_t buffer;
    uint32_t reserved;
    void *data;             /* inputs are only read; rows are contiguous */
    uint64_t bytes;         /* exactly the buffer's size with this step's symbols */
} qn_binding;

typedef struct qn_step {
    uint32_t size;
    uint32_t n_tokens;      /* TOKENS: 1..max_tokens */
    uint32_t n_outputs;     /* OUTPUTS: 0..max_outputs */
    uint32_t n_sequences;   /* 1..max_sequences */
    const int32_t *positions;  /* [n_tokens] position of each token in its sequence, >= 0 */
    const uint32_t *sequences; /* [n_tokens] sequence of each token, < n_sequences; null: all 0 */
    const qn_placement *placements; /* [n_groups], placement_stride bytes apart */
    uint64_t placement_stride;
    const qn_binding *bindings; /* every input and output buffer of the program, once */
    uint64_t binding_stride;
    uint32_t n_bindings;
    uint32_t reserved;
} qn_step;

enum { QN_MOVE_COPY = 1, QN_MOVE_ZERO = 2 };

typedef struct qn_state_move {
    uint32_t size;
    uint32_t kind;          /* QN_MOVE_* */
    uint32_t group;
    uint32_t from, to;      /* first cells; ranges may overlap (as memmove); from is ignored by ZERO */
    uint32_t n_cells;
} qn_state_move;

#ifdef __cplusplus
}
#endif
#endif
