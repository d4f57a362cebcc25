/* tokenizer_internal.h — what a tokenizer is made of (internal to text/).
 *
 * Threading: immutable after tokenizer_create.
 */
#ifndef HOST_TOKENIZER_INTERNAL_H
#define HOST_TOKENIZER_INTERNAL_H
#include "text/bpe.h"
#include "text/pretokenize.h"
#include "text/special_match.h"
#include "text/spm.h"
#include "text/tokenizer.h"
#include "text/unicode_class.h"
#include "text/vocab.h"

struct tokenizer {
    tokenizer_facts facts;
    vocab_style style;
    vocab v;
    special_matcher special;
    bpe bpe;                 /* VOCAB_BYTE_LEVEL */
    const pretokenizer *pre; /* VOCAB_BYTE_LEVEL */
    spm spm;                 /* VOCAB_SENTENCEPIECE */
    uint8_t classes[UNICODE_TABLE_SIZE]; /* VOCAB_BYTE_LEVEL */
};

#endif
