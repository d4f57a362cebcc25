/* encoder.c — one text on its way to ids: special tokens cut it into fragments, fragments into words, words into tokens. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/scrub.h"
#include "common/utf8.h"
#include "text/tokenizer_internal.h"
#include "text/word_cache.h"

typedef struct encoder {
    const tokenizer *tok;
    const uint8_t *text; /* all of it: positions in messages count from here */
    token_list *out;
    error_context *err;
    merge_scratch scratch;
    word_cache cache;
    uint8_t *prepared; /* SentencePiece-style: the fragments as the model wants them, one behind the other */
    size_t n_prepared;
    bool is_after_special; /* nothing but a special token stands before the next fragment, or nothing at all */
} encoder;

static qn_status encode_new_word(encoder *e, const uint8_t *word, size_t size) {
    const tokenizer *tok = e->tok;
    if (tok->style == VOCAB_SENTENCEPIECE) {
        return spm_encode_word(&tok->spm, &e->scratch, word, size, e->out, e->err);
    }
    if (pretokenizer_takes_whole_words(tok->pre)) {
        const uint32_t id = vocab_find(&tok->v, word, size);
        if (id < tok->v.n_tokens) {
            return token_list_push(e->out, id, e->err);
        }
    }
    return bpe_encode_word(&tok->bpe, &e->scratch, e->text, word, size, e->out, e->err);
}

static qn_status encode_word(void *ctx, const uint8_t *word, size_t size) {
    encoder *e = ctx;
    uint32_t hash = 0;
    word_entry *entry = word_cache_slot(&e->cache, word, size, &hash);
    if (entry != NULL && word_entry_holds(&e->cache, entry, word, size, hash)) {
        return token_list_append(e->out, e->out->ids + entry->first_id, entry->n_ids, e->err);
    }
    const size_t first_id = e->out->count;
    const qn_status status = encode_new_word(e, word, size);
    if (entry != NULL && status >= 0 && first_id < UINT32_MAX) {
        *entry = (word_entry){hash, (uint32_t)(word - e->cache.base), (uint32_t)first_id, (uint16_t)size,
                              (uint16_t)(e->out->count - first_id)};
    }
    return status;
}

static qn_status encode_prepared(encoder *e, const uint8_t *text, size_t size) {
    qn_status status = QN_OK;
    for (size_t at = 0; at < size && status >= 0;) {
        const size_t word_size = spm_word_size(&e->tok->spm, text + at, size - at);
        status = encode_word(e, text + at, word_size);
        at += word_size;
    }
    return status;
}

/* Text without special tokens. */
static qn_status encode_fragment(encoder *e, const uint8_t *text, size_t size) {
    const tokenizer *tok = e->tok;
    if (size == 0) {
        return QN_OK;
    }
    const bool has_prefix = e->is_after_special && tok->facts.add_space_prefix;
    e->is_after_special = false;
    if (tok->style == VOCAB_BYTE_LEVEL) {
        return pretokenizer_cut(tok->pre, tok->classes, text, size, encode_word, e);
    }
    uint8_t *prepared = e->prepared + e->n_prepared;
    const size_t n = spm_prepare(&tok->spm, text, size, has_prefix, prepared);
    e->n_prepared += n;
    return encode_prepared(e, prepared, n);
}

static qn_status push_special(encoder *e, uint32_t id) {
    e->is_after_special = true;
    return token_list_push(e->out, id, e->err);
}

/* Phi-3: white space behind its control tokens belongs to them, but not behind BOS, unknown and <|endoftext|>. */
static size_t skip_stripped(const tokenizer *tok, const special_token *token, const uint8_t *text, size_t at, size_t end) {
    static const char end_of_text[] = "<|endoftext|>";
    const fmt_str name = token->spelling;
    if (!tok->facts.strips_after_special || token->id == tok->facts.bos || token->id == tok->facts.unk ||
        (name.size == sizeof end_of_text - 1 && memcmp(name.data, end_of_text, sizeof end_of_text - 1) == 0)) {
        return at;
    }
    while (at < end && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'))) {
        at++;
    }
    return at;
}

/* Parts that follow each other without a token between them, as one text. */
typedef struct part_run {
    const encode_part *parts;
    size_t n_parts;
    const uint8_t *text; /* of all of them */
    size_t size;
} part_run;

/* First position in [at, end) where a special token of the part may begin; most bytes begin none. */
static size_t skip_ordinary(const tokenizer *tok, const part_run *run, const encode_part *part, size_t at, size_t end) {
    const bool *starts = part->is_special ? tok->special.starts_any : tok->special.starts_added;
    while (at < end && !starts[run->text[at]]) {
        at++;
    }
    return at;
}

/* The special token at text[at] of a part that ends at part_end, or null. */
static const special_token *match_special(const tokenizer *tok, const part_run *run, const encode_part *part, size_t at,
                                          size_t part_end) {
    const special_limits limits = {.end = run->text + run->size,
                                   .marker_end = run->text + (part->is_guarded ? at : part->is_special ? part_end : run->size),
                                   .control_end = run->text + (part->is_special ? part_end : at)};
    return special_match_at(&tok->special, run->text + at, &limits);
}

static qn_status encode_run(encoder *e, const part_run *run) {
    size_t at = 0, fragment = 0, part_end = 0;
    qn_status status = QN_OK;
    for (size_t i = 0; i < run->n_parts && status >= 0; i++) {
        part_end += run->parts[i].size;
        for (;;) {
            at = skip_ordinary(e->tok, run, &run->parts[i], at, part_end);
            if (at >= part_end || status < 0) {
                break;
            }
            const special_token *token = match_special(e->tok, run, &run->parts[i], at, part_end);
            if (token == NULL) {
                at++;
                continue;
            }
            status = encode_fragment(e, run->text + fragment, at - fragment);
            if (status >= 0) {
                status = push_special(e, token->id);
            }
            at = skip_stripped(e->tok, token, run->text, at + (size_t)token->spelling.size, run->size);
            fragment = at;
        }
    }
    return status >= 0 ? encode_fragment(e, run->text + fragment, run->size - fragment) : status;
}

static qn_status encode_runs(encoder *e, const encode_part *parts, size_t n_parts, const uint8_t *text) {
    size_t at = 0;
    for (size_t i = 0; i < n_parts;) {
        part_run run = {parts + i, 0, text + at, 0};
        if (parts[i].token != TOKEN_NONE) {
            const qn_status status = push_special(e, parts[i].token);
            if (status < 0) {
                return status;
            }
        }
        do {
            run.size += parts[i].size;
            run.n_parts++;
            i++;
        } while (i < n_parts && parts[i].token == TOKEN_NONE);
        const qn_status status = encode_run(e, &run);
        if (status < 0) {
            return status;
        }
        at += run.size;
    }
    return QN_OK;
}

static qn_status check_text(const uint8_t *text, size_t size, error_context *err) {
    if (size > UINT32_MAX / 4) {
        return FAIL(err, QN_LIMIT, "a text of %zu bytes is too long to be tokenized at once; the limit is %u", size,
                    UINT32_MAX / 4);
    }
    const uint64_t bad_at = utf8_first_invalid(text, size);
    if (bad_at != UTF8_ALL_VALID) {
        return FAIL(err, QN_BAD_INPUT, "byte %" PRIu64 " of the text is 0x%02x, which is not UTF-8 at that place; convert the text to UTF-8",
                    bad_at, text[bad_at]);
    }
    return QN_OK;
}

/* Adds BOS and EOS around what `e` encodes. */
static qn_status encode_framed(encoder *e, const encode_part *parts, size_t n_parts, const uint8_t *text, uint32_t flags) {
    const tokenizer_facts *facts = &e->tok->facts;
    const bool is_framed = (flags & ENCODE_ADD_BOS) != 0;
    const size_t begin = e->out->count;
    qn_status status = QN_OK;
    if (is_framed && facts->add_bos && facts->bos != TOKEN_NONE) {
        status = token_list_push(e->out, facts->bos, e->err);
    }
    const bool has_bos = e->out->count > begin;
    if (status >= 0) {
        status = encode_runs(e, parts, n_parts, text);
    }
    if (status >= 0 && has_bos && e->out->count > begin + 1 && e->out->ids[begin + 1] == facts->bos) {
        /* the text spelled BOS itself: one is enough */
        memmove(e->out->ids + begin, e->out->ids + begin + 1, (e->out->count - begin - 1) * sizeof *e->out->ids);
        e->out->count--;
    }
    if (status >= 0 && is_framed && facts->add_eos && facts->eos != TOKEN_NONE) {
        status = token_list_push(e->out, facts->eos, e->err);
    }
    return status;
}

static qn_status encode_text(const tokenizer *tok, const encode_part *parts, size_t n_parts, const uint8_t *text,
                             size_t size, uint32_t flags, token_list *out, error_context *err) {
    qn_status status = check_text(text, size, err);
    if (status < 0) {
        return status;
    }
    encoder e = {.tok = tok, .text = text, .out = out, .err = err, .is_after_special = true};
    if (tok->style == VOCAB_SENTENCEPIECE) {
        e.prepared = malloc(2 * size + 1); /* each fragment may get a space in front */
        if (e.prepared == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory for a text of %zu bytes", size);
        }
    }
    word_cache_init(&e.cache, tok->style == VOCAB_SENTENCEPIECE ? e.prepared : text, size);
    const size_t count = out->count;
    status = encode_framed(&e, parts, n_parts, text, flags);
    if (status < 0) {
        out->count = count;
    }
    word_cache_deinit(&e.cache);
    merge_scratch_free(&e.scratch);
    scrub_free(e.prepared, 2 * size + 1);
    return status;
}

qn_status tokenizer_encode(const tokenizer *tok, const char *text, size_t size, uint32_t flags, token_list *out,
                           error_context *err) {
    const encode_part part = {text, size, (flags & ENCODE_SPECIAL) != 0, false, TOKEN_NONE};
    return encode_text(tok, &part, 1, (const uint8_t *)text, size, flags, out, err);
}

qn_status tokenizer_encode_parts(const tokenizer *tok, const encode_part *parts, size_t n_parts, uint32_t flags,
                                 token_list *out, error_context *err) {
    size_t size = 0, at = 0;
    for (size_t i = 0; i < n_parts; i++) {
        size += parts[i].size;
    }
    uint8_t *text = malloc(size + 1);
    if (text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a text of %zu bytes", size);
    }
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i].size > 0) {
            memcpy(text + at, parts[i].text, parts[i].size);
        }
        at += parts[i].size;
    }
    const qn_status status = encode_text(tok, parts, n_parts, text, size, flags, out, err);
    scrub_free(text, size + 1);
    return status;
}
