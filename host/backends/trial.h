/* trial.h — a program of one token and one op or a few, on an opened device: what is timed when devices or layouts are compared.
 *
 *     trial t = {0};
 *     program_builder_init(&t.b);
 *     const uint32_t x = trial_input(&t, width, "x");
 *     t.weight = …;                                     only when there is one
 *     trial_open(&t, on, program_matmul(&t.b, w, x, PROGRAM_NO_BUFFER), err);
 *     trial_run(&t, on, err);                           as often as wanted
 *     trial_close(&t, on);                              also after a failed open
 *
 * Threading: one thread; the device's own.
 * Memory:    a trial owns its program, its session and its activations; it borrows the weight's bytes until trial_close.
 * Errors:    what the plugin refuses, as refusal.h forms it, at stage "measure".
 */
#ifndef HOST_TRIAL_H
#define HOST_TRIAL_H
#include "backends/backend.h"
#include "base/program_builder.h"

#define TRIAL_MOST_INPUTS 3u

/* A program of one token, its buffers and what a device made of it. */
typedef struct trial {
    program_builder b;
    qn_program *program;
    uint64_t width;           /* of the widest input */
    uint32_t inputs[TRIAL_MOST_INPUTS], n_inputs, output;
    float *x;                 /* as long as the widest input, bound to every one */
    float *y;                 /* [n_outputs] */
    uint64_t n_outputs;
    uint32_t n_cells;         /* 0: the program has no state */
    qn_weight weight;         /* data is null without one */
    qn_prog *prog;
    qn_session *session;
} trial;

uint32_t trial_input(trial *t, uint64_t width, const char *name);

/* Finishes the program with this output, compiles it, binds the weight and makes a session. */
qn_status trial_open(trial *t, const backend *on, uint32_t output, error_context *err);
void trial_close(trial *t, const backend *on);

/* One token; with a state, at the last cell, seeing all of them. */
qn_status trial_run(const trial *t, const backend *on, error_context *err);

/* Bytes of memory that an opened trial's weight takes beside the bytes that it was bound from; 0 when the plugin does not say. */
uint64_t trial_copy_bytes(const trial *t, const backend *on);

/* Values in (-1, 1) that are the same in every run. */
void trial_fill_floats(float *values, uint64_t count);

/* The blocks of a tensor of any format, the same in every run; every scale is a normal number below one. */
void trial_fill_blocks(qn_format format, unsigned char *data, uint64_t bytes);

#endif
