/* rig.h — one program, compiled on one open device, run step by step with memory that nobody may leave.
 *
 *     rig r;
 *     rig_open(&r, ctx, &backend, &model, &limits, QN_COMPILE_DETERMINISTIC);
 *     rig_run(&r, &step);
 *     const float *y = rig_output(&r, y_buffer);
 *     rig_close(&r);
 *
 * Everything that the plugin is given ends at a page that cannot be touched: the program, weights, inputs, outputs,
 * positions, cells, spans and bindings. What it may only read cannot be written; what it may no longer read (the
 * program after compile, a weight after bind with QN_WEIGHT_COPY) cannot be read. Outputs hold a NaN that no op gives
 * before each step.
 *
 * Every call but rig_try ends the test when the plugin answers an error; tap and move say UNSUPPORTED when it has no
 * such verb.
 *
 * Threading: one thread at a time per object. Memory: owned by the rig; the model must outlive it.
 */
#ifndef CONFORM_RIG_H
#define CONFORM_RIG_H
#include "guarded.h"
#include "op_model.h"

/* Arrays of one cell group of the present step. */
typedef struct rig_group {
    guarded cells, spans, span_at;
} rig_group;

typedef struct rig {
    cf_context *ctx;
    const cf_backend *on;
    const op_model *model;
    const qn_program *program;
    qn_limits limits;
    uint32_t weight_flags;             /* QN_WEIGHT_BORROW or QN_WEIGHT_COPY */
    qn_prog *prog;
    qn_session *session;
    guarded buffers[OP_PROGRAM_ROOM];  /* weights, inputs, outputs */
    guarded code, positions, sequences, placements, bindings;
    rig_group groups[QN_MAX_GROUPS];
    qn_error error;
} rig;

/* What the plugin says to each op of a program, QN_VERDICT_*, and why not to the first that it refuses. */
typedef struct rig_verdicts {
    uint32_t of[OP_PROGRAM_ROOM];
    uint32_t refused;                  /* number of that op */
    char text[256];
} rig_verdicts;

/* True when the plugin says yes (or emulated) to every op. */
bool rig_is_offered(cf_context *ctx, const cf_backend *on, const op_model *model, uint32_t flags, rig_verdicts *out);

/* Compiles, binds, seals, makes a session. */
void rig_open(rig *self, cf_context *ctx, const cf_backend *on, const op_model *model, const qn_limits *limits,
              uint32_t flags);
/* The same; weight_flags: QN_WEIGHT_COPY or QN_WEIGHT_BORROW. */
void rig_open_with(rig *self, cf_context *ctx, const cf_backend *on, const op_model *model, const qn_limits *limits,
                   uint32_t flags, uint32_t weight_flags);
void rig_close(rig *self);

/* Another session of the same program in place of the present one. */
void rig_new_session(rig *self);

void rig_run(rig *self, const op_step *step);
/* The status is the caller's to judge; self->error is filled. */
qn_status rig_try(rig *self, const op_step *step);

/* Runs the same step n times and tells how long the verb took each time, in ns. */
void rig_time(rig *self, const op_step *step, uint32_t n, uint64_t *out_ns);

/* What the last step wrote, aligned to 4; every element of it differs from what stood there before. */
const float *rig_output(const rig *self, uint32_t buffer);

/* Reads an act (f32 rows) or a state (as stored) after a step of a materialised program. out: [bytes], exactly its
 * size. */
void rig_tap(rig *self, uint32_t buffer, void *out, uint64_t bytes);

void rig_move(rig *self, const qn_state_move *move);

#endif
