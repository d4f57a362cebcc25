/* hparams.c — reading and cross-checking hyper-parameters. */
#include "model/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define KEY_SIZE 160
#define MAX_WIDTH (1u << 24)
#define MAX_HEADS 4096u

/* One reader for all keys of an architecture: the first failure sticks. */
typedef struct key_reader {
    const facts *source;
    const char *arch;
    error_context *err;
    qn_status status;
} key_reader;

static const char *make_key(const key_reader *r, const char *suffix, char key[KEY_SIZE]) {
    snprintf(key, KEY_SIZE, "%s.%s", r->arch, suffix);
    return key;
}

/* An integer in [least, most]; `fallback` when absent, unless that is UINT32_MAX: then the key is required. */
static uint32_t read_uint(key_reader *r, const char *suffix, uint32_t least, uint32_t most, uint32_t fallback) {
    char key[KEY_SIZE];
    uint64_t value = 0;
    if (r->status < 0) {
        return 0;
    }
    const fact_result result = r->source->get_uint(r->source, make_key(r, suffix, key), &value, r->err);
    if (result == FACT_WRONG) {
        r->status = QN_BAD_FILE;
        return 0;
    }
    if (result == FACT_ABSENT) {
        if (fallback == UINT32_MAX) {
            r->status = FAIL(r->err, QN_BAD_FILE, "%s: key %s is missing; the model cannot be run without it",
                             r->source->path, key);
        }
        return fallback;
    }
    if (value < least || value > most) {
        r->status = FAIL(r->err, QN_BAD_FILE, "%s: key %s is %" PRIu64 ", must be %u to %u", r->source->path, key,
                         value, least, most);
        return 0;
    }
    return (uint32_t)value;
}

/* The same for a key that some files give once and others layer by layer. A list whose layers differ is refused: the
 * decoder has one shape for all layers. Call it after n_layer is known. */
static uint32_t read_layer_uint(key_reader *r, const char *suffix, uint32_t n_layer, uint32_t most, uint32_t fallback) {
    char key[KEY_SIZE];
    uint64_t first = 0, value = 0;
    if (r->status < 0) {
        return 0;
    }
    make_key(r, suffix, key);
    fact_result result = r->source->get_uint_at(r->source, key, 0, &first, r->err);
    if (result == FACT_ABSENT) {
        return read_uint(r, suffix, 1, most, fallback);
    }
    for (uint32_t layer = 1; layer < n_layer && result == FACT_FOUND; layer++) {
        result = r->source->get_uint_at(r->source, key, layer, &value, r->err);
        if (result == FACT_FOUND && value != first) {
            r->status = FAIL(r->err, QN_UNSUPPORTED, "%s: key %s is %" PRIu64 " for layer %u and %" PRIu64
                             " for layer 0; this program runs models whose layers have one shape",
                             r->source->path, key, value, layer, first);
            return 0;
        }
    }
    if (result != FACT_FOUND) {
        r->status = QN_BAD_FILE;
    } else if (first < 1 || first > most) {
        r->status = FAIL(r->err, QN_BAD_FILE, "%s: key %s is %" PRIu64 " for each layer, must be 1 to %u",
                         r->source->path, key, first, most);
    }
    return (uint32_t)first;
}

static float read_float(key_reader *r, const char *suffix, double least, double most, double fallback) {
    char key[KEY_SIZE];
    double value = fallback;
    if (r->status < 0) {
        return 0;
    }
    const fact_result result = r->source->get_float(r->source, make_key(r, suffix, key), &value, r->err);
    if (result == FACT_WRONG) {
        r->status = QN_BAD_FILE;
    } else if (result == FACT_FOUND && !(value >= least && value <= most)) {
        r->status = FAIL(r->err, QN_BAD_FILE, "%s: key %s is %g, must be %g to %g", r->source->path, key, value, least,
                         most);
    } else if (isnan(value)) {
        r->status = FAIL(r->err, QN_BAD_FILE, "%s: key %s is missing; the model cannot be run without it",
                         r->source->path, key);
    }
    return (float)value;
}

static void read_shape(key_reader *r, hparams *h) {
    h->n_layer = read_uint(r, "block_count", 1, HPARAMS_MAX_LAYERS, UINT32_MAX);
    h->n_embd = read_uint(r, "embedding_length", 1, MAX_WIDTH, UINT32_MAX);
    h->n_head = read_layer_uint(r, "attention.head_count", h->n_layer, MAX_HEADS, UINT32_MAX);
    h->n_head_kv = read_layer_uint(r, "attention.head_count_kv", h->n_layer, MAX_HEADS, h->n_head);
    h->n_ff = read_layer_uint(r, "feed_forward_length", h->n_layer, MAX_WIDTH, UINT32_MAX);
    h->n_ctx_train = read_uint(r, "context_length", 0, UINT32_MAX, 0);
    h->rms_epsilon = read_float(r, "attention.layer_norm_rms_epsilon", 1e-30, 1.0, (double)NAN);
    const uint32_t derived = h->n_head > 0 && h->n_embd % h->n_head == 0 ? h->n_embd / h->n_head : 0;
    h->head_dim = read_uint(r, "attention.key_length", 1, 65536, derived);
    h->value_dim = read_uint(r, "attention.value_length", 1, 65536, h->head_dim);
    if (r->status == QN_OK && h->head_dim == 0) {
        r->status = FAIL(r->err, QN_BAD_FILE,
                         "%s: key %s.attention.head_count is %u, which does not divide embedding_length %u, and there "
                         "is no key_length",
                         r->source->path, r->arch, h->n_head, h->n_embd);
    }
    if (r->status == QN_OK && h->n_head % h->n_head_kv != 0) {
        r->status = FAIL(r->err, QN_BAD_FILE,
                         "%s: key %s.attention.head_count_kv is %u, which does not divide head_count %u",
                         r->source->path, r->arch, h->n_head_kv, h->n_head);
    }
}

static rope_scaling read_scaling(key_reader *r) {
    static const char *const names[] = {"none", "linear", "yarn", "longrope"};
    char key[KEY_SIZE];
    fmt_str text;
    if (r->status < 0) {
        return ROPE_SCALING_NONE;
    }
    const fact_result result = r->source->get_string(r->source, make_key(r, "rope.scaling.type", key), &text, r->err);
    if (result == FACT_WRONG) {
        r->status = QN_BAD_FILE;
    }
    if (result != FACT_FOUND) {
        return ROPE_SCALING_LINEAR; /* a factor without a type is linear; the factor's default is 1 */
    }
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (text.size == strlen(names[i]) && memcmp(text.data, names[i], text.size) == 0) {
            return i;
        }
    }
    r->status = FAIL(r->err, QN_UNSUPPORTED,
                     "%s: key %s is \"%.*s\"; this program knows none, linear, yarn and longrope", r->source->path, key,
                     (int)(text.size < 64 ? text.size : 64), text.data);
    return ROPE_SCALING_NONE;
}

static void read_rope(key_reader *r, hparams *h) {
    h->n_rot = read_uint(r, "rope.dimension_count", 2, 65536, h->head_dim);
    h->rope_base = read_float(r, "rope.freq_base", 1e-3, 1e12, 10000.0);
    h->scaling = read_scaling(r);
    const float linear = read_float(r, "rope.scale_linear", 1e-6, 1e6, 1.0);
    h->rope_factor = h->scaling == ROPE_SCALING_NONE ? 1.0f : read_float(r, "rope.scaling.factor", 1e-6, 1e6, linear);
    /* Two names for the same thing, of different ages; a file that has both means their product. */
    h->rope_attn_factor = read_float(r, "rope.scaling.attn_factor", 1e-6, 1e6, 1.0) *
                          read_float(r, "rope.scaling.yarn_attn_factor", 1e-6, 1e6, 1.0);
    h->n_ctx_orig = read_uint(r, "rope.scaling.original_context_length", 1, UINT32_MAX,
                              h->n_ctx_train > 0 ? h->n_ctx_train : 1);
    h->yarn_ext_factor = h->scaling == ROPE_SCALING_YARN ? read_float(r, "rope.scaling.yarn_ext_factor", 0.0, 1e3, 1.0)
                                                         : 0.0f;
    h->yarn_beta_fast = read_float(r, "rope.scaling.yarn_beta_fast", 1e-3, 1e6, 32.0);
    h->yarn_beta_slow = read_float(r, "rope.scaling.yarn_beta_slow", 1e-3, 1e6, 1.0);
    if (h->scaling == ROPE_SCALING_LONGROPE) {
        h->rope_factor = 1.0f; /* the factor tensors say it all */
    }
    if (r->status == QN_OK && h->n_rot == h->head_dim && h->head_dim % 2 != 0) {
        r->status = FAIL(r->err, QN_BAD_FILE,
                         "%s: the head size is %u (%s.attention.key_length, or embedding_length over head_count); RoPE "
                         "turns pairs and needs an even one",
                         r->source->path, h->head_dim, r->arch);
    } else if (r->status == QN_OK && (h->n_rot % 2 != 0 || h->n_rot > h->head_dim)) {
        r->status = FAIL(r->err, QN_BAD_FILE,
                         "%s: key %s.rope.dimension_count is %u, must be even and at most the head size %u",
                         r->source->path, r->arch, h->n_rot, h->head_dim);
    }
}

/* Window, and which layers have it: a list of booleans, one a layer (true = windowed), or the
 * distance of full layers. */
static void read_window(key_reader *r, hparams *h) {
    static const char suffix[] = "attention.sliding_window_pattern";
    char key[KEY_SIZE];
    uint64_t is_windowed = 0;
    h->window = read_uint(r, "attention.sliding_window", 0, UINT32_MAX, 0);
    h->rope_base_window = read_float(r, "rope.freq_base_swa", 1e-3, 1e12, (double)h->rope_base);
    if (r->status < 0) {
        return;
    }
    make_key(r, suffix, key);
    fact_result result = r->source->get_uint_at(r->source, key, 0, &is_windowed, r->err);
    if (result == FACT_ABSENT) {
        h->window_pattern = read_uint(r, suffix, 0, HPARAMS_MAX_LAYERS, 0);
        return;
    }
    h->has_layer_list = true;
    for (uint32_t layer = 0; layer < h->n_layer && result == FACT_FOUND; layer++) {
        result = r->source->get_uint_at(r->source, key, layer, &is_windowed, r->err);
        h->full_layers[layer / 32] |= (is_windowed == 0 ? 1u : 0u) << layer % 32;
    }
    if (result != FACT_FOUND) {
        r->status = QN_BAD_FILE;
    }
}

qn_status hparams_read(const facts *f, const char *arch, uint32_t n_vocab, hparams *out, error_context *err) {
    key_reader r = {f, arch, err, QN_OK};
    hparams h = {.n_vocab = n_vocab, .embd_scale = 1.0f};
    snprintf(h.arch, sizeof h.arch, "%s", arch);
    read_shape(&r, &h);
    read_rope(&r, &h);
    read_window(&r, &h);
    h.attn_softcap = read_float(&r, "attn_logit_softcapping", 0.0, 1e6, 0.0);
    h.final_softcap = read_float(&r, "final_logit_softcapping", 0.0, 1e6, 0.0);
    h.attn_scale = read_float(&r, "attention.scale", 1e-6, 1e6, h.head_dim > 0 ? 1.0 / sqrt((double)h.head_dim) : 1.0);
    const uint32_t n_expert = read_uint(&r, "expert_count", 0, UINT32_MAX, 0);
    if (r.status == QN_OK && n_expert > 0) {
        r.status = FAIL(err, QN_UNSUPPORTED,
                        "%s: key %s.expert_count is %u; mixtures of experts are not run by this version", f->path, arch,
                        n_expert);
    }
    if (r.status == QN_OK) {
        *out = h;
    }
    return r.status;
}
