/* gpu_core.h — what the files of core/ share: handles, device memory, layouts, recordings.
 *
 *   gpu_plugin.c      query, start, devices, open, close, trim: the plugin and its device      gpu_options.c  options
 *   gpu_memory.c      device memory, accounted, budgeted and noted; pools of it
 *   gpu_program.c     check, plan, compile, describe                               gpu_layout.c, gpu_acts.c   where all will lie
 *   gpu_weights.c     bind_weights, seal
 *   gpu_session.c     session_new, session_free                                                 gpu_state.c    state_move
 *   gpu_step.c        step                                                                      gpu_block.c    numbers of a step in memory
 *   gpu_recordings.c  one recording per shape of step, the least recently used gives way        gpu_list.c     a shape becomes launches
 *   gpu_tap.c, gpu_sample.c, gpu_profile.c, gpu_scrub.c, gpu_fault.c                             the rest of the verbs; extensions
 *
 * Everything lives in handles; there are no globals. Handles count their children, so that closing a parent too early is a line in
 * the log and a leak, not a crash.
 *
 * Threading: every verb that touches a device holds its lock from gpu_enter to gpu_leave, so two sessions of one device step one
 * after the other. Memory: of the host from mem_alloc alone, all of it before the first step; of the device from gpu_memory_take.
 * Errors: after DEVICE_LOST gpu_enter refuses, and only what frees goes on.
 */
#ifndef GPU_CORE_H
#define GPU_CORE_H
#include <pthread.h>
#include <stdbool.h>

#include <quoin/ext/device_sample.h>
#include <quoin/ext/profile.h>
#include <quoin/ext/scrub.h>
#include <quoin/ext/test_fault.h>

#include "gpu_lower.h"

#define GPU_NONE UINT32_MAX
#define GPU_PLACE_ALIGN 256u      /* of everything that is put into a memory: no device asks for more */
#define GPU_KERNEL_WORDS 32u      /* kernels that a device may have, in words of 64 */

struct qn_plugin_state {
    qn_host host;                 /* own copy; lives as long as the driver */
    gpu_driver_state *driver;
    uint32_t n_devices;           /* open now */
};

#define GPU_FAULT_KINDS 5u

struct qn_device {
    qn_plugin_state *plugin;
    gpu_driver_device *driver;
    gpu_caps caps;
    uint32_t numeric;             /* mask that it offers */
    uint32_t n_programs;
    bool is_lost;
    pthread_mutex_t lock;
    uint64_t budget, taken;       /* bytes of device memory; budget UINT64_MAX: as many as the device gives */
    uint64_t opened[GPU_KERNEL_WORDS]; /* a bit for each kernel that is open */
    uint64_t events[GPU_FAULT_KINDS], fails_at[GPU_FAULT_KINDS]; /* by QN_FAULT_*: how many there were, and which one fails (0: none) */
};

/* A piece of device memory that core took. */
typedef struct gpu_piece {
    gpu_memory *memory;           /* null: not taken */
    uint64_t bytes;               /* as accounted */
    uint32_t kind, place;
} gpu_piece;

/* Many small things in few memories. */
typedef struct gpu_slot {
    uint32_t pool;                /* GPU_NONE: has no place here */
    uint64_t at;
} gpu_slot;

typedef struct gpu_pools {
    uint32_t n, room;
    uint64_t *bytes;              /* [room] of each pool */
} gpu_pools;

typedef struct gpu_weight {
    bool is_bound;
    bool is_borrowed;             /* expected to be used in place */
    bool has_values;              /* factors of a ROPE: the host needs them for the table */
    gpu_slot slot;                /* of a copy that was planned */
    gpu_piece own;                /* imported pages, or a copy that was not planned */
    gpu_binding at;               /* once bound */
    uint64_t first_element;       /* TERNARY: of what lies at `at` */
    float *values;                /* rope factors: a copy for the table */
} gpu_weight;

/* Where one step's numbers lie in the block, for one shape. Offsets are bytes. */
typedef struct gpu_block {
    uint64_t positions, sequences, cells[QN_MAX_GROUPS], span_at[QN_MAX_GROUPS], spans[QN_MAX_GROUPS];
    uint64_t inputs;              /* of the first input buffer; the others follow in the program's order */
    uint64_t bytes;
} gpu_block;

/* What tells one recording from another: all sizes that stand in launches. Compared as bytes. */
typedef struct gpu_shape {
    uint32_t n_tokens, n_outputs;
    uint32_t spans[QN_MAX_GROUPS];    /* room for this many, all sequences together */
    uint32_t visible[QN_MAX_GROUPS];  /* gpu_step_block.most_visible */
    uint32_t top_k, top_columns;      /* 0, or the k greatest of the first top_columns logits instead of the logits */
    uint32_t top_buffer;
} gpu_shape;

/* Regions of a session's device memory, in this order. */
enum { GPU_REGION_BLOCK, GPU_REGION_ACTS, GPU_REGION_SCRATCH, GPU_REGION_QUANTS, GPU_REGION_OUTPUTS, GPU_REGION_TOP, GPU_REGIONS };

struct qn_prog {
    qn_device *device;
    qn_program *program;          /* own copy, validated */
    qn_limits limits;
    uint32_t flags;               /* QN_COMPILE_* */
    uint32_t numeric;             /* the class that was taken */
    bool is_sealed;
    uint32_t n_sessions;
    uint32_t *partner;            /* [n_ops] gpu_fuse */
    gpu_weight *weights;          /* [n_buffers] */
    gpu_pools weight_pools;
    gpu_piece *weight_memory;     /* [weight_pools.n] */
    uint64_t borrowed_bytes;      /* weights that are expected to be used in place */
    qn_act_slot *acts;            /* [n_buffers] */
    gpu_slot *states;             /* [n_buffers] */
    gpu_pools state_pools;
    uint64_t *output_at;          /* [n_buffers] output buffers: offset in the region of outputs and in the read-back memory */
    uint64_t region_bytes[GPU_REGIONS]; /* 0: none */
    gpu_slot regions[GPU_REGIONS];
    gpu_pools session_pools;      /* that hold the regions */
    uint64_t session_bytes[GPU_REGIONS]; /* storage of session_pools.bytes */
    uint64_t block_bytes;         /* numbers of the largest step, in the upload memory */
    uint64_t readback_bytes;      /* outputs, then ids and values of top-k */
    uint64_t tables_bytes;        /* zeros, then the constants of the ops */
    uint64_t values_bytes;        /* host memory of gpu_weight.values */
    gpu_piece tables_memory;
    gpu_binding zero;
    gpu_binding *tables;          /* [n_ops] */
    gpu_launch *launches;         /* [room] while a shape becomes a recording; under the device's lock */
    uint32_t room;                /* launches that a step may need */
    uint32_t move_room;           /* launches of one run of moves */
};

#define GPU_RECORDINGS 4u

typedef struct gpu_recorded {
    gpu_recording *recording;
    gpu_shape shape;
    uint32_t n_launches;          /* 0: holds nothing */
    uint32_t *ops;                /* [room] the op of each launch */
    uint64_t last_use;
} gpu_recorded;

struct qn_session {
    qn_prog *prog;
    gpu_piece *state;             /* [state_pools.n] */
    gpu_piece pools[GPU_REGIONS]; /* [session_pools.n] */
    gpu_piece upload, readback;
    gpu_recorded recorded[GPU_RECORDINGS];
    gpu_recording *moves;         /* for zeroing and moving cells */
    uint64_t n_steps;             /* tried so far: the clock of last_use */
    uint32_t n_tokens, n_outputs; /* of the last step that succeeded; 0 tokens: none did */
    uint64_t *op_ns;              /* [n_ops] while profiled */
    uint64_t *launch_ns;          /* [room] while profiled */
};

static inline const qn_host *gpu_host(const qn_device *device) {
    return &device->plugin->host;
}

static inline uint64_t gpu_round_up(uint64_t bytes, uint64_t align) {
    return (bytes + align - 1) / align * align;
}

/* --- gpu_plugin.c ------------------------------------------------------------------------------------------------------- */

/* Locks the device for a verb; DEVICE_LOST, unlocked, when it is lost. */
qn_status gpu_enter(qn_device *device, qn_error *err);
/* Unlocks it; remembers a loss. Returns status. */
qn_status gpu_leave(qn_device *device, qn_status status);

/* Zeroed memory of the host, or null; at least one byte. */
void *gpu_host_take(const qn_device *device, uint32_t kind, uint64_t bytes);
void gpu_host_give(const qn_device *device, void *memory);

const void *QN_CALL gpu_get_ext(const char *id);

/* --- gpu_options.c ------------------------------------------------------------------------------------------------------ */

/* Are all options in the driver's table for this stage (QN_OPTION_AT_*)? UNSUPPORTED naming the first that is not. */
qn_status gpu_options_check(const qn_option *options, uint32_t n_options, uint32_t stage, qn_error *err);
/* Takes the options of core out: *out_budget, and the rest moved to own[n_own], which has room for n_options. */
qn_status gpu_options_split(const qn_option *options, uint32_t n_options, uint64_t *out_budget, qn_option *own, uint32_t *out_own,
                            qn_error *err);
/* How many options a driver's table may have. */
#define GPU_MOST_OPTIONS 32u

/* --- gpu_memory.c ------------------------------------------------------------------------------------------------------- */

/* Bytes of one memory as they are accounted. */
uint64_t gpu_memory_bytes(const gpu_caps *caps, uint64_t bytes);
/* Takes memory of the device, notes it under `kind`, and keeps to the budget (GPU_PLACE_DEVICE alone counts): NO_DEVICE_MEM with
 * asked and free bytes. Content is undefined. */
qn_status gpu_memory_take(qn_device *device, uint32_t kind, uint32_t place, uint64_t bytes, gpu_piece *out, qn_error *err);
/* Gives it back; a piece that was not taken is legal. */
void gpu_memory_give(qn_device *device, gpu_piece *piece);

/* Finds a place for `bytes` in the last pool, or in a new one. NO_DEVICE_MEM when no memory of the device is that large. */
qn_status gpu_pools_place(const gpu_caps *caps, gpu_pools *pools, uint64_t bytes, const char *name, gpu_slot *out, qn_error *err);
/* What all pools will be accounted with. */
uint64_t gpu_pools_bytes(const gpu_caps *caps, const gpu_pools *pools);

/* --- gpu_program.c, gpu_layout.c ---------------------------------------------------------------------------------------- */

qn_status QN_CALL gpu_check(qn_device *device, const qn_program *program, const qn_compile_options *options, qn_verdict *verdicts,
                            uint64_t stride, qn_error *err);
qn_status QN_CALL gpu_plan(qn_device *device, const qn_program *program, const qn_limits *limits, const qn_compile_options *options,
                           qn_memory_plan *out, qn_error *err);
qn_status QN_CALL gpu_compile(qn_device *device, const qn_program *program, const qn_limits *limits, const qn_compile_options *options,
                              qn_prog **out, qn_error *err);
void QN_CALL gpu_prog_free(qn_prog *prog);
uint64_t QN_CALL gpu_describe(qn_prog *prog, uint32_t op, char *text, uint64_t room);

/* Gives everything of the program its place; takes no memory. */
qn_status gpu_layout_make(qn_prog *prog, qn_error *err);
/* gpu_acts.c: places for act buffers; as qn_plan_acts. */
qn_status gpu_acts_plan(const qn_program *program, const qn_limits *limits, uint32_t flags, qn_act_slot *slots, uint64_t *out_bytes,
                        qn_error *err);
/* Bytes that a copy of the weight takes, wherever in its tensor it begins. */
uint64_t gpu_weight_bytes(const qn_buffer *buffer);
/* An output whose rows can be sampled on the device: [OUTPUTS][n] F32. */
bool gpu_layout_is_sampled(const qn_buffer *buffer);
/* Host memory that compile takes for its own copies and tables. */
uint64_t gpu_layout_code_bytes(const qn_prog *prog);
/* What the program and one session will take, by kind. */
void gpu_layout_plan(const qn_prog *prog, qn_memory_plan *plan);

/* --- gpu_weights.c ------------------------------------------------------------------------------------------------------ */

qn_status QN_CALL gpu_bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights, qn_error *err);
qn_status QN_CALL gpu_seal(qn_prog *prog, qn_error *err);
/* Gives back what bind_weights and seal took. */
void gpu_weights_free(qn_prog *prog);

/* --- gpu_session.c ------------------------------------------------------------------------------------------------------ */

qn_status QN_CALL gpu_session_new(qn_prog *prog, qn_session **out, qn_error *err);
void QN_CALL gpu_session_free(qn_session *session);
/* The memory that holds a region, and where it begins. */
gpu_binding gpu_session_region(const qn_session *session, uint32_t region);
/* The whole of a state buffer. */
gpu_binding gpu_session_state(const qn_session *session, uint32_t buffer);

/* --- gpu_block.c -------------------------------------------------------------------------------------------------------- */

/* Where numbers lie for a shape. */
void gpu_block_lay_out(const qn_prog *prog, const gpu_shape *shape, gpu_block *out);
/* Offset of an input buffer in it. */
uint64_t gpu_block_input(const qn_prog *prog, const gpu_shape *shape, const gpu_block *block, uint32_t buffer);
/* The shape of a checked step. BAD_ARG when spans of a sequence have more cells than there are. */
qn_status gpu_block_shape(const qn_prog *prog, const qn_step *step, gpu_shape *out, qn_error *err);
/* The largest shape within the limits. */
void gpu_block_largest(const qn_prog *prog, gpu_shape *out);
/* Writes the numbers of a checked step. to: the upload memory. */
void gpu_block_write(const qn_prog *prog, const qn_step *step, const gpu_shape *shape, void *to);
/* Bytes of an input or output buffer in a shape. */
uint64_t gpu_block_buffer_bytes(const qn_buffer *buffer, uint32_t n_tokens, uint32_t n_outputs);

/* --- gpu_list.c --------------------------------------------------------------------------------------------------------- */

/* Lowers a whole step of this shape to prog->launches; *out_n of them. */
qn_status gpu_list_make(const qn_session *session, const gpu_shape *shape, uint32_t *out_n, qn_error *err);
/* Appends a copy. */
void gpu_list_copy(gpu_lowering *to, gpu_binding from, gpu_binding dest);
/* Lowers one op to nothing but `scratch` and the list: for zeroing. */
gpu_lowering gpu_list_begin(const qn_session *session);

/* --- gpu_recordings.c --------------------------------------------------------------------------------------------------- */

qn_status gpu_recordings_new(qn_session *session, qn_error *err);
void gpu_recordings_free(qn_session *session);
/* The recording of this shape, made now when there is none. */
qn_status gpu_recordings_find(qn_session *session, const gpu_shape *shape, gpu_recorded **out, qn_error *err);

/* --- gpu_step.c, gpu_state.c, gpu_tap.c --------------------------------------------------------------------------------- */

qn_status QN_CALL gpu_step(qn_session *session, const qn_step *step, qn_error *err);
/* What of the results is wanted instead of the logits. */
typedef struct gpu_top {
    uint32_t buffer, k, n_columns;
    uint32_t *ids;                /* [n_outputs][k] */
    float *values;
} gpu_top;
/* The same with the k greatest of one output's rows in place of these (top null: all outputs). */
qn_status gpu_step_run(qn_session *session, const qn_step *step, const gpu_top *top, qn_error *err);

qn_status QN_CALL gpu_state_move(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves, qn_error *err);
/* Zeroes all states of a new session. */
qn_status gpu_state_clear(qn_session *session, qn_error *err);
/* Zeroes all regions of a session. */
qn_status gpu_scratch_clear(qn_session *session, qn_error *err);

qn_status QN_CALL gpu_tap(qn_session *session, uint32_t buffer, void *data, uint64_t room, uint64_t *out_bytes, qn_error *err);

/* --- extensions --------------------------------------------------------------------------------------------------------- */

extern const qn_profile gpu_profile_ext;
extern const qn_device_sample gpu_sample_ext;
extern const qn_scrub gpu_scrub_ext;
extern const qn_test_fault gpu_fault_ext;
/* Counts an event of this kind (QN_FAULT_*); fails when it is the one that was asked for. */
qn_status gpu_fault_pass(qn_device *device, uint32_t kind, qn_error *err);
/* The driver's functions of these names, each an event of QN_FAULT_LOSE. */
qn_status gpu_run(qn_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err);
qn_status gpu_upload(qn_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes, qn_error *err);
qn_status gpu_download(qn_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes, qn_error *err);

/* Adds the times of a run to the ops. */
void gpu_profile_add(qn_session *session, const gpu_recorded *recorded);

#endif
