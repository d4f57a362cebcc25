/* gguf_to_p64.c — sections 5, 6.2 and 10 of the P64 document: what a GGUF file says, in the words of a container. */
#include <string.h>

#include "common/diag.h"
#include "convert/convert.h"

typedef unsigned long long ull;

#define DEFAULT_ROPE_BASE 10000.0f
#define DEFAULT_BOS 1
#define DEFAULT_EOS 2
#define RELEASE_BEHIND (UINT64_C(4) << 20)

static const fmt_rule rule_key = {"convert-key", "5", "a container stores it as an unsigned 32-bit number"};
static const fmt_rule rule_float = {"convert-key", "5", "a container stores it as a number"};
static const fmt_rule rule_text = {"convert-key", "10", "a container's tokenizer needs another type here"};
static const fmt_rule rule_count = {"convert-count", "6", "a container counts its tensors in 32 bits"};
static const fmt_rule rule_merge = {"convert-merge", "10", "a merge is two parts with a space between them"};

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
        hp->architecture = 5;
    } else if (is_open && is_hybrid) {
        hp->architecture = 11;
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

static fmt_status find_hparams(const gguf_file *file, p64_hparams *hp, fmt_diag *diag) {
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

static void start_walk(string_walk *w, gguf_array array) {
    *w = (string_walk){.array = array, .iter = gguf_iterate(&array)};
}

static fmt_str walk_to(string_walk *w, uint64_t index) {
    if (index + 1 < w->iter.index) {
        w->iter = gguf_iterate(&w->array);
    }
    while (w->iter.index <= index && gguf_next_string(&w->iter, &w->last)) {
    }
    return w->last;
}

/* Reads an array of strings that may be absent. */
static fmt_status find_strings(const gguf_file *file, const char *key, string_walk *out, fmt_diag *diag) {
    gguf_array array = {0};
    const fmt_status status = gguf_get_array(file, key, GGUF_STRINGS, &array, diag);
    if (status == FMT_OK) {
        start_walk(out, array);
    }
    return status == FMT_NOT_FOUND ? FMT_OK : status;
}

static fmt_status find_id(const gguf_file *file, const char *key, uint32_t *out, fmt_diag *diag) {
    const fmt_status status = gguf_get_u32(file, key, out, diag);
    return status == FMT_NOT_FOUND ? FMT_OK : status;
}

static fmt_status find_specials(const gguf_file *file, p64_source_tokenizer *t, fmt_diag *diag) {
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

static void split_merge(fmt_str merge, fmt_str *left, fmt_str *right) {
    const char *space = merge.size > 0 ? memchr(merge.data, ' ', merge.size) : NULL;
    const uint64_t at = space != NULL ? (uint64_t)(space - merge.data) : merge.size;
    *left = (fmt_str){merge.data, at};
    *right = space != NULL ? (fmt_str){space + 1, merge.size - at - 1} : (fmt_str){merge.data, 0};
}

static fmt_status check_merges(gguf_source *s, uint32_t count, fmt_diag *diag) {
    for (uint32_t i = 0; i < count; i++) {
        fmt_str left, right, merge = walk_to(&s->merges, i);
        split_merge(merge, &left, &right);
        if (left.size == 0 || right.size == 0) {
            char text[DIAG_QUOTE_SIZE];
            return diag_refuse(diag, FMT_BAD_FILE, &rule_merge, (diag_place){0, i, 0, 0},
                               "element %u of key \"tokenizer.ggml.merges\" is %s", i, diag_quote(text, merge));
        }
    }
    return FMT_OK;
}

static fmt_status find_tokenizer(gguf_source *s, fmt_diag *diag) {
    p64_source_tokenizer *t = &s->source.tokenizer;
    if (gguf_find_kv(s->file, "tokenizer.ggml.tokens") == NULL) {
        return FMT_OK;
    }
    fmt_status status = find_strings(s->file, "tokenizer.ggml.tokens", &s->tokens, diag);
    if (status == FMT_OK) {
        status = find_strings(s->file, "tokenizer.ggml.merges", &s->merges, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    if (s->tokens.array.count > UINT32_MAX || s->merges.array.count > UINT32_MAX) {
        return diag_refuse(
            diag, FMT_LIMIT, &rule_text, (diag_place){0, FMT_NO_INDEX, UINT32_MAX, s->tokens.array.count},
            "the tokenizer has %llu tokens and %llu merges", (ull)s->tokens.array.count, (ull)s->merges.array.count);
    }
    t->is_present = true;
    t->n_tokens = (uint32_t)s->tokens.array.count;
    t->n_merges = (uint32_t)s->merges.array.count;
    status = find_specials(s->file, t, diag);
    return status == FMT_OK ? check_merges(s, t->n_merges, diag) : status;
}

/* ----------------------------------------------------------------------------------------------- the writer's calls */

static void get_tensor(void *ctx, uint32_t index, p64_source_tensor *out) {
    const gguf_source *s = ctx;
    const gguf_tensor *t = &s->file->tensors[index];
    *out = (p64_source_tensor){.name = t->name,
                               .dtype = t->type,
                               .rank = t->rank,
                               .dims = {t->dims[0], t->dims[1], t->dims[2], t->dims[3]},
                               .source_offset = t->offset,
                               .bytes = t->size};
    out->role = p64_role_of_gguf_name(t->name.data, t->name.size, s->source.hparams.n_layer, &out->layer);
}

static const uint8_t *get_bytes(void *ctx, uint32_t index, uint64_t offset, uint64_t size, void *room) {
    gguf_source *s = ctx;
    (void)room;
    if (s->mapping != NULL) {
        /* The system maps pages around the one that is asked for, so some behind the last read came back. */
        const uint64_t begin = s->read_at > RELEASE_BEHIND ? s->read_at - RELEASE_BEHIND : 0;
        mapped_file_dont_need(s->mapping, begin, s->read_at + s->read_size - begin);
    }
    s->read_at = s->file->tensors[index].at + offset;
    s->read_size = size;
    return s->file->span.data + s->read_at;
}

static fmt_str get_token(void *ctx, uint32_t id) {
    gguf_source *s = ctx;
    return walk_to(&s->tokens, id);
}

static void get_merge(void *ctx, uint32_t index, fmt_str *out_left, fmt_str *out_right) {
    gguf_source *s = ctx;
    split_merge(walk_to(&s->merges, index), out_left, out_right);
}

fmt_status gguf_source_init(gguf_source *out, const gguf_file *file, fmt_diag *diag) {
    *out = (gguf_source){.file = file};
    if (file->n_tensors > UINT32_MAX) {
        return diag_refuse(diag, FMT_LIMIT, &rule_count, (diag_place){0, FMT_NO_INDEX, UINT32_MAX, file->n_tensors},
                           "the source has %llu tensors", (ull)file->n_tensors);
    }
    out->source.ctx = out;
    out->source.n_tensors = (uint32_t)file->n_tensors;
    out->source.get_tensor = get_tensor;
    out->source.get_bytes = get_bytes;
    out->source.get_token = get_token;
    out->source.get_merge = get_merge;
    const fmt_status status = find_hparams(file, &out->source.hparams, diag);
    return status == FMT_OK ? find_tokenizer(out, diag) : status;
}
