/* tokenizer.h — text to token ids and back.
 *
 * A tokenizer is built once from plain facts (`tokenizer_facts`), whatever file they came from, and is immutable after that.
 * Two families: SentencePiece-style (merge by score, byte fallback) and byte-level BPE (merge by rank behind one of the named
 * pre-tokenizers). An unknown family or pre-tokenizer is refused by name: there is no silent default.
 *
 * Threading: a tokenizer is immutable, any number of threads may encode; each brings its own scratch through the call.
 * Memory:    tokenizer_create copies nothing of the token bytes: `facts` strings are borrowed and must outlive the tokenizer
 *            (they live in the model's file mapping). Indexes are owned by the tokenizer.
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

typedef struct tokenizer_facts {
    fmt_str model;              /* "llama" (SentencePiece-style) or "gpt2" (byte-level BPE) */
    fmt_str pre;                /* name of the pre-tokenizer, BPE only; empty: not given */
    uint32_t n_tokens;
    const fmt_str *tokens;      /* [n_tokens] bytes as the vocabulary spells them */
    const float *scores;        /* [n_tokens], or null */
    const int32_t *kinds;       /* [n_tokens] TOKEN_KIND_*, or null: see tokenizer.c for how kinds are then derived */
    uint32_t n_merges;
    const fmt_str *merges;      /* [n_merges] "LEFT RIGHT", in rank order; or null */
    uint32_t bos, eos, unk, eot, eom, pad; /* ids, or TOKEN_NONE */
    bool add_bos, add_eos;
    bool add_space_prefix;      /* SentencePiece-style only */
    bool remove_extra_whitespaces; /* SentencePiece-style only */
} tokenizer_facts;

typedef struct tokenizer tokenizer;

/* Builds the indexes and checks the facts: duplicate or out-of-range ids, merges without a space, scores missing for
 * "llama", unknown model or pre. QN_BAD_FILE / QN_UNSUPPORTED with the key, index and value found. */
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

/* Appends the ids of text[0..size) to `out`. The text may hold NUL bytes. Text that is not UTF-8 is refused with the byte
 * position (QN_BAD_INPUT). Time is near linear in size, whatever the text. On error `out` holds what it held before. */
qn_status tokenizer_encode(const tokenizer *tok, const char *text, size_t size, uint32_t flags, token_list *out, error_context *err);

/* Bytes of one token as they appear in text (byte-level BPE undone, U+2581 to space, <0xHH> to the byte); control tokens
 * give their spelling only when `special`. Writes at most `room` bytes and returns how many the token has. */
size_t tokenizer_token_bytes(const tokenizer *tok, uint32_t id, bool special, char *bytes, size_t room);

uint32_t tokenizer_size(const tokenizer *tok);
uint32_t tokenizer_find(const tokenizer *tok, const char *spelling); /* id of the exact vocabulary spelling or TOKEN_NONE */
int32_t tokenizer_kind(const tokenizer *tok, uint32_t id);
const tokenizer_facts *tokenizer_get_facts(const tokenizer *tok);

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
