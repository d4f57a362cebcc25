/* bpe.h — byte-level BPE: joins the bytes of a word by the ranks of the model's merges (internal to text/).
 *
 * Threading: immutable after it is built; each encoder has its own merge_scratch.
 * Memory:    owned: one index over the merges. The vocab is borrowed and grows while the index is built.
 */
#ifndef HOST_BPE_H
#define HOST_BPE_H
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "text/merge_queue.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

typedef struct bpe_merge {
    uint32_t left, right; /* ids; left is TOKEN_NONE in a free slot */
    uint32_t rank, joined_id;
} bpe_merge;

typedef struct bpe {
    const vocab *v;
    bpe_merge *slots; /* [slot_mask + 1], a power of two */
    uint32_t slot_mask;
    uint32_t byte_ids[256]; /* symbol of each single byte; from v->n_tokens on: no token */
    uint32_t unk; /* for bytes that are no token, or TOKEN_NONE */
} bpe;

/* Builds the index from the facts' merges. When the facts give no kinds, tokens spelled <...> that no merge makes become
 * control tokens: text cannot have led to them. QN_BAD_FILE: a merge without a space, or with an empty side, or (when the
 * vocabulary is byte-level) with a character that stands for no byte. Call bpe_deinit after an error too. */
qn_status bpe_init(bpe *b, vocab *v, const tokenizer_facts *facts, error_context *err);
void bpe_deinit(bpe *b);

/* Appends the ids of one word of 1 byte or more. Bytes that are no token become the unk token, unless that is a control
 * token: what a text says must not look like the end of it.
 * QN_BAD_INPUT: there is no such token; the message gives the byte's position, counted from `begin`, where the text begins. */
qn_status bpe_encode_word(const bpe *b, merge_scratch *scratch, const uint8_t *begin, const uint8_t *word, size_t size,
                          token_list *out, error_context *err);

#endif
