/* lower_rig.h — one op of a small program, lowered and run in the emulator, in memory of the test.
 *
 *     lower_rig r;
 *     lower_rig_init(&r, program);                        program: finished by op_program_finish
 *     r.caps.max_binding_bytes = 4096;                    whatever the device shall be like
 *     lower_rig_set(&r, w, bytes, n_bytes);               every operand of the op
 *     lower_rig_run(&r, 0, n_tokens, n_outputs);
 *     lower_rig_deinit(&r);
 *
 * lower_rig_run fails the running cmocka test with the message of the lowering or of the emulator, and checks by the way that the
 * promises about launches, scratch and kernels hold.
 *
 * Threading: one thread at a time. Memory: operands are the caller's.
 */
#ifndef TEST_LOWER_RIG_H
#define TEST_LOWER_RIG_H
#include <gpu_lower.h>

#include "op_program.h"

#define LOWER_RIG_LAUNCHES 4096u

typedef struct lower_rig {
    const qn_program *program;
    gpu_caps caps;
    qn_limits limits;
    gpu_memory memory[OP_PROGRAM_ROOM];
    uint64_t first_element[OP_PROGRAM_ROOM]; /* weights */
    gpu_step_block block;
    gpu_memory step_memory[5];               /* positions, sequences, cells, spans, span_at of group 0 */
    const float *factors;                    /* ROPE: null, or as f32 */
    gpu_launch *launches;
    uint32_t n_launches;                     /* of the last run */
    uint32_t numeric;                        /* F32ACC, unless the test says otherwise */
    uint32_t subgroup;                       /* what subgroups are really like; 0: as the emulator likes them */
} lower_rig;

void lower_rig_init(lower_rig *self, const qn_program *program);
void lower_rig_deinit(lower_rig *self);

/* data: of the buffer as it lies on the device (states with padded rows), writable, rounded up to whole words. */
void lower_rig_set(lower_rig *self, uint32_t buffer, void *data, uint64_t bytes);

/* Words of the step block: arrays of the caller. */
void lower_rig_place(lower_rig *self, uint32_t n_tokens, int32_t *positions, uint32_t *sequences, const uint32_t *cells, uint32_t n_spans,
                     const qn_span *spans, uint32_t n_sequences, const uint32_t *span_at);

void lower_rig_run(lower_rig *self, uint32_t op, uint32_t n_tokens, uint32_t n_outputs);
/* Two ops that are partners. */
void lower_rig_run_pair(lower_rig *self, uint32_t op, uint32_t partner, uint32_t n_tokens, uint32_t n_outputs);

/* Runs what stands in launches[0 .. n). */
void lower_rig_run_launches(const gpu_launch *launches, uint32_t n, uint32_t subgroup);

#endif
