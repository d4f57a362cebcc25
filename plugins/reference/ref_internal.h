/* ref_internal.h — what the files of the reference plugin share.
 *
 *   reference_plugin.c  query, start, devices, open: the plugin and its device
 *   ref_program.c       check, plan, compile, bind_weights, seal, describe: the program
 *   ref_session.c       session_new, state_move, tap: state and scratch
 *   ref_scrub.c         get_ext: quoin.scrub/1
 *   ref_run.c           step: the loop over the ops
 *   ref_<op>.c          one op each, straight from its sheet in <quoin/ops.h>
 *
 * Everything lives in handles; there are no globals. Handles count their children, so that closing a parent too early is a line in the log
 * and a leak, not a crash.
 *
 * Threading: as the verbs of <quoin/abi.h> ask. Memory: all from the host's mem_alloc.
 */
#ifndef REF_INTERNAL_H
#define REF_INTERNAL_H
#include <quoin/glue_program.h>
#include <quoin/glue_step.h>

struct qn_plugin_state {
    qn_host host;              /* own copy */
    uint32_t n_devices;        /* open now */
};

struct qn_device {
    qn_plugin_state *plugin;
    uint32_t n_programs;
};

/* A weight as it was bound: where its element 0 is found. */
typedef struct ref_weight {
    const void *data;          /* null: not bound yet */
    uint64_t first_element;    /* of the weight in data */
    void *copy;                /* data, when it is our own copy */
} ref_weight;

struct qn_prog {
    qn_device *device;
    qn_program *program;       /* own copy, validated */
    qn_limits limits;
    uint32_t flags;            /* QN_COMPILE_* */
    uint32_t is_sealed, n_sessions;
    ref_weight *weights;       /* [n_buffers] */
    qn_act_slot *acts;         /* [n_buffers] */
    uint64_t arena_bytes;
    uint64_t *state_at;        /* [n_buffers] offset in a session's state memory */
    uint64_t state_bytes;
    uint64_t row_elems;        /* the longest row of any buffer */
    uint64_t score_elems;      /* the most that an attention op needs: n_head * cells */
};

struct qn_session {
    qn_prog *prog;
    char *state;               /* state buffers, as stored */
    char *arena;               /* act buffers */
    float *rows;               /* [n_workers][2][row_elems] decoded rows */
    double *scores;            /* [score_elems] */
    double *sums;              /* [row_elems] */
    uint32_t n_tokens, n_outputs; /* of the last step that succeeded; 0 tokens: none did */
};

/* One operand of an op in this step. */
typedef struct ref_view {
    const qn_buffer *buffer;
    void *data;                /* rows; for a weight: the tensor */
    uint64_t first_element;    /* weight: where it begins in the tensor */
    uint64_t n_columns, n_rows;
} ref_view;

/* What an op gets. */
typedef struct ref_call {
    qn_session *session;
    const qn_step *step;
    const void *attrs;
    uint32_t n_inputs;
    ref_view in[3];
    ref_view out;              /* STATE_WRITE has none: it writes in[1] */
} ref_call;

/* One function per row of ops.def: a row without its file does not link. */
#define QN_OP(NAME, number, name, since, least, most, outputs, attrs, bound) void ref_##name(const ref_call *call);
#include <quoin/ops.def>
#undef QN_OP

/* Decodes row `row` of a weight or a state to f32. out: [n_columns]. */
void ref_read_row(const ref_view *view, uint64_t row, float *out);

/* Row `row` of F32 rows. */
static inline float *ref_row(const ref_view *view, uint64_t row) {
    return (float *)view->data + row * view->n_columns;
}

/* Two rows of scratch, [row_elems] each, that belong to this worker. */
static inline float *ref_scratch(const ref_call *call, uint32_t worker, uint32_t which) {
    return call->session->rows + ((uint64_t)worker * 2 + which) * call->session->prog->row_elems;
}

static inline const qn_host *ref_host(const qn_prog *prog) {
    return &prog->device->plugin->host;
}

/* Bytes of one session: its states, and its scratch (acts, rows, scores). */
uint64_t ref_session_state_bytes(const qn_prog *prog);
uint64_t ref_session_scratch_bytes(const qn_prog *prog, uint32_t n_workers);

/* The verbs. */
qn_status QN_CALL ref_check(qn_device *device, const qn_program *program, const qn_compile_options *options, qn_verdict *verdicts,
                            uint64_t stride, qn_error *err);
qn_status QN_CALL ref_plan(qn_device *device, const qn_program *program, const qn_limits *limits, const qn_compile_options *options,
                           qn_memory_plan *out, qn_error *err);
qn_status QN_CALL ref_compile(qn_device *device, const qn_program *program, const qn_limits *limits,
                              const qn_compile_options *options, qn_prog **out, qn_error *err);
void QN_CALL ref_prog_free(qn_prog *prog);
qn_status QN_CALL ref_bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights, qn_error *err);
qn_status QN_CALL ref_seal(qn_prog *prog, qn_error *err);
qn_status QN_CALL ref_session_new(qn_prog *prog, qn_session **out, qn_error *err);
void QN_CALL ref_session_free(qn_session *session);
qn_status QN_CALL ref_step(qn_session *session, const qn_step *step, qn_error *err);
qn_status QN_CALL ref_state_move(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves, qn_error *err);
qn_status QN_CALL ref_tap(qn_session *session, uint32_t buffer, void *data, uint64_t room, uint64_t *out_bytes, qn_error *err);
const void *QN_CALL ref_get_ext(const char *id);
uint64_t QN_CALL ref_describe(qn_prog *prog, uint32_t op, char *text, uint64_t room);

#endif
