/* convert_facts.c — section 19 of the P64 document: what a language model needs and a container does not hold.
 *
 * A container alone runs only as a llama model with epsilon 1e-5, adjacent-pair RoPE over the whole head, and the
 * byte-level BPE tokenizer that its Q42T section gives. A fact *blocks* when the model needs anything else.
 */
#include <string.h>

#include "convert/convert.h"

#define ALONE_EPSILON 1e-5

typedef struct survey {
    const gguf_source *source;
    bool is_extended;
    convert_fact_fn *fact;
    void *ctx;
    convert_facts_report report;
} survey;

static void tell(survey *s, fmt_str name, const char *text, bool blocks) {
    const convert_fact fact = {name, text, blocks};
    s->report.n_lost++;
    s->report.n_blocking += blocks;
    if (s->fact != NULL) {
        s->fact(s->ctx, &fact);
    }
}

static bool has_ending(fmt_str key, const char *ending) {
    const size_t length = strlen(ending);
    return key.size >= length && memcmp(key.data + key.size - length, ending, length) == 0;
}

static bool has_beginning(fmt_str key, const char *beginning) {
    const size_t length = strlen(beginning);
    return key.size >= length && memcmp(key.data, beginning, length) == 0;
}

static bool equals(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

/* ------------------------------------------------------------------------------------- which values would be missed */

/* Size of a head as a container of this profile gives it. */
static uint32_t head_size_alone(const survey *s) {
    const p64_hparams *hp = &s->source->source.hparams;
    if (s->is_extended && hp->head_dim != 0) {
        return hp->head_dim;
    }
    return hp->n_head != 0 ? hp->n_embd / hp->n_head : 0;
}

static bool always(const survey *s, const gguf_kv *kv) {
    (void)s;
    (void)kv;
    return true;
}

static bool never(const survey *s, const gguf_kv *kv) {
    (void)s;
    (void)kv;
    return false;
}

static bool unless_llama(const survey *s, const gguf_kv *kv) {
    fmt_str name;
    (void)s;
    return !gguf_kv_string(kv, &name) || !equals(name, "llama");
}

static bool unless_epsilon(const survey *s, const gguf_kv *kv) {
    double value;
    (void)s;
    return !gguf_kv_f64(kv, &value) || (float)value != (float)ALONE_EPSILON;
}

static bool unless_head_size(const survey *s, const gguf_kv *kv) {
    uint64_t value;
    return !gguf_kv_u64(kv, &value) || value != head_size_alone(s);
}

static bool unless_uniform(const survey *s, const gguf_kv *kv) {
    gguf_array array;
    uint64_t first = 0, value = 0;
    (void)s;
    if (!gguf_kv_array(kv, &array)) {
        return false;
    }
    for (uint64_t i = 0; i < array.count; i++) {
        if (!gguf_array_u64(&array, i, &value) || (i > 0 && value != first)) {
            return true;
        }
        first = value;
    }
    return false;
}

static bool unless_zero(const survey *s, const gguf_kv *kv) {
    uint64_t whole = 0;
    double value = 0.0;
    bool truth = false;
    (void)s;
    if (gguf_kv_u64(kv, &whole)) {
        return whole != 0;
    }
    if (gguf_kv_f64(kv, &value)) {
        return value != 0.0;
    }
    return !gguf_kv_bool(kv, &truth) || truth;
}

static bool unless_plain_scaling(const survey *s, const gguf_kv *kv) {
    fmt_str kind;
    (void)s;
    return !gguf_kv_string(kv, &kind) || !(equals(kind, "none") || equals(kind, "linear"));
}

static bool unless_bpe(const survey *s, const gguf_kv *kv) {
    fmt_str model;
    (void)s;
    return !gguf_kv_string(kv, &model) || !equals(model, "gpt2");
}

/* ------------------------------------------------------------------------------------------------------------- keys */

typedef bool blocks_fn(const survey *s, const gguf_kv *kv);

typedef enum held { HELD_NEVER, HELD_ALWAYS, HELD_EXTENDED, HELD_UNIFORM } held;

typedef struct known_key {
    const char *ending;
    held held; /* whether the container holds it */
    const char *text;
    blocks_fn *blocks;
} known_key;

/* First match counts; keys are matched by their ending, because each begins with the architecture's name. */
static const known_key known_keys[] = {
    {"general.architecture", HELD_NEVER, "the exact architecture", unless_llama},
    {"general.alignment", HELD_ALWAYS, "", never},
    {".block_count", HELD_ALWAYS, "", never},
    {".embedding_length", HELD_ALWAYS, "", never},
    {".attention.head_count", HELD_UNIFORM, "heads of each layer", unless_uniform},
    {".attention.head_count_kv", HELD_UNIFORM, "KV heads of each layer", unless_uniform},
    {".rope.freq_base", HELD_ALWAYS, "", never},
    {".rope.scale_linear", HELD_ALWAYS, "", never},
    {".rope.scaling.factor", HELD_ALWAYS, "", never},
    {".vocab_size", HELD_ALWAYS, "", never},
    {".attention.key_length", HELD_EXTENDED, "size of a head", unless_head_size},
    {".attention.value_length", HELD_NEVER, "size of a value head", unless_head_size},
    {".rope.dimension_count", HELD_NEVER, "how much of a head RoPE turns", unless_head_size},
    {".attention.layer_norm_rms_epsilon", HELD_NEVER, "epsilon of the RMS norms", unless_epsilon},
    {".attention.layer_norm_epsilon", HELD_NEVER, "epsilon of the layer norms", always},
    {".attention.sliding_window", HELD_EXTENDED, "attention window", unless_zero},
    {".attention.key_length_swa", HELD_EXTENDED, "size of a head in windowed layers", always},
    {".attention.shared_kv_layers", HELD_EXTENDED, "layers that share a KV cache", unless_zero},
    {".final_logit_softcapping", HELD_EXTENDED, "soft cap of the logits", unless_zero},
    {".attn_logit_softcapping", HELD_NEVER, "soft cap of attention", unless_zero},
    {".attention.sliding_window_pattern", HELD_NEVER, "which layers have a window", always},
    {".rope.scaling.type", HELD_NEVER, "kind of RoPE scaling", unless_plain_scaling},
    {".rope.freq_base_swa", HELD_NEVER, "RoPE base of windowed layers", always},
    {".expert_count", HELD_NEVER, "number of experts", unless_zero},
    {".expert_used_count", HELD_NEVER, "experts used for a token", unless_zero},
    {".logit_scale", HELD_NEVER, "scale of the logits", always},
    {".embedding_scale", HELD_NEVER, "scale of the embedding", always},
    {".residual_scale", HELD_NEVER, "scale of the residual", always},
    {".attention.scale", HELD_NEVER, "scale of attention", always},
    {".context_length", HELD_NEVER, "length of context it was trained for", never},
    {".feed_forward_length", HELD_NEVER, "width of the feed-forward part (its tensors show it)", never},
    {"tokenizer.ggml.tokens", HELD_ALWAYS, "", never},
    {"tokenizer.ggml.merges", HELD_ALWAYS, "", never},
    {"tokenizer.ggml.bos_token_id", HELD_ALWAYS, "", never},
    {"tokenizer.ggml.eos_token_id", HELD_ALWAYS, "", never},
    {"tokenizer.ggml.add_bos_token", HELD_ALWAYS, "", never},
    {"tokenizer.ggml.pre", HELD_ALWAYS, "", never},
    {"tokenizer.ggml.model", HELD_NEVER, "kind of tokenizer", unless_bpe},
    {"tokenizer.ggml.scores", HELD_NEVER, "scores of the tokens", never},
    {"tokenizer.ggml.token_type", HELD_NEVER, "types of the tokens (which are control tokens)", never},
    {"tokenizer.chat_template", HELD_NEVER, "chat template", never},
};

static const known_key *find_known(fmt_str key) {
    for (size_t i = 0; i < sizeof known_keys / sizeof known_keys[0]; i++) {
        if (has_ending(key, known_keys[i].ending)) {
            return &known_keys[i];
        }
    }
    return NULL;
}

static bool is_held(const survey *s, const gguf_kv *kv, const known_key *known) {
    switch (known->held) {
    case HELD_ALWAYS:
        return true;
    case HELD_EXTENDED:
        return s->is_extended;
    case HELD_UNIFORM:
        return !unless_uniform(s, kv);
    case HELD_NEVER:
    default:
        return false;
    }
}

static const char *describe_other(fmt_str key) {
    if (has_beginning(key, "general.")) {
        return "about the model: name, licence, origin";
    }
    if (has_beginning(key, "tokenizer.")) {
        return "of the tokenizer";
    }
    return "of the architecture";
}

static void look_at_keys(survey *s) {
    const gguf_file *file = s->source->file;
    for (uint64_t i = 0; i < file->n_kv; i++) {
        const gguf_kv *kv = &file->kvs[i];
        const known_key *known = find_known(kv->key);
        if (known == NULL) {
            tell(s, kv->key, describe_other(kv->key), false);
        } else if (!is_held(s, kv, known)) {
            tell(s, kv->key, known->text, known->blocks(s, kv));
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------- tensors */

/* Tensors that a llama graph would pass over. They are stored, but alone nothing says what they are for. */
static void look_at_tensors(survey *s) {
    const gguf_file *file = s->source->file;
    for (uint64_t i = 0; i < file->n_tensors; i++) {
        const fmt_str name = file->tensors[i].name;
        if (!p64_is_llama_name(name.data, name.size, s->source->source.hparams.n_layer)) {
            tell(s, name, "a tensor that a llama model does not have", true);
        }
    }
}

static void look_at_tokenizer(survey *s) {
    const p64_source_tokenizer *t = &s->source->source.tokenizer;
    static const char tokens[] = "tokenizer.ggml.tokens", merges[] = "tokenizer.ggml.merges";
    if (!t->is_present) {
        tell(s, (fmt_str){tokens, sizeof tokens - 1}, "the source has no tokenizer", true);
    } else if (t->n_merges == 0) {
        tell(s, (fmt_str){merges, sizeof merges - 1}, "the tokenizer has no merges; scores are not stored", true);
    }
}

convert_facts_report convert_facts(const gguf_source *source, bool is_extended, convert_fact_fn *fact, void *ctx) {
    survey s = {.source = source, .is_extended = is_extended, .fact = fact, .ctx = ctx};
    look_at_keys(&s);
    look_at_tensors(&s);
    look_at_tokenizer(&s);
    s.report.runs_alone = s.report.n_blocking == 0;
    s.report.needs_assumption =
        s.report.runs_alone && !(is_extended && source->source.hparams.architecture == P64_ARCH_LLAMA);
    return s.report;
}
