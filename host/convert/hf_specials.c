/* hf_specials.c — which tokens begin and end a text, and the chat template. */
#include <stdio.h>
#include <string.h>

#include "convert/hf_tokenizer.h"
#include "text/tokenizer.h"

/* ----------------------------------------------------------------------------------------------------- ids by name */

static uint32_t find_token(const hf_vocabulary *v, fmt_str text) {
    const json_t *value = text.size > 0 ? json_object_get(v->vocab, text.data) : NULL;
    if (json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) < v->n_tokens) {
        return (uint32_t)json_integer_value(value);
    }
    for (uint32_t id = 0; text.size > 0 && id < v->n_tokens; id++) { /* an added token */
        if (v->tokens[id].size == text.size && memcmp(v->tokens[id].data, text.data, (size_t)text.size) == 0) {
            return id;
        }
    }
    return TOKEN_NONE;
}

/* A token is told by its text, or by an object that holds the text. */
static fmt_str find_text(hf_object *o, const char *key) {
    const json_t *value = hf_get(o, key);
    if (!json_is_object(value)) {
        return hf_string(o, key);
    }
    hf_object token = hf_member(o, key);
    return hf_string(&token, "content");
}

/* ---------------------------------------------------------------------------------------------------- ids by number */

/* Element `index` of a key that holds an id or a list of ids; TOKEN_NONE behind its end. */
static uint32_t read_listed_id(hf_vocabulary *v, const hf_json *document, const char *key, size_t index) {
    hf_object o = hf_json_object(document, v->file.err);
    const json_t *value = hf_get(&o, key);
    if (value == NULL) { /* Gemma keeps the ids of texts with the rest about texts */
        hf_object text = hf_member(&o, "text_config");
        value = hf_get(&text, key);
    }
    const json_t *element = json_is_array(value) ? json_array_get(value, index) : index == 0 ? value : NULL;
    if (element == NULL) {
        return TOKEN_NONE;
    }
    if (!json_is_integer(element)) {
        hf_refuse(&o, QN_BAD_FILE, key, "must be an id from 0 to %u, or a list of them", v->n_tokens - 1);
        v->file.status = o.status;
        return TOKEN_NONE;
    }
    if (json_integer_value(element) < 0 || json_integer_value(element) >= v->n_tokens) {
        hf_refuse(&o, QN_BAD_FILE, key, "is %lld, which is outside the vocabulary: must be an id from 0 to %u, or a list of them",
                  (long long)json_integer_value(element), v->n_tokens - 1);
        v->file.status = o.status;
        return TOKEN_NONE;
    }
    return (uint32_t)json_integer_value(element);
}

void hf_check_ids(hf_vocabulary *v) {
    static const char *const keys[] = {"bos_token_id", "eos_token_id"};
    const hf_json *documents[] = {&v->folder->config, &v->folder->generation};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        for (size_t k = 0; k < sizeof documents / sizeof documents[0]; k++) {
            size_t index = 0;
            while (v->file.status == QN_OK && read_listed_id(v, documents[k], keys[i], index) != TOKEN_NONE) {
                index++;
            }
        }
    }
}

/* By text in tokenizer_config.json, or else by number in config.json or generation_config.json. */
static uint32_t find_special(hf_vocabulary *v, hf_object *config, const char *text_key, const char *id_key) {
    const uint32_t named = find_token(v, find_text(config, text_key));
    if (named != TOKEN_NONE) {
        return named;
    }
    const uint32_t numbered = read_listed_id(v, &v->folder->config, id_key, 0);
    return numbered != TOKEN_NONE || v->file.status < 0 ? numbered
                                                        : read_listed_id(v, &v->folder->generation, id_key, 0);
}

/* Generation may end at more tokens than one; GGUF has keys for two more. */
static void translate_stops(hf_vocabulary *v, uint32_t eos) {
    static const char *const keys[] = {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};
    size_t n_written = 0;
    for (size_t i = 0; v->file.status == QN_OK; i++) {
        const uint32_t id = read_listed_id(v, &v->folder->generation, "eos_token_id", i);
        if (id == TOKEN_NONE || n_written == sizeof keys / sizeof keys[0]) {
            return;
        }
        if (id != eos) {
            key_list_uint(v->keys, keys[n_written++], id);
        }
    }
}

/* ------------------------------------------------------------------------------------------------ around the text */

/* What the post-processor puts at the beginning (or end) of a single text: the token's text, or size 0. */
static fmt_str find_template_token(const json_t *processor, bool is_end) {
    const json_t *single = json_object_get(processor, "single");
    const size_t count = json_array_size(single);
    const json_t *piece = json_array_get(single, is_end && count > 0 ? count - 1 : 0);
    const json_t *id = json_object_get(json_object_get(piece, "SpecialToken"), "id");
    return json_is_string(id) ? (fmt_str){json_string_value(id), json_string_length(id)} : (fmt_str){"", 0};
}

/* The template among the post-processor's stages, or null. */
static const json_t *find_template(const hf_vocabulary *v) {
    const json_t *part = hf_get(&v->file, "post_processor");
    const json_t *stages = json_object_get(part, "processors");
    for (size_t i = 0; i <= json_array_size(stages); i++) {
        const json_t *stage = i == 0 ? part : json_array_get(stages, i - 1);
        const char *type = json_string_value(json_object_get(stage, "type"));
        if (type != NULL && strcmp(type, "TemplateProcessing") == 0) {
            return stage;
        }
    }
    return NULL;
}

/* tokenizer_config.json decides; where it is silent, the post-processor does; where that is silent too, GGUF's own
 * presumption holds: a SentencePiece vocabulary with a BOS puts it in front. */
static void translate_flag(hf_vocabulary *v, hf_object *config, const char *config_key, const char *key, uint32_t id,
                           bool is_end) {
    const json_t *template = find_template(v);
    if (id == TOKEN_NONE) {
        key_list_bool(v->keys, key, false);
    } else if (hf_get(config, config_key) != NULL) {
        key_list_bool(v->keys, key, hf_bool(config, config_key, false));
    } else if (template != NULL) {
        key_list_bool(v->keys, key, find_token(v, find_template_token(template, is_end)) == id);
    } else if (v->is_byte_level || is_end) {
        key_list_bool(v->keys, key, false);
    }
}

/* --------------------------------------------------------------------------------------------------------- template */

/* The template of this name in a list of named ones. */
static fmt_str find_named(const json_t *list, const char *name) {
    const json_t *entry;
    size_t i;
    json_array_foreach(list, i, entry) {
        const char *entry_name = json_string_value(json_object_get(entry, "name"));
        const json_t *text = json_object_get(entry, "template");
        if (entry_name != NULL && strcmp(entry_name, name) == 0 && json_is_string(text)) {
            return (fmt_str){json_string_value(text), json_string_length(text)};
        }
    }
    return (fmt_str){"", 0};
}

static void translate_template(hf_vocabulary *v, hf_object *config) {
    const json_t *value = hf_get(config, "chat_template");
    fmt_str text = {v->folder->template_text, v->folder->template_size};
    if (text.data == NULL) {
        text = json_is_array(value) ? find_named(value, "default") : hf_string(config, "chat_template");
    }
    if (text.size > 0) {
        key_list_string(v->keys, "tokenizer.chat_template", text);
    }
}

qn_status hf_translate_specials(hf_vocabulary *v) {
    static const struct {
        const char *text_key, *id_key, *key;
    } ids[] = {{"bos_token", "bos_token_id", "tokenizer.ggml.bos_token_id"},
               {"eos_token", "eos_token_id", "tokenizer.ggml.eos_token_id"},
               {"unk_token", "unk_token_id", "tokenizer.ggml.unknown_token_id"},
               {"pad_token", "pad_token_id", "tokenizer.ggml.padding_token_id"}};
    hf_object config = hf_json_object(&v->folder->tokenizer_config, v->file.err);
    uint32_t found[4] = {TOKEN_NONE, TOKEN_NONE, TOKEN_NONE, TOKEN_NONE};
    for (size_t i = 0; i < 4 && v->file.status == QN_OK; i++) {
        found[i] = find_special(v, &config, ids[i].text_key, ids[i].id_key);
        if (found[i] != TOKEN_NONE) {
            key_list_uint(v->keys, ids[i].key, found[i]);
        }
    }
    translate_stops(v, found[1]);
    translate_flag(v, &config, "add_bos_token", "tokenizer.ggml.add_bos_token", found[0], false);
    translate_flag(v, &config, "add_eos_token", "tokenizer.ggml.add_eos_token", found[1], true);
    translate_template(v, &config);
    return v->file.status < 0 ? v->file.status : config.status;
}
