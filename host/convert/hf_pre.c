/* hf_pre.c — normalizer and pre-tokenizer of tokenizer.json, as the names that GGUF has for them.
 *
 * The file describes cutting as stages, some of them regular expressions. Those of the known models are recognised by
 * their text; nothing is guessed from an unknown one.
 */
#include <string.h>

#include "convert/hf_tokenizer.h"

#define MAX_STAGES 4
#define META "\xE2\x96\x81" /* U+2581, which stands for a space */

static bool text_is(const json_t *value, const char *word) {
    return json_is_string(value) && strcmp(json_string_value(value), word) == 0;
}

static bool is_type(const json_t *stage, const char *type) {
    return text_is(json_object_get(stage, "type"), type);
}

/* The stages of a part that may be one stage, a sequence, or absent. Fills at most MAX_STAGES, returns how many there
 * are. */
static size_t list_stages(const json_t *part, const char *sequence_key, const json_t *out[MAX_STAGES]) {
    if (part == NULL || json_is_null(part)) {
        return 0;
    }
    if (!is_type(part, "Sequence")) {
        out[0] = part;
        return 1;
    }
    const json_t *stages = json_object_get(part, sequence_key);
    const size_t count = json_array_size(stages);
    for (size_t i = 0; i < count && i < MAX_STAGES; i++) {
        out[i] = json_array_get(stages, i);
    }
    return count;
}

static const char *type_of(const json_t *stage, char quoted[HF_QUOTE_SIZE]) {
    const json_t *type = json_object_get(stage, "type");
    return json_is_string(type) ? hf_quote(quoted, (fmt_str){json_string_value(type), json_string_length(type)})
                                : "without a type";
}

/* ------------------------------------------------------------------------------------------------------- byte level */

/* Regular expressions in front of the byte level, each with the name of its rule: where a word that is a token is taken
 * without merging ("ignore_merges"), and where it is not. */
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
static const struct {
    const char *pattern, *name, *name_without_whole_words;
} patterns[] = {
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES, "llama-bpe",
     "smaug-bpe"},
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES, NULL, "qwen2"},
    {"[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER
     "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES,
     "tekken", "tekken"},
    {"[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTIONS "?|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER
     "*" CONTRACTIONS "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES,
     NULL, "gpt-4o"},
};

static const char *name_pattern(const char *pattern, bool takes_whole_words) {
    for (size_t i = 0; pattern != NULL && i < sizeof patterns / sizeof patterns[0]; i++) {
        if (strcmp(patterns[i].pattern, pattern) == 0) {
            return takes_whole_words ? patterns[i].name : patterns[i].name_without_whole_words;
        }
    }
    return NULL;
}

/* The name of the rule that these stages are, or null. The last stage is the byte level itself. */
static const char *name_stages(const json_t *const stages[MAX_STAGES], size_t count, bool takes_whole_words) {
    const json_t *bytes = stages[count - 1];
    const bool is_gpt2 = !json_is_false(json_object_get(bytes, "use_regex"));
    if (json_is_true(json_object_get(bytes, "add_prefix_space"))) {
        return NULL;
    }
    if (count == 1) {
        return is_gpt2 && !takes_whole_words ? "gpt-2" : NULL;
    }
    if (count == 2 && is_type(stages[0], "Digits")) {
        const bool is_each = json_is_true(json_object_get(stages[0], "individual_digits"));
        return is_gpt2 && is_each && !takes_whole_words ? "smollm" : NULL;
    }
    if (count == 2 && is_type(stages[0], "Split") && !is_gpt2 && text_is(json_object_get(stages[0], "behavior"), "Isolated") &&
        !json_is_true(json_object_get(stages[0], "invert"))) {
        const json_t *pattern = json_object_get(json_object_get(stages[0], "pattern"), "Regex");
        return name_pattern(json_string_value(pattern), takes_whole_words);
    }
    return NULL;
}

static qn_status translate_byte_level(hf_vocabulary *v, const json_t *const stages[MAX_STAGES], size_t count) {
    const json_t *normalizers[MAX_STAGES] = {NULL};
    char quoted[HF_QUOTE_SIZE];
    const size_t n_normalizers = list_stages(hf_get(&v->file, "normalizer"), "normalizers", normalizers);
    const bool takes_whole_words = hf_bool(&v->model, "ignore_merges", false);
    const char *name = name_stages(stages, count, takes_whole_words);
    if (n_normalizers > 1 || (n_normalizers == 1 && !is_type(normalizers[0], "NFC"))) {
        return hf_refuse(&v->file, QN_UNSUPPORTED, "normalizer", "is %s; this program knows none and NFC for "
                         "byte-level tokenizers", n_normalizers > 1 ? "a sequence" : type_of(normalizers[0], quoted));
    }
    if (v->model.status == QN_OK && name == NULL) {
        return hf_refuse(&v->file, QN_UNSUPPORTED, "pre_tokenizer", "cuts texts by a rule that this program does not know "
                         "(it knows those of GPT-2, SmolLM, Llama 3, Qwen2, Tekken and GPT-4o)");
    }
    key_list_word(v->keys, "tokenizer.ggml.model", "gpt2");
    key_list_word(v->keys, "tokenizer.ggml.pre", name == NULL ? "" : name);
    return v->model.status;
}

/* ---------------------------------------------------------------------------------------------------- SentencePiece */

/* Puts a space in front of a text? Spaces become U+2581 here or in the pre-tokenizer. */
static qn_status read_normalizers(hf_vocabulary *v, bool *out_has_prefix) {
    const json_t *stages[MAX_STAGES] = {NULL};
    char quoted[HF_QUOTE_SIZE];
    const size_t count = list_stages(hf_get(&v->file, "normalizer"), "normalizers", stages);
    for (size_t i = 0; i < count; i++) {
        const json_t *stage = i < MAX_STAGES ? stages[i] : NULL;
        const bool is_prefix = is_type(stage, "Prepend") && text_is(json_object_get(stage, "prepend"), META);
        const bool is_space = is_type(stage, "Replace") && text_is(json_object_get(stage, "content"), META) &&
                              text_is(json_object_get(json_object_get(stage, "pattern"), "String"), " ");
        if (!is_prefix && !is_space) {
            return hf_refuse(&v->file, QN_UNSUPPORTED, "normalizer", "has stage %zu of type %s; this program knows only "
                             "the two that turn spaces into U+2581", i, type_of(stage, quoted));
        }
        *out_has_prefix |= is_prefix;
    }
    return QN_OK;
}

static qn_status read_cutting(hf_vocabulary *v, const json_t *const stages[MAX_STAGES], size_t count,
                              bool *out_has_prefix) {
    if (count == 0) {
        return QN_OK;
    }
    const json_t *stage = stages[0];
    char quoted[HF_QUOTE_SIZE];
    /* Cutting at spaces finds none: the normalizer has replaced them. */
    const bool is_idle = is_type(stage, "Split") && text_is(json_object_get(json_object_get(stage, "pattern"), "String"), " ");
    if (count > 1 || (!is_idle && !is_type(stage, "Metaspace"))) {
        return hf_refuse(&v->file, QN_UNSUPPORTED, "pre_tokenizer", "is %s; this program knows Metaspace for "
                         "SentencePiece vocabularies", count > 1 ? "a sequence" : type_of(stage, quoted));
    }
    if (!is_idle && !json_is_false(json_object_get(stage, "split"))) {
        return hf_refuse(&v->file, QN_UNSUPPORTED, "pre_tokenizer", "cuts texts at spaces (split is not false), which "
                         "SentencePiece does not");
    }
    if (!is_idle) {
        const json_t *scheme = json_object_get(stage, "prepend_scheme");
        *out_has_prefix |= scheme != NULL ? !text_is(scheme, "never")
                                          : !json_is_false(json_object_get(stage, "add_prefix_space"));
    }
    return QN_OK;
}

static qn_status translate_sentencepiece(hf_vocabulary *v, const json_t *const stages[MAX_STAGES], size_t count) {
    bool has_prefix = false;
    if (!hf_bool(&v->model, "byte_fallback", false)) {
        return hf_refuse(&v->model, QN_UNSUPPORTED, "byte_fallback", "is not true and the pre-tokenizer is not ByteLevel; "
                         "this program knows byte-level BPE and BPE with a fallback to bytes");
    }
    QN_TRY(read_normalizers(v, &has_prefix), v->file.err, "reading the normalizer");
    QN_TRY(read_cutting(v, stages, count, &has_prefix), v->file.err, "reading the pre-tokenizer");
    key_list_word(v->keys, "tokenizer.ggml.model", "llama");
    key_list_word(v->keys, "tokenizer.ggml.pre", "default");
    key_list_bool(v->keys, "tokenizer.ggml.add_space_prefix", has_prefix);
    return QN_OK;
}

qn_status hf_translate_pre(hf_vocabulary *v) {
    const json_t *stages[MAX_STAGES] = {NULL};
    const size_t count = list_stages(hf_get(&v->file, "pre_tokenizer"), "pretokenizers", stages);
    if (count > MAX_STAGES) {
        return hf_refuse(&v->file, QN_UNSUPPORTED, "pre_tokenizer", "has %zu stages; this program knows rules of two",
                         count);
    }
    v->is_byte_level = count > 0 && is_type(stages[count - 1], "ByteLevel");
    return v->is_byte_level ? translate_byte_level(v, stages, count) : translate_sentencepiece(v, stages, count);
}
