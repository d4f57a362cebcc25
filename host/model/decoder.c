/* decoder.c — building the program layer by layer. */
#include "model/decoder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program_builder.h"
#include "model/raw_tensors.h"

#define NAME_SIZE 96

/* Building state: the first failure sticks, so that the description below reads as straight lines. */
typedef struct build {
    const model *m;
    const hparams *h;
    const arch_traits *arch;
    const decoder_options *options;
    program_builder b;
    delta_builder deltas;
    decoder *d;
    uint32_t weight_capacity;
    uint32_t layer;
    error_context *err;
    qn_status status;
} build;

static bool has_tensor(const build *s, const char *name) {
    return s->status == QN_OK && model_find(s->m, name) != NULL;
}

static const char *layer_name(const build *s, const char *suffix, char name[NAME_SIZE]) {
    snprintf(name, NAME_SIZE, "blk.%u.%s", s->layer, suffix);
    return name;
}

static weight_binding *bind_weight(build *s, uint32_t buffer, const model_tensor *tensor, uint64_t first_element) {
    if (s->d->n_weights == s->weight_capacity) {
        const uint32_t capacity = s->weight_capacity * 2 + 64;
        weight_binding *grown = realloc(s->d->weights, capacity * sizeof *grown);
        if (grown == NULL) {
            s->status = FAIL(s->err, QN_NO_HOST_MEM, "out of memory for the list of weights");
            return NULL;
        }
        s->d->weights = grown;
        s->weight_capacity = capacity;
    }
    weight_binding *bound = &s->d->weights[s->d->n_weights++];
    *bound = (weight_binding){buffer, tensor, first_element, NULL};
    return bound;
}

/* Shape as people write it: "[576, 1536]", dims[0] first as the formats do. */
static const char *print_shape(uint32_t rank, const uint64_t *dims, char text[NAME_SIZE]) {
    size_t used = 0;
    for (uint32_t i = 0; i < rank && used < NAME_SIZE; i++) {
        used += (size_t)snprintf(text + used, NAME_SIZE - used, "%s%" PRIu64, i == 0 ? "[" : ", ", dims[i]);
    }
    if (used < NAME_SIZE) {
        snprintf(text + used, NAME_SIZE - used, "]");
    }
    return text;
}

static const model_tensor *require_tensor(build *s, const char *name, uint64_t width, uint64_t height) {
    if (s->status < 0) {
        return NULL;
    }
    const model_tensor *tensor = model_find(s->m, name);
    const uint32_t rank = height == 1 ? 1 : 2;
    if (tensor == NULL) {
        s->status = FAIL(s->err, QN_BAD_FILE, "%s: tensor %s is missing; a %s model with %u layers needs it",
                         s->m->file.path, name, s->arch->name, s->h->n_layer);
        return NULL;
    }
    if (tensor->rank != rank || tensor->dims[0] != width || tensor->dims[1] != height) {
        char got[NAME_SIZE], wanted[NAME_SIZE];
        s->status = FAIL(s->err, QN_BAD_FILE, "%s: tensor %s is %s, wanted %s", s->m->file.path, name,
                         print_shape(tensor->rank, tensor->dims, got),
                         print_shape(rank, (const uint64_t[]){width, height}, wanted));
        return NULL;
    }
    s->status = model_check_type(s->m, tensor, s->err);
    return s->status == QN_OK ? tensor : NULL;
}

/* Weight buffer of rows [first_row, first_row + height) of a tensor with `all_rows` rows. */
static uint32_t add_rows(build *s, const char *name, uint64_t width, uint64_t first_row, uint64_t height,
                         uint64_t all_rows) {
    const model_tensor *tensor = require_tensor(s, name, width, all_rows);
    if (tensor == NULL) {
        return PROGRAM_NO_BUFFER;
    }
    const uint32_t buffer = program_weight(&s->b, tensor->type, width, height, name);
    /* Rows of a fused tensor that begin or end inside a panel are given as standard blocks. */
    const bool is_whole_panels = first_row % BLK_PANEL_ROWS == 0 &&
                                 (height % BLK_PANEL_ROWS == 0 || first_row + height == all_rows);
    if (tensor->is_in_panels && tensor->rank == 2 && is_whole_panels) {
        program_set_panels(&s->b, buffer);
    }
    bind_weight(s, buffer, tensor, first_row * width);
    return buffer;
}

static uint32_t add_matrix(build *s, const char *name, uint64_t width, uint64_t height) {
    return add_rows(s, name, width, 0, height, height);
}

/* The ops want vectors as F32; those of another type are few and short, so they are decoded once, here. `shift` is added
 * to each element. */
static void decode_vector(build *s, weight_binding *bound, uint64_t width, float shift) {
    bound->values = malloc((size_t)width * sizeof *bound->values);
    if (bound->values == NULL) {
        s->status = FAIL(s->err, QN_NO_HOST_MEM, "out of memory for a vector of %" PRIu64 " elements", width);
    } else {
        blk_panels panels;
        if (model_tensor_panels(bound->tensor, &panels)) {
            blk_panels_decode_row(&panels, 0, bound->values);
        } else {
            blk_decode(bound->tensor->type, bound->tensor->data, 0, width, bound->values);
        }
        for (uint64_t i = 0; i < width && shift != 0.0f; i++) {
            bound->values[i] += shift;
        }
    }
}

static uint32_t add_shifted_vector(build *s, const char *name, uint64_t width, float shift) {
    const model_tensor *tensor = require_tensor(s, name, width, 1);
    if (tensor == NULL) {
        return PROGRAM_NO_BUFFER;
    }
    const uint32_t buffer = program_weight(&s->b, QN_FORMAT_F32, width, 1, name);
    weight_binding *bound = bind_weight(s, buffer, tensor, 0);
    const bool is_as_stored = tensor->type == BLK_F32 && shift == 0.0f && tensor->index != MODEL_NO_INDEX;
    if (bound != NULL && !is_as_stored) {
        decode_vector(s, bound, width, shift);
    }
    return buffer;
}

/* Biases and factors. */
static uint32_t add_vector(build *s, const char *name, uint64_t width) {
    return add_shifted_vector(s, name, width, 0.0f);
}

static uint32_t add_norm_weight(build *s, const char *name, uint64_t width) {
    return add_shifted_vector(s, name, width, s->m->is_raw && s->arch->has_shifted_norms ? 1.0f : 0.0f);
}

static uint32_t add_optional_vector(build *s, const char *name, uint64_t width, bool is_required) {
    return is_required || has_tensor(s, name) ? add_vector(s, name, width) : PROGRAM_NO_BUFFER;
}

static uint32_t norm(build *s, uint32_t x, const char *suffix) {
    char name[NAME_SIZE];
    return program_rms_norm(&s->b, x, add_norm_weight(s, layer_name(s, suffix, name), s->h->n_embd), s->h->rms_epsilon);
}

/* y = W x with what adapters change at this place of the layer. */
static uint32_t product(build *s, lora_role role, uint32_t weight, uint32_t x, uint32_t bias) {
    const uint32_t y = program_matmul(&s->b, weight, x, bias);
    return deltas_apply(&s->deltas, role, s->layer, x, y);
}

static uint32_t plain_product(build *s, lora_role role, uint32_t weight, uint32_t x) {
    return product(s, role, weight, x, PROGRAM_NO_BUFFER);
}

/* One of Q, K, V: a matrix of its own or rows of the fused one, with a bias where there is one. */
static uint32_t project(build *s, uint32_t x, const char *suffix, lora_role role, uint64_t first_row, uint64_t height) {
    char name[NAME_SIZE], weight_suffix[32], bias_suffix[32];
    const uint64_t kv_rows = (uint64_t)s->h->n_head_kv * (s->h->head_dim + s->h->value_dim);
    const uint64_t all_rows = (uint64_t)s->h->n_head * s->h->head_dim + kv_rows;
    snprintf(weight_suffix, sizeof weight_suffix, "%s.weight", suffix);
    snprintf(bias_suffix, sizeof bias_suffix, "%s.bias", suffix);
    const uint32_t weight = s->arch->has_fused_qkv
                                ? add_rows(s, layer_name(s, "attn_qkv.weight", name), s->h->n_embd, first_row, height,
                                           all_rows)
                                : add_matrix(s, layer_name(s, weight_suffix, name), s->h->n_embd, height);
    const uint32_t bias = add_optional_vector(s, layer_name(s, bias_suffix, name), height, s->arch->needs_qkv_bias);
    return product(s, role, weight, x, bias);
}

static uint32_t head_norm(build *s, uint32_t x, const char *suffix) {
    char name[NAME_SIZE];
    if (!s->arch->has_qk_norm) {
        return x;
    }
    return program_rms_norm(&s->b, x, add_norm_weight(s, layer_name(s, suffix, name), s->h->head_dim), s->h->rms_epsilon);
}

/* Factor buffer of this model, or none: llama3 scaling has one, longrope two for short and long contexts. Files of
 * Phi-3 bring the two without saying longrope, so the tensors decide. */
static uint32_t add_rope_factors(build *s) {
    static const char long_name[] = "rope_factors_long.weight", short_name[] = "rope_factors_short.weight";
    const uint64_t width = s->h->n_rot / 2;
    if (s->h->scaling == ROPE_SCALING_LONGROPE || has_tensor(s, long_name) || has_tensor(s, short_name)) {
        return add_vector(s, s->options->n_ctx > s->h->n_ctx_orig ? long_name : short_name, width);
    }
    return add_optional_vector(s, "rope_freqs.weight", width, false);
}

static qn_rope_attrs make_rope_attrs(const build *s, uint32_t n_head, bool is_windowed) {
    const hparams *h = s->h;
    const bool is_plain = is_windowed && h->is_window_unscaled;
    return (qn_rope_attrs){.size = sizeof(qn_rope_attrs),
                           .n_head = n_head,
                           .head_dim = h->head_dim,
                           .n_rot = h->n_rot,
                           .pairing = s->m->is_raw ? QN_ROPE_HALF : s->arch->pairing,
                           .n_ctx_orig = h->n_ctx_orig,
                           .base = is_windowed ? h->rope_base_window : h->rope_base,
                           .freq_scale = is_plain ? 1.0f : 1.0f / h->rope_factor,
                           .ext_factor = is_plain ? 0.0f : h->yarn_ext_factor,
                           .attn_factor = h->rope_attn_factor,
                           .beta_fast = h->yarn_beta_fast,
                           .beta_slow = h->yarn_beta_slow};
}

static uint32_t rotate(build *s, uint32_t x, uint32_t factors, uint32_t n_head) {
    const qn_rope_attrs attrs = make_rope_attrs(s, n_head, hparams_is_windowed(s->h, s->layer));
    return program_rope(&s->b, x, factors, &attrs);
}

static uint32_t add_state(build *s, const char *kind, uint64_t width, uint32_t group) {
    char name[NAME_SIZE];
    s->d->state_bytes_per_cell[group] += width * (s->options->state_format == QN_FORMAT_F32 ? 4 : 2);
    return program_state(&s->b, s->options->state_format, width, group, layer_name(s, kind, name));
}

static uint32_t attention_part(build *s, uint32_t x, uint32_t factors) {
    const hparams *h = s->h;
    const bool is_windowed = hparams_is_windowed(h, s->layer);
    const uint32_t group = is_windowed && s->d->n_groups > 1 ? 1 : 0;
    const uint64_t q_rows = (uint64_t)h->n_head * h->head_dim, k_rows = (uint64_t)h->n_head_kv * h->head_dim;
    const uint64_t v_rows = (uint64_t)h->n_head_kv * h->value_dim;
    char name[NAME_SIZE];
    const uint32_t normed = norm(s, x, "attn_norm.weight");
    const uint32_t q = rotate(s, head_norm(s, project(s, normed, "attn_q", LORA_ATTN_Q, 0, q_rows), "attn_q_norm.weight"), factors,
                              h->n_head);
    const uint32_t k = rotate(s, head_norm(s, project(s, normed, "attn_k", LORA_ATTN_K, q_rows, k_rows), "attn_k_norm.weight"),
                              factors, h->n_head_kv);
    const uint32_t v = project(s, normed, "attn_v", LORA_ATTN_V, q_rows + k_rows, v_rows);
    const uint32_t k_state = add_state(s, "cache_k", k_rows, group);
    const uint32_t v_state = add_state(s, "cache_v", v_rows, group);
    program_state_write(&s->b, k, k_state);
    program_state_write(&s->b, v, v_state);
    const qn_attention_attrs attrs = {.size = sizeof attrs,
                                      .n_head = h->n_head,
                                      .n_kv_head = h->n_head_kv,
                                      .head_dim = h->head_dim,
                                      .value_dim = h->value_dim,
                                      .window = is_windowed ? h->window : 0,
                                      .scale = h->attn_scale,
                                      .softcap = h->attn_softcap};
    const uint32_t mixed = program_attention(&s->b, q, k_state, v_state, &attrs);
    const uint32_t weight = add_matrix(s, layer_name(s, "attn_output.weight", name), (uint64_t)h->n_head * h->value_dim,
                                       h->n_embd);
    const uint32_t bias = add_optional_vector(s, layer_name(s, "attn_output.bias", name), h->n_embd, false);
    const uint32_t out = product(s, LORA_ATTN_OUTPUT, weight, mixed, bias);
    return s->arch->has_post_norms ? norm(s, out, "post_attention_norm.weight") : out;
}

static uint32_t feed_forward_part(build *s, uint32_t x) {
    const uint64_t n_embd = s->h->n_embd, n_ff = s->h->n_ff;
    char name[NAME_SIZE];
    const uint32_t normed = norm(s, x, "ffn_norm.weight");
    uint32_t gate, up;
    if (s->arch->has_fused_gate_up) {
        layer_name(s, "ffn_up.weight", name);
        gate = plain_product(s, LORA_FFN_GATE, add_rows(s, name, n_embd, 0, n_ff, 2 * n_ff), normed);
        up = plain_product(s, LORA_FFN_UP, add_rows(s, name, n_embd, n_ff, n_ff, 2 * n_ff), normed);
    } else {
        layer_name(s, "ffn_gate.weight", name);
        gate = plain_product(s, LORA_FFN_GATE, add_matrix(s, name, n_embd, n_ff), normed);
        layer_name(s, "ffn_up.weight", name);
        up = plain_product(s, LORA_FFN_UP, add_matrix(s, name, n_embd, n_ff), normed);
    }
    const uint32_t gated = program_gated(&s->b, gate, up, s->arch->activation);
    const uint32_t down = add_matrix(s, layer_name(s, "ffn_down.weight", name), n_ff, n_embd);
    const uint32_t out = plain_product(s, LORA_FFN_DOWN, down, gated);
    return s->arch->has_post_norms ? norm(s, out, "post_ffw_norm.weight") : out;
}

/* One group of cells for the full layers and one for the windowed ones; a model of one kind has one group. */
static void add_groups(build *s) {
    uint32_t n_windowed = 0;
    for (uint32_t layer = 0; layer < s->h->n_layer; layer++) {
        n_windowed += hparams_is_windowed(s->h, layer);
    }
    if (n_windowed < s->h->n_layer) {
        program_cell_group(&s->b, 0);
        s->d->group_window[s->d->n_groups++] = 0;
    }
    if (n_windowed > 0) {
        program_cell_group(&s->b, s->h->window);
        s->d->group_window[s->d->n_groups++] = s->h->window;
    }
}

static void build_program(build *s) {
    const hparams *h = s->h;
    add_groups(s);
    s->d->ids = program_index_input(&s->b, QN_DIM_TOKENS, "ids");
    s->d->rows = program_index_input(&s->b, QN_DIM_OUTPUTS, "rows");
    const uint32_t table = add_matrix(s, "token_embd.weight", h->n_embd, h->n_vocab);
    uint32_t x = deltas_apply_to_embedding(&s->deltas, s->d->ids, program_embed(&s->b, table, s->d->ids));
    if (h->embd_scale != 1.0f) {
        x = program_scale(&s->b, x, h->embd_scale);
    }
    const uint32_t factors = add_rope_factors(s);
    for (uint32_t layer = 0; layer < h->n_layer && s->status == QN_OK; layer++) {
        s->layer = layer;
        program_begin_layer(&s->b, layer);
        x = program_add(&s->b, x, attention_part(s, x, factors));
        x = program_add(&s->b, x, feed_forward_part(s, x));
        program_end_layer(&s->b);
    }
    x = program_select_rows(&s->b, x,
                            s->d->rows); /* only the rows that somebody wants go through the large output matrix */
    x = program_rms_norm(&s->b, x, add_norm_weight(s, "output_norm.weight", h->n_embd), h->rms_epsilon);
    const uint32_t head = has_tensor(s, "output.weight") ? add_matrix(s, "output.weight", h->n_embd, h->n_vocab)
                                                         : table;
    x = deltas_apply(&s->deltas, LORA_OUTPUT, LORA_NO_LAYER, x, program_matmul(&s->b, head, x, PROGRAM_NO_BUFFER));
    if (h->final_softcap > 0.0f) {
        x = program_softcap(&s->b, x, h->final_softcap);
    }
    program_mark_output(&s->b, x, "logits");
    s->d->logits = x;
}

static bool begins_with(fmt_str name, const char *beginning) {
    const size_t length = strlen(beginning);
    return name.size >= length && memcmp(name.data, beginning, length) == 0;
}

/* Would leaving this tensor out change the result? It would when it belongs to a layer that is run, or to the way in or
 * out. Tensors of other parts (vision, prediction layers behind the last) and stored RoPE angles may be passed over. */
static bool is_of_decoder(const build *s, fmt_str name) {
    char gguf_name[RAW_NAME_SIZE];
    if (s->m->is_raw && raw_name_to_gguf(name, s->arch->has_post_norms, gguf_name)) {
        name = (fmt_str){gguf_name, strlen(gguf_name)};
    }
    static const char *const ends[] = {"output.", "output_norm.", "token_embd_norm.", "position_embd."};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (begins_with(name, ends[i])) {
            return true;
        }
    }
    if (!begins_with(name, "blk.")) {
        return s->m->is_raw && raw_is_of_decoder(name, s->h->n_layer);
    }
    uint64_t layer = 0, at = 4;
    for (; at < name.size && name.data[at] >= '0' && name.data[at] <= '9' && layer < HPARAMS_MAX_LAYERS; at++) {
        layer = layer * 10 + (uint64_t)(name.data[at] - '0');
    }
    const fmt_str rest = {name.data + at, name.size - at};
    return at > 4 && layer < s->h->n_layer && !begins_with(rest, ".attn_rot_embd") && !begins_with(rest, ".rope_freqs");
}

/* A tensor that the description above has no use for means that the model is not what its architecture promises. */
static void refuse_unused_tensors(build *s) {
    const model *m = s->m;
    const model_tensor *first = NULL; /* in the file */
    bool *is_used = calloc(m->n_tensors + 1u, sizeof *is_used);
    if (is_used == NULL) {
        s->status = FAIL(s->err, QN_NO_HOST_MEM, "out of memory for checking %u tensors", m->n_tensors);
        return;
    }
    for (uint32_t i = 0; i < s->d->n_weights; i++) {
        is_used[s->d->weights[i].tensor - m->tensors] = true;
    }
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        const model_tensor *tensor = &m->tensors[i];
        if (!is_used[i] && (first == NULL || tensor->index < first->index) && is_of_decoder(s, tensor->name)) {
            first = tensor;
        }
    }
    free(is_used);
    if (first != NULL) {
        s->status = FAIL(s->err, QN_BAD_FILE,
                         "%s: tensor %.*s has no place in a %s model as this program knows it; running without it would "
                         "give another text",
                         m->file.path, (int)(first->name.size < 256 ? first->name.size : 256), first->name.data,
                         s->arch->name);
    }
}

static qn_status begin_deltas(build *s) {
    const uint32_t n = s->options->n_deltas;
    s->d->delta_weights = calloc(2 * (size_t)n + 1, sizeof *s->d->delta_weights);
    if (s->d->delta_weights == NULL) {
        return FAIL(s->err, QN_NO_HOST_MEM, "out of memory for the matrices of %u changes", n);
    }
    s->deltas = (delta_builder){.b = &s->b, .deltas = s->options->deltas, .n_deltas = n, .bindings = s->d->delta_weights};
    return QN_OK;
}

static qn_status end_deltas(build *s) {
    const uint32_t n_applied = s->deltas.n_bindings / 2;
    s->d->n_delta_weights = s->deltas.n_bindings;
    return n_applied == s->options->n_deltas
               ? QN_OK
               : FAIL(s->err, QN_BAD_INPUT, "%s: %u of %u changes of an adapter have no place in this model",
                      s->m->file.path, s->options->n_deltas - n_applied, s->options->n_deltas);
}

qn_status decoder_build(const model *m, const decoder_options *options, decoder **out_decoder, error_context *err) {
    build s = {.m = m, .h = &m->hparams, .arch = m->arch, .options = options, .err = err, .status = QN_OK};
    if (m->arch == NULL) {
        return FAIL(err, QN_BAD_FILE,
                    "%s: holds a vocabulary but no weights; it can be inspected and used to tokenize, not to run",
                    m->file.path);
    }
    s.d = calloc(1, sizeof *s.d);
    if (s.d == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the decoder");
    }
    program_builder_init(&s.b);
    s.status = begin_deltas(&s);
    if (s.status == QN_OK) {
        build_program(&s);
    }
    if (s.status == QN_OK) {
        s.status = end_deltas(&s);
    }
    if (s.status == QN_OK) {
        refuse_unused_tensors(&s);
    }
    if (s.status == QN_OK) {
        s.status = program_builder_finish(&s.b, &s.d->program, err);
    }
    program_builder_deinit(&s.b);
    if (s.status < 0) {
        decoder_destroy(s.d);
        return s.status;
    }
    *out_decoder = s.d;
    return QN_OK;
}

void decoder_destroy(decoder *d) {
    if (d != NULL) {
        free(d->program);
        for (uint32_t i = 0; i < d->n_weights; i++) {
            free(d->weights[i].values);
        }
        free(d->weights);
        free(d->delta_weights);
        free(d);
    }
}
