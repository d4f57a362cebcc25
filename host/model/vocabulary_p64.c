/* vocabulary_p64.c — the Q42T section of a P64 container. */
#include <stdlib.h>

#include "model/vocabulary.h"

static qn_status read_strings(const p64_file *file, const char *path, vocabulary *v, error_context *err) {
    const p64_tokenizer *section = &file->tokenizer;
    v->tokens = malloc(((size_t)section->n_tokens + 1) * sizeof *v->tokens);
    v->merges = malloc(((size_t)section->n_merges + 1) * sizeof *v->merges);
    if (v->tokens == NULL || v->merges == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for %u tokens and %u merges", path, section->n_tokens,
                    section->n_merges);
    }
    for (uint32_t id = 0; id < section->n_tokens; id++) {
        v->tokens[id] = p64_get_token(file, id);
    }
    uint64_t at = section->merges_at;
    for (uint32_t rank = 0; rank < section->n_merges; rank++) {
        p64_next_merge(file, &at, &v->merges[rank].left, &v->merges[rank].right);
    }
    v->facts.n_tokens = section->n_tokens;
    v->facts.tokens = v->tokens;
    v->facts.n_merges = section->n_merges;
    v->facts.merges = v->merges;
    return QN_OK;
}

qn_status vocabulary_from_p64(const p64_file *file, const char *path, vocabulary **out, error_context *err) {
    const p64_tokenizer *section = &file->tokenizer;
    if (!section->is_present || section->n_tokens == 0) {
        return FAIL(err, QN_NOT_FOUND, "%s: its tokenizer section is empty", path);
    }
    vocabulary *v = vocabulary_new();
    if (v == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for its vocabulary", path);
    }
    const qn_status status = read_strings(file, path, v, err);
    if (status < 0) {
        vocabulary_free(v);
        return status;
    }
    v->facts.model = (fmt_str){"gpt2", 4};
    v->facts.pre = section->pre;
    /* the section always has both numbers, also when the source had none */
    v->facts.bos = section->bos < section->n_tokens ? section->bos : TOKEN_NONE;
    v->facts.eos = section->eos < section->n_tokens ? section->eos : TOKEN_NONE;
    v->facts.add_bos = section->add_bos && v->facts.bos != TOKEN_NONE;
    *out = v;
    return QN_OK;
}
