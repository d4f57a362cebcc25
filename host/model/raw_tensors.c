/* raw_tensors.c — Hugging Face's names of tensors as GGUF's, and RoPE factors out of the facts. */
#include "model/raw_tensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fnv.h"

#define MAX_FACTORS 32768u

/* ------------------------------------------------------------------------------------------------------------ names */

/* Without ".weight" or ".bias", which both sides keep. */
static const struct {
    const char *stem, *gguf, *gguf_with_post_norms; /* the last: null where it is the same */
} layer_names[] = {
    {"input_layernorm", "attn_norm", NULL},
    {"self_attn.q_proj", "attn_q", NULL},
    {"self_attn.k_proj", "attn_k", NULL},
    {"self_attn.v_proj", "attn_v", NULL},
    {"self_attn.qkv_proj", "attn_qkv", NULL},
    {"self_attn.o_proj", "attn_output", NULL},
    {"self_attn.q_norm", "attn_q_norm", NULL},
    {"self_attn.k_norm", "attn_k_norm", NULL},
    {"post_attention_layernorm", "ffn_norm", "post_attention_norm"},
    {"pre_feedforward_layernorm", "ffn_norm", NULL},
    {"post_feedforward_layernorm", "post_ffw_norm", NULL},
    {"mlp.gate_proj", "ffn_gate", NULL},
    {"mlp.up_proj", "ffn_up", NULL},
    {"mlp.gate_up_proj", "ffn_up", NULL},
    {"mlp.down_proj", "ffn_down", NULL},
}, global_names[] = {
    {"model.embed_tokens", "token_embd", NULL},
    {"model.norm", "output_norm", NULL},
    {"lm_head", "output", NULL},
};

static bool skip(fmt_str *name, const char *beginning) {
    const size_t length = strlen(beginning);
    if (name->size < length || memcmp(name->data, beginning, length) != 0) {
        return false;
    }
    *name = (fmt_str){name->data + length, name->size - length};
    return true;
}

/* Models that also see pictures have their text model behind a prefix. Puts what follows "model." or "" into *rest. */
static bool skip_model(fmt_str name, fmt_str *rest) {
    *rest = name;
    if (skip(rest, "model.language_model.")) {
        return true;
    }
    skip(rest, "language_model.");
    return skip(rest, "model.");
}

/* True when `name` is `stem` and ".weight" or ".bias"; *ending is that. */
static bool is_named(fmt_str name, const char *stem, const char **ending) {
    const char *const endings[] = {".weight", ".bias"};
    if (!skip(&name, stem)) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        if (name.size == strlen(endings[i]) && memcmp(name.data, endings[i], (size_t)name.size) == 0) {
            *ending = endings[i];
            return true;
        }
    }
    return false;
}

/* Reads "layers.L." with L in decimal without leading zeros. */
static bool skip_layer(fmt_str *name, uint32_t *out_layer) {
    fmt_str rest = *name;
    uint32_t layer = 0, n_digits = 0;
    if (!skip(&rest, "layers.")) {
        return false;
    }
    for (; n_digits < rest.size && n_digits < 5 && rest.data[n_digits] >= '0' && rest.data[n_digits] <= '9'; n_digits++) {
        layer = layer * 10 + (uint32_t)(rest.data[n_digits] - '0');
    }
    if (n_digits == 0 || (n_digits > 1 && rest.data[0] == '0') || n_digits >= rest.size || rest.data[n_digits] != '.') {
        return false;
    }
    *name = (fmt_str){rest.data + n_digits + 1, rest.size - n_digits - 1};
    *out_layer = layer;
    return true;
}

static bool find_layer_name(fmt_str rest, uint32_t layer, bool has_post_norms, char out[RAW_NAME_SIZE]) {
    const char *ending = NULL;
    for (size_t i = 0; i < sizeof layer_names / sizeof layer_names[0]; i++) {
        if (is_named(rest, layer_names[i].stem, &ending)) {
            const bool is_other = has_post_norms && layer_names[i].gguf_with_post_norms != NULL;
            snprintf(out, RAW_NAME_SIZE, "blk.%u.%s%s", layer,
                     is_other ? layer_names[i].gguf_with_post_norms : layer_names[i].gguf, ending);
            return true;
        }
    }
    return false;
}

static bool find_global_name(fmt_str rest, bool is_of_model, char out[RAW_NAME_SIZE]) {
    const char *ending = NULL;
    for (size_t i = 0; i < sizeof global_names / sizeof global_names[0]; i++) {
        fmt_str stem = {global_names[i].stem, strlen(global_names[i].stem)};
        if (skip(&stem, "model.") == is_of_model && is_named(rest, stem.data, &ending)) {
            snprintf(out, RAW_NAME_SIZE, "%s%s", global_names[i].gguf, ending);
            return true;
        }
    }
    return false;
}

bool raw_name_to_gguf(fmt_str name, bool has_post_norms, char out[RAW_NAME_SIZE]) {
    uint32_t layer;
    fmt_str rest;
    const bool is_of_model = skip_model(name, &rest);
    if (find_global_name(rest, is_of_model, out)) {
        return true;
    }
    if (is_of_model) {
        return skip_layer(&rest, &layer) && find_layer_name(rest, layer, has_post_norms, out);
    }
    const bool is_gguf = p64_role_of_gguf_name(name.data, name.size, P64_NO_LAYER, &layer) != P64_ROLE_UNKNOWN;
    if (is_gguf && name.size < RAW_NAME_SIZE) {
        snprintf(out, RAW_NAME_SIZE, "%.*s", (int)name.size, name.data);
    }
    return is_gguf && name.size < RAW_NAME_SIZE;
}

bool raw_is_of_decoder(fmt_str name) {
    uint32_t layer;
    fmt_str rest;
    if (!skip_model(name, &rest)) {
        return skip(&rest, "lm_head.");
    }
    const bool is_of_layer = skip_layer(&rest, &layer);
    return is_of_layer ? !skip(&rest, "self_attn.rotary_emb.") : skip(&rest, "norm.") || skip(&rest, "embed_tokens.");
}

/* ---------------------------------------------------------------------------------------------------------- factors */

static const char *const factor_names[] = {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"};

/* Elements of the array that stands for this tensor; 0 when there is none. */
static uint32_t count_factors(const model *m, const char *key) {
    double value;
    uint32_t count = 0;
    while (count < MAX_FACTORS && m->facts.get_float_at(&m->facts, key, count, &value, NULL) == FACT_FOUND) {
        count++;
    }
    return count;
}

static qn_status add_factors(model *m, uint32_t which, error_context *err) {
    char key[64];
    snprintf(key, sizeof key, "quoin.tensor.%s", factor_names[which]);
    const uint32_t count = count_factors(m, key);
    if (count == 0) {
        return QN_OK;
    }
    float *values = malloc(count * sizeof *values);
    if (values == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for %u RoPE factors", m->file.path, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        double value = 0.0;
        m->facts.get_float_at(&m->facts, key, i, &value, NULL);
        values[i] = (float)value;
    }
    m->factors[which] = values;
    m->tensors[m->n_tensors++] = (model_tensor){.name = {factor_names[which], strlen(factor_names[which])},
                                                .hash = fnv_q_hash(factor_names[which], strlen(factor_names[which])),
                                                .type = BLK_F32,
                                                .rank = 1,
                                                .dims = {count, 1, 1, 1},
                                                .data = (const uint8_t *)values,
                                                .bytes = count * sizeof *values,
                                                .index = MODEL_NO_INDEX};
    return QN_OK;
}

static qn_status add_all_factors(model *m, error_context *err) {
    model_tensor *grown = realloc(m->tensors, (m->n_tensors + (size_t)MODEL_MAX_FACTORS) * sizeof *grown);
    if (grown == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for %u tensors", m->file.path, m->n_tensors);
    }
    m->tensors = grown;
    for (uint32_t i = 0; i < MODEL_MAX_FACTORS; i++) {
        QN_TRY(add_factors(m, i, err), err, "reading RoPE factors");
    }
    return QN_OK;
}

/* ---------------------------------------------------------------------------------------------------------- prepare */

static int compare_hashes(const void *a, const void *b) {
    const model_tensor *left = a, *right = b;
    return left->hash < right->hash ? -1 : left->hash > right->hash ? 1 : left->at < right->at ? -1 : left->at > right->at;
}

static qn_status check_unique(const model *m, error_context *err) {
    for (uint32_t i = 1; i < m->n_tensors; i++) {
        const model_tensor *a = &m->tensors[i - 1], *b = &m->tensors[i];
        if (a->hash == b->hash) {
            return FAIL(err, QN_BAD_FILE, "%s: tensors %.*s and %.*s stand for the same part of the model", m->file.path,
                        (int)(a->name.size < 256 ? a->name.size : 256), a->name.data,
                        (int)(b->name.size < 256 ? b->name.size : 256), b->name.data);
        }
    }
    return QN_OK;
}

qn_status raw_tensors_prepare(model *m, error_context *err) {
    char name[RAW_NAME_SIZE];
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        model_tensor *tensor = &m->tensors[i];
        const bool has_name = raw_name_to_gguf(tensor->name, m->arch->has_post_norms, name);
        tensor->hash = has_name ? fnv_q_hash(name, strlen(name))
                                : fnv_q_hash(tensor->name.data, (size_t)tensor->name.size);
    }
    QN_TRY(add_all_factors(m, err), err, "preparing the tensors");
    qsort(m->tensors, m->n_tensors, sizeof *m->tensors, compare_hashes);
    return check_unique(m, err);
}
