/* known_answer.c — a tiny attention layer whose logits were computed elsewhere (known_answer.py): missing kernels,
 * wrong decoders and silent garbage are found here, before a device is believed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/choose.h"
#include "backends/refusal.h"
#include "base/program_builder.h"

#define WIDTH 32u
#define VOCAB 8u
#define N_HEAD 2u
#define HEAD_DIM 16u
#define N_TOKENS 3u
#define N_WEIGHTS 7u
#define MATRIX_BYTES (WIDTH * WIDTH * 4u)
/* Share of the largest logit: far above what 8-bit activations do to it, far below what any mistake does. */
#define TOLERANCE 0.05f

static const float expected[VOCAB] = {
#include "backends/known_answer.inc"
};

typedef struct probe {
    program_builder b;
    qn_program *program;
    uint32_t state;                      /* of the byte generator */
    uint32_t ids, rows, logits;
    qn_weight weights[N_WEIGHTS];
    uint32_t n_weights;
    _Alignas(64) unsigned char data[N_WEIGHTS][MATRIX_BYTES];
    qn_prog *prog;
    qn_session *session;
} probe;

static unsigned char next_byte(probe *p) {
    p->state = p->state * 1664525u + 1013904223u;
    return (unsigned char)(p->state >> 16);
}

/* One row of 32 elements in the format's layout; scales are powers of two. */
static uint64_t fill_row(probe *p, qn_format format, unsigned char *at) {
    if (format == QN_FORMAT_F32) {
        for (uint32_t i = 0; i < WIDTH; i++) {
            const float value = (float)(next_byte(p) - 128) / 256.0f;
            memcpy(at + 4 * i, &value, 4);
        }
        return 4 * WIDTH;
    }
    const uint32_t n_bytes = format == QN_FORMAT_Q8_0 ? WIDTH : WIDTH / 2;
    at[0] = 0;
    at[1] = format == QN_FORMAT_Q8_0 ? 0x1C : 0x28; /* f16 2^-8, 2^-5 */
    for (uint32_t i = 0; i < n_bytes; i++) {
        at[2 + i] = format == QN_FORMAT_Q8_0 ? (unsigned char)(next_byte(p) - 128) : next_byte(p);
    }
    return 2 + n_bytes;
}

static uint32_t add_weight(probe *p, qn_format format, uint32_t rows, const char *name) {
    unsigned char *data = p->data[p->n_weights];
    uint64_t bytes = 0;
    for (uint32_t row = 0; row < rows; row++) {
        bytes += fill_row(p, format, data + bytes);
    }
    const uint32_t buffer = program_weight(&p->b, format, WIDTH, rows, name);
    p->weights[p->n_weights++] = (qn_weight){
        .size = sizeof(qn_weight), .buffer = buffer, .flags = QN_WEIGHT_BORROW, .fd = -1, .data = data, .bytes = bytes};
    return buffer;
}

/* Weights are made in the order of known_answer.py. */
static qn_status build_program(probe *p, error_context *err) {
    program_builder *b = &p->b;
    const qn_rope_attrs rope = {.size = sizeof rope,
                                .n_head = N_HEAD,
                                .head_dim = HEAD_DIM,
                                .n_rot = HEAD_DIM,
                                .pairing = QN_ROPE_HALF,
                                .base = 10000.0f,
                                .freq_scale = 1.0f,
                                .attn_factor = 1.0f};
    const qn_attention_attrs attention = {.size = sizeof attention,
                                          .n_head = N_HEAD,
                                          .n_kv_head = N_HEAD,
                                          .head_dim = HEAD_DIM,
                                          .value_dim = HEAD_DIM,
                                          .scale = 0.25f};
    program_builder_init(b);
    program_cell_group(b, 0);
    p->ids = program_index_input(b, QN_DIM_TOKENS, "ids");
    p->rows = program_index_input(b, QN_DIM_OUTPUTS, "rows");
    const uint32_t table = add_weight(p, QN_FORMAT_F32, VOCAB, "table"), gain = add_weight(p, QN_FORMAT_F32, 1, "norm");
    const uint32_t wq = add_weight(p, QN_FORMAT_Q8_0, WIDTH, "q"), wk = add_weight(p, QN_FORMAT_Q4_0, WIDTH, "k");
    const uint32_t wv = add_weight(p, QN_FORMAT_F32, WIDTH, "v"), wg = add_weight(p, QN_FORMAT_Q4_0, WIDTH, "gate");
    const uint32_t wo = add_weight(p, QN_FORMAT_Q8_0, VOCAB, "out");
    const uint32_t k_state = program_state(b, QN_FORMAT_F32, WIDTH, 0, "cache_k"),
                   v_state = program_state(b, QN_FORMAT_F32, WIDTH, 0, "cache_v");
    program_begin_layer(b, 0);
    uint32_t x = program_embed(b, table, p->ids);
    const uint32_t h = program_rms_norm(b, x, gain, 1e-5f);
    const uint32_t q = program_rope(b, program_matmul(b, wq, h, PROGRAM_NO_BUFFER), PROGRAM_NO_BUFFER, &rope);
    const uint32_t k = program_rope(b, program_matmul(b, wk, h, PROGRAM_NO_BUFFER), PROGRAM_NO_BUFFER, &rope);
    program_state_write(b, k, k_state);
    program_state_write(b, program_matmul(b, wv, h, PROGRAM_NO_BUFFER), v_state);
    x = program_add(b, x, program_attention(b, q, k_state, v_state, &attention));
    x = program_gated(b, program_matmul(b, wg, x, PROGRAM_NO_BUFFER), x, QN_GATED_SILU);
    program_end_layer(b);
    p->logits = program_matmul(b, wo, program_select_rows(b, x, p->rows), PROGRAM_NO_BUFFER);
    program_mark_output(b, p->logits, "logits");
    return program_builder_finish(b, &p->program, err);
}

static qn_status prepare(probe *p, const backend *on, qn_error *plugin_error) {
    const qn_limits limits = {.size = sizeof limits,
                              .max_tokens = N_TOKENS,
                              .max_outputs = 1,
                              .max_sequences = 1,
                              .n_groups = 1,
                              .cells = {N_TOKENS}};
    const qn_compile_options options = {.size = sizeof options, .flags = QN_COMPILE_DETERMINISTIC,
                                        .numeric = QN_NUMERIC_F32ACC | QN_NUMERIC_F16ACC | QN_NUMERIC_ACT8};
    qn_status status = on->plugin->compile(on->device, p->program, &limits, &options, &p->prog, plugin_error);
    if (status >= 0) {
        status = on->plugin->bind_weights(p->prog, p->weights, sizeof p->weights[0], p->n_weights, plugin_error);
    }
    if (status >= 0) {
        status = on->plugin->seal(p->prog, plugin_error);
    }
    return status >= 0 ? on->plugin->session_new(p->prog, &p->session, plugin_error) : status;
}

static qn_status run_step(const probe *p, const backend *on, float logits[VOCAB], qn_error *plugin_error) {
    /* Cells out of order: placement must be obeyed. */
    static const uint32_t cells[N_TOKENS] = {2, 0, 1}, span_at[2] = {0, 3};
    static const qn_span spans[N_TOKENS] = {{2, 1, 0, 0}, {0, 1, 1, 0}, {1, 1, 2, 0}};
    int32_t ids[N_TOKENS] = {3, 1, 6}, positions[N_TOKENS] = {0, 1, 2}, rows[1] = {N_TOKENS - 1};
    const qn_placement placement = {
        .size = sizeof placement, .n_spans = 3, .cells = cells, .spans = spans, .span_at = span_at};
    const qn_binding bindings[] = {
        {p->ids, 0, ids, sizeof ids}, {p->rows, 0, rows, sizeof rows}, {p->logits, 0, logits, VOCAB * sizeof *logits}};
    const qn_step step = {.size = sizeof step,
                          .n_tokens = N_TOKENS,
                          .n_outputs = 1,
                          .n_sequences = 1,
                          .positions = positions,
                          .placements = &placement,
                          .placement_stride = sizeof placement,
                          .bindings = bindings,
                          .binding_stride = sizeof bindings[0],
                          .n_bindings = 3};
    return on->plugin->step(p->session, &step, plugin_error);
}

static qn_status compare(const backend *on, const float logits[VOCAB], error_context *err) {
    float largest = 0.0f;
    for (uint32_t i = 0; i < VOCAB; i++) {
        largest = fmaxf(largest, fabsf(expected[i]));
    }
    for (uint32_t i = 0; i < VOCAB; i++) {
        if (!(fabsf(logits[i] - expected[i]) <= TOLERANCE * largest)) {
            return backend_refuse(err, on->spec.name, "known answer", QN_CORRUPT, "logit %u is %g, must be %g", i,
                                  (double)logits[i], (double)expected[i]);
        }
    }
    return QN_OK;
}

qn_status backend_known_answer(const backend *on, error_context *err) {
    probe *p = NULL;
    float logits[VOCAB] = {0};
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    if (posix_memalign((void **)&p, 64, sizeof *p) != 0) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the known answer");
    }
    memset(p, 0, sizeof *p);
    p->state = 12345;
    qn_status status = build_program(p, err);
    if (status == QN_OK) {
        status = prepare(p, on, &plugin_error);
        status = status >= 0 ? run_step(p, on, logits, &plugin_error) : status;
        status = status >= 0 ? compare(on, logits, err)
                             : backend_refuse_plugin(err, on->spec.name, "known answer", status, &plugin_error);
    }
    if (p->session != NULL) {
        on->plugin->session_free(p->session);
    }
    if (p->prog != NULL) {
        on->plugin->prog_free(p->prog);
    }
    program_builder_deinit(&p->b);
    free(p->program);
    free(p);
    return status;
}
