/* judge.h — how far the outputs of a whole program may be off, and which op is to blame when they are.
 *
 * The oracle runs as it should, and twice (once with --quick) with every result moved at random inside what the numeric
 * class allows for that one op (oracle_run.h). An output may be off by a small multiple of the most that any element of
 * it moved in the step: a plugin whose ops all keep their bounds stays well inside, one with a wrong op does not. It is
 * a formula of program, data and class, and knows no plugin.
 *
 *     judge j;
 *     judge_open(&j, &model, &limits, numeric);
 *     judge_step(&j, &step);
 *     rig_run(&r, &step);
 *     judge_outputs(&j, &r, &step, "fused");           ends the test with the first bad op's name
 *     judge_close(&j);
 *
 * Threading: one thread at a time per object.
 */
#ifndef CONFORM_JUDGE_H
#define CONFORM_JUDGE_H
#include "oracle_run.h"
#include "rig.h"

enum { JUDGE_NOISES = 2 };

typedef struct judge {
    const op_model *m;
    uint32_t numeric;
    oracle_run *clean, *noisy[JUDGE_NOISES];
    uint32_t n_noisy;
} judge;

void judge_open(judge *self, const op_model *m, const qn_limits *limits, uint32_t numeric);
void judge_close(judge *self);

void judge_step(judge *self, const op_step *step);
void judge_move(judge *self, const qn_state_move *move);

/* What an output of the last step should be, and how far each of its elements may be off. */
const double *judge_want(const judge *self, uint32_t output);
double judge_limit(const judge *self, uint32_t output, const op_step *step);

/* True when every output of the rig's last step is near enough; otherwise text says which and how far. */
bool judge_is_near(const judge *self, const rig *r, const op_step *step, char text[256]);

/* Computes every op of the step that a materialised rig has just run from the operands that the plugin itself had, and
 * ends the test at the first that does not keep its bound. `before`: the words in front. */
void judge_every_op(cf_context *ctx, rig *materialised, const op_step *step, uint32_t numeric, const char *before);

#endif
