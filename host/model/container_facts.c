/* container_facts.c — sections 5 and 10 of the P64 document: the fields of a container, found among GGUF keys. */
#include "model/container_facts.h"

#include <stdio.h>
#include <string.h>

#include "common/diag.h"

#define ARCH_GEMMA4 5
#define ARCH_HYBRID 11
#define DEFAULT_ROPE_BASE 10000.0f
#define DEFAULT_BOS 1
#define DEFAULT_EOS 2

static const fmt_rule rule_key = {"convert-key", "5", "a container stores it as an unsigned 32-bit number"};
static const fmt_rule rule_float = {"convert-key", "5", "a container stores it as a number"};
static const fmt_rule rule_disagrees = {"companion-disagrees", "19",
                                        "container and companion must not contradict each other"};

/* -------------------------------------------------------------------------------------------- keys by their endings */

static bool has_ending(fmt_str key, const char *ending) {
    const size_t length = strlen(ending);
    return key.size >= length && memcmp(key.data + key.size - length, ending, length) == 0;
}

static bool has_part(fmt_str key, const char *part) {
    const size_t length = strlen(part);
    for (uint64_t at = 0; at + length <= key.size; at++) {
        if (memcmp(key.data + at, part, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Which key a field comes from: an ending (or a part), and a part that it must not have. */
typedef struct key_pattern {
    const char *ending, *second_ending, *without;
} key_pattern;

static bool matches(fmt_str key, const key_pattern *p) {
    const bool is_named = has_ending(key, p->ending) || (p->second_ending != NULL && has_ending(key, p->second_ending));
    return is_named && (p->without == NULL || !has_part(key, p->without));
}

static bool matches_kv_heads(fmt_str key) {
    return has_part(key, "head_count_kv") || has_part(key, "n_kv_head");
}

static fmt_status refuse_key(const gguf_kv *kv, const fmt_rule *rule, fmt_diag *diag) {
    char key[DIAG_QUOTE_SIZE];
    return diag_refuse(diag, FMT_BAD_FILE, rule, (diag_place){0, FMT_NO_INDEX, 0, 0}, "key %s of type %s",
                       diag_quote(key, kv->key), gguf_type_name(kv->type));
}

/* The value as an unsigned number; the largest element of an array. False: no number, or negative. */
static bool read_number(const gguf_kv *kv, uint64_t *out) {
    gguf_array array;
    if (!gguf_kv_array(kv, &array)) {
        return gguf_kv_u64(kv, out);
    }
    *out = 0;
    for (uint64_t i = 0; i < array.count; i++) {
        uint64_t value;
        if (!gguf_array_u64(&array, i, &value)) {
            return false;
        }
        *out = value > *out ? value : *out;
    }
    return true;
}

/* The last non-zero value among the keys that match wins. */
static fmt_status find_number(const gguf_file *file, const key_pattern *pattern, uint32_t *out, fmt_diag *diag) {
    for (uint64_t i = 0; i < file->n_kv; i++) {
        const gguf_kv *kv = &file->kvs[i];
        uint64_t value = 0;
        if (!(pattern != NULL ? matches(kv->key, pattern) : matches_kv_heads(kv->key))) {
            continue;
        }
        if (!read_number(kv, &value) || value > UINT32_MAX) {
            return refuse_key(kv, &rule_key, diag);
        }
        *out = value != 0 ? (uint32_t)value : *out;
    }
    return FMT_OK;
}

static fmt_status find_float(const gguf_file *file, const key_pattern *pattern, float *out, fmt_diag *diag) {
    for (uint64_t i = 0; i < file->n_kv; i++) {
        const gguf_kv *kv = &file->kvs[i];
        double value = 0.0;
        uint64_t whole = 0;
        if (!matches(kv->key, pattern)) {
            continue;
        }
        if (!gguf_kv_f64(kv, &value)) {
            if (!gguf_kv_u64(kv, &whole)) {
                return refuse_key(kv, &rule_float, diag);
            }
            value = (double)whole;
        }
        *out = value != 0.0 ? (float)value : *out;
    }
    return FMT_OK;
}

/* ----------------------------------------------------------------------------------------------------- architecture */

static char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool equals_lower(fmt_str text, const char *word) {
    if (text.size != strlen(word)) {
        return false;
    }
    for (uint64_t i = 0; i < text.size; i++) {
        if (to_lower(text.data[i]) != word[i]) {
            return false;
        }
    }
    return true;
}

/* Section 5's ids. */
static uint32_t find_architecture(fmt_str name) {
    static const struct {
        const char *name;
        uint32_t id;
    } table[] = {
        {"", 0},           {"llama", 1},      {"llama2", 1},         {"llama3", 1},         {"gemma", 2},
        {"gemma2", 3},     {"gemma3", 4},     {"gemma4", 5},         {"qwen2", 6},          {"qwen2vl", 6},
        {"qwen3", 6},      {"qwen3.5", 6},    {"qwen3.6", 6},        {"glm", 7},            {"glm4", 7},
        {"glm4.7", 7},     {"chatglm", 7},    {"phi", 8},            {"phi3", 8},           {"phi4", 8},
        {"deepseek", 9},   {"deepseek2", 9},  {"deepseek3", 9},      {"deepseek_moe", 9},   {"qwen35moe", 10},
        {"qwen3.5moe", 10}, {"qwen3.6moe", 10}, {"granitehybrid", 11}, {"granite-hybrid", 11}, {"granite_hybrid", 11},
    };
    while (name.size > 0 && is_blank(name.data[0])) {
        name.data++;
        name.size--;
    }
    while (name.size > 0 && is_blank(name.data[name.size - 1])) {
        name.size--;
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (equals_lower(name, table[i].name)) {
            return table[i].id;
        }
    }
    return P64_ARCH_OTHER;
}

static bool has_tensor(const gguf_file *file, const char *name) {
    return gguf_find_tensor(file, name) != NULL;
}

/* Id and flags of the extended profile: the name, and what the tensors show. */
static void find_arch_facts(const gguf_file *file, p64_hparams *hp) {
    fmt_str name = {"", 0};
    gguf_get_string(file, "general.architecture", &name, NULL);
    hp->architecture = find_architecture(name);
    const bool is_open = hp->architecture == P64_ARCH_UNKNOWN || hp->architecture == P64_ARCH_OTHER;
    const bool has_layer_embeddings = has_tensor(file, "per_layer_token_embd.weight");
    const bool is_hybrid = has_tensor(file, "blk.0.ssm_in.weight") && has_tensor(file, "blk.0.ssm_conv1d.weight");
    if (is_open && has_layer_embeddings) {
        hp->architecture = ARCH_GEMMA4;
    } else if (is_open && is_hybrid) {
        hp->architecture = ARCH_HYBRID;
    }
    hp->arch_flags = (has_layer_embeddings ? 1u : 0) | (hp->sliding_window != 0 ? 2u : 0) |
                     (hp->shared_kv_layers != 0 ? 4u : 0) | (has_tensor(file, "blk.0.attn_q_norm.weight") ? 8u : 0) |
                     (hp->logit_softcap != 0.0f ? 16u : 0);
}

/* ------------------------------------------------------------------------------------------------- hyper-parameters */

static fmt_status find_sizes(const gguf_file *file, p64_hparams *hp, fmt_diag *diag) {
    const struct {
        key_pattern pattern;
        uint32_t *field;
    } fields[] = {
        {{"block_count", NULL, NULL}, &hp->n_layer},
        {{"embedding_length", NULL, "per_layer"}, &hp->n_embd},
        {{"attention.head_count", NULL, "kv"}, &hp->n_head},
        {{"attention.key_length", NULL, "swa"}, &hp->head_dim},
        {{"attention.key_length_swa", NULL, NULL}, &hp->head_dim_swa},
        {{"attention.sliding_window", NULL, NULL}, &hp->sliding_window},
        {{"attention.shared_kv_layers", NULL, NULL}, &hp->shared_kv_layers},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const fmt_status status = find_number(file, &fields[i].pattern, fields[i].field, diag);
        if (status != FMT_OK) {
            return status;
        }
    }
    const fmt_status status = find_number(file, NULL, &hp->n_kv_head, diag);
    if (status == FMT_OK && hp->n_kv_head == 0) {
        hp->n_kv_head = hp->n_head > 1 ? hp->n_head : 1;
    }
    return status;
}

static fmt_status find_floats(const gguf_file *file, p64_hparams *hp, fmt_diag *diag) {
    static const key_pattern base = {"rope.freq_base", NULL, "swa"};
    static const key_pattern scale = {"rope.scale_linear", "rope.scaling.factor", NULL};
    static const key_pattern cap = {"final_logit_softcapping", NULL, NULL};
    hp->rope_freq_base = DEFAULT_ROPE_BASE;
    hp->rope_scale = 1.0f;
    fmt_status status = find_float(file, &base, &hp->rope_freq_base, diag);
    if (status == FMT_OK) {
        status = find_float(file, &scale, &hp->rope_scale, diag);
    }
    return status == FMT_OK ? find_float(file, &cap, &hp->logit_softcap, diag) : status;
}

fmt_status container_hparams(const gguf_file *file, p64_hparams *hp, fmt_diag *diag) {
    const gguf_tensor *embd = gguf_find_tensor(file, "token_embd.weight");
    fmt_status status = find_sizes(file, hp, diag);
    if (status == FMT_OK) {
        status = find_floats(file, hp, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    if (embd != NULL) { /* a dimension beyond 32 bits is refused by the plan */
        hp->vocab_size = (uint32_t)embd->dims[1];
        hp->n_embd = hp->n_embd == 0 ? (uint32_t)embd->dims[0] : hp->n_embd;
    }
    find_arch_facts(file, hp);
    return FMT_OK;
}

/* -------------------------------------------------------------------------------------------------------- tokenizer */

static fmt_status find_id(const gguf_file *file, const char *key, uint32_t *out, fmt_diag *diag) {
    const fmt_status status = gguf_get_u32(file, key, out, diag);
    return status == FMT_NOT_FOUND ? FMT_OK : status;
}

fmt_status container_specials(const gguf_file *file, p64_source_tokenizer *t, fmt_diag *diag) {
    fmt_str model = {"", 0};
    t->bos = DEFAULT_BOS;
    t->eos = DEFAULT_EOS;
    t->pre = (fmt_str){"", 0};
    fmt_status status = find_id(file, "tokenizer.ggml.bos_token_id", &t->bos, diag);
    if (status == FMT_OK) {
        status = find_id(file, "tokenizer.ggml.eos_token_id", &t->eos, diag);
    }
    if (status == FMT_OK) {
        status = gguf_get_string(file, "tokenizer.ggml.pre", &t->pre, diag);
        status = status == FMT_NOT_FOUND ? FMT_OK : status;
    }
    if (status == FMT_OK) {
        status = gguf_get_bool(file, "tokenizer.ggml.add_bos_token", &t->add_bos, diag);
    }
    if (status == FMT_NOT_FOUND) {
        /* SentencePiece models begin with BOS unless they say otherwise; byte-level ones do not. */
        gguf_get_string(file, "tokenizer.ggml.model", &model, NULL);
        t->add_bos = model.size == 5 && memcmp(model.data, "llama", 5) == 0;
        status = FMT_OK;
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------- agreement */

static fmt_status refuse_field(const char *field, const char *stored, const char *derived, fmt_diag *diag) {
    return diag_refuse(diag, FMT_BAD_FILE, &rule_disagrees, (diag_place){0, FMT_NO_INDEX, 0, 0},
                       "the container says that %s is %s, the keys of its companion give %s", field, stored, derived);
}

/* A zero of the container holds nothing. */
static fmt_status compare_number(const char *field, uint32_t stored, uint32_t derived, fmt_diag *diag) {
    char texts[2][16];
    if (stored == 0 || stored == derived) {
        return FMT_OK;
    }
    snprintf(texts[0], sizeof texts[0], "%u", stored);
    snprintf(texts[1], sizeof texts[1], "%u", derived);
    return refuse_field(field, texts[0], texts[1], diag);
}

static fmt_status compare_float(const char *field, float stored, float derived, fmt_diag *diag) {
    char texts[2][32];
    if (stored == 0.0f || stored == derived) {
        return FMT_OK;
    }
    snprintf(texts[0], sizeof texts[0], "%.9g", (double)stored);
    snprintf(texts[1], sizeof texts[1], "%.9g", (double)derived);
    return refuse_field(field, texts[0], texts[1], diag);
}

/* An id that was found by looking at tensors stands beside a name that has none. */
static bool is_arch_from_tensors(uint32_t stored, uint32_t derived) {
    return (derived == P64_ARCH_UNKNOWN || derived == P64_ARCH_OTHER) &&
           (stored == ARCH_GEMMA4 || stored == ARCH_HYBRID);
}

static fmt_status compare_hparams(const p64_hparams *stored, const gguf_file *keys, fmt_diag *diag) {
    p64_hparams derived = {0};
    fmt_status status = container_hparams(keys, &derived, diag);
    const struct {
        const char *field;
        uint32_t stored, derived;
    } numbers[] = {{"the number of layers", stored->n_layer, derived.n_layer},
                   {"the embedding's width", stored->n_embd, derived.n_embd},
                   {"the number of heads", stored->n_head, derived.n_head},
                   {"the number of KV heads", stored->n_kv_head, derived.n_kv_head},
                   {"the head size", stored->head_dim, derived.head_dim},
                   {"the head size of windowed layers", stored->head_dim_swa, derived.head_dim_swa},
                   {"the attention window", stored->sliding_window, derived.sliding_window},
                   {"the number of layers that share KV", stored->shared_kv_layers, derived.shared_kv_layers},
                   {"the architecture's id", stored->architecture,
                    is_arch_from_tensors(stored->architecture, derived.architecture) ? stored->architecture
                                                                                     : derived.architecture}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == FMT_OK; i++) {
        status = compare_number(numbers[i].field, numbers[i].stored, numbers[i].derived, diag);
    }
    const struct {
        const char *field;
        float stored, derived;
    } floats[] = {{"the RoPE base", stored->rope_freq_base, derived.rope_freq_base},
                  {"the RoPE scale", stored->rope_scale, derived.rope_scale},
                  {"the soft cap of the logits", stored->logit_softcap, derived.logit_softcap}};
    for (size_t i = 0; i < sizeof floats / sizeof floats[0] && status == FMT_OK; i++) {
        status = compare_float(floats[i].field, floats[i].stored, floats[i].derived, diag);
    }
    return status;
}

static fmt_status compare_specials(const p64_tokenizer *stored, const gguf_file *keys, fmt_diag *diag) {
    p64_source_tokenizer derived = {0};
    char texts[2][DIAG_QUOTE_SIZE];
    fmt_status status = container_specials(keys, &derived, diag);
    if (status == FMT_OK && stored->bos != derived.bos) { /* 0 is an id here */
        snprintf(texts[0], sizeof texts[0], "%u", stored->bos);
        snprintf(texts[1], sizeof texts[1], "%u", derived.bos);
        return refuse_field("the id of BOS", texts[0], texts[1], diag);
    }
    if (status == FMT_OK && stored->eos != derived.eos) {
        snprintf(texts[0], sizeof texts[0], "%u", stored->eos);
        snprintf(texts[1], sizeof texts[1], "%u", derived.eos);
        return refuse_field("the id of EOS", texts[0], texts[1], diag);
    }
    if (status == FMT_OK && stored->add_bos != derived.add_bos) {
        return refuse_field("add_bos", stored->add_bos ? "true" : "false", derived.add_bos ? "true" : "false", diag);
    }
    if (status == FMT_OK && (stored->pre.size != derived.pre.size ||
                             memcmp(stored->pre.data, derived.pre.data, stored->pre.size) != 0)) {
        return refuse_field("the pre-tokenizer", diag_quote(texts[0], stored->pre), diag_quote(texts[1], derived.pre),
                            diag);
    }
    return status;
}

fmt_status container_agrees(const p64_file *container, const gguf_file *keys, fmt_diag *diag) {
    const fmt_status status = compare_hparams(&container->hparams, keys, diag);
    return status == FMT_OK && container->tokenizer.is_present ? compare_specials(&container->tokenizer, keys, diag)
                                                              : status;
}
