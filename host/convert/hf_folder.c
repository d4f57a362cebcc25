/* hf_folder.c — finding, mapping and joining the files of a model folder. */
#include "convert/hf_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WEIGHTS_NAME "model.safetensors"
#define INDEX_NAME "model.safetensors.index.json"
#define DIGEST_STEP (UINT64_C(16) << 20)

static bool has_suffix(const char *path, const char *suffix) {
    const size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcmp(path + n - m, suffix) == 0;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_there(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

bool hf_is_source(const char *path) {
    return has_suffix(path, ".safetensors") || has_suffix(path, ".safetensors.index.json") || is_folder(path);
}

static qn_status join_path(const char *folder, const char *name, char out[HF_PATH_SIZE], error_context *err) {
    const int n = snprintf(out, HF_PATH_SIZE, "%s/%s", folder, name);
    return n > 0 && n < HF_PATH_SIZE ? QN_OK : FAIL(err, QN_LIMIT, "%s: the path of %s is too long", folder, name);
}

/* ---------------------------------------------------------------------------------------------------------- weights */

static qn_status open_shard(hf_folder *folder, const char *name, error_context *err) {
    char path[HF_PATH_SIZE];
    fmt_diag diag;
    hf_shard *shard = &folder->shards[folder->n_shards];
    QN_TRY(join_path(folder->path, name, path, err), err, "opening weights");
    const qn_status found = mapped_file_open(path, &shard->file, err);
    if (found < 0) {
        return found;
    }
    folder->n_shards++;
    const fmt_status status = sft_open(shard->file.span, &shard->weights, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, path);
    }
    shard->is_open = true;
    if (folder->n_shards > 1) {
        const hf_shard *before = shard - 1;
        shard->first_byte = before->first_byte + (before->file.span.size - before->weights.data_at);
    }
    return QN_OK;
}

static qn_status allocate_shards(hf_folder *folder, uint64_t count, error_context *err) {
    folder->shards = calloc((size_t)count + 1, sizeof *folder->shards);
    return folder->shards != NULL ? QN_OK
                                  : FAIL(err, QN_NO_HOST_MEM, "out of memory for %" PRIu64 " files of weights", count);
}

static qn_status open_indexed_shards(hf_folder *folder, const sft_index *index, const char *path, error_context *err) {
    fmt_diag diag;
    QN_TRY(allocate_shards(folder, index->n_shards, err), err, "opening weights");
    for (uint64_t i = 0; i < index->n_shards; i++) {
        const qn_status status = open_shard(folder, index->shards[i].name.data, err);
        if (status == QN_NOT_FOUND) {
            error_clear(err);
            return error_from_diag(err, sft_index_refuse_missing(index, i, &diag), &diag, path);
        }
        QN_TRY(status, err, "opening a file of %s", path);
        const fmt_status fits = sft_index_check_shard(index, i, &folder->shards[i].weights, &diag);
        if (fits != FMT_OK) {
            return error_from_diag(err, fits, &diag, path);
        }
    }
    return QN_OK;
}

static qn_status open_index(hf_folder *folder, error_context *err) {
    char path[HF_PATH_SIZE];
    mapped_file file;
    sft_index index;
    fmt_diag diag;
    QN_TRY(join_path(folder->path, folder->source_name, path, err), err, "opening the index");
    QN_TRY(mapped_file_open(path, &file, err), err, "opening the index");
    const fmt_status status = sft_index_open(file.span, &index, &diag);
    qn_status result = status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, path);
    if (status == FMT_OK) {
        result = open_indexed_shards(folder, &index, path, err);
        sft_index_close(&index);
    }
    mapped_file_close(&file);
    return result;
}

static qn_status check_type(const hf_folder *folder, const hf_tensor *tensor, error_context *err) {
    const sft_dtype dtype = tensor->entry->dtype;
    if (dtype == SFT_F32 || dtype == SFT_F16 || dtype == SFT_BF16) {
        return QN_OK;
    }
    const fmt_str name = tensor->entry->name;
    return FAIL(err, QN_UNSUPPORTED,
                "%s: byte %" PRIu64 ": tensor %.*s is %s; a container made of Safetensors holds F32, F16 and BF16",
                folder->shards[tensor->shard].file.path, tensor->entry->entry_at,
                (int)(name.size < 256 ? name.size : 256), name.data, sft_dtype_name(dtype));
}

/* The same name in two files: the container could not tell them apart. */
static qn_status check_unique(const hf_folder *folder, const hf_tensor *tensor, error_context *err) {
    for (uint32_t i = 0; i < tensor->shard; i++) {
        if (sft_find(&folder->shards[i].weights, tensor->entry->name.data) != NULL) {
            return FAIL(err, QN_BAD_FILE, "%s: byte %" PRIu64 ": tensor %.200s is in %s as well",
                        folder->shards[tensor->shard].file.path, tensor->entry->entry_at, tensor->entry->name.data,
                        folder->shards[i].file.path);
        }
    }
    return QN_OK;
}

static qn_status list_tensors(hf_folder *folder, error_context *err) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < folder->n_shards; i++) {
        count += folder->shards[i].weights.n_tensors;
    }
    folder->tensors = calloc((size_t)count + 1, sizeof *folder->tensors);
    if (folder->tensors == NULL || count > UINT32_MAX) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for %" PRIu64 " tensors", folder->path, count);
    }
    for (uint32_t i = 0; i < folder->n_shards; i++) {
        for (uint64_t k = 0; k < folder->shards[i].weights.n_tensors; k++) {
            hf_tensor *tensor = &folder->tensors[folder->n_tensors++];
            *tensor = (hf_tensor){&folder->shards[i].weights.tensors[k], i};
            QN_TRY(check_type(folder, tensor, err), err, "looking at the tensors");
            QN_TRY(check_unique(folder, tensor, err), err, "looking at the tensors");
        }
    }
    return QN_OK;
}

const hf_tensor *hf_find_tensor(const hf_folder *folder, const char *name) {
    for (uint32_t i = 0, first = 0; i < folder->n_shards; i++) {
        const sft_tensor *found = sft_find(&folder->shards[i].weights, name);
        if (found != NULL) {
            return &folder->tensors[first + (uint32_t)(found - folder->shards[i].weights.tensors)];
        }
        first += (uint32_t)folder->shards[i].weights.n_tensors;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- JSON files */

#define CONFIG_CONTENT                                                                                                 \
    "architectures or model_type, hidden_size, num_hidden_layers, num_attention_heads and the other sizes of the model"

/* `content`: what the file is for, told where it is empty. */
static qn_status load_document(const hf_folder *folder, const char *name, uint64_t limit, const char *content, hf_json *out,
                               error_context *err) {
    char path[HF_PATH_SIZE];
    QN_TRY(join_path(folder->path, name, path, err), err, "looking for %s", name);
    if (!is_there(path)) {
        return QN_OK;
    }
    return hf_json_load(path, limit, content, out, err);
}

static qn_status load_documents(hf_folder *folder, error_context *err) {
    char path[HF_PATH_SIZE];
    QN_TRY(load_document(folder, "config.json", HF_CONFIG_LIMIT, CONFIG_CONTENT, &folder->config, err), err,
           "reading the folder");
    if (folder->config.root == NULL) {
        return QN_OK; /* weights alone: what stands beside them may be another model's */
    }
    if (json_object_size(folder->config.root) == 0) {
        return FAIL(err, QN_BAD_FILE, "%s: line 1: the object is empty; missing are " CONFIG_CONTENT, folder->config.path);
    }
    QN_TRY(load_document(folder, "tokenizer.json", HF_TOKENIZER_LIMIT, "the model, its vocab and merges", &folder->tokenizer, err), err,
           "reading the folder");
    QN_TRY(load_document(folder, "tokenizer_config.json", HF_CONFIG_LIMIT, "special tokens, at least {}", &folder->tokenizer_config, err), err,
           "reading the folder");
    QN_TRY(load_document(folder, "generation_config.json", HF_CONFIG_LIMIT, "settings, at least {}", &folder->generation, err), err,
           "reading the folder");
    QN_TRY(join_path(folder->path, "chat_template.jinja", path, err), err, "looking for a template");
    return is_there(path) ? hf_text_load(path, HF_CONFIG_LIMIT, &folder->template_text, &folder->template_size, err)
                          : QN_OK;
}

/* ------------------------------------------------------------------------------------------------------ open, close */

/* Which file has the weights: one file goes before an index. */
static qn_status choose_weights(hf_folder *folder, error_context *err) {
    static const char *const names[] = {WEIGHTS_NAME, INDEX_NAME};
    char path[HF_PATH_SIZE];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        QN_TRY(join_path(folder->path, names[i], path, err), err, "looking for weights");
        if (is_there(path)) {
            snprintf(folder->source_name, sizeof folder->source_name, "%s", names[i]);
            return QN_OK;
        }
    }
    return FAIL(err, QN_NOT_FOUND, "%s: the folder holds neither " WEIGHTS_NAME " nor " INDEX_NAME, folder->path);
}

/* Splits a path into folder and file; a folder has its weights chosen. */
static qn_status locate(hf_folder *folder, const char *path, error_context *err) {
    if (strlen(path) >= HF_PATH_SIZE) {
        return FAIL(err, QN_LIMIT, "the path is longer than %d bytes", HF_PATH_SIZE - 1);
    }
    if (is_folder(path)) {
        snprintf(folder->path, sizeof folder->path, "%s", path);
        for (size_t n = strlen(path); n > 1 && folder->path[n - 1] == '/'; n--) {
            folder->path[n - 1] = '\0';
        }
        return choose_weights(folder, err);
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const int length = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);
    snprintf(folder->path, sizeof folder->path, "%.*s", length, slash == NULL ? "." : path);
    snprintf(folder->source_name, sizeof folder->source_name, "%s", name);
    return QN_OK;
}

static qn_status open_all(hf_folder *folder, const char *path, error_context *err) {
    QN_TRY(locate(folder, path, err), err, "opening %s", path);
    if (has_suffix(folder->source_name, ".index.json")) {
        QN_TRY(open_index(folder, err), err, "opening %s", path);
    } else {
        QN_TRY(allocate_shards(folder, 1, err), err, "opening %s", path);
        QN_TRY(open_shard(folder, folder->source_name, err), err, "opening %s", path);
    }
    QN_TRY(list_tensors(folder, err), err, "opening %s", path);
    return load_documents(folder, err);
}

qn_status hf_folder_open(const char *path, hf_folder **out_folder, error_context *err) {
    hf_folder *folder = calloc(1, sizeof *folder);
    if (folder == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", path);
    }
    const qn_status status = open_all(folder, path, err);
    if (status < 0) {
        hf_folder_close(folder);
        return status;
    }
    *out_folder = folder;
    return QN_OK;
}

void hf_folder_close(hf_folder *folder) {
    if (folder == NULL) {
        return;
    }
    for (uint32_t i = 0; i < folder->n_shards; i++) {
        if (folder->shards[i].is_open) {
            sft_close(&folder->shards[i].weights);
        }
        mapped_file_close(&folder->shards[i].file);
    }
    hf_json_free(&folder->config);
    hf_json_free(&folder->tokenizer);
    hf_json_free(&folder->tokenizer_config);
    hf_json_free(&folder->generation);
    free(folder->template_text);
    free(folder->tensors);
    free(folder->shards);
    free(folder);
}

/* ----------------------------------------------------------------------------------------------------------- digest */

static void add_file(sha256_stream *stream, const mapped_file *file) {
    for (uint64_t at = 0; at < file->span.size; at += DIGEST_STEP) {
        const uint64_t left = file->span.size - at, step = left < DIGEST_STEP ? left : DIGEST_STEP;
        sha256_add(stream, file->span.data + at, step);
        mapped_file_dont_need(file, at, step);
    }
}

qn_status hf_folder_digest(const hf_folder *folder, uint8_t out[SHA256_BYTES], error_context *err) {
    sha256_stream stream;
    if (!sha256_begin(&stream)) {
        return FAIL(err, QN_NO_HOST_MEM, "libcrypto gives no SHA-256");
    }
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < folder->n_shards && status == QN_OK; i++) {
        add_file(&stream, &folder->shards[i].file);
        status = mapped_file_check(&folder->shards[i].file, err);
    }
    if (status < 0) {
        sha256_abandon(&stream);
        return status;
    }
    return sha256_end(&stream, out) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "libcrypto gives no SHA-256");
}
