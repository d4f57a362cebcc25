/* fuzz_safetensors.c — the Safetensors reader and the index reader on any bytes. */
#include <stdlib.h>
#include <string.h>

#include <quoin/safetensors.h>

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t checksum; /* so that no read is optimised away */

static void visit_file(const sft_file *file) {
    uint64_t at = file->data_at;
    for (uint64_t i = 0; i < file->n_tensors; i++) {
        const sft_tensor *tensor = &file->tensors[i];
        REQUIRE(tensor->at == at);
        at += tensor->size;
        REQUIRE(file->span.data[tensor->entry_at] == '"');
        REQUIRE(sft_find(file, tensor->name.data) == tensor);
        for (uint32_t d = 0; d < tensor->rank; d++) {
            checksum += tensor->shape[d];
        }
        checksum += tensor->size > 0 ? file->span.data[tensor->at + tensor->size - 1] : 0;
    }
    REQUIRE(at == file->span.size);
    for (uint64_t i = 0; i < file->n_metadata; i++) {
        REQUIRE(strlen(file->metadata[i].value.data) <= file->metadata[i].value.size);
    }
}

static void visit_index(const sft_index *index) {
    uint64_t n = 0;
    fmt_diag diag;
    for (uint64_t i = 0; i < index->n_shards; i++) {
        n += index->shards[i].n_entries;
        REQUIRE(index->entries[index->shards[i].first].shard == i);
        REQUIRE(sft_index_refuse_missing(index, i, &diag) == FMT_BAD_FILE);
    }
    REQUIRE(n == index->n_entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fmt_span span = {data, size};
    fmt_diag diag;
    sft_file file;
    sft_index index;
    if (sft_open(span, &file, &diag) == FMT_OK) {
        visit_file(&file);
        sft_close(&file);
    } else {
        REQUIRE(diag.offset <= size && strlen(diag.text) > 10);
    }
    if (sft_index_open(span, &index, &diag) == FMT_OK) {
        visit_index(&index);
        sft_index_close(&index);
    } else {
        REQUIRE(diag.offset <= size && strlen(diag.text) > 10);
    }
    return 0;
}
