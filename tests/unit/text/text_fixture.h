/* text_fixture.h — tokenizers for tests: from real GGUF files, or from a handful of words.
 */
#ifndef TEST_TEXT_FIXTURE_H
#define TEST_TEXT_FIXTURE_H
#include <stddef.h>
#include <stdint.h>

#include "model/vocabulary.h"
#include "text/tokenizer.h"

/* A tokenizer with the file behind it. */
typedef struct text_fixture {
    uint8_t *bytes, *scratch;
    gguf_file file;
    vocabulary *words;
    tokenizer *tok;
} text_fixture;

/* Opens a GGUF file and makes its tokenizer; fails the test when anything refuses. */
void text_fixture_open(const char *path, text_fixture *out);
void text_fixture_close(text_fixture *f);

/* A small vocabulary of one's own: the facts point into the arrays given. */
#define TEXT_MAX_TOKENS 512
typedef struct small_vocabulary {
    fmt_str tokens[TEXT_MAX_TOKENS];
    float scores[TEXT_MAX_TOKENS];
    int32_t kinds[TEXT_MAX_TOKENS];
    tokenizer_merge merges[TEXT_MAX_TOKENS];
    tokenizer_facts facts;
    char bytes[256][8]; /* spellings of <0xHH> or of the byte-level characters */
} small_vocabulary;

/* SentencePiece-style: <unk>, <s>, </s>, then <0x00> to <0xFF>. */
void small_sentencepiece(small_vocabulary *v);
/* Byte-level BPE: the 256 characters, and <|end|> (BOS, EOS) as control token; pre "gpt-2"; no merges yet. */
void small_byte_level(small_vocabulary *v);
/* Appends a token; returns its id. `spelling` is borrowed. */
uint32_t small_add(small_vocabulary *v, const char *spelling, int32_t kind, float score);
/* Appends a merge and its token. */
uint32_t small_merge(small_vocabulary *v, const char *left, const char *right, const char *joined);
tokenizer *small_create(small_vocabulary *v);

/* Encodes and compares with ids ended by TOKEN_NONE; prints both when they differ. */
void assert_encodes(const tokenizer *tok, const char *text, size_t size, uint32_t flags, const uint32_t *ids);

/* Encodes without BOS, decodes with a detokenizer from the start, compares with the text. */
void assert_round_trip(const tokenizer *tok, const char *text, size_t size);

#endif
