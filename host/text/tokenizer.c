/* tokenizer.c — checks the facts of a vocabulary, builds the indexes, answers questions about tokens. */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "text/tokenizer_internal.h"

static bool equals(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, (size_t)text.size) == 0;
}

/* For "%.*s": a name from a file, cut where it gets absurd. */
static int print_size(fmt_str text) {
    return text.size < 80 ? (int)text.size : 80;
}

static qn_status check_ids(const tokenizer_facts *facts, error_context *err) {
    const struct {
        const char *key;
        uint32_t id;
    } named[] = {{"bos", facts->bos}, {"eos", facts->eos}, {"unknown", facts->unk},
                 {"eot", facts->eot}, {"eom", facts->eom}, {"padding", facts->pad}};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (named[i].id != TOKEN_NONE && named[i].id >= facts->n_tokens) {
            return FAIL(err, QN_BAD_FILE, "tokenizer.ggml.%s_token_id is %u, but the vocabulary ends at %u", named[i].key,
                        named[i].id, facts->n_tokens - 1);
        }
    }
    return QN_OK;
}

static qn_status check_tokens(const tokenizer_facts *facts, error_context *err) {
    if (facts->n_tokens == 0 || facts->tokens == NULL) {
        return FAIL(err, QN_BAD_FILE, "tokenizer.ggml.tokens is missing or empty: there is no vocabulary");
    }
    if (facts->n_tokens > UINT32_MAX / 8) {
        return FAIL(err, QN_LIMIT, "tokenizer.ggml.tokens has %u tokens; the limit is %u", facts->n_tokens, UINT32_MAX / 8);
    }
    for (uint32_t id = 0; facts->kinds != NULL && id < facts->n_tokens; id++) {
        if (facts->kinds[id] < TOKEN_KIND_NORMAL || facts->kinds[id] > TOKEN_KIND_BYTE) {
            return FAIL(err, QN_BAD_FILE, "tokenizer.ggml.token_type[%u] is %d; kinds of tokens are 1 to 6", id,
                        (int)facts->kinds[id]);
        }
    }
    return check_ids(facts, err);
}

static qn_status build_byte_level(tokenizer *tok, error_context *err) {
    const tokenizer_facts *facts = &tok->facts;
    if (facts->pre.size == 0) {
        return FAIL(err, QN_UNSUPPORTED,
                    "tokenizer.ggml.pre is missing: without it nobody knows how this byte-level BPE vocabulary cuts text into "
                    "words; convert the model again with a current converter. Known: %s", pretokenizer_names());
    }
    tok->pre = pretokenizer_find(facts->pre);
    if (tok->pre == NULL) {
        return FAIL(err, QN_UNSUPPORTED, "tokenizer.ggml.pre is \"%.*s\", a pre-tokenizer that is not known here. Known: %s",
                    print_size(facts->pre), facts->pre.data, pretokenizer_names());
    }
    if (facts->n_merges == 0 || facts->merges == NULL) {
        return FAIL(err, QN_BAD_FILE, "tokenizer.ggml.merges is missing or empty; a vocabulary of model \"gpt2\" needs it");
    }
    unicode_fill_table(tok->classes);
    qn_status status = vocab_init(&tok->v, facts, VOCAB_BYTE_LEVEL, err);
    if (status >= 0) {
        status = bpe_init(&tok->bpe, &tok->v, facts, err);
    }
    return status;
}

static qn_status build_sentencepiece(tokenizer *tok, error_context *err) {
    qn_status status = vocab_init(&tok->v, &tok->facts, VOCAB_SENTENCEPIECE, err);
    if (status >= 0) {
        status = spm_init(&tok->spm, &tok->v, &tok->facts, err);
    }
    return status;
}

static qn_status build(tokenizer *tok, error_context *err) {
    qn_status status = check_tokens(&tok->facts, err);
    if (status < 0) {
        return status;
    }
    if (equals(tok->facts.model, "gpt2")) {
        tok->style = VOCAB_BYTE_LEVEL;
        status = build_byte_level(tok, err);
    } else if (equals(tok->facts.model, "llama")) {
        tok->style = VOCAB_SENTENCEPIECE;
        status = build_sentencepiece(tok, err);
    } else if (tok->facts.model.size == 0) {
        status = FAIL(err, QN_BAD_FILE,
                      "tokenizer.ggml.model is missing; it has to say \"llama\" (SentencePiece-style) or \"gpt2\" (byte-level BPE)");
    } else {
        status = FAIL(err, QN_UNSUPPORTED,
                      "tokenizer.ggml.model is \"%.*s\"; known are \"llama\" (SentencePiece-style) and \"gpt2\" (byte-level BPE)",
                      print_size(tok->facts.model), tok->facts.model.data);
    }
    if (status >= 0) {
        status = special_matcher_init(&tok->special, &tok->v, err);
    }
    return status;
}

qn_status tokenizer_create(const tokenizer_facts *facts, tokenizer **out_tokenizer, error_context *err) {
    tokenizer *tok = calloc(1, sizeof *tok);
    if (tok == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a tokenizer");
    }
    tok->facts = *facts;
    if (tok->facts.model.data == NULL) {
        tok->facts.model = (fmt_str){"", 0};
    }
    const qn_status status = build(tok, err);
    if (status < 0) {
        tokenizer_destroy(tok);
        return status;
    }
    tok->facts.scores = NULL;
    tok->facts.kinds = NULL;
    tok->facts.merges = NULL;
    *out_tokenizer = tok;
    return QN_OK;
}

void tokenizer_destroy(tokenizer *tok) {
    if (tok != NULL) {
        special_matcher_deinit(&tok->special);
        bpe_deinit(&tok->bpe);
        spm_deinit(&tok->spm);
        vocab_deinit(&tok->v);
        free(tok);
    }
}

uint32_t tokenizer_size(const tokenizer *tok) {
    return tok->facts.n_tokens;
}

int32_t tokenizer_kind(const tokenizer *tok, uint32_t id) {
    return (int32_t)vocab_kind(&tok->v, id);
}

const tokenizer_facts *tokenizer_get_facts(const tokenizer *tok) {
    return &tok->facts;
}

const char *tokenizer_pre_names(void) {
    return pretokenizer_names();
}

uint32_t tokenizer_find_special(const tokenizer *tok, const char *spelling) {
    const fmt_str wanted = {spelling, strlen(spelling)};
    return wanted.size > 0 ? special_find(&tok->special, wanted) : TOKEN_NONE;
}

uint32_t tokenizer_find(const tokenizer *tok, const char *spelling) {
    const uint32_t special = tokenizer_find_special(tok, spelling);
    if (special != TOKEN_NONE) {
        return special;
    }
    for (uint32_t id = 0; id < tok->facts.n_tokens; id++) {
        if (equals(tok->facts.tokens[id], spelling)) {
            return id;
        }
    }
    return TOKEN_NONE;
}

size_t tokenizer_token_bytes(const tokenizer *tok, uint32_t id, bool special, char *bytes, size_t room) {
    if (id >= tok->facts.n_tokens) {
        return 0;
    }
    const uint32_t kind = vocab_kind(&tok->v, id);
    if (!special && (kind == TOKEN_KIND_CONTROL || kind == TOKEN_KIND_UNKNOWN)) {
        return 0;
    }
    size_t size;
    const uint8_t *text = vocab_text(&tok->v, id, &size);
    const size_t n = size < room ? size : room;
    if (n > 0) {
        memcpy(bytes, text, n);
    }
    return size;
}
