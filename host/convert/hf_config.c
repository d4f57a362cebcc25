/* hf_config.c — architecture, sizes and attention of config.json. */
#include "convert/hf_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_LAYERS 1024u
#define MAX_WIDTH (1u << 24)
#define MAX_HEADS 65536u
#define MAX_VOCABULARY (1u << 28)
#define FULL_EVERY 6u /* Gemma 3: every sixth layer looks back without a window */

/* ----------------------------------------------------------------------------------------------------- architecture */

static const struct {
    const char *class_name; /* in "architectures" */
    const char *model_type; /* counts where there is no class */
    const char *arch;
} known[] = {
    {"LlamaForCausalLM", "llama", "llama"},
    {"MistralForCausalLM", "mistral", "llama"},
    {"Qwen2ForCausalLM", "qwen2", "qwen2"},
    {"Qwen3ForCausalLM", "qwen3", "qwen3"},
    {"Gemma3ForCausalLM", "gemma3_text", "gemma3"},
    {"Gemma3ForConditionalGeneration", "gemma3", "gemma3"},
    {"Phi3ForCausalLM", "phi3", "phi3"},
};

qn_status hf_find_arch(const hf_folder *folder, const char **out_arch, error_context *err) {
    hf_object config = hf_json_object(&folder->config, err);
    const json_t *classes = hf_array(&config, "architectures");
    const json_t *first = json_array_get(classes, 0);
    const fmt_str type = hf_string(&config, "model_type");
    if (config.status < 0) {
        return config.status;
    }
    if (first == NULL && type.size == 0) {
        return hf_refuse(&config, QN_BAD_FILE, "architectures", "is missing, and so is model_type");
    }
    char quoted[HF_QUOTE_SIZE];
    const char *name = json_is_string(first) ? json_string_value(first) : type.data;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(name, json_is_string(first) ? known[i].class_name : known[i].model_type) == 0) {
            *out_arch = known[i].arch;
            return QN_OK;
        }
    }
    return hf_refuse(&config, QN_UNSUPPORTED, json_is_string(first) ? "architectures" : "model_type",
                     "is %s; supported are the causal language models of Llama, Mistral, Qwen2, Qwen3, Gemma 3 "
                     "and Phi-3",
                     hf_quote(quoted, (fmt_str){name, strlen(name)}));
}

/* ----------------------------------------------------------------------------------------------------------- sizes */

/* Gemma 3's folders leave out what has the value that their library presumes. */
typedef struct size_defaults {
    uint32_t n_layer, n_embd, n_ff, n_head, n_head_kv, head_dim, n_context;
    double epsilon;
} size_defaults;

static const size_defaults required = {HF_REQUIRED, HF_REQUIRED, HF_REQUIRED, HF_REQUIRED, 0, 0, HF_REQUIRED, (double)NAN};
static const size_defaults gemma3 = {26, 2304, 9216, 8, 4, 256, 131072, 1e-6};

static bool is_arch(const hf_model *m, const char *arch) {
    return strcmp(m->arch, arch) == 0;
}

static void translate_sizes(hf_model *m) {
    hf_object *o = &m->text;
    const size_defaults *d = is_arch(m, "gemma3") ? &gemma3 : &required;
    m->n_layer = hf_uint(o, "num_hidden_layers", 1, MAX_LAYERS, d->n_layer);
    m->n_embd = hf_uint(o, "hidden_size", 1, MAX_WIDTH, d->n_embd);
    m->n_context = hf_uint(o, "max_position_embeddings", 1, UINT32_MAX - 1, d->n_context);
    const uint32_t n_ff = hf_uint(o, "intermediate_size", 1, MAX_WIDTH, d->n_ff);
    m->n_head = hf_uint(o, "num_attention_heads", 1, MAX_HEADS, d->n_head);
    m->n_head_kv = hf_uint(o, "num_key_value_heads", 1, MAX_HEADS, d->n_head_kv > 0 ? d->n_head_kv : m->n_head);
    const uint32_t told_head_dim = hf_uint(o, "head_dim", 1, MAX_WIDTH, d->head_dim);
    const double epsilon = hf_float(o, "rms_norm_eps", 1e-30, 1.0, d->epsilon);
    if (o->status < 0) {
        return;
    }
    m->head_dim = told_head_dim > 0 ? told_head_dim : m->n_embd / m->n_head;
    if (told_head_dim == 0 && m->n_embd % m->n_head != 0) {
        hf_refuse(o, QN_BAD_FILE, "num_attention_heads", "is %u, which does not divide hidden_size %u, and there is no "
                  "head_dim", m->n_head, m->n_embd);
        return;
    }
    if (m->n_head % m->n_head_kv != 0) {
        hf_refuse(o, QN_BAD_FILE, "num_key_value_heads", "is %u, which does not divide num_attention_heads %u", m->n_head_kv,
                  m->n_head);
        return;
    }
    key_list_uint(m->keys, ".context_length", m->n_context);
    key_list_uint(m->keys, ".embedding_length", m->n_embd);
    key_list_uint(m->keys, ".block_count", m->n_layer);
    key_list_uint(m->keys, ".feed_forward_length", n_ff);
    key_list_uint(m->keys, ".attention.head_count", m->n_head);
    key_list_uint(m->keys, ".attention.head_count_kv", m->n_head_kv);
    key_list_float(m->keys, ".attention.layer_norm_rms_epsilon", epsilon);
    if (told_head_dim > 0) {
        key_list_uint(m->keys, ".attention.key_length", told_head_dim);
        key_list_uint(m->keys, ".attention.value_length", told_head_dim);
    }
}

/* Rows of the embedding against the config, and the type of the weights. */
static void translate_embedding(hf_model *m) {
    static const char *const names[] = {"model.embed_tokens.weight", "language_model.model.embed_tokens.weight",
                                        "model.language_model.embed_tokens.weight"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && m->table == NULL; i++) {
        m->table = hf_find_tensor(m->folder, names[i]);
    }
    const hf_tensor *table = m->table;
    if (table == NULL || table->entry->rank != 2 || table->entry->shape[0] > MAX_VOCABULARY) {
        hf_refuse(&m->text, QN_BAD_FILE, "vocab_size", "cannot be compared: the weights hold no matrix "
                  "model.embed_tokens.weight; are all files of the model there?");
        return;
    }
    const uint32_t rows = (uint32_t)table->entry->shape[0];
    m->n_vocab = hf_uint(&m->text, "vocab_size", 1, MAX_VOCABULARY, rows);
    if (m->text.status == QN_OK && (m->n_vocab > rows || m->n_embd != table->entry->shape[1])) {
        hf_refuse(&m->text, QN_BAD_FILE, "vocab_size", "is %u and hidden_size %u, but tensor %s has %u rows of %llu",
                  m->n_vocab, m->n_embd, table->entry->name.data, rows, (unsigned long long)table->entry->shape[1]);
    }
    if (is_arch(m, "llama")) {
        key_list_uint(m->keys, ".vocab_size", m->n_vocab);
    }
    const uint32_t file_type = table->entry->dtype == SFT_F32 ? 0 : table->entry->dtype == SFT_F16 ? 1 : 32;
    key_list_uint(m->keys, "general.file_type", file_type);
}

/* What the tensors of a layer's attention say about heads: elements of one axis, as multiples of head_dim. */
static const struct {
    const char *part;
    uint32_t axis, heads, heads_kv; /* heads * num_attention_heads + heads_kv * num_key_value_heads; 0 and 0: one head */
    const char *key;
} attention_parts[] = {
    {"q_proj", 0, 1, 0, "num_attention_heads"},   {"k_proj", 0, 0, 1, "num_key_value_heads"},
    {"v_proj", 0, 0, 1, "num_key_value_heads"},   {"qkv_proj", 0, 1, 2, "num_key_value_heads"},
    {"o_proj", 1, 1, 0, "num_attention_heads"},   {"q_norm", 0, 0, 0, "head_dim"},
    {"k_norm", 0, 0, 0, "head_dim"},
};

static void check_part(hf_model *m, uint32_t layer, size_t i) {
    char name[200];
    const fmt_str table = m->table->entry->name;
    const int prefix = (int)(table.size - (sizeof "embed_tokens.weight" - 1));
    const uint32_t n_heads = attention_parts[i].heads * m->n_head + attention_parts[i].heads_kv * m->n_head_kv;
    const uint64_t wanted = (uint64_t)(n_heads > 0 ? n_heads : 1) * m->head_dim;
    const uint32_t axis = attention_parts[i].axis;
    snprintf(name, sizeof name, "%.*slayers.%u.self_attn.%s.weight", prefix, table.data, layer, attention_parts[i].part);
    const hf_tensor *tensor = hf_find_tensor(m->folder, name);
    if (tensor != NULL && tensor->entry->rank > axis && tensor->entry->shape[axis] != wanted) {
        hf_refuse(&m->text, QN_BAD_FILE, attention_parts[i].key,
                  "does not fit the weights: with num_attention_heads %u, num_key_value_heads %u and head_dim %u tensor %s "
                  "must have %llu %s, and has %llu", m->n_head, m->n_head_kv, m->head_dim, name, (unsigned long long)wanted,
                  axis == 0 ? "rows" : "columns", (unsigned long long)tensor->entry->shape[axis]);
    }
}

/* A tensor that is not there is missed by the architecture. */
static void check_heads(hf_model *m) {
    for (uint32_t layer = 0; layer < m->n_layer; layer++) {
        for (size_t i = 0; m->text.status == QN_OK && i < sizeof attention_parts / sizeof attention_parts[0]; i++) {
            check_part(m, layer, i);
        }
    }
}

/* Do both hold the same bytes? */
static bool are_equal(const hf_folder *folder, const hf_tensor *a, const hf_tensor *b) {
    const uint8_t *left = folder->shards[a->shard].file.span.data + a->entry->at;
    const uint8_t *right = folder->shards[b->shard].file.span.data + b->entry->at;
    return a->entry->dtype == b->entry->dtype && a->entry->size == b->entry->size &&
           memcmp(left, right, (size_t)a->entry->size) == 0;
}

/* The output matrix is the embedding, or is there. */
static void check_output(hf_model *m, const hf_object *config) {
    hf_object top = *config;
    const bool is_told = hf_get(&m->text, "tie_word_embeddings") != NULL || hf_get(&top, "tie_word_embeddings") != NULL;
    const bool is_tied = hf_bool(&m->text, "tie_word_embeddings", hf_bool(&top, "tie_word_embeddings", true));
    const hf_tensor *plain = hf_find_tensor(m->folder, "lm_head.weight");
    const hf_tensor *head = plain != NULL ? plain : hf_find_tensor(m->folder, "language_model.lm_head.weight");
    if (is_told && is_tied && head != NULL && m->table != NULL && !are_equal(m->folder, head, m->table)) {
        hf_refuse(&m->text, QN_BAD_FILE, "tie_word_embeddings",
                  "is true, but the weights hold another matrix %s than the embedding", head->entry->name.data);
    }
    if (is_told && !is_tied && head == NULL) {
        hf_refuse(&m->text, QN_BAD_FILE, "tie_word_embeddings",
                  "is false, but the weights hold no lm_head.weight; are all files of the model there?");
    }
}

/* ------------------------------------------------------------------------------------------------- what is not run */

static void refuse_unknown_parts(hf_model *m) {
    static const char *const counts[] = {"num_experts", "num_local_experts", "n_routed_experts"};
    hf_object *o = &m->text;
    char quoted[HF_QUOTE_SIZE];
    const bool is_gemma = is_arch(m, "gemma3");
    const fmt_str act = hf_string(o, is_gemma ? "hidden_activation" : "hidden_act");
    const char *wanted = is_gemma ? "gelu_pytorch_tanh" : "silu";
    if (act.size > 0 && !hf_equals(act, wanted)) {
        hf_refuse(o, QN_UNSUPPORTED, is_gemma ? "hidden_activation" : "hidden_act",
                  "is %s; this program computes \"%s\" here", hf_quote(quoted, act), wanted);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (hf_uint(o, counts[i], 0, UINT32_MAX - 1, 0) > 1) {
            hf_refuse(o, QN_UNSUPPORTED, counts[i], "is there: mixtures of experts are not run by this version");
        }
    }
    if (hf_get(o, "quantization_config") != NULL) {
        hf_object q = hf_member(o, "quantization_config");
        const fmt_str method = hf_string(&q, "quant_method");
        hf_refuse(o, QN_UNSUPPORTED, "quantization_config", "names method %s; convert the model that was not "
                  "quantised, or its GGUF", hf_quote(quoted, method));
    }
}

/* -------------------------------------------------------------------------------------------------------- attention */

/* Which layers have the window, from "layer_types" or the distance of the full ones. False: the list is not a good one. */
static bool read_layer_types(hf_model *m, bool *is_windowed) {
    const json_t *types = hf_array(&m->text, "layer_types");
    const uint32_t every = hf_uint(&m->text, "sliding_window_pattern", 1, MAX_LAYERS,
                                   hf_uint(&m->text, "_sliding_window_pattern", 1, MAX_LAYERS, FULL_EVERY));
    if (m->text.status < 0) {
        return false;
    }
    if (types != NULL && json_array_size(types) != m->n_layer) {
        hf_refuse(&m->text, QN_BAD_FILE, "layer_types", "has %zu elements for %u layers", json_array_size(types),
                  m->n_layer);
        return false;
    }
    for (uint32_t i = 0; i < m->n_layer; i++) {
        const char *type = types == NULL ? NULL : json_string_value(json_array_get(types, i));
        is_windowed[i] = types == NULL ? (i + 1) % every != 0 : type != NULL && strcmp(type, "sliding_attention") == 0;
        if (types != NULL && !is_windowed[i] && (type == NULL || strcmp(type, "full_attention") != 0)) {
            hf_refuse(&m->text, QN_UNSUPPORTED, "layer_types", "names another kind than full_attention and "
                      "sliding_attention for layer %u", i);
            return false;
        }
    }
    return true;
}

static void translate_gemma_window(hf_model *m) {
    const uint32_t window = hf_uint(&m->text, "sliding_window", 1, UINT32_MAX - 1, 4096);
    bool *is_windowed = key_list_take(m->keys, m->n_layer, sizeof *is_windowed);
    if (is_windowed == NULL || !read_layer_types(m, is_windowed)) {
        return;
    }
    key_list_uint(m->keys, ".attention.sliding_window", window);
    for (uint32_t i = 0; i < m->n_layer; i++) {
        if (is_windowed[i] != ((i + 1) % FULL_EVERY != 0)) {
            key_list_bools(m->keys, ".attention.sliding_window_pattern", is_windowed, m->n_layer);
            return;
        }
    }
}

/* Qwen gives the window to its upper layers, and nearly always to none. */
static void check_qwen_window(hf_model *m) {
    const bool is_used = hf_bool(&m->text, "use_sliding_window", false);
    const uint32_t first = hf_uint(&m->text, "max_window_layers", 0, UINT32_MAX - 1, 0);
    if (is_used && first < m->n_layer) {
        hf_refuse(&m->text, QN_UNSUPPORTED, "use_sliding_window", "is true from layer %u on; this program runs Qwen "
                  "with full attention", first);
    }
}

static void translate_plain_window(hf_model *m) {
    const bool is_mistral = hf_equals(hf_string(&m->text, "model_type"), "mistral");
    const uint32_t window = hf_uint(&m->text, "sliding_window", 1, UINT32_MAX - 1, 0);
    /* A window as long as the context is none; Llama's class never had one. */
    if (window > 0 && (is_arch(m, "phi3") || (is_mistral && window < m->n_context))) {
        key_list_uint(m->keys, ".attention.sliding_window", window);
    }
}

static void translate_attention(hf_model *m) {
    if (is_arch(m, "gemma3")) {
        const double scalar = hf_float(&m->text, "query_pre_attn_scalar", 1e-3, 1e9, 256.0);
        const double attn_cap = hf_float(&m->text, "attn_logit_softcapping", 0.0, 1e6, 0.0);
        const double final_cap = hf_float(&m->text, "final_logit_softcapping", 0.0, 1e6, 0.0);
        translate_gemma_window(m);
        if (scalar != (double)m->head_dim) {
            key_list_float(m->keys, ".attention.scale", 1.0 / sqrt(scalar));
        }
        if (attn_cap > 0.0) {
            key_list_float(m->keys, ".attn_logit_softcapping", attn_cap);
        }
        if (final_cap > 0.0) {
            key_list_float(m->keys, ".final_logit_softcapping", final_cap);
        }
    } else if (is_arch(m, "qwen2") || is_arch(m, "qwen3")) {
        check_qwen_window(m);
    } else {
        translate_plain_window(m);
    }
}

/* ---------------------------------------------------------------------------------------------------------- general */

static void translate_general(hf_model *m) {
    const char *slash = strrchr(m->folder->path, '/');
    const char *name = slash == NULL ? m->folder->path : slash + 1;
    key_list_word(m->keys, "general.architecture", m->arch);
    key_list_word(m->keys, "general.type", "model");
    if (name[0] != '\0' && strcmp(name, ".") != 0) {
        key_list_word(m->keys, "general.name", name);
    }
}

qn_status hf_translate_config(const hf_folder *folder, key_list *list, uint32_t *out_n_vocab, error_context *err) {
    hf_object config = hf_json_object(&folder->config, err);
    hf_object text = hf_member(&config, "text_config");
    hf_model m = {.folder = folder, .arch = list->arch, .text = text.members != NULL ? text : config, .keys = list};
    m.text.status = config.status;
    translate_general(&m);
    translate_sizes(&m);
    if (m.text.status == QN_OK) {
        refuse_unknown_parts(&m);
        translate_embedding(&m);
        check_heads(&m);
        check_output(&m, &config);
        translate_attention(&m);
        hf_translate_rope(&m);
    }
    *out_n_vocab = m.n_vocab;
    return m.text.status;
}
