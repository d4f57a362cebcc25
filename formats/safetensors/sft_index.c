/* sft_index.c — the index of a model in several files. */
#include <stdlib.h>
#include <string.h>

#include "sft_internal.h"

typedef struct index_memory {
    json_t *root;
    sft_index_entry *entries;
    sft_shard *shards;
} index_memory;

static void free_memory(index_memory *memory) {
    if (memory != NULL) {
        json_decref(memory->root);
        sft_free(memory->entries);
        sft_free(memory->shards);
        sft_free(memory);
    }
}

/* A name that cannot lead out of the folder on any system. */
static bool is_plain_name(fmt_str name) {
    return name.size > 0 && name.size <= 255 && memchr(name.data, '/', (size_t)name.size) == NULL &&
           memchr(name.data, '\\', (size_t)name.size) == NULL && memchr(name.data, ':', (size_t)name.size) == NULL &&
           strcmp(name.data, ".") != 0 && strcmp(name.data, "..") != 0;
}

/* Offset of the object under "weight_map" in the text of the index; 0 when the key is written with escapes. */
static uint64_t find_map(fmt_span text) {
    static const char key[] = "\"weight_map\"";
    sft_scan scan = sft_scan_object(text, 0);
    uint64_t key_at = 0, value_at = 0;
    while (sft_scan_member(&scan, &key_at, &value_at)) {
        if (text.size - key_at >= sizeof key - 1 && memcmp(text.data + key_at, key, sizeof key - 1) == 0) {
            return value_at;
        }
    }
    return 0;
}

static fmt_status read_entries(fmt_span text, json_t *map, sft_index *index, index_memory *memory, fmt_diag *diag) {
    char quoted[2][DIAG_QUOTE_SIZE];
    const char *key;
    json_t *value;
    const uint64_t map_at = find_map(text);
    sft_scan scan = sft_scan_object(text, map_at);
    json_object_foreach(map, key, value) {
        uint64_t key_at = map_at, value_at = 0;
        if (map_at > 0) {
            sft_scan_member(&scan, &key_at, &value_at);
        }
        sft_index_entry *entry = &memory->entries[index->n_entries];
        const fmt_str tensor = {key, strlen(key)};
        const fmt_str shard = {json_string_value(value), json_string_length(value)};
        const diag_place here = {key_at, index->n_entries, 0, 0};
        if (!json_is_string(value)) {
            return sft_refuse(diag, FMT_BAD_FILE, SFT_R_INDEX_MAP, here,
                              "tensor %s is mapped to something that is no string", diag_quote(quoted[0], tensor));
        }
        if (!is_plain_name(shard)) {
            return sft_refuse(diag, FMT_BAD_FILE, SFT_R_SHARD_NAME, here, "tensor %s is mapped to file %s",
                              diag_quote(quoted[0], tensor), diag_quote(quoted[1], shard));
        }
        entry->tensor = tensor;
        entry->entry_at = key_at;
        memory->shards[index->n_entries].name = shard;
        memory->shards[index->n_entries].first = index->n_entries;
        index->n_entries++;
    }
    return FMT_OK;
}

static int compare_shards(const void *a, const void *b) {
    const sft_shard *x = a, *y = b;
    const int order = strcmp(x->name.data, y->name.data);
    return order != 0 ? order : x->first < y->first ? -1 : x->first > y->first;
}

/* One shard an entry becomes one shard a name; entries learn the number of theirs. */
static void gather_shards(sft_index *index, index_memory *memory) {
    sft_shard *shards = memory->shards;
    qsort(shards, (size_t)index->n_entries, sizeof *shards, compare_shards);
    for (uint64_t i = 0; i < index->n_entries; i++) {
        const uint64_t last = index->n_shards - 1;
        const bool is_new = index->n_shards == 0 || strcmp(shards[last].name.data, shards[i].name.data) != 0;
        const sft_shard shard = shards[i];
        if (is_new) {
            shards[index->n_shards] = shard;
            shards[index->n_shards].n_entries = 0;
            index->n_shards++;
        }
        shards[index->n_shards - 1].n_entries++;
        memory->entries[shard.first].shard = (uint32_t)(index->n_shards - 1);
    }
}

static fmt_status read_map(fmt_span span, sft_index *index, index_memory *memory, fmt_diag *diag) {
    json_t *map = json_object_get(memory->root, "weight_map");
    const diag_place here = {0, FMT_NO_INDEX, 0, 0};
    if (!json_is_object(map)) {
        return sft_refuse(diag, FMT_BAD_FILE, SFT_R_INDEX_MAP, here, "the index has %s weight_map",
                          map == NULL ? "no" : "another kind of");
    }
    memory->entries = sft_allocate(json_object_size(map), sizeof *memory->entries);
    memory->shards = sft_allocate(json_object_size(map), sizeof *memory->shards);
    if (memory->entries == NULL || memory->shards == NULL) {
        return sft_refuse(diag, FMT_NO_SPACE, SFT_R_MEMORY, here, "memory ran out for %lu tensors",
                          (unsigned long)json_object_size(map));
    }
    const fmt_status status = read_entries(span, map, index, memory, diag);
    if (status == FMT_OK) {
        gather_shards(index, memory);
    }
    return status;
}

fmt_status sft_index_open(fmt_span span, sft_index *out_index, fmt_diag *diag) {
    sft_index index;
    fmt_status status = FMT_OK;
    memset(&index, 0, sizeof index);
    if (span.size > SFT_MAX_HEADER) {
        const diag_place here = {0, FMT_NO_INDEX, SFT_MAX_HEADER, span.size};
        return sft_refuse(diag, FMT_BAD_FILE, SFT_R_INDEX_SIZE, here, "the index has %llu bytes",
                          (unsigned long long)span.size);
    }
    json_t *root = sft_parse(span, 0, &status, diag);
    if (root == NULL) {
        return status;
    }
    index_memory *memory = sft_allocate(1, sizeof *memory);
    if (memory == NULL) {
        const diag_place here = {0, FMT_NO_INDEX, 0, 0};
        json_decref(root);
        return sft_refuse(diag, FMT_NO_SPACE, SFT_R_MEMORY, here, "memory ran out");
    }
    memory->root = root;
    status = read_map(span, &index, memory, diag);
    if (status != FMT_OK) {
        free_memory(memory);
        return status;
    }
    index.entries = memory->entries;
    index.shards = memory->shards;
    index.memory = memory;
    *out_index = index;
    return FMT_OK;
}

void sft_index_close(sft_index *index) {
    free_memory(index->memory);
    memset(index, 0, sizeof *index);
}

fmt_status sft_index_refuse_missing(const sft_index *index, uint64_t shard, fmt_diag *diag) {
    char quoted[2][DIAG_QUOTE_SIZE];
    const sft_shard *missing = &index->shards[shard];
    const sft_index_entry *entry = &index->entries[missing->first];
    const diag_place here = {entry->entry_at, missing->first, 0, 0};
    return sft_refuse(diag, FMT_BAD_FILE, SFT_R_SHARD_MISSING, here,
                      "file %s, which holds tensor %s and %llu more, is absent", diag_quote(quoted[0], missing->name),
                      diag_quote(quoted[1], entry->tensor), (unsigned long long)(missing->n_entries - 1));
}

fmt_status sft_index_check_shard(const sft_index *index, uint64_t shard, const sft_file *file, fmt_diag *diag) {
    char quoted[2][DIAG_QUOTE_SIZE];
    for (uint64_t i = index->shards[shard].first; i < index->n_entries; i++) {
        const sft_index_entry *entry = &index->entries[i];
        if (entry->shard == shard && sft_find(file, entry->tensor.data) == NULL) {
            const diag_place here = {entry->entry_at, i, 0, 0};
            return sft_refuse(diag, FMT_BAD_FILE, SFT_R_SHARD_TENSOR, here, "tensor %s is not in file %s",
                              diag_quote(quoted[0], entry->tensor), diag_quote(quoted[1], index->shards[shard].name));
        }
    }
    return FMT_OK;
}
