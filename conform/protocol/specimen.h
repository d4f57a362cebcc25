/* specimen.h — a small program with its weights, for tests that need some program to be there and do not ask what it computes.
 *
 *     decoder   two layers: embed, norm, matmul, rope, state, attention, gate, add, selected rows, logits; F32 and Q8_0
 *     one op    a single op, for plugins that do not run a decoder
 *
 *     specimen s;
 *     specimen_choose(ctx, &on, &s);                          the richest one that the plugin says yes to
 *     qn_prog *prog = specimen_sealed(ctx, &on, &s, 0);
 *     qn_session *session = specimen_session(ctx, &on, prog);
 *     specimen_turn turn;
 *     specimen_turn_init(ctx, &s, &turn, 0, 4);               positions 0 to 3 of sequence 0
 *     cf_done(ctx, "step", on.verbs->step(session, &turn.step, &error), &error);
 *     specimen_turn_deinit(&turn);
 *
 * Threading: one thread at a time per object. Memory: owned by the object until its deinit.
 */
#ifndef SPECIMEN_H
#define SPECIMEN_H
#include "conform.h"

#define SPECIMEN_CELLS 64u
#define SPECIMEN_TOKENS 16u
#define SPECIMEN_WEIGHTS 32u
#define SPECIMEN_BINDINGS 8u

typedef struct specimen_weight {
    uint32_t buffer;
    void *data;
    uint64_t bytes;
} specimen_weight;

typedef struct specimen {
    const char *name;
    qn_program *program;
    qn_limits limits;           /* SPECIMEN_TOKENS tokens and outputs, 2 sequences, SPECIMEN_CELLS cells */
    specimen_weight weights[SPECIMEN_WEIGHTS];
    uint32_t n_weights;
    uint32_t vocab;             /* ids are below it */
    bool has_state;
} specimen;

/* UNSUPPORTED when the plugin says no to all of them, or to the decoder where one with state is needed. */
void specimen_choose(cf_context *ctx, const cf_backend *on, specimen *out);
void specimen_choose_decoder(cf_context *ctx, const cf_backend *on, specimen *out);
/* The decoder, whatever the plugin says of it. */
void specimen_make_decoder(cf_context *ctx, specimen *out);
void specimen_deinit(specimen *self);

/* Weight i as bind_weights takes it: QN_WEIGHT_COPY or QN_WEIGHT_BORROW. */
qn_weight specimen_weight_of(const specimen *self, uint32_t i, uint32_t flags);

/* compile; compile, bind_weights and seal; session_new. Each fails the test when the plugin refuses. flags: QN_COMPILE_*. */
qn_prog *specimen_compiled(cf_context *ctx, const cf_backend *on, const specimen *self, uint32_t flags);
void specimen_bind(cf_context *ctx, const cf_backend *on, const specimen *self, qn_prog *prog, uint32_t from, uint32_t to);
qn_prog *specimen_sealed(cf_context *ctx, const cf_backend *on, const specimen *self, uint32_t flags);
qn_session *specimen_session(cf_context *ctx, const cf_backend *on, qn_prog *prog);

/* One step with everything that it points to. Tests change what they like before they give it to the plugin. */
typedef struct specimen_turn {
    qn_step step;
    int32_t positions[SPECIMEN_TOKENS];
    uint32_t cells[SPECIMEN_TOKENS];
    qn_span spans[2];
    uint32_t span_at[3];
    qn_placement placements[2];
    qn_binding bindings[SPECIMEN_BINDINGS];
    void *memory[SPECIMEN_BINDINGS]; /* of each binding, with a guard behind it */
    const float *output;             /* the last output buffer */
    uint64_t n_output;               /* its elements */
} specimen_turn;

/* n_tokens tokens of sequence 0 from first_position on, cell = position, all of them asked for. Ids depend on the position alone. */
void specimen_turn_init(cf_context *ctx, const specimen *self, specimen_turn *out, uint32_t first_position, uint32_t n_tokens);
void specimen_turn_deinit(specimen_turn *self);

/* Outputs filled with a pattern that no op gives; true when no byte of them was written since, and whether bytes behind them were. */
void specimen_turn_prefill(specimen_turn *self);
bool specimen_turn_is_untouched(const specimen_turn *self);
bool specimen_turn_is_overrun(const specimen_turn *self);

#endif
