/* vocab.h — the tokens of a tokenizer by id and by the text that they stand for (internal to text/).
 *
 * A token's *spelling* is what the vocabulary says; its *text* is what it means: byte-level BPE spellings are mapped back to
 * bytes, U+2581 becomes a space, <0x0A> a line feed. Words are looked up by text, so nothing has to be mapped while encoding.
 * Only ordinary tokens are found: text never turns into a control token here, whatever its words are (special_match.h does
 * that, when it is allowed).
 *
 * Threading: immutable after it is built.
 * Memory:    owned by the vocab: bytes of all texts, one index. Spellings stay borrowed from the facts.
 */
#ifndef HOST_VOCAB_H
#define HOST_VOCAB_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "text/tokenizer.h"

typedef struct vocab_slot {
    uint32_t hash;
    uint32_t id; /* TOKEN_NONE: free */
} vocab_slot;

typedef struct vocab {
    const fmt_str *spellings; /* [n_tokens], borrowed from the facts */
    uint32_t n_tokens;
    uint32_t n_strings;       /* n_tokens, and after them strings that merges name although they are no tokens */
    uint8_t *kinds;           /* [n_tokens] TOKEN_KIND_*, with VOCAB_IS_LITERAL */
    uint8_t *bytes;           /* the texts, one behind the other */
    uint32_t *begins;         /* [n_strings + 1] offsets in bytes */
    size_t bytes_capacity, strings_capacity;
    vocab_slot *slots;        /* [slot_mask + 1], a power of two, at most half full */
    uint32_t slot_mask, n_slots_used;
    uint32_t longest;         /* bytes of the longest text */
} vocab;

/* Set in `kinds` for a token whose spelling is no byte-level BPE: it prints as it is spelled, and words never give it. */
#define VOCAB_IS_LITERAL 0x80u

/* How spellings become texts. */
typedef enum vocab_style { VOCAB_BYTE_LEVEL, VOCAB_SENTENCEPIECE } vocab_style;

/* Fills a zeroed *v from the facts. Kinds that the facts do not give are taken from the spelling. SentencePiece-style:
 * <0xHH> is a byte, <...> is control, the unk id is unknown. Byte-level: all are ordinary at first, see bpe_init and
 * vocab_set_control. QN_LIMIT, QN_NO_HOST_MEM. After an error vocab_deinit still has to be called. */
qn_status vocab_init(vocab *v, const tokenizer_facts *facts, vocab_style style, error_context *err);
void vocab_deinit(vocab *v);

/* Id of the ordinary token (below n_tokens) or merge string (from n_tokens on) with this text; the lowest one. Or TOKEN_NONE.
 * [any-thread] [no-alloc] */
uint32_t vocab_find(const vocab *v, const uint8_t *text, size_t size);

/* The same for LEFT (not empty) and RIGHT (may be null with size 0) joined; makes a merge string when there is none. Neither
 * may point into the vocab. */
qn_status vocab_intern(vocab *v, const uint8_t *left, size_t left_size, const uint8_t *right, size_t right_size,
                       uint32_t *out_id, error_context *err);

/* Text of an id below n_strings; borrowed. */
const uint8_t *vocab_text(const vocab *v, uint32_t id, size_t *out_size);

/* TOKEN_KIND_* of an id below n_tokens. */
static inline uint32_t vocab_kind(const vocab *v, uint32_t id) {
    return v->kinds[id] & ~VOCAB_IS_LITERAL;
}

/* Makes the token control and takes it out of the index at the next vocab_reindex. */
void vocab_set_control(vocab *v, uint32_t id);
qn_status vocab_reindex(vocab *v, error_context *err);

/* Byte-level BPE: maps a spelling to bytes, at most `size` of them, into `out`. False: a character stands for no byte. */
bool vocab_decode_spelling(const uint8_t *spelling, size_t size, uint8_t *out, size_t *out_size);

/* True for <0x00> to <0xFF>. */
bool vocab_is_byte_spelling(fmt_str spelling, uint8_t *out_byte);

#endif
