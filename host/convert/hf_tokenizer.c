/* hf_tokenizer.c — the vocabulary of tokenizer.json: tokens, their kinds, merges or scores. */
#include "convert/hf_tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

#define FILLER_SIZE 16        /* "[PAD262143]" */

/* ----------------------------------------------------------------------------------------------------------- tokens */

bool hf_read_id(const hf_vocabulary *v, const json_t *value, uint32_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= v->n_tokens) {
        return false;
    }
    *out = (uint32_t)json_integer_value(value);
    return true;
}

static bool is_byte_token(fmt_str text) {
    static const char digits[] = "0123456789ABCDEF";
    return text.size == 6 && memcmp(text.data, "<0x", 3) == 0 && text.data[5] == '>' &&
           strchr(digits, text.data[3]) != NULL && strchr(digits, text.data[4]) != NULL;
}

static bool begins_and_ends(fmt_str text, const char *begin, const char *end) {
    const size_t b = strlen(begin), e = strlen(end);
    return text.size >= b + e && memcmp(text.data, begin, b) == 0 && memcmp(text.data + text.size - e, end, e) == 0;
}

/* Some files do not mark tokens as special that never stand for text. */
static bool looks_special(fmt_str text) {
    return hf_equals(text, "<pad>") || hf_equals(text, "<mask>") || hf_equals(text, "<2mass>") ||
           hf_equals(text, "[@BOS@]") || begins_and_ends(text, "<|", "|>") ||
           begins_and_ends(text, "<\xEF\xBD\x9C", "\xEF\xBD\x9C>") || begins_and_ends(text, "<unused", ">");
}

static qn_status put_vocab(hf_vocabulary *v) {
    char quoted[2][HF_QUOTE_SIZE];
    const char *text;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)v->vocab, text, value) {
        const fmt_str token = {text, strlen(text)};
        uint32_t id;
        if (!hf_read_id(v, value, &id)) {
            return hf_refuse(&v->model, QN_BAD_FILE, "vocab", "gives %s no id from 0 to %u, which the model has "
                             "rows for", hf_quote(quoted[0], token), v->n_tokens - 1);
        }
        if (v->tokens[id].data != NULL) {
            return hf_refuse(&v->model, QN_BAD_FILE, "vocab", "gives the id %u to %s and to %s", id,
                             hf_quote(quoted[0], v->tokens[id]), hf_quote(quoted[1], token));
        }
        v->tokens[id] = token;
        v->kinds[id] = !v->is_byte_level && is_byte_token(token) ? TOKEN_KIND_BYTE : TOKEN_KIND_NORMAL;
    }
    return QN_OK;
}

static qn_status put_added_token(hf_vocabulary *v, size_t index, const json_t *entry) {
    hf_object o = {.members = json_is_object(entry) ? entry : NULL, .path = v->file.path, .err = v->file.err};
    char quoted[2][HF_QUOTE_SIZE];
    snprintf(o.where, sizeof o.where, "added_tokens[%zu].", index);
    const fmt_str content = hf_string(&o, "content");
    const bool is_special = hf_bool(&o, "special", false);
    uint32_t id = 0;
    if (o.status == QN_OK && (content.size == 0 || !hf_read_id(v, json_object_get(entry, "id"), &id))) {
        hf_refuse(&o, QN_BAD_FILE, "id", "or content is not what it must be: an id from 0 to %u, and a text",
                  v->n_tokens - 1);
    }
    if (o.status == QN_OK && v->tokens[id].data != NULL &&
        (v->tokens[id].size != content.size || memcmp(v->tokens[id].data, content.data, content.size) != 0)) {
        hf_refuse(&o, QN_BAD_FILE, "content", "is %s, but id %u is %s already", hf_quote(quoted[0], content), id,
                  hf_quote(quoted[1], v->tokens[id]));
    }
    if (o.status == QN_OK) {
        v->tokens[id] = content;
        v->kinds[id] = is_special || looks_special(content) ? TOKEN_KIND_CONTROL : TOKEN_KIND_USER_DEFINED;
    }
    return v->file.status = o.status;
}

static qn_status put_added(hf_vocabulary *v) {
    const json_t *added = hf_array(&v->file, "added_tokens");
    for (size_t i = 0; i < json_array_size(added) && v->file.status == QN_OK; i++) {
        put_added_token(v, i, json_array_get(added, i));
    }
    return v->file.status;
}

/* The model may have more rows than tokens. */
static qn_status fill_holes(hf_vocabulary *v) {
    uint32_t n_holes = 0;
    for (uint32_t id = 0; id < v->n_tokens; id++) {
        n_holes += v->tokens[id].data == NULL;
    }
    char *names = key_list_take(v->keys, n_holes, FILLER_SIZE);
    for (uint32_t id = 0; names != NULL && id < v->n_tokens; id++) {
        if (v->tokens[id].data == NULL) {
            const int n = snprintf(names, FILLER_SIZE, "[PAD%u]", id);
            v->tokens[id] = (fmt_str){names, (uint64_t)n};
            v->kinds[id] = TOKEN_KIND_UNUSED;
            names += FILLER_SIZE;
        }
    }
    return names != NULL ? QN_OK : FAIL(v->file.err, QN_NO_HOST_MEM, "out of memory for %u tokens", v->n_tokens);
}

static void mark_unknown(hf_vocabulary *v) {
    const fmt_str name = hf_string(&v->model, "unk_token");
    uint32_t id;
    if (!v->is_byte_level && name.size > 0 && hf_read_id(v, json_object_get(v->vocab, name.data), &id)) {
        v->kinds[id] = TOKEN_KIND_UNKNOWN;
    }
}

static qn_status translate_tokens(hf_vocabulary *v) {
    v->tokens = key_list_take(v->keys, v->n_tokens, sizeof *v->tokens);
    v->kinds = key_list_take(v->keys, v->n_tokens, sizeof *v->kinds);
    if (v->tokens == NULL || v->kinds == NULL) {
        return FAIL(v->file.err, QN_NO_HOST_MEM, "out of memory for %u tokens", v->n_tokens);
    }
    QN_TRY(put_vocab(v), v->file.err, "reading the vocabulary");
    QN_TRY(put_added(v), v->file.err, "reading the added tokens");
    QN_TRY(fill_holes(v), v->file.err, "reading the vocabulary");
    mark_unknown(v);
    key_list_strings(v->keys, "tokenizer.ggml.tokens", v->tokens, v->n_tokens);
    key_list_ints(v->keys, "tokenizer.ggml.token_type", v->kinds, v->n_tokens);
    return v->model.status;
}

/* ----------------------------------------------------------------------------------------------------------- merges */

bool hf_read_merge(const json_t *value, fmt_str *left, fmt_str *right) {
    if (json_is_array(value)) {
        const json_t *a = json_array_get(value, 0), *b = json_array_get(value, 1);
        *left = (fmt_str){json_string_value(a), json_string_length(a)};
        *right = (fmt_str){json_string_value(b), json_string_length(b)};
        return json_array_size(value) == 2 && json_is_string(a) && json_is_string(b) && left->size > 0 &&
               right->size > 0;
    }
    const char *text = json_string_value(value);
    const size_t size = json_string_length(value);
    const char *space = text != NULL && size > 2 ? memchr(text + 1, ' ', size - 2) : NULL;
    if (space == NULL) {
        return false;
    }
    *left = (fmt_str){text, (uint64_t)(space - text)};
    *right = (fmt_str){space + 1, size - left->size - 1};
    return true;
}

qn_status hf_refuse_merge(hf_vocabulary *v, size_t rank, const char *what) {
    char key[48];
    snprintf(key, sizeof key, "merges[%zu]", rank);
    return hf_refuse(&v->model, QN_BAD_FILE, key, "%s", what);
}

static bool has_space(fmt_str text) {
    return memchr(text.data, ' ', (size_t)text.size) != NULL;
}

/* Merges in the form of GGUF: one text with a space between the sides. */
static qn_status translate_merges(hf_vocabulary *v, const json_t *merges) {
    const size_t count = json_array_size(merges);
    uint64_t bytes = 0;
    fmt_str left, right;
    for (size_t rank = 0; rank < count; rank++) {
        if (!hf_read_merge(json_array_get(merges, rank), &left, &right) || has_space(left) || has_space(right)) {
            return hf_refuse_merge(v, rank, "is no merge: two texts that have bytes and no space");
        }
        bytes += left.size + right.size + 1;
    }
    fmt_str *texts = key_list_take(v->keys, count, sizeof *texts);
    char *room = key_list_take(v->keys, bytes, 1);
    if (texts == NULL || room == NULL) {
        return FAIL(v->file.err, QN_NO_HOST_MEM, "out of memory for %zu merges", count);
    }
    for (size_t rank = 0; rank < count; rank++) {
        hf_read_merge(json_array_get(merges, rank), &left, &right);
        texts[rank] = (fmt_str){room, left.size + right.size + 1};
        memcpy(room, left.data, (size_t)left.size);
        room[left.size] = ' ';
        memcpy(room + left.size + 1, right.data, (size_t)right.size);
        room += texts[rank].size;
    }
    key_list_strings(v->keys, "tokenizer.ggml.merges", texts, count);
    return QN_OK;
}

/* ------------------------------------------------------------------------------------------------------------ model */

static qn_status check_model(hf_vocabulary *v) {
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    char quoted[HF_QUOTE_SIZE];
    const fmt_str type = hf_string(&v->model, "type");
    if (v->model.members == NULL) {
        return hf_refuse(&v->file, QN_BAD_FILE, "model", "is missing");
    }
    if (v->model.status == QN_OK && type.size > 0 && !hf_equals(type, "BPE")) {
        return hf_refuse(&v->model, QN_UNSUPPORTED, "type", "is %s; this program knows BPE", hf_quote(quoted, type));
    }
    for (size_t i = 0; i < sizeof affixes / sizeof affixes[0]; i++) {
        const fmt_str affix = hf_string(&v->model, affixes[i]);
        if (affix.size > 0) {
            return hf_refuse(&v->model, QN_UNSUPPORTED, affixes[i], "is %s; this program knows none",
                             hf_quote(quoted, affix));
        }
    }
    v->vocab = hf_get(&v->model, "vocab");
    if (v->model.status == QN_OK && (!json_is_object(v->vocab) || json_object_size(v->vocab) == 0)) {
        return hf_refuse(&v->model, QN_BAD_FILE, "vocab", "is missing or empty; it must be an object of texts and ids");
    }
    return v->model.status;
}

static qn_status translate_all(hf_vocabulary *v) {
    QN_TRY(check_model(v), v->file.err, "reading the tokenizer");
    QN_TRY(hf_translate_pre(v), v->file.err, "reading the tokenizer");
    QN_TRY(translate_tokens(v), v->file.err, "reading the tokenizer");
    const json_t *merges = hf_array(&v->model, "merges");
    if (v->model.status == QN_OK && merges == NULL) {
        hf_refuse(&v->model, QN_BAD_FILE, "merges", "is missing");
    }
    if (v->model.status < 0) {
        return v->model.status;
    }
    QN_TRY(v->is_byte_level ? translate_merges(v, merges) : hf_translate_scores(v, merges), v->file.err,
           "reading the merges");
    return hf_translate_specials(v);
}

qn_status hf_translate_tokenizer(const hf_folder *folder, uint32_t n_vocab, key_list *list, error_context *err) {
    hf_vocabulary v = {.folder = folder, .keys = list, .n_tokens = n_vocab, .file = {.err = err}};
    hf_check_ids(&v);
    if (v.file.status < 0) {
        return v.file.status;
    }
    if (folder->tokenizer.root == NULL) {
        return QN_OK;
    }
    v.file = hf_json_object(&folder->tokenizer, err);
    v.model = hf_member(&v.file, "model");
    return translate_all(&v);
}
