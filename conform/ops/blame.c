/* blame.c — cutting programs, and the search for the first cut that is wrong. */
#include "blame.h"

#include <stdio.h>
#include <string.h>

#define ABSENT UINT32_MAX

/* A program's first ops, and where its buffers went. */
typedef struct cut {
    op_model m;
    uint32_t where[OP_PROGRAM_ROOM]; /* by buffer of the whole program */
} cut;

/* The buffer's place in the cut program; it is added when it is not there yet. */
static uint32_t carry_buffer(cut *self, const op_model *whole, uint32_t b, bool is_last) {
    if (self->where[b] == ABSENT) {
        const qn_buffer *const old = qn_program_buffer(whole->program, b);
        const uint32_t at = op_program_add_weight(self->m.builder, qn_program_name(whole->program, old), old->format,
                                                  old->dims[0], old->dims[1]);
        qn_buffer *const own = &self->m.builder->buffers[at];
        const uint32_t name_at = own->name_at;
        *own = *old;
        own->name_at = name_at;
        own->role = is_last && old->role == QN_ROLE_ACT ? QN_ROLE_OUTPUT : old->role;
        self->m.weights[at] = whole->weights[b];
        self->where[b] = at;
    }
    return self->where[b];
}

static void carry_op(cut *self, const op_model *whole, uint32_t index, bool is_last) {
    const qn_op *const op = qn_program_op(whole->program, index);
    const uint32_t *const operands = qn_program_operands(whole->program, op);
    uint32_t inputs[4], out = OP_NO_OUTPUT;
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        inputs[i] = carry_buffer(self, whole, operands[i], false);
    }
    if (op->n_outputs == 1) {
        out = carry_buffer(self, whole, operands[op->n_inputs], is_last);
    }
    op_program_add_op(self->m.builder, op->op, op->layer, op->n_inputs, inputs, out,
                      qn_program_attrs(whole->program, op), op->attrs_bytes);
    self->m.builder->ops[index].flags = op->flags;
}

static void cut_behind(cut *self, const op_model *whole, uint32_t n_ops) {
    memset(self, 0, sizeof *self);
    memset(self->where, 0xff, sizeof self->where);
    op_model_init(&self->m, whole->ctx, whole->kind, 0);
    for (uint32_t g = 0; g < whole->program->n_groups; g++) {
        op_program_add_group(self->m.builder, qn_program_group(whole->program, g)->window);
    }
    for (uint32_t i = 0; i < n_ops; i++) {
        carry_op(self, whole, i, i + 1 == n_ops);
    }
    op_model_finish(&self->m);
}

static op_step carry_step(const cut *self, const op_step *step) {
    op_step own = *step;
    memset(own.inputs, 0, sizeof own.inputs);
    for (uint32_t b = 0; b < OP_PROGRAM_ROOM; b++) {
        if (self->where[b] != ABSENT) {
            own.inputs[self->where[b]] = step->inputs[b];
        }
    }
    return own;
}

typedef struct search {
    cf_context *ctx;
    const cf_backend *on;
    const op_model *m;
    const qn_limits *limits;
    uint32_t flags;
    const op_step *const *steps;
    uint32_t n_steps;
    char text[256];      /* of the last cut that was wrong */
} search;

static bool is_cut_wrong(search *s, uint32_t n_ops) {
    static cut c; /* large */
    judge j;
    rig r;
    bool is_near = true;
    cut_behind(&c, s->m, n_ops);
    judge_open(&j, &c.m, s->limits, s->ctx->numeric);
    rig_open(&r, s->ctx, s->on, &c.m, s->limits, s->flags);
    for (uint32_t i = 0; i < s->n_steps && is_near; i++) {
        const op_step step = carry_step(&c, s->steps[i]);
        judge_step(&j, &step);
        rig_run(&r, &step);
        is_near = judge_is_near(&j, &r, &step, s->text);
    }
    rig_close(&r);
    judge_close(&j);
    op_model_free(&c.m);
    return !is_near;
}

_Noreturn void blame_fused(cf_context *ctx, const cf_backend *on, const op_model *m, const qn_limits *limits,
                           uint32_t flags, const op_step *const *steps, uint32_t n_steps, const char *text) {
    search s = {.ctx = ctx, .on = on, .m = m, .limits = limits, .flags = flags, .steps = steps, .n_steps = n_steps};
    uint32_t cuts[OP_PROGRAM_ROOM], n_cuts = 0, first = 0;
    for (uint32_t i = 0; i < m->program->n_ops; i++) {
        if (qn_program_op(m->program, i)->n_outputs == 1) {
            cuts[n_cuts++] = i + 1;
        }
    }
    snprintf(s.text, sizeof s.text, "%s", text);
    /* The first wrong cut is among [first, last]; the last is the whole program. */
    for (uint32_t last = n_cuts - 1; first < last;) {
        const uint32_t middle = first + (last - first) / 2;
        if (is_cut_wrong(&s, cuts[middle])) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    const qn_op *const op = qn_program_op(m->program, cuts[first] - 1);
    const uint32_t out = qn_program_operands(m->program, op)[op->n_inputs];
    cf_fail(ctx, "the fused program goes wrong at op %u (%s, output %s): %s; with MATERIALIZE every op keeps its bound",
            cuts[first] - 1, qn_op_name(op->op), qn_program_name(m->program, qn_program_buffer(m->program, out)),
            s.text);
}
