/* spm.c — ranks from scores, and the encoding of one word. */
#include "text/spm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

/* Higher scores give smaller ranks; equal scores, +0 and -0 among them, equal ranks. Never MERGE_NO_RANK: that is a NaN. */
static uint32_t rank_of_score(float score) {
    uint32_t bits;
    const float plain = score == 0.0f ? 0.0f : score;
    memcpy(&bits, &plain, sizeof bits);
    const uint32_t ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

static void note_spaces(spm *s, uint32_t id) {
    size_t size;
    const uint8_t *text = vocab_text(s->v, id, &size);
    for (size_t i = 1; i < size; i++) {
        if (text[i] == ' ') {
            s->joins_space[text[i - 1]] = true;
        }
    }
}

qn_status spm_init(spm *s, const vocab *v, const tokenizer_facts *facts, error_context *err) {
    if (facts->scores == NULL) {
        return FAIL(err, QN_BAD_FILE, "tokenizer.ggml.scores is missing; a vocabulary of model \"llama\" needs one float32 a token");
    }
    s->v = v;
    s->unk = facts->unk;
    s->collapses_spaces = facts->remove_extra_whitespaces;
    s->ranks = malloc(((size_t)v->n_tokens + 1) * sizeof *s->ranks);
    if (s->ranks == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for %u scores", v->n_tokens);
    }
    memset(s->byte_ids, 0xff, sizeof s->byte_ids);
    for (uint32_t id = 0; id < v->n_tokens; id++) {
        if (isnan(facts->scores[id])) {
            return FAIL(err, QN_BAD_FILE, "tokenizer.ggml.scores[%u] is not a number", id);
        }
        s->ranks[id] = rank_of_score(facts->scores[id]);
        size_t size;
        const uint8_t *text = vocab_text(v, id, &size);
        if (vocab_kind(v, id) == TOKEN_KIND_BYTE && size == 1 && s->byte_ids[text[0]] == TOKEN_NONE) {
            s->byte_ids[text[0]] = id;
        } else if (vocab_kind(v, id) == TOKEN_KIND_NORMAL) {
            note_spaces(s, id);
        }
    }
    s->joins_space[' '] = true; /* runs of spaces stay in one word, and each word begins with its spaces */
    return QN_OK;
}

void spm_deinit(spm *s) {
    free(s->ranks);
    s->ranks = NULL;
}

size_t spm_prepare(const spm *s, const uint8_t *text, size_t size, bool has_prefix, uint8_t *out) {
    size_t n = 0;
    if (has_prefix) {
        out[n++] = ' ';
    }
    for (size_t at = 0; at < size;) {
        const bool is_marker = size - at >= 3 && memcmp(text + at, "\xe2\x96\x81", 3) == 0;
        const uint8_t byte = is_marker ? ' ' : text[at];
        at += is_marker ? 3 : 1;
        if (!(s->collapses_spaces && byte == ' ' && (n == 0 || out[n - 1] == ' '))) {
            out[n++] = byte;
        }
    }
    if (s->collapses_spaces && n > 0 && out[n - 1] == ' ') {
        n--;
    }
    return n;
}

size_t spm_word_size(const spm *s, const uint8_t *at, size_t size) {
    size_t n = 1;
    while (n < size && (at[n] != ' ' || s->joins_space[at[n - 1]])) {
        n++;
    }
    return n;
}

typedef struct spm_word {
    const spm *s;
    const uint8_t *text;
} spm_word;

static uint32_t rank_pair(const void *ctx, const merge_symbol *left, const merge_symbol *right, uint32_t *out_id) {
    const spm_word *word = ctx;
    *out_id = vocab_find(word->s->v, word->text + left->start, (size_t)left->size + right->size);
    return *out_id == TOKEN_NONE ? MERGE_NO_RANK : word->s->ranks[*out_id];
}

static qn_status push_symbol(const spm *s, const merge_symbol *symbol, const uint8_t *word, token_list *out,
                             error_context *err) {
    if (symbol->id != TOKEN_NONE) {
        return token_list_push(out, symbol->id, err);
    }
    bool has_bytes = true;
    for (uint32_t i = 0; i < symbol->size; i++) {
        has_bytes = has_bytes && s->byte_ids[word[symbol->start + i]] != TOKEN_NONE;
    }
    if (!has_bytes) {
        if (s->unk == TOKEN_NONE) {
            return FAIL(err, QN_BAD_INPUT, "the vocabulary has no token for \"%.*s\", no byte tokens and none for unknown text",
                        (int)symbol->size, (const char *)word + symbol->start);
        }
        return token_list_push(out, s->unk, err);
    }
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < symbol->size && status >= 0; i++) {
        status = token_list_push(out, s->byte_ids[word[symbol->start + i]], err);
    }
    return status;
}

qn_status spm_encode_word(const spm *s, merge_scratch *scratch, const uint8_t *word, size_t size, token_list *out,
                          error_context *err) {
    qn_status status = merge_reserve(scratch, size, err);
    if (status < 0) {
        return status;
    }
    size_t n = 0;
    for (size_t at = 0; at < size; n++) {
        merge_symbol *symbol = &scratch->symbols[n];
        symbol->start = (uint32_t)at;
        symbol->size = utf8_decode(word + at, size - at, NULL);
        symbol->id = vocab_find(s->v, word + at, symbol->size);
        at += symbol->size;
    }
    const spm_word ctx = {s, word};
    merge_run(scratch, n, rank_pair, &ctx);
    for (uint32_t i = 0; i != UINT32_MAX && status >= 0; i = scratch->symbols[i].next) {
        status = push_symbol(s, &scratch->symbols[i], word, out, err);
    }
    return status;
}
