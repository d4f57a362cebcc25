/* vocabulary.h — gathers the facts of a tokenizer from the file that holds the model.
 *
 * This is the one place that knows the tokenizer keys of GGUF and the Q42T section of P64; what the facts mean is
 * checked by tokenizer_create.
 *
 * Threading: one thread at a time per object; the facts may be read by any thread once they are filled.
 * Memory:    arrays are owned by the vocabulary; the bytes of the strings are borrowed from the file's mapping.
 *
 *     vocabulary *words;
 *     status = vocabulary_from_gguf(&file, path, &words, err);
 *     status = tokenizer_create(&words->facts, &tok, err);
 *     vocabulary_end_build(words);
 *     ...
 *     tokenizer_destroy(tok);
 *     vocabulary_free(words);
 */
#ifndef HOST_VOCABULARY_H
#define HOST_VOCABULARY_H
#include <quoin/gguf.h>
#include <quoin/p64.h>

#include "base/error.h"
#include "text/tokenizer.h"

typedef struct vocabulary {
    tokenizer_facts facts;
    fmt_str chat_template; /* text of the model's own template; size 0: it has none */
    fmt_str *tokens;       /* what facts.tokens points at; likewise below */
    float *scores;
    int32_t *kinds;
    tokenizer_merge *merges;
} vocabulary;

/* An empty vocabulary: no strings, no ids. Null without memory. */
vocabulary *vocabulary_new(void);

/* Reads the keys tokenizer.*. Keys that may be missing get the values that writers of GGUF mean by it:
 * add_bos_token true for model "llama" and false for others, add_space_prefix true for "llama", the other flags false;
 * for "llama" the ids of <unk>, <s> and </s> when they are tokens 0, 1 and 2.
 *
 *   path   for messages
 *
 * QN_NOT_FOUND: the file has no tokenizer. QN_BAD_FILE: a key has another type or count than it must; QN_LIMIT;
 * QN_NO_HOST_MEM. *out is untouched then. */
qn_status vocabulary_from_gguf(const gguf_file *file, const char *path, vocabulary **out, error_context *err);

/* Reads the Q42T section of a P64 that stands alone: byte-level BPE by definition, because the section holds no scores;
 * kinds are left to the tokenizer. A stop set that the section stores is not here (p64_file has it). The ids of BOS and
 * EOS are used when the vocabulary has them.
 *
 * QN_NOT_FOUND: the section is empty. QN_NO_HOST_MEM. *out is untouched then. */
qn_status vocabulary_from_p64(const p64_file *file, const char *path, vocabulary **out, error_context *err);

/* Gives back what only tokenizer_create needs: scores, kinds, merges. */
void vocabulary_end_build(vocabulary *v);

/* Gives back everything; null is allowed. No tokenizer that was made from it may be used any more. */
void vocabulary_free(vocabulary *v);

#endif
