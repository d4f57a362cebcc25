/* cpu_internal.h — objects behind the plugin's handles, and what its files ask of each other.
 *
 *   qn_plugin_state ─ qn_device ─ qn_prog ─ qn_session
 *
 * A program is compiled to one or two plans: lists of stages that every worker of the team walks through in the same order,
 * with barriers only where a stage reads what another worker wrote. Plan `many` serves any step; plan `one` serves steps of
 * a single token, where whole-row work (norms, quantising) is repeated by each worker on storage of its own instead of being
 * waited for.
 *
 * Memory: everything through qn_host.mem_alloc; a step allocates nothing.
 */
#ifndef CPU_INTERNAL_H
#define CPU_INTERNAL_H
#include <stdatomic.h>

#include <quoin/abi.h>
#include <quoin/ext/peak.h>
#include <quoin/ext/scrub.h>
#include <quoin/program.h>
#include <quoin/ops.h>

#include "cpu_ops.h"

#define CPU_VERSION "0.1.0"
#define CPU_NONE UINT32_MAX

struct qn_plugin_state {
    const qn_host *host;      /* &own_host */
    qn_host own_host;         /* the table that start was given is valid for that call only */
    uint32_t n_devices;       /* open now */
    uint32_t isa;             /* CPU_ISA_*, from option isa */
    uint64_t features;        /* qn_machine.cpu_features[0] */
};

struct qn_device {
    qn_plugin_state *plugin;
    uint32_t n_programs;      /* compiled and not freed */
    cpu_ops ops;
    char isa_text[64];
};

/* A rope table: cosines and sines of one set of attributes, made once per step and token. */
typedef struct cpu_rope_spec {
    qn_rope_attrs attrs;
    uint32_t factors;         /* weight buffer, or CPU_NONE */
    uint32_t symbol;          /* QN_DIM_*: what its rows are */
    double *frequency;        /* [n_rot / 2] angle per position; made by seal */
} cpu_rope_spec;

/* A decoded op. */
typedef struct cpu_op {
    uint32_t kind;            /* QN_OP_* */
    uint32_t layer;
    uint32_t flags;
    uint32_t n_inputs;
    uint32_t in[3];
    uint32_t out;             /* CPU_NONE for STATE_WRITE */
    uint32_t rope;            /* index of the rope table */
    union {
        qn_scale_attrs scale;
        qn_rms_norm_attrs norm;
        qn_rope_attrs rope;
        qn_attention_attrs attention;
        qn_gated_attrs gated;
        qn_softcap_attrs softcap;
    } attrs;
} cpu_op;

enum { CPU_WEIGHT_UNBOUND = 0, CPU_WEIGHT_PANELS = 1, CPU_WEIGHT_ROWS = 2, CPU_WEIGHT_VECTOR = 3 };

typedef struct cpu_weight {
    uint32_t form;            /* CPU_WEIGHT_*, fixed by compile */
    bool bound;
    void *owned;              /* memory of the plugin, or null when borrowed */
    union {
        cpu_panels panels;
        cpu_rows rows;
        const float *vector;
    } as;
} cpu_weight;

enum {
    CPU_STAGE_OP = 0,         /* the op itself */
    CPU_STAGE_ROPE_TABLE = 1, /* in[0]: index of the rope table */
    CPU_STAGE_QUANTIZE = 2,   /* in[0] -> out, rows of activations of class ACT8 */
    CPU_STAGE_MERGE = 3       /* second half of attention */
};

/* Who does what of a stage. */
enum {
    CPU_PART_COLUMNS = 0,     /* worker w takes a range of column units in every row */
    CPU_PART_ROWS = 1,        /* worker w takes a range of rows */
    CPU_PART_EACH = 2,        /* every worker does all of it, into storage of its own */
    CPU_PART_ITEMS = 3        /* attention: items of the stage, dealt out in turn */
};

typedef struct cpu_stage {
    uint32_t kind;            /* CPU_STAGE_* */
    uint32_t op;              /* index of the op, or CPU_NONE */
    uint32_t part;            /* CPU_PART_* */
    uint32_t unit;            /* COLUMNS: columns of a unit */
    uint32_t width;           /* columns of a row */
    uint32_t symbol;          /* QN_DIM_TOKENS, QN_DIM_OUTPUTS or QN_DIM_FIXED (one row) */
    uint32_t epoch;           /* barriers before it */
    bool barrier;             /* wait for all before it */
    bool layer_end;           /* the cancel flag is polled at the next barrier */
    uint32_t in[3];
    uint32_t out;             /* buffer, or CPU_NONE */
} cpu_stage;

/* Where a buffer of a plan lives. Buffers beyond the program's own are quantised activations and rope tables. */
typedef struct cpu_place {
    uint64_t offset;          /* in the shared or the worker's arena */
    uint64_t bytes;           /* 0: not in an arena (weight, state, input, output) */
    bool is_private;
} cpu_place;

typedef struct cpu_plan {
    cpu_stage *stages;
    cpu_place *places;        /* [n_slots] */
    uint32_t n_stages;
    uint64_t shared_bytes;
    uint64_t private_bytes;   /* per worker */
} cpu_plan;

struct qn_prog {
    qn_device *device;
    const qn_host *host;
    qn_limits limits;
    uint32_t numeric;         /* QN_NUMERIC_F32ACC or QN_NUMERIC_ACT8 */
    bool materialize;
    bool sealed;
    bool has_one;             /* plan one exists */
    uint32_t n_workers;
    uint32_t n_sessions;
    uint32_t n_buffers, n_ops, n_groups, n_ropes, n_slots;
    qn_program *program;      /* copy */
    cpu_op *ops;              /* [n_ops] */
    cpu_weight *weights;      /* [n_buffers] */
    cpu_rope_spec *ropes;     /* [n_ropes] */
    uint32_t *quantized;      /* [n_buffers] slot with the quantised form of a buffer, or CPU_NONE */
    uint32_t rope_slots;      /* first slot of the rope tables */
    cpu_plan one, many;
    uint64_t part_floats;     /* shared scratch of split attention */
    uint64_t scratch_bytes;   /* per worker */
    uint32_t n_bindings;      /* input and output buffers */
};

struct qn_session {
    qn_prog *prog;
    void **states;            /* [n_buffers] state memory, null for others */
    uint8_t *state_block;     /* that all of it lies in, or null: each state owns its own */
    uint8_t *arena;           /* shared places of the larger plan */
    uint8_t *private_arena;   /* [n_workers] private places, private_stride bytes apart */
    uint64_t private_stride;
    uint8_t *scratch;         /* [n_workers] kernel scratch */
    float *parts;             /* split attention */
    cpu_cells *ranges;        /* [n_workers][CPU_CHUNK_CELLS] */
    const qn_binding **bindings; /* [n_buffers] of the running step */
    uint64_t *op_ns;          /* [n_ops] while quoin.profile/1 measures, otherwise null */
    uint32_t last_tokens, last_outputs; /* of the last complete step, for tap */
    bool stepped;
};

/* --- cpu_program.c: compile ------------------------------------------------------------------------------------------- */

qn_status cpu_check(qn_device *device, const qn_program *program, const qn_compile_options *options, qn_verdict *verdicts,
                    uint64_t stride, qn_error *err);
qn_status cpu_plan_memory(qn_device *device, const qn_program *program, const qn_limits *limits,
                          const qn_compile_options *options, qn_memory_plan *out, qn_error *err);
qn_status cpu_compile(qn_device *device, const qn_program *program, const qn_limits *limits,
                      const qn_compile_options *options, qn_prog **out, qn_error *err);
void cpu_prog_free(qn_prog *prog);
uint64_t cpu_describe(qn_prog *prog, uint32_t op, char *text, uint64_t room);

/* --- cpu_peak.c: quoin.peak/1 ------------------------------------------------------------------------------------------- */

extern const qn_peak cpu_peak_ext;

/* --- cpu_scrub.c: quoin.scrub/1 ----------------------------------------------------------------------------------------- */

extern const qn_scrub cpu_scrub_ext;

/* What a step writes besides states (cpu_session.c). */
#define CPU_SCRATCH_PIECES 6u
typedef struct cpu_piece {
    void *memory;
    uint64_t bytes;
} cpu_piece;
void cpu_session_scratch(const qn_session *session, cpu_piece pieces[CPU_SCRATCH_PIECES]);

/* --- cpu_profile.c: quoin.profile/1 ---------------------------------------------------------------------------------- */

const void *QN_CALL cpu_get_ext(const char *id);
/* Adds to an op's time; only while op_ns is there. */
void cpu_profile_add(qn_session *session, uint32_t op, uint64_t nanoseconds);

/* --- cpu_stages.c: from ops to stages, barriers and storage ----------------------------------------------------------- */

/* Fills `plan` (its arrays are allocated here). `single`: for steps of one token. False when memory is exhausted. */
bool cpu_plan_build(qn_prog *prog, bool single, cpu_plan *plan);
void cpu_plan_free(const qn_host *host, cpu_plan *plan);
/* Slots of quantised activations and rope tables that the program needs; fills prog->quantized. */
void cpu_plan_slots(qn_prog *prog);

/* --- cpu_weights.c ---------------------------------------------------------------------------------------------------- */

/* Chooses the form of a weight buffer from the ops that use it, and gives the bytes that the plugin will own for it. */
uint32_t cpu_weight_form(const qn_prog *prog, uint32_t buffer);
uint64_t cpu_weight_bytes(const qn_prog *prog, uint32_t buffer);
/* And those that it uses where they are. */
uint64_t cpu_weight_borrowed(const qn_prog *prog, uint32_t buffer);
qn_status cpu_bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights, qn_error *err);
qn_status cpu_seal(qn_prog *prog, qn_error *err);

/* --- cpu_session.c ---------------------------------------------------------------------------------------------------- */

uint64_t cpu_state_bytes(const qn_prog *prog, uint32_t buffer);
/* What a session takes for it; 0 for a buffer that is no state. */
uint64_t cpu_state_room(const qn_prog *prog, uint32_t buffer);
/* Scratch, arenas and lists of one session. */
uint64_t cpu_session_bytes(const qn_prog *prog);
qn_status cpu_session_new(qn_prog *prog, qn_session **out, qn_error *err);
void cpu_session_free(qn_session *session);
qn_status cpu_state_move(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves, qn_error *err);
qn_status cpu_tap(qn_session *session, uint32_t buffer, void *data, uint64_t room, uint64_t *out_bytes, qn_error *err);

/* --- cpu_step.c, cpu_run.c: one step ----------------------------------------------------------------------------------- */

qn_status cpu_step(qn_session *session, const qn_step *step, qn_error *err);

/* What the workers share during a step. */
typedef struct cpu_run {
    qn_session *session;
    const qn_prog *prog;
    const cpu_plan *plan;
    const cpu_ops *kernels;
    const qn_step *step;
    uint32_t n_tokens, n_outputs;
    _Atomic uint32_t stop_stage;    /* stage before which all workers leave; CPU_NONE: none */
} cpu_run;

/* Walks through the stages of run->plan. [team] */
void cpu_run_worker(void *arg, uint32_t worker, uint32_t n_workers);

/* cpu_attention.c: the two halves of an attention stage; the second is needed when the first is split along the cells. [team] */
bool cpu_attention_is_split(const cpu_run *run, const cpu_stage *stage);
void cpu_run_attention(const cpu_run *run, const cpu_stage *stage, uint32_t worker, uint32_t n_workers);
void cpu_run_merge(const cpu_run *run, const cpu_stage *stage, uint32_t worker, uint32_t n_workers);

/* Where buffer or slot `index` lives for this worker in the running step. */
void *cpu_locate(const cpu_run *run, uint32_t index, uint32_t worker);

/* Worker w's share [first, last) of `count` items. */
static inline void cpu_share(uint64_t count, uint32_t worker, uint32_t n_workers, uint64_t *first, uint64_t *last) {
    *first = count * worker / n_workers;
    *last = count * (worker + 1u) / n_workers;
}

static inline uint64_t cpu_align(uint64_t bytes, uint64_t to) {
    return (bytes + to - 1) / to * to;
}

static inline const qn_placement *cpu_placement(const cpu_run *run, uint32_t group) {
    return (const qn_placement *)(const void *)((const uint8_t *)run->step->placements + group * run->step->placement_stride);
}

/* Elements [first_col, first_col + count) of a row of a weight read in place, as blk_decode gives them. */
void cpu_decode_columns(const cpu_rows *w, uint32_t row, uint32_t first_col, uint32_t count, float *values);

static inline uint32_t cpu_rows_of(const cpu_run *run, uint32_t symbol) {
    return symbol == QN_DIM_TOKENS ? run->n_tokens : symbol == QN_DIM_OUTPUTS ? run->n_outputs : 1;
}

#endif
