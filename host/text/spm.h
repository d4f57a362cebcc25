/* spm.h — SentencePiece-style BPE: joins the characters of a text by the scores of the tokens (internal to text/).
 *
 * Threading: immutable after it is built; each encoder has its own merge_scratch.
 * Memory:    owned: one rank a token. The vocab is borrowed.
 */
#ifndef HOST_SPM_H
#define HOST_SPM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "text/merge_queue.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

typedef struct spm {
    const vocab *v;
    uint32_t *ranks;        /* [n_tokens] smaller is a better score */
    uint32_t byte_ids[256]; /* token <0xHH>, or TOKEN_NONE */
    uint32_t unk;
    bool joins_space[256];  /* some token holds this byte and a space behind it: no word may end there */
    bool collapses_spaces;
} spm;

/* QN_BAD_FILE: a score is missing or no number. Call spm_deinit after an error too. */
qn_status spm_init(spm *s, const vocab *v, const tokenizer_facts *facts, error_context *err);
void spm_deinit(spm *s);

/* Writes a fragment of text as the model wants it: U+2581 as a space, a space in front when `has_prefix`, runs of spaces as
 * one when the model says so. `out` has room for size + 1 bytes; returns how many were written. [no-alloc] */
size_t spm_prepare(const spm *s, const uint8_t *text, size_t size, bool has_prefix, uint8_t *out);

/* Bytes of prepared text from `at` that can be encoded by themselves, because no token reaches over their end. */
size_t spm_word_size(const spm *s, const uint8_t *at, size_t size);

/* Appends the ids of one such word. Characters that are no token are given as bytes, or as the unk token.
 * QN_BAD_INPUT: there are neither. */
qn_status spm_encode_word(const spm *s, merge_scratch *scratch, const uint8_t *word, size_t size, token_list *out,
                          error_context *err);

#endif
