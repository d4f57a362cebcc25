/* specimen.c — building small programs with the host's own builder, and their weights. */
#include "protocol/specimen.h"

#include <stdlib.h>
#include <string.h>

#include "base/program_builder.h"

#define N_EMBD 64u
#define N_HEAD 4u
#define N_KV_HEAD 2u
#define HEAD_DIM 16u
#define N_FF 96u
#define N_VOCAB 48u
#define N_LAYER 2u

typedef struct making {
    cf_context *ctx;
    program_builder b;
    specimen *out;
    uint32_t noise;
} making;

static float next_value(making *m) {
    m->noise = m->noise * 1664525u + 1013904223u;
    return (float)((int32_t)(m->noise >> 8 & 0xffff) - 32768) / 262144.0f; /* within 1/8 */
}

static void fill_q8_0(making *m, unsigned char *at, uint64_t n_blocks) {
    for (uint64_t block = 0; block < n_blocks; block++, at += 34) {
        at[0] = 0;
        at[1] = 0x14; /* f16 2^-10 */
        for (uint32_t i = 0; i < 32; i++) {
            at[2 + i] = (unsigned char)(int8_t)(next_value(m) * 1000.0f);
        }
    }
}

static void fill_f32(making *m, unsigned char *at, uint64_t n, float offset) {
    for (uint64_t i = 0; i < n; i++) {
        const float value = offset + next_value(m);
        memcpy(at + 4 * i, &value, sizeof value);
    }
}

static uint32_t add_weight(making *m, qn_format format, uint64_t width, uint64_t height, float offset, const char *name) {
    specimen *s = m->out;
    CF_CHECK(m->ctx, s->n_weights < SPECIMEN_WEIGHTS, "the specimen has more weights than its room");
    specimen_weight *w = &s->weights[s->n_weights++];
    w->bytes = qn_format_bytes(format, width * height);
    w->data = malloc(w->bytes);
    CF_CHECK(m->ctx, w->data != NULL, "this machine has no memory for the test itself");
    if (format == QN_FORMAT_Q8_0) {
        fill_q8_0(m, w->data, width * height / 32);
    } else {
        fill_f32(m, w->data, width * height, offset);
    }
    w->buffer = program_weight(&m->b, format, width, height, name);
    return w->buffer;
}

static uint32_t add_matrix(making *m, qn_format format, uint64_t width, uint64_t height, const char *name) {
    return add_weight(m, format, width, height, 0.0f, name);
}

static uint32_t add_gain(making *m, uint64_t width, const char *name) {
    return add_weight(m, QN_FORMAT_F32, width, 1, 1.0f, name);
}

static void begin(making *m, cf_context *ctx, specimen *out, const char *name) {
    memset(out, 0, sizeof *out);
    *m = (making){.ctx = ctx, .out = out, .noise = 12345};
    out->name = name;
    out->vocab = N_VOCAB;
    program_builder_init(&m->b);
}

static void end(making *m, uint32_t output, uint32_t n_groups) {
    error_context err = {0};
    specimen *s = m->out;
    program_mark_output(&m->b, output, "output");
    const qn_status status = program_builder_finish(&m->b, &s->program, &err);
    program_builder_deinit(&m->b);
    CF_CHECK(m->ctx, status == QN_OK, "the specimen cannot be built: %s", error_text(&err));
    s->has_state = n_groups > 0;
    s->limits = (qn_limits){.size = sizeof s->limits, .max_tokens = SPECIMEN_TOKENS, .max_outputs = SPECIMEN_TOKENS, .max_sequences = 2,
                            .n_groups = n_groups};
    for (uint32_t g = 0; g < n_groups; g++) {
        s->limits.cells[g] = SPECIMEN_CELLS;
    }
}

/* --- The decoder ------------------------------------------------------------------------------------------------------ */

static uint32_t attend(making *m, uint32_t x) {
    program_builder *b = &m->b;
    const uint32_t n_kv = N_KV_HEAD * HEAD_DIM;
    const qn_rope_attrs rope_q = {.size = sizeof rope_q, .n_head = N_HEAD, .head_dim = HEAD_DIM, .n_rot = HEAD_DIM,
                                  .pairing = QN_ROPE_HALF, .base = 10000.0f, .freq_scale = 1.0f, .attn_factor = 1.0f};
    const qn_attention_attrs attention = {.size = sizeof attention, .n_head = N_HEAD, .n_kv_head = N_KV_HEAD, .head_dim = HEAD_DIM,
                                          .value_dim = HEAD_DIM, .scale = 0.25f};
    qn_rope_attrs rope_k = rope_q;
    rope_k.n_head = N_KV_HEAD;
    const uint32_t k_state = program_state(b, QN_FORMAT_F32, n_kv, 0, "cache_k"), v_state = program_state(b, QN_FORMAT_F32, n_kv, 0, "cache_v");
    const uint32_t q = program_matmul(b, add_matrix(m, QN_FORMAT_Q8_0, N_EMBD, N_EMBD, "q"), x, PROGRAM_NO_BUFFER);
    const uint32_t k = program_matmul(b, add_matrix(m, QN_FORMAT_F32, N_EMBD, n_kv, "k"), x, PROGRAM_NO_BUFFER);
    const uint32_t v = program_matmul(b, add_matrix(m, QN_FORMAT_F32, N_EMBD, n_kv, "v"), x, add_gain(m, n_kv, "v_bias"));
    program_state_write(b, program_rope(b, k, PROGRAM_NO_BUFFER, &rope_k), k_state);
    program_state_write(b, v, v_state);
    const uint32_t y = program_attention(b, program_rope(b, q, PROGRAM_NO_BUFFER, &rope_q), k_state, v_state, &attention);
    return program_matmul(b, add_matrix(m, QN_FORMAT_Q8_0, N_EMBD, N_EMBD, "attention_out"), y, PROGRAM_NO_BUFFER);
}

static uint32_t feed_forward(making *m, uint32_t x) {
    program_builder *b = &m->b;
    const uint32_t gate = program_matmul(b, add_matrix(m, QN_FORMAT_F32, N_EMBD, N_FF, "gate"), x, PROGRAM_NO_BUFFER);
    const uint32_t up = program_matmul(b, add_matrix(m, QN_FORMAT_Q8_0, N_EMBD, N_FF, "up"), x, PROGRAM_NO_BUFFER);
    const uint32_t h = program_gated(b, gate, up, QN_GATED_SILU);
    return program_matmul(b, add_matrix(m, QN_FORMAT_Q8_0, N_FF, N_EMBD, "down"), h, PROGRAM_NO_BUFFER);
}

void specimen_make_decoder(cf_context *ctx, specimen *out) {
    making m;
    begin(&m, ctx, out, "decoder");
    program_builder *b = &m.b;
    program_cell_group(b, 0);
    const uint32_t ids = program_index_input(b, QN_DIM_TOKENS, "ids"), rows = program_index_input(b, QN_DIM_OUTPUTS, "rows");
    const uint32_t table = add_matrix(&m, QN_FORMAT_Q8_0, N_EMBD, N_VOCAB, "embedding");
    uint32_t x = program_embed(b, table, ids);
    for (uint32_t layer = 0; layer < N_LAYER; layer++) {
        program_begin_layer(b, layer);
        x = program_add(b, x, attend(&m, program_rms_norm(b, x, add_gain(&m, N_EMBD, "attention_norm"), 1e-5f)));
        x = program_add(b, x, feed_forward(&m, program_rms_norm(b, x, add_gain(&m, N_EMBD, "ffn_norm"), 1e-5f)));
        program_end_layer(b);
    }
    x = program_select_rows(b, program_rms_norm(b, x, add_gain(&m, N_EMBD, "output_norm"), 1e-5f), rows);
    end(&m, program_matmul(b, table, x, PROGRAM_NO_BUFFER), 1);
}

/* --- One op ----------------------------------------------------------------------------------------------------------- */

static uint32_t add_one_op(making *m, uint32_t op) {
    program_builder *b = &m->b;
    const qn_rope_attrs rope = {.size = sizeof rope, .n_head = N_HEAD, .head_dim = HEAD_DIM, .n_rot = HEAD_DIM, .base = 10000.0f,
                                .freq_scale = 1.0f, .attn_factor = 1.0f};
    if (op == QN_OP_EMBED) {
        return program_embed(b, add_matrix(m, QN_FORMAT_F32, N_EMBD, N_VOCAB, "table"), program_index_input(b, QN_DIM_TOKENS, "ids"));
    }
    const uint32_t x = program_input(b, QN_FORMAT_F32, N_EMBD, QN_DIM_TOKENS, "x");
    switch (op) {
    case QN_OP_MATMUL: return program_matmul(b, add_matrix(m, QN_FORMAT_F32, N_EMBD, N_FF, "w"), x, PROGRAM_NO_BUFFER);
    case QN_OP_RMS_NORM: return program_rms_norm(b, x, add_gain(m, N_EMBD, "gain"), 1e-5f);
    case QN_OP_ADD: return program_add(b, x, program_input(b, QN_FORMAT_F32, N_EMBD, QN_DIM_TOKENS, "x2"));
    case QN_OP_GATED: return program_gated(b, x, program_input(b, QN_FORMAT_F32, N_EMBD, QN_DIM_TOKENS, "up"), QN_GATED_SILU);
    case QN_OP_SCALE: return program_scale(b, x, 0.5f);
    case QN_OP_SOFTCAP: return program_softcap(b, x, 30.0f);
    case QN_OP_ROPE: return program_rope(b, x, PROGRAM_NO_BUFFER, &rope);
    default: return program_select_rows(b, x, program_index_input(b, QN_DIM_OUTPUTS, "rows"));
    }
}

static void make_one_op(cf_context *ctx, uint32_t op, specimen *out) {
    making m;
    begin(&m, ctx, out, qn_op_name(op));
    end(&m, add_one_op(&m, op), 0);
}

void specimen_deinit(specimen *self) {
    for (uint32_t i = 0; i < self->n_weights; i++) {
        free(self->weights[i].data);
    }
    free(self->program);
    memset(self, 0, sizeof *self);
}

/* --- Choosing --------------------------------------------------------------------------------------------------------- */

static bool is_offered(cf_context *ctx, const cf_backend *on, const specimen *s) {
    const qn_compile_options options = cf_compile_options(ctx, 0);
    qn_verdict *verdicts = calloc(s->program->n_ops, sizeof *verdicts);
    qn_error error;
    bool is_yes = true;
    CF_CHECK(ctx, verdicts != NULL, "this machine has no memory for the test itself");
    for (uint32_t i = 0; i < s->program->n_ops; i++) {
        verdicts[i].size = sizeof verdicts[i];
    }
    cf_clear(&error);
    cf_done(ctx, "check", on->verbs->check(on->device, s->program, &options, verdicts, sizeof verdicts[0], &error), &error);
    for (uint32_t i = 0; i < s->program->n_ops; i++) {
        is_yes = is_yes && verdicts[i].verdict != QN_VERDICT_NO;
    }
    free(verdicts);
    return is_yes;
}

void specimen_choose_decoder(cf_context *ctx, const cf_backend *on, specimen *out) {
    specimen_make_decoder(ctx, out);
    if (!is_offered(ctx, on, out)) {
        cf_unsupported(ctx, "the plugin says no to a decoder of two layers in F32 and Q8_0");
    }
}

void specimen_choose(cf_context *ctx, const cf_backend *on, specimen *out) {
    static const uint32_t ops[] = {QN_OP_MATMUL, QN_OP_RMS_NORM, QN_OP_EMBED, QN_OP_ADD, QN_OP_GATED, QN_OP_SCALE, QN_OP_SOFTCAP,
                                   QN_OP_ROPE, QN_OP_SELECT_ROWS};
    specimen_make_decoder(ctx, out);
    for (size_t i = 0; !is_offered(ctx, on, out); i++) {
        specimen_deinit(out);
        if (i == CF_COUNT_OF(ops)) {
            cf_unsupported(ctx, "the plugin says no to every op");
        }
        make_one_op(ctx, ops[i], out);
    }
    cf_note(ctx, "program: %s", out->name);
}

/* --- Compiling -------------------------------------------------------------------------------------------------------- */

qn_weight specimen_weight_of(const specimen *self, uint32_t i, uint32_t flags) {
    const specimen_weight *w = &self->weights[i];
    return (qn_weight){.size = sizeof(qn_weight), .buffer = w->buffer, .flags = flags, .fd = -1, .data = w->data, .bytes = w->bytes};
}

qn_prog *specimen_compiled(cf_context *ctx, const cf_backend *on, const specimen *self, uint32_t flags) {
    const qn_compile_options options = cf_compile_options(ctx, flags);
    qn_prog *prog = NULL;
    qn_error error;
    cf_clear(&error);
    cf_done(ctx, "compile", on->verbs->compile(on->device, self->program, &self->limits, &options, &prog, &error), &error);
    CF_CHECK(ctx, prog != NULL, "compile answers OK and gives no program");
    return prog;
}

void specimen_bind(cf_context *ctx, const cf_backend *on, const specimen *self, qn_prog *prog, uint32_t from, uint32_t to) {
    qn_error error;
    for (uint32_t i = from; i < to; i++) {
        const qn_weight weight = specimen_weight_of(self, i, QN_WEIGHT_BORROW);
        cf_clear(&error);
        cf_done(ctx, "bind_weights", on->verbs->bind_weights(prog, &weight, sizeof weight, 1, &error), &error);
    }
}

qn_prog *specimen_sealed(cf_context *ctx, const cf_backend *on, const specimen *self, uint32_t flags) {
    qn_prog *prog = specimen_compiled(ctx, on, self, flags);
    qn_error error;
    specimen_bind(ctx, on, self, prog, 0, self->n_weights);
    cf_clear(&error);
    cf_done(ctx, "seal", on->verbs->seal(prog, &error), &error);
    return prog;
}

qn_session *specimen_session(cf_context *ctx, const cf_backend *on, qn_prog *prog) {
    qn_session *session = NULL;
    qn_error error;
    cf_clear(&error);
    cf_done(ctx, "session_new", on->verbs->session_new(prog, &session, &error), &error);
    CF_CHECK(ctx, session != NULL, "session_new answers OK and gives no session");
    return session;
}
