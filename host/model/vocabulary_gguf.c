/* vocabulary_gguf.c — the tokenizer keys of a GGUF file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/vocabulary.h"

/* A file that is being read, for the helpers below. */
typedef struct reader {
    const gguf_file *file;
    const char *path;
    error_context *err;
} reader;

static bool equals(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, (size_t)text.size) == 0;
}

/* Turns the status of a getter into one of the host; a missing key is fine and leaves the default. */
static qn_status accept_missing(const reader *r, fmt_status status, const fmt_diag *diag) {
    return status == FMT_OK || status == FMT_NOT_FOUND ? QN_OK : error_from_diag(r->err, status, diag, r->path);
}

static qn_status read_string(const reader *r, const char *key, fmt_str *out) {
    fmt_diag diag;
    return accept_missing(r, gguf_get_string(r->file, key, out, &diag), &diag);
}

static qn_status read_bool(const reader *r, const char *key, bool *out) {
    fmt_diag diag;
    return accept_missing(r, gguf_get_bool(r->file, key, out, &diag), &diag);
}

static qn_status read_id(const reader *r, const char *key, uint32_t *out) {
    fmt_diag diag;
    return accept_missing(r, gguf_get_u32(r->file, key, out, &diag), &diag);
}

/* An array of `elements` that is as long as the vocabulary; *out_count stays 0 when the key is missing. */
static qn_status find_per_token(const reader *r, const char *key, gguf_class elements, uint32_t n_tokens,
                                gguf_array *out) {
    fmt_diag diag;
    const fmt_status found = gguf_get_array(r->file, key, elements, out, &diag);
    const qn_status status = accept_missing(r, found, &diag);
    if (found == FMT_OK && out->count != n_tokens) {
        return FAIL(r->err, QN_BAD_FILE, "%s: %s has %" PRIu64 " elements for %u tokens; there must be one for each",
                    r->path, key, out->count, n_tokens);
    }
    return status;
}

static void *allocate(const reader *r, uint64_t count, size_t size) {
    void *memory = count < SIZE_MAX / size / 2 ? malloc((size_t)count * size + 1) : NULL;
    if (memory == NULL) {
        FAIL(r->err, QN_NO_HOST_MEM, "%s: no memory for %" PRIu64 " elements of its vocabulary", r->path, count);
    }
    return memory;
}

static qn_status read_tokens(const reader *r, vocabulary *v) {
    fmt_diag diag;
    gguf_array array;
    const fmt_status found = gguf_get_array(r->file, "tokenizer.ggml.tokens", GGUF_STRINGS, &array, &diag);
    if (found == FMT_NOT_FOUND) {
        return FAIL(r->err, QN_NOT_FOUND, "%s: tokenizer.ggml.tokens is missing: the file holds no vocabulary",
                    r->path);
    }
    if (found != FMT_OK) {
        return error_from_diag(r->err, found, &diag, r->path);
    }
    if (array.count >= UINT32_MAX / 8) {
        return FAIL(r->err, QN_LIMIT, "%s: tokenizer.ggml.tokens has %" PRIu64 " tokens; the limit is %u", r->path,
                    array.count, UINT32_MAX / 8);
    }
    v->tokens = allocate(r, array.count, sizeof *v->tokens);
    if (v->tokens == NULL) {
        return QN_NO_HOST_MEM;
    }
    gguf_iter iter = gguf_iterate(&array);
    for (uint32_t id = 0; gguf_next_string(&iter, &v->tokens[id]); id++) {
        v->facts.n_tokens = id + 1;
    }
    v->facts.tokens = v->tokens;
    return QN_OK;
}

static qn_status read_scores(const reader *r, vocabulary *v) {
    gguf_array array = {0};
    const qn_status status = find_per_token(r, "tokenizer.ggml.scores", GGUF_FLOATS, v->facts.n_tokens, &array);
    if (status < 0 || array.count == 0) {
        return status;
    }
    v->scores = allocate(r, array.count, sizeof *v->scores);
    if (v->scores == NULL) {
        return QN_NO_HOST_MEM;
    }
    for (uint32_t id = 0; id < v->facts.n_tokens; id++) {
        double score = 0;
        gguf_array_f64(&array, id, &score);
        v->scores[id] = (float)score;
    }
    v->facts.scores = v->scores;
    return QN_OK;
}

static qn_status read_kinds(const reader *r, vocabulary *v) {
    static const char key[] = "tokenizer.ggml.token_type";
    gguf_array array = {0};
    const qn_status status = find_per_token(r, key, GGUF_INTEGERS, v->facts.n_tokens, &array);
    if (status < 0 || array.count == 0) {
        return status;
    }
    v->kinds = allocate(r, array.count, sizeof *v->kinds);
    if (v->kinds == NULL) {
        return QN_NO_HOST_MEM;
    }
    for (uint32_t id = 0; id < v->facts.n_tokens; id++) {
        int64_t kind = 0;
        if (!gguf_array_i64(&array, id, &kind) || kind < INT32_MIN || kind > INT32_MAX) {
            return FAIL(r->err, QN_BAD_FILE, "%s: %s[%u] is no kind of token; kinds are 1 to 6", r->path, key, id);
        }
        v->kinds[id] = (int32_t)kind;
    }
    v->facts.kinds = v->kinds;
    return QN_OK;
}

static qn_status read_merges(const reader *r, vocabulary *v) {
    static const char key[] = "tokenizer.ggml.merges";
    fmt_diag diag;
    gguf_array array = {0};
    const qn_status status = accept_missing(r, gguf_get_array(r->file, key, GGUF_STRINGS, &array, &diag), &diag);
    if (status < 0 || array.count == 0) {
        return status;
    }
    if (array.count >= UINT32_MAX / 8) {
        return FAIL(r->err, QN_LIMIT, "%s: %s has %" PRIu64 " merges; the limit is %u", r->path, key, array.count,
                    UINT32_MAX / 8);
    }
    v->merges = allocate(r, array.count, sizeof *v->merges);
    if (v->merges == NULL) {
        return QN_NO_HOST_MEM;
    }
    gguf_iter iter = gguf_iterate(&array);
    fmt_str merge;
    for (uint32_t rank = 0; gguf_next_string(&iter, &merge); rank++) {
        const char *space = merge.size > 0 ? memchr(merge.data, ' ', (size_t)merge.size) : NULL;
        if (space == NULL || space == merge.data || space + 1 == merge.data + merge.size) {
            return FAIL(r->err, QN_BAD_FILE,
                        "%s: %s[%u] is \"%.*s\"; a merge is LEFT RIGHT with one space between them", r->path, key, rank,
                        merge.size < 80 ? (int)merge.size : 80, merge.data);
        }
        const uint64_t left_size = (uint64_t)(space - merge.data);
        v->merges[rank].left = (fmt_str){merge.data, left_size};
        v->merges[rank].right = (fmt_str){space + 1, merge.size - left_size - 1};
        v->facts.n_merges = rank + 1;
    }
    v->facts.merges = v->merges;
    return QN_OK;
}

/* `wanted` when it is spelled so in the vocabulary. */
static uint32_t id_if_spelled(const vocabulary *v, uint32_t wanted, const char *spelling) {
    return wanted < v->facts.n_tokens && equals(v->tokens[wanted], spelling) ? wanted : TOKEN_NONE;
}

static qn_status read_ids(const reader *r, vocabulary *v) {
    tokenizer_facts *facts = &v->facts;
    const bool is_llama = equals(facts->model, "llama");
    facts->unk = is_llama ? id_if_spelled(v, 0, "<unk>") : TOKEN_NONE;
    facts->bos = is_llama ? id_if_spelled(v, 1, "<s>") : TOKEN_NONE;
    facts->eos = is_llama ? id_if_spelled(v, 2, "</s>") : TOKEN_NONE;
    facts->eot = facts->eom = facts->pad = TOKEN_NONE;
    const struct {
        const char *key;
        uint32_t *id;
    } ids[] = {{"tokenizer.ggml.bos_token_id", &facts->bos},     {"tokenizer.ggml.eos_token_id", &facts->eos},
               {"tokenizer.ggml.unknown_token_id", &facts->unk}, {"tokenizer.ggml.eot_token_id", &facts->eot},
               {"tokenizer.ggml.eom_token_id", &facts->eom},     {"tokenizer.ggml.padding_token_id", &facts->pad}};
    qn_status status = QN_OK;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0] && status >= 0; i++) {
        status = read_id(r, ids[i].key, ids[i].id);
    }
    return status;
}

static qn_status read_flags(const reader *r, vocabulary *v) {
    tokenizer_facts *facts = &v->facts;
    const bool is_llama = equals(facts->model, "llama");
    fmt_str architecture = {"", 0};
    facts->add_bos = is_llama && facts->bos != TOKEN_NONE;
    facts->add_eos = false;
    facts->add_space_prefix = is_llama;
    facts->remove_extra_whitespaces = false;
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {{"tokenizer.ggml.add_bos_token", &facts->add_bos},
                 {"tokenizer.ggml.add_eos_token", &facts->add_eos},
                 {"tokenizer.ggml.add_space_prefix", &facts->add_space_prefix},
                 {"tokenizer.ggml.remove_extra_whitespaces", &facts->remove_extra_whitespaces}};
    qn_status status = read_string(r, "general.architecture", &architecture);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && status >= 0; i++) {
        status = read_bool(r, flags[i].key, flags[i].flag);
    }
    facts->strips_after_special = is_llama && equals(architecture, "phi3");
    if (status >= 0 && facts->add_bos && facts->bos == TOKEN_NONE) {
        return FAIL(r->err, QN_BAD_FILE,
                    "%s: tokenizer.ggml.add_bos_token is true, but there is no tokenizer.ggml.bos_token_id", r->path);
    }
    return status;
}

static qn_status read_all(const reader *r, vocabulary *v) {
    qn_status status = read_tokens(r, v);
    if (status >= 0) {
        status = read_string(r, "tokenizer.ggml.model", &v->facts.model);
    }
    if (status >= 0) {
        status = read_string(r, "tokenizer.ggml.pre", &v->facts.pre);
    }
    qn_status (*const steps[])(const reader *, vocabulary *) = {read_scores, read_kinds, read_merges, read_ids,
                                                                read_flags};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status >= 0; i++) {
        status = steps[i](r, v);
    }
    return status >= 0 ? read_string(r, "tokenizer.chat_template", &v->chat_template) : status;
}

qn_status vocabulary_from_gguf(const gguf_file *file, const char *path, vocabulary **out, error_context *err) {
    const reader r = {file, path, err};
    vocabulary *v = vocabulary_new();
    if (v == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for its vocabulary", path);
    }
    const qn_status status = read_all(&r, v);
    if (status < 0) {
        vocabulary_free(v);
        return status;
    }
    *out = v;
    return QN_OK;
}
