/* adapter.c — opening: which form it is, its digest, the pairs of LoRA files copied out of the mapping. */
#include "adapt/adapter.h"

#include <stdlib.h>
#include <string.h>

#include <quoin/gguf.h>

#include "adapt/adapter_read.h"
#include "base/scrub.h"
#include "common/sha.h"

void *adapter_allocate(adapter *a, uint64_t size) {
    adapter_block *grown = realloc(a->blocks, (a->n_blocks + 1u) * sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    a->blocks = grown;
    void *block = size <= SIZE_MAX - 1 ? malloc((size_t)size + 1) : NULL;
    if (block != NULL) {
        a->blocks[a->n_blocks++] = (adapter_block){block, size};
        a->bytes += size;
    }
    return block;
}

const char *adapter_form_name(adapter_form form) {
    return form == ADAPTER_LORA_V1 ? "LoRA version 1" : form == ADAPTER_LORA_V2 ? "LoRA version 2" : "GGUF adapter";
}

static bool is_gguf_adapter(fmt_span span) {
    static const char wanted[] = "adapter";
    uint64_t need = 0;
    gguf_file gguf;
    fmt_str type;
    if (!gguf_has_magic(span) || gguf_scratch_size(span, &need, NULL) != FMT_OK) {
        return false;
    }
    void *scratch = malloc((size_t)need + 1);
    const bool is_adapter = scratch != NULL && gguf_open(span, scratch, need, &gguf, NULL) == FMT_OK &&
                            gguf_get_string(&gguf, "general.type", &type, NULL) == FMT_OK &&
                            type.size == strlen(wanted) && memcmp(type.data, wanted, type.size) == 0;
    free(scratch);
    return is_adapter;
}

bool adapter_is_file(const char *path) {
    mapped_file file;
    if (mapped_file_open(path, &file, NULL) != QN_OK) {
        return false;
    }
    const bool is_adapter = lora_has_magic(file.span) || is_gguf_adapter(file.span);
    mapped_file_close(&file);
    return is_adapter;
}

bool adapter_is_lora(const char *path) {
    mapped_file file;
    if (mapped_file_open(path, &file, NULL) != QN_OK) {
        return false;
    }
    const bool is_lora = lora_has_magic(file.span);
    mapped_file_close(&file);
    return is_lora;
}

static const void *copy_matrix(adapter *a, fmt_span span, uint64_t at, uint64_t size) {
    void *copy = adapter_allocate(a, size);
    if (copy != NULL) {
        memcpy(copy, span.data + at, (size_t)size);
    }
    return copy;
}

static qn_status read_lora(const mapped_file *file, adapter *a, error_context *err) {
    lora_file lora;
    fmt_diag diag;
    fmt_status status = lora_open(file->span, &lora, &diag);
    status = status == FMT_OK ? lora_check_payload(&lora, &diag) : status;
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, file->path);
    }
    a->form = lora.version == 1 ? ADAPTER_LORA_V1 : ADAPTER_LORA_V2;
    memcpy(a->base, lora.base, sizeof a->base);
    a->pairs = calloc(lora.n_entries, sizeof *a->pairs);
    for (uint32_t i = 0; a->pairs != NULL && i < lora.n_entries; i++) {
        const lora_entry e = lora_get_entry(&lora, i);
        a->pairs[i] = (lora_pair){e.role, e.layer, e.rank, e.alpha, e.n_in, e.n_out, e.type,
                                  copy_matrix(a, file->span, e.a_at, e.a_bytes),
                                  copy_matrix(a, file->span, e.b_at, e.b_bytes)};
        if (a->pairs[i].a == NULL || a->pairs[i].b == NULL) {
            break;
        }
        a->n_pairs++;
    }
    return a->n_pairs == lora.n_entries ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for its matrices", file->path);
}

static qn_status read_file(const mapped_file *file, adapter *a, error_context *err) {
    a->file_bytes = file->span.size;
    a->path = strdup(file->path);
    if (a->path == NULL || !sha256_digest(file->span.data, file->span.size, a->digest)) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for its digest", file->path);
    }
    if (gguf_has_magic(file->span)) {
        QN_TRY(adapter_read_gguf(file, a, err), err, "reading the adapter");
    } else {
        QN_TRY(read_lora(file, a, err), err, "reading the adapter");
    }
    return mapped_file_check(file, err);
}

qn_status adapter_open(const char *path, adapter *out_adapter, error_context *err) {
    mapped_file file;
    memset(out_adapter, 0, sizeof *out_adapter);
    QN_TRY(mapped_file_open(path, &file, err), err, "opening the adapter");
    const qn_status status = read_file(&file, out_adapter, err);
    mapped_file_close(&file);
    if (status < 0) {
        adapter_close(out_adapter);
    }
    return status;
}

void adapter_scrub(adapter *a) {
    for (uint32_t i = 0; i < a->n_blocks; i++) {
        scrub_memory(NULL, SCRUB_ADAPTER, a->blocks[i].data, (size_t)a->blocks[i].size);
    }
}

void adapter_close(adapter *a) {
    for (uint32_t i = 0; i < a->n_blocks; i++) {
        free(a->blocks[i].data);
    }
    free(a->blocks);
    free(a->pairs);
    free(a->path);
    memset(a, 0, sizeof *a);
}
