/* backend.h — one plugin, started and with its first device open, on a test host; and a rig that runs one program on it.
 *
 *     backend b;
 *     backend_open(&b, query, features, n_workers);
 *     rig r;
 *     rig_init(&r, &b, program, &limits);
 *     rig_set(&r, w, weight_bytes, n);               weights: before rig_compile; inputs: before each rig_step
 *     rig_compile(&r, QN_COMPILE_DETERMINISTIC, QN_NUMERIC_F32ACC);
 *     rig_step(&r, &(qn_step){...});                 bindings are filled in by the rig
 *     const float *y = rig_output(&r, y_buffer);
 *     rig_deinit(&r); backend_close(&b);
 *
 * Every call but rig_try_* fails the running cmocka test when the backend answers an error, and checks by the way what holds for
 * every verb: a failure has a text, a success leaves the guard bands around outputs alone.
 *
 * Threading: one thread at a time per object.
 */
#ifndef TEST_BACKEND_H
#define TEST_BACKEND_H
#include "op_program.h"
#include "test_host.h"

typedef struct backend {
    test_host *host;
    const qn_plugin *verbs;
    qn_query_out about;
    qn_plugin_state *plugin;
    qn_device *device;
    qn_device_info info;
} backend;

/* The entry of the linked-in backend `name` ("reference"), or of the plugin file at `path`; null with a message on stderr. */
qn_query_fn backend_find(const char *name);
qn_query_fn backend_load(const char *path);

/* False, with a message on stderr, when the plugin refuses. */
bool backend_open(backend *self, qn_query_fn query, uint64_t features, uint32_t n_workers);
/* Returns the bytes that the plugin left behind. */
uint64_t backend_close(backend *self);

typedef struct rig_memory {
    void *base;      /* what malloc gave, or null */
    char *data;      /* inside base, aligned to 4 and, on purpose, to nothing more */
    uint64_t bytes;
} rig_memory;

typedef struct rig {
    const backend *backend;
    const qn_program *program;
    qn_limits limits;
    qn_prog *prog;
    qn_session *session;
    rig_memory memory[OP_PROGRAM_ROOM]; /* by buffer: weights, inputs, outputs */
    uint64_t first_element[OP_PROGRAM_ROOM];
    uint32_t weight_flags;   /* QN_WEIGHT_COPY or QN_WEIGHT_BORROW (the default) */
    qn_error error;
} rig;

/* Limits for programs with at most one group of `cells` cells. */
qn_limits rig_limits(uint32_t tokens, uint32_t outputs, uint32_t sequences, uint32_t n_groups, uint32_t cells);

void rig_init(rig *self, const backend *on, const qn_program *program, const qn_limits *limits);
void rig_deinit(rig *self);

/* Copies the content of a weight or an input. */
void rig_set(rig *self, uint32_t buffer, const void *data, uint64_t bytes);
/* The weight begins at this element of the tensor that rig_set gave. */
void rig_set_first(rig *self, uint32_t buffer, uint64_t first_element);

/* True when the plugin says yes (or emulated) to every op. */
bool rig_check(rig *self, uint32_t numeric);
/* compile, bind_weights, seal, session_new. */
void rig_compile(rig *self, uint32_t flags, uint32_t numeric);
/* Another session of the same program in place of the present one. */
void rig_new_session(rig *self);

/* Runs one step: sets size, bindings and their stride in *step. */
void rig_step(rig *self, qn_step *step);
qn_status rig_try_step(rig *self, qn_step *step);

/* What the last step wrote: every element of it differs from what stood there before. */
const float *rig_output(const rig *self, uint32_t buffer);

/* An act as f32 rows or a state as stored, after a materialised step; the caller frees. */
void *rig_tap(rig *self, uint32_t buffer, uint64_t bytes);

void rig_move(rig *self, uint32_t kind, uint32_t group, uint32_t from, uint32_t to, uint32_t n_cells);

#endif
