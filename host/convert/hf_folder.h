/* hf_folder.h — a model as Hugging Face lays it out: Safetensors, one file or several, and JSON files beside them.
 *
 *     FOLDER/model.safetensors                 the weights, or
 *     FOLDER/model.safetensors.index.json      the list of their files
 *     FOLDER/config.json                       hyper-parameters; without it there are weights and nothing else
 *     FOLDER/tokenizer.json, tokenizer_config.json, generation_config.json, chat_template.jinja    each may be missing
 *
 * Tensors of several files are one list: file after file in the order of their names, each in the order of its data, with
 * offsets that count through. Only F32, F16 and BF16 can stand in a container; every other type is refused by name.
 *
 * Threading: one thread at a time.
 * Memory:    owned by the folder: mappings, headers, JSON trees.
 * Errors:    QN_NOT_FOUND, QN_BAD_FILE, QN_LIMIT, QN_UNSUPPORTED, with the file and its byte, line or key.
 *
 *     hf_folder *folder;
 *     QN_TRY(hf_folder_open("SmolLM2-135M", &folder, err), err, "opening the folder");
 *     ...
 *     hf_folder_close(folder);
 */
#ifndef HOST_HF_FOLDER_H
#define HOST_HF_FOLDER_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/safetensors.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "common/sha.h"
#include "convert/hf_json.h"

#define HF_PATH_SIZE 4096

typedef struct hf_shard {
    mapped_file file;
    sft_file weights;
    bool is_open;        /* `weights` is */
    uint64_t first_byte; /* what data_offsets of this file count from in the joined list */
} hf_shard;

typedef struct hf_tensor {
    const sft_tensor *entry; /* in its shard */
    uint32_t shard;
} hf_tensor;

typedef struct hf_folder {
    char path[HF_PATH_SIZE];        /* of the folder */
    char source_name[HF_PATH_SIZE]; /* the file of weights or the index, without folder */
    hf_shard *shards;               /* [n_shards], in the order of their names */
    uint32_t n_shards;
    hf_tensor *tensors;             /* [n_tensors], as above */
    uint32_t n_tensors;
    hf_json config, tokenizer, tokenizer_config, generation; /* root null: there is none */
    char *template_text;            /* of chat_template.jinja, terminated; null: there is none */
    uint64_t template_size;
} hf_folder;

/* Is this path one that hf_folder_open is for: a folder, or a name that ends in .safetensors or .safetensors.index.json?
 * Nothing is read. */
bool hf_is_source(const char *path);

/* `path` is a folder, its file of weights or its index. [may block] */
qn_status hf_folder_open(const char *path, hf_folder **out_folder, error_context *err);
void hf_folder_close(hf_folder *folder);

/* The tensor of this name, or null. */
const hf_tensor *hf_find_tensor(const hf_folder *folder, const char *name);

/* SHA-256 of all files of weights, one after the other: what `cat FILES | sha256sum` gives. [may block] */
qn_status hf_folder_digest(const hf_folder *folder, uint8_t out[SHA256_BYTES], error_context *err);

#endif
