/* tokenizer.h — text to token ids and back.
 *
 * A tokenizer is built once from plain facts (`tokenizer_facts`), whatever file they came from, and is immutable after that.
 * Two families: SentencePiece-style (merge by score, byte fallback) and byte-level BPE (merge by rank behind one of the named
 * pre-tokenizers). An unknown family or pre-tokenizer is refused by name: there is no silent default.
 *
 * Threading: a tokenizer is immutable, any number of threads may encode at the same time.
 * Memory:    the facts' `tokens` and their bytes are borrowed and must outlive the tokenizer (they live in the model's file
 *            mapping); scores, kinds, merges and the strings `model` and `pre` are not needed after tokenizer_create. Indexes
 *            and the texts of the tokens are owned by the tokenizer. Encoding uses the heap for the call only.
 *
 *     tokenizer *tok;
 *     token_list ids = {0};
 *     QN_TRY(tokenizer_create(&facts, &tok, err), err, "loading the vocabulary");
 *     status = tokenizer_encode(tok, "Hello", 5, ENCODE_ADD_BOS, &ids, err);
 *     token_list_free(&ids);
 *     tokenizer_destroy(tok);
 */
#ifndef HOST_TOKENIZER_H
#define HOST_TOKENIZER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

#define TOKEN_NONE UINT32_MAX

/* Kinds of token, numbered as GGUF's tokenizer.ggml.token_type. */
enum {
    TOKEN_KIND_NORMAL = 1, TOKEN_KIND_UNKNOWN = 2, TOKEN_KIND_CONTROL = 3, TOKEN_KIND_USER_DEFINED = 4, TOKEN_KIND_UNUSED = 5,
    TOKEN_KIND_BYTE = 6
};

/* One merge of byte-level BPE, both sides as the vocabulary spells them. */
typedef struct tokenizer_merge {
    fmt_str left, right;
} tokenizer_merge;

typedef struct tokenizer_facts {
    fmt_str model;              /* "llama" (SentencePiece-style) or "gpt2" (byte-level BPE) */
    fmt_str pre;                /* name of the pre-tokenizer, BPE only; empty: not given */
    uint32_t n_tokens;
    const fmt_str *tokens;      /* [n_tokens] bytes as the vocabulary spells them */
    const float *scores;        /* [n_tokens], or null */
    const int32_t *kinds;       /* [n_tokens] TOKEN_KIND_*, or null: then taken from the spellings (bpe.h, vocab.h) */
    uint32_t n_merges;
    const tokenizer_merge *merges; /* [n_merges] in rank order; or null */
    uint32_t bos, eos, unk, eot, eom, pad; /* ids, or TOKEN_NONE */
    bool add_bos, add_eos;
    bool add_space_prefix;      /* SentencePiece-style only */
    bool remove_extra_whitespaces; /* SentencePiece-style only */
    bool strips_after_special;  /* white space behind a matched control token is dropped (Phi-3) */
} tokenizer_facts;

typedef struct tokenizer tokenizer;

/* Builds the indexes and checks the facts: ids and kinds in range, scores there for "llama" and numbers, merges there for
 * "gpt2" with two sides each, a known model and pre. A token that stands twice is allowed: the lowest id is used.
 * QN_BAD_FILE / QN_UNSUPPORTED with the key, index and value found; QN_LIMIT; QN_NO_HOST_MEM. */
qn_status tokenizer_create(const tokenizer_facts *facts, tokenizer **out_tokenizer, error_context *err);
void tokenizer_destroy(tokenizer *tok);

enum {
    ENCODE_ADD_BOS = 1u,  /* BOS if the tokenizer says so (add_bos), likewise EOS at the end if add_eos */
    ENCODE_SPECIAL = 2u   /* text may spell control tokens such as <|im_end|>; without it they are ordinary characters */
};

/* Growable list of ids; caller initialises to zero, frees with token_list_free. */
typedef struct token_list {
    uint32_t *ids;
    size_t count, capacity;
} token_list;
void token_list_free(token_list *list);
qn_status token_list_push(token_list *list, uint32_t id, error_context *err);

qn_status token_list_append(token_list *list, const uint32_t *ids, size_t count, error_context *err);

/* Appends the ids of text[0..size) to `out`. The text may hold NUL bytes. Text that is not UTF-8 is refused with the byte
 * position (QN_BAD_INPUT). Time is near linear in size, whatever the text. BOS is not added where the text itself begins
 * with it. On error `out` holds what it held before. */
qn_status tokenizer_encode(const tokenizer *tok, const char *text, size_t size, uint32_t flags, token_list *out, error_context *err);

/* A piece of text with its own trust: how a chat template's own words may spell control tokens while the user's may not. */
typedef struct encode_part {
    const char *text; /* may be null when size is 0 */
    size_t size;
    bool is_special;  /* as ENCODE_SPECIAL, for this part; a control token never reaches over the part's end */
    bool is_guarded;  /* not even added tokens are read that are spelled like the separators of turns: <|...|>, [INST], ... */
    uint32_t token;   /* TOKEN_NONE, or an id that stands before the text */
} encode_part;

/* Encodes parts as one text: words may cross from part to part, as if the text had been given in one piece. ENCODE_SPECIAL in
 * `flags` is not looked at. Errors as above; byte positions count from the start of the first part. */
qn_status tokenizer_encode_parts(const tokenizer *tok, const encode_part *parts, size_t n_parts, uint32_t flags,
                                 token_list *out, error_context *err);

/* Bytes of one token as they appear in text (byte-level BPE undone, U+2581 to space, <0xHH> to the byte); control tokens
 * give their spelling only when `special`. Writes at most `room` bytes and returns how many the token has. */
size_t tokenizer_token_bytes(const tokenizer *tok, uint32_t id, bool special, char *bytes, size_t room);

uint32_t tokenizer_size(const tokenizer *tok);
uint32_t tokenizer_find(const tokenizer *tok, const char *spelling); /* id of the exact vocabulary spelling or TOKEN_NONE */
uint32_t tokenizer_find_special(const tokenizer *tok, const char *spelling); /* likewise, among added and control tokens */
int32_t tokenizer_kind(const tokenizer *tok, uint32_t id); /* TOKEN_KIND_* of an id below the size */

/* The facts that it was made from; scores, kinds and merges are null. */
const tokenizer_facts *tokenizer_get_facts(const tokenizer *tok);

/* The best-known names of pre-tokenizers, separated by ", ". Static. */
const char *tokenizer_pre_names(void);

/* Streaming detokenizer: holds back an incomplete UTF-8 tail and, for SentencePiece-style, drops the first text's leading
 * space as the family does. Fixed storage. */
typedef struct detokenizer {
    const tokenizer *tok;
    bool special, at_start;
    unsigned n_held;
    unsigned char held[4];
} detokenizer;
void detokenizer_init(detokenizer *d, const tokenizer *tok, bool special, bool at_start);
/* Bytes that become printable with this token (may be 0); room must be at least detokenizer_room(). Malformed bytes are
 * replaced by U+FFFD so that the output is always UTF-8. */
size_t detokenizer_push(detokenizer *d, uint32_t id, char *text, size_t room);
/* What is still held at the end (an incomplete tail becomes U+FFFD). */
size_t detokenizer_flush(detokenizer *d, char *text, size_t room);
size_t detokenizer_room(const tokenizer *tok);

#endif
