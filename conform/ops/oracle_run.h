/* oracle_run.h — whole programs in 64-bit arithmetic, op by op, with state: what a plugin should have computed.
 *
 *     oracle_run *want = oracle_run_open(&model, &limits, numeric);
 *     oracle_run_step(want, &step);
 *     oracle_run_want(want, y)[i], oracle_run_bound(want, y)[i]        |got - want| <= bound; bound 0: the very same
 * bits oracle_run_close(want);
 *
 * Between ops values are rounded to f32, as the program says. The bound is that of the last op alone: it holds for a
 * program whose other ops are exact. What errors of many ops come to is found with noise: every result, and with class
 * ACT8 every operand that may be quantised, is moved at random inside what the class allows; how far the outputs move
 * is a measure for how far they may be off.
 *
 * Instead of running a whole step, single ops can be computed from operands that were read out of a plugin
 * (oracle_run_load).
 *
 * Threading: one thread at a time per object. Memory: owned by the object; the model must outlive it.
 */
#ifndef CONFORM_ORACLE_RUN_H
#define CONFORM_ORACLE_RUN_H
#include "op_model.h"

typedef struct oracle_run oracle_run;

/* numeric: one of QN_NUMERIC_*; the bounds are those of this class. */
oracle_run *oracle_run_open(const op_model *model, const qn_limits *limits, uint32_t numeric);
void oracle_run_close(oracle_run *self);

/* From now on results are moved by random parts of what the class allows. */
void oracle_run_set_noise(oracle_run *self, uint64_t salt);

/* Runs all ops. */
void oracle_run_step(oracle_run *self, const op_step *step);
void oracle_run_move(oracle_run *self, const qn_state_move *move);

/* Of an act or output buffer, after the step: [rows * columns]. */
const double *oracle_run_want(const oracle_run *self, uint32_t buffer);
const double *oracle_run_bound(const oracle_run *self, uint32_t buffer);
/* What an act holds now: [rows * columns]. */
const float *oracle_run_values(const oracle_run *self, uint32_t buffer);
/* A state as stored: [cells][row bytes]. */
const uint8_t *oracle_run_state(const oracle_run *self, uint32_t buffer);

/* Begins a step of which only single ops will be computed. */
void oracle_run_begin(oracle_run *self, const op_step *step);
/* What an act (f32 rows) or state (as stored) holds. */
void oracle_run_load(oracle_run *self, uint32_t buffer, const void *data);
/* Computes op number `index` from what its operands hold now: want and bound of its output, or the cells of its state.
 */
void oracle_run_op(oracle_run *self, uint32_t index);

#endif
