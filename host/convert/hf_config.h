/* hf_config.h — config.json as GGUF keys: which architecture a folder holds, its sizes, attention and RoPE.
 *
 * Keys and values are those that a converter to GGUF writes. What such a converter stores as a tensor of its own making,
 * the RoPE factors of Llama 3 and Phi-3, has no place among the source's tensors; it becomes an array under the key
 * "quoin.tensor." and the tensor's name.
 *
 * Threading: one thread at a time.
 * Memory:    strings of the list are borrowed from the folder.
 * Errors:    QN_BAD_FILE and QN_UNSUPPORTED, with file, key and value.
 */
#ifndef HOST_HF_CONFIG_H
#define HOST_HF_CONFIG_H
#include "convert/hf_folder.h"
#include "convert/key_list.h"

/* The value of general.architecture. QN_UNSUPPORTED names the folder's architecture and those that are supported. */
qn_status hf_find_arch(const hf_folder *folder, const char **out_arch, error_context *err);

/* Adds all keys that config.json gives. `list` was made for this architecture. *out_n_vocab: tokens that the model has rows
 * for. */
qn_status hf_translate_config(const hf_folder *folder, key_list *list, uint32_t *out_n_vocab, error_context *err);

/* What the parts of the translation share. */
typedef struct hf_model {
    const hf_folder *folder;
    const char *arch;
    hf_object text;    /* config.json, or the part of it that is about text */
    key_list *keys;
    const hf_tensor *table; /* the embedding */
    uint32_t n_layer, n_embd, n_head, n_head_kv, head_dim, n_context, n_vocab;
} hf_model;

/* RoPE: base, dimensions, scaling. The failure is in model->text.status. */
void hf_translate_rope(hf_model *model);

#endif
