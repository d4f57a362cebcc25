/* hf_tokenizer.h — tokenizer.json, tokenizer_config.json and generation_config.json as the keys tokenizer.*.
 *
 * Two families, told by the pre-tokenizer: byte-level BPE becomes model "gpt2" with its merges; BPE over UTF-8 with a
 * fallback to bytes, which is how SentencePiece vocabularies are written down, becomes model "llama". There the order of
 * the merges is the order of the scores, so a piece's score is minus the rank of the first merge that makes it.
 *
 * Threading: one thread at a time.
 * Memory:    strings of the list are borrowed from the folder, or owned by the list.
 * Errors:    QN_UNSUPPORTED by name for another kind of tokenizer, normalizer or pre-tokenizer; QN_BAD_FILE with file and
 *            key.
 */
#ifndef HOST_HF_TOKENIZER_H
#define HOST_HF_TOKENIZER_H
#include "convert/hf_folder.h"
#include "convert/key_list.h"

/* Adds all keys of the tokenizer, or none when there is no tokenizer.json. n_vocab: rows of the vocabulary by the config;
 * ids without a token are filled up to it. */
qn_status hf_translate_tokenizer(const hf_folder *folder, uint32_t n_vocab, key_list *list, error_context *err);

/* ------------------------------------------------------------------------------------------------ parts of the whole */

typedef struct hf_vocabulary {
    const hf_folder *folder;
    key_list *keys;
    hf_object file;        /* tokenizer.json */
    hf_object model;       /* its "model" */
    const json_t *vocab;   /* texts and ids */
    bool is_byte_level;
    uint32_t n_tokens;
    fmt_str *tokens;       /* [n_tokens] */
    int32_t *kinds;        /* [n_tokens], numbered as tokenizer.ggml.token_type */
} hf_vocabulary;

/* Reads normalizer and pre-tokenizer: sets is_byte_level and adds tokenizer.ggml.model, .pre and .add_space_prefix. */
qn_status hf_translate_pre(hf_vocabulary *v);

/* Adds tokenizer.ggml.scores for a vocabulary of pieces. A warning is logged when SentencePiece's rule would join what these
 * merges do not. */
qn_status hf_translate_scores(hf_vocabulary *v, const json_t *merges);

/* A JSON integer that is an id of this vocabulary. */
bool hf_read_id(const hf_vocabulary *v, const json_t *value, uint32_t *out);

/* One merge, in either form: "left right", or ["left", "right"]. False when it is none. */
bool hf_read_merge(const json_t *value, fmt_str *left, fmt_str *right);

/* Refuses merge number `rank`. */
qn_status hf_refuse_merge(hf_vocabulary *v, size_t rank, const char *what);

/* The ids of BOS and EOS that config.json and generation_config.json give must be in the vocabulary, also where a text in
 * tokenizer_config.json goes before them. The failure is in vocabulary->file.status. */
void hf_check_ids(hf_vocabulary *v);

/* Adds the ids of special tokens, whether BOS and EOS are put around a text, and the chat template. */
qn_status hf_translate_specials(hf_vocabulary *v);

#endif
