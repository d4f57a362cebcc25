/* rig.c — compiling, binding and stepping with guarded memory. */
#include "rig.h"

#include <string.h>

#define UNWRITTEN 0x7fc0deadu /* a quiet NaN that no op produces */

static qn_error *fresh(rig *self) {
    cf_clear(&self->error);
    return &self->error;
}

static void done(rig *self, const char *verb, qn_status status) {
    cf_done(self->ctx, verb, status, &self->error);
}

/* A copy that can only be read. */
static void set(rig *self, guarded *to, const void *data, uint64_t bytes, uint32_t align) {
    CF_CHECK(self->ctx, guarded_set(to, data, bytes, align), "the suite has no memory for %llu bytes",
             (unsigned long long)bytes);
}

bool rig_is_offered(cf_context *ctx, const cf_backend *on, const op_model *model, uint32_t flags, rig_verdicts *out) {
    const qn_compile_options options = cf_compile_options(ctx, flags);
    static qn_verdict verdicts[OP_PROGRAM_ROOM];
    const uint32_t n_ops = model->program->n_ops;
    bool is_offered = true;
    qn_error error;
    cf_clear(&error);
    for (uint32_t i = 0; i < n_ops; i++) {
        verdicts[i] = (qn_verdict){.size = sizeof verdicts[i]};
    }
    cf_done(ctx, "check", on->verbs->check(on->device, model->program, &options, verdicts, sizeof verdicts[0], &error),
            &error);
    for (uint32_t i = 0; i < n_ops; i++) {
        CF_CHECK(ctx, verdicts[i].verdict <= QN_VERDICT_EMULATED, "check gives op %u the verdict %u", i,
                 verdicts[i].verdict);
        out->of[i] = verdicts[i].verdict;
        if (verdicts[i].verdict == QN_VERDICT_NO && is_offered) {
            CF_CHECK(ctx, verdicts[i].text[0] != '\0', "check says no to op %u without a text", i);
            is_offered = false;
            out->refused = i;
            memcpy(out->text, verdicts[i].text, sizeof verdicts[i].text);
            out->text[sizeof verdicts[i].text] = '\0';
        }
    }
    return is_offered;
}

static void compile(rig *self, uint32_t flags) {
    const qn_compile_options options = cf_compile_options(self->ctx, flags);
    set(self, &self->code, self->model->program, self->model->program->total_bytes, 8);
    const void *const bytes = self->code.data;
    done(self, "compile",
         self->on->verbs->compile(self->on->device, bytes, &self->limits, &options, &self->prog, fresh(self)));
    guarded_protect(&self->code, GUARDED_NONE);
}

static void bind_all(rig *self) {
    qn_weight weights[OP_PROGRAM_ROOM];
    uint32_t n_weights = 0;
    for (uint32_t b = 0; b < self->program->n_buffers; b++) {
        const op_weight *const weight = &self->model->weights[b];
        if (weight->bytes != NULL) {
            const bool is_in_panels = weight->panels != NULL;
            const uint64_t n_bytes = is_in_panels ? weight->n_panel_bytes : weight->n_bytes;
            set(self, &self->buffers[b], is_in_panels ? weight->panels : weight->bytes, n_bytes, is_in_panels ? 64 : 4);
            weights[n_weights++] = (qn_weight){.size = sizeof(qn_weight),
                                               .buffer = b,
                                               .flags = self->weight_flags,
                                               .fd = -1,
                                               .data = self->buffers[b].data,
                                               .bytes = n_bytes,
                                               .first_element = weight->first};
        }
    }
    done(self, "bind_weights",
         self->on->verbs->bind_weights(self->prog, weights, sizeof weights[0], n_weights, fresh(self)));
    for (uint32_t w = 0; w < n_weights && self->weight_flags == QN_WEIGHT_COPY; w++) {
        guarded_protect(&self->buffers[weights[w].buffer], GUARDED_NONE);
    }
}

void rig_open_with(rig *self, cf_context *ctx, const cf_backend *on, const op_model *model, const qn_limits *limits,
                   uint32_t flags, uint32_t weight_flags) {
    memset(self, 0, sizeof *self);
    self->ctx = ctx;
    self->on = on;
    self->model = model;
    self->program = model->program;
    self->limits = *limits;
    self->weight_flags = weight_flags;
    compile(self, flags);
    bind_all(self);
    done(self, "seal", on->verbs->seal(self->prog, fresh(self)));
    rig_new_session(self);
}

void rig_open(rig *self, cf_context *ctx, const cf_backend *on, const op_model *model, const qn_limits *limits,
              uint32_t flags) {
    rig_open_with(self, ctx, on, model, limits, flags, QN_WEIGHT_BORROW);
}

void rig_close(rig *self) {
    self->on->verbs->session_free(self->session);
    self->on->verbs->prog_free(self->prog);
    for (uint32_t b = 0; b < OP_PROGRAM_ROOM; b++) {
        guarded_free(&self->buffers[b]);
    }
    for (uint32_t g = 0; g < QN_MAX_GROUPS; g++) {
        guarded_free(&self->groups[g].cells);
        guarded_free(&self->groups[g].spans);
        guarded_free(&self->groups[g].span_at);
    }
    guarded_free(&self->code);
    guarded_free(&self->positions);
    guarded_free(&self->sequences);
    guarded_free(&self->placements);
    guarded_free(&self->bindings);
    memset(self, 0, sizeof *self);
}

void rig_new_session(rig *self) {
    self->on->verbs->session_free(self->session);
    self->session = NULL;
    done(self, "session_new", self->on->verbs->session_new(self->prog, &self->session, fresh(self)));
}

/* --- Steps -------------------------------------------------------------------------------------------------------- */

static void place_groups(rig *self, const op_step *step, qn_step *raw) {
    qn_placement placements[QN_MAX_GROUPS];
    for (uint32_t g = 0; g < self->limits.n_groups; g++) {
        const qn_placement *const p = &step->placements[g];
        rig_group *const group = &self->groups[g];
        set(self, &group->cells, p->cells, step->n_tokens * sizeof p->cells[0], 4);
        set(self, &group->spans, p->spans, p->n_spans * sizeof p->spans[0], 4);
        set(self, &group->span_at, p->span_at, (step->n_sequences + 1) * sizeof p->span_at[0], 4);
        placements[g] = (qn_placement){.size = sizeof placements[g],
                                       .n_spans = p->n_spans,
                                       .cells = (void *)group->cells.data,
                                       .spans = (void *)group->spans.data,
                                       .span_at = (void *)group->span_at.data};
    }
    set(self, &self->placements, placements, self->limits.n_groups * sizeof placements[0], 8);
    raw->placements = self->limits.n_groups == 0 ? NULL : (void *)self->placements.data;
    raw->placement_stride = sizeof(qn_placement);
}

static void prefill(rig *self, guarded *output, uint64_t bytes) {
    const uint32_t unwritten = UNWRITTEN;
    CF_CHECK(self->ctx, guarded_take(output, bytes, 4), "the suite has no memory for %llu bytes",
             (unsigned long long)bytes);
    for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
        memcpy(output->data + i, &unwritten, 4);
    }
}

static void bind_buffers(rig *self, const op_step *step, qn_step *raw) {
    qn_binding bindings[OP_PROGRAM_ROOM];
    uint32_t n_bindings = 0;
    for (uint32_t b = 0; b < self->program->n_buffers; b++) {
        const qn_buffer *const buffer = qn_program_buffer(self->program, b);
        const uint64_t bytes = op_step_elements(step, buffer) * 4;
        if (buffer->role == QN_ROLE_OUTPUT) {
            prefill(self, &self->buffers[b], bytes);
        } else if (buffer->role == QN_ROLE_INPUT) {
            set(self, &self->buffers[b], step->inputs[b], bytes, 4);
        } else {
            continue;
        }
        bindings[n_bindings++] = (qn_binding){.buffer = b, .data = self->buffers[b].data, .bytes = bytes};
    }
    set(self, &self->bindings, bindings, n_bindings * sizeof bindings[0], 8);
    raw->bindings = (void *)self->bindings.data;
    raw->binding_stride = sizeof bindings[0];
    raw->n_bindings = n_bindings;
}

static void require_bands(const rig *self) {
    for (uint32_t b = 0; b < self->program->n_buffers; b++) {
        const qn_buffer *const buffer = qn_program_buffer(self->program, b);
        CF_CHECK(self->ctx, buffer->role != QN_ROLE_OUTPUT || guarded_is_intact(&self->buffers[b]),
                 "output %s was written outside its bounds", qn_program_name(self->program, buffer));
    }
}

static qn_step prepare(rig *self, const op_step *step) {
    qn_step raw = {
        .size = sizeof raw, .n_tokens = step->n_tokens, .n_outputs = step->n_outputs, .n_sequences = step->n_sequences};
    set(self, &self->positions, step->positions, step->n_tokens * sizeof step->positions[0], 4);
    raw.positions = (void *)self->positions.data;
    if (step->sequences != NULL) {
        set(self, &self->sequences, step->sequences, step->n_tokens * sizeof step->sequences[0], 4);
        raw.sequences = (void *)self->sequences.data;
    }
    place_groups(self, step, &raw);
    bind_buffers(self, step, &raw);
    return raw;
}

qn_status rig_try(rig *self, const op_step *step) {
    const qn_step raw = prepare(self, step);
    const qn_status status = self->on->verbs->step(self->session, &raw, fresh(self));
    if (status != QN_OK) {
        cf_refused_somehow(self->ctx, "step", status, &self->error);
    }
    require_bands(self);
    return status;
}

void rig_time(rig *self, const op_step *step, uint32_t n, uint64_t *out_ns) {
    const qn_step raw = prepare(self, step);
    const qn_host *const host = cf_host_services(self->on->host);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t begin = host->time_ns(host->ctx);
        const qn_status status = self->on->verbs->step(self->session, &raw, fresh(self));
        out_ns[i] = host->time_ns(host->ctx) - begin;
        done(self, "step", status);
    }
}

void rig_run(rig *self, const op_step *step) {
    done(self, "step", rig_try(self, step));
}

const float *rig_output(const rig *self, uint32_t buffer) {
    const guarded *const memory = &self->buffers[buffer];
    const uint32_t unwritten = UNWRITTEN;
    for (uint64_t i = 0; i + 4 <= memory->bytes; i += 4) {
        CF_CHECK(self->ctx, memcmp(memory->data + i, &unwritten, 4) != 0, "element %llu of output %s was not written",
                 (unsigned long long)(i / 4), qn_program_name(self->program, qn_program_buffer(self->program, buffer)));
    }
    return (const float *)(const void *)memory->data;
}

void rig_tap(rig *self, uint32_t buffer, void *out, uint64_t bytes) {
    if (!QN_HAS(self->on->verbs, tap)) {
        cf_unsupported(self->ctx, "the plugin has no tap");
    }
    guarded to = {NULL, 0, NULL, 0};
    uint64_t got = 0;
    CF_CHECK(self->ctx, guarded_take(&to, bytes, 4), "the suite has no memory for %llu bytes",
             (unsigned long long)bytes);
    done(self, "tap", self->on->verbs->tap(self->session, buffer, to.data, bytes, &got, fresh(self)));
    CF_CHECK(self->ctx, got == bytes, "tap of buffer %s tells %llu bytes; it has %llu",
             qn_program_name(self->program, qn_program_buffer(self->program, buffer)), (unsigned long long)got,
             (unsigned long long)bytes);
    CF_CHECK(self->ctx, guarded_is_intact(&to), "tap wrote outside its bounds");
    memcpy(out, to.data, bytes);
    guarded_free(&to);
}

void rig_move(rig *self, const qn_state_move *move) {
    if (!QN_HAS(self->on->verbs, state_move)) {
        cf_unsupported(self->ctx, "the plugin has no state_move");
    }
    done(self, "state_move", self->on->verbs->state_move(self->session, move, sizeof *move, 1, fresh(self)));
}
