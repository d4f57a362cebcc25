/* sft_open.c — from bytes to a proved list of tensors.
 *
 * Order: the length word, the header's text and JSON, then entry by entry (offsets, type, shape), then what takes all
 * of them to see: overlap, hole, tail. */
#include <stdlib.h>
#include <string.h>

#include "common/endian.h"
#include "sft_internal.h"

#define METADATA_KEY "__metadata__"

/* ---------------------------------------------------------------- the length word */

static const struct {
    const char *start;
    const char *what;
} other_kinds[] = {
    {"GGUF", "a GGUF file"},
    {"p64", "a P64 container"},
    {"PK\x03\x04", "a ZIP archive, perhaps PyTorch weights"},
    {"\x80\x02}", "a Python pickle, which can run code when loaded"},
    {"\x80\x02", "a Python pickle, which can run code when loaded"},
    {"\x80\x03", "a Python pickle, which can run code when loaded"},
    {"\x80\x04\x95", "a Python pickle, which can run code when loaded"},
    {"\x89HDF", "an HDF5 file"},
    {"<!DOCTYPE", "a web page"},
    {"<html", "a web page"},
};

static bool starts_with(fmt_span span, const char *start) {
    const size_t size = strlen(start);
    return span.size >= size && memcmp(span.data, start, size) == 0;
}

/* Only asked when the length word is impossible: a right file may begin with any bytes. */
static fmt_status refuse_length(fmt_span span, uint64_t length, fmt_diag *diag) {
    const uint64_t left = span.size - SFT_LENGTH_SIZE;
    const diag_place here = {0, FMT_NO_INDEX, left < SFT_MAX_HEADER ? left : SFT_MAX_HEADER, length};
    if (starts_with(span, "version https://git-lfs")) {
        return sft_refuse(diag, FMT_BAD_FILE, SFT_R_LFS_POINTER, here,
                          "this is a Git LFS pointer, a text of %llu bytes", (unsigned long long)span.size);
    }
    for (size_t i = 0; i < sizeof other_kinds / sizeof other_kinds[0]; i++) {
        if (starts_with(span, other_kinds[i].start)) {
            return sft_refuse(diag, FMT_BAD_FILE, SFT_R_OTHER_KIND, here, "this looks like %s", other_kinds[i].what);
        }
    }
    return sft_refuse(diag, FMT_BAD_FILE, SFT_R_HEADER_LENGTH, here, "the header length is %llu with %llu bytes left",
                      (unsigned long long)length, (unsigned long long)left);
}

static fmt_status read_length(fmt_span span, sft_file *file, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    if (span.size < SFT_LENGTH_SIZE) {
        const diag_place here = {span.size, FMT_NO_INDEX, SFT_LENGTH_SIZE, span.size};
        return sft_refuse(diag, FMT_BAD_FILE, SFT_R_HEADER_SIZE, here, "the file has %llu bytes",
                          (unsigned long long)span.size);
    }
    file->span = span;
    file->header_size = load_u64(span.data);
    if (file->header_size < 2 || file->header_size > SFT_MAX_HEADER ||
        file->header_size > span.size - SFT_LENGTH_SIZE) {
        return refuse_length(span, file->header_size, diag);
    }
    file->data_at = SFT_LENGTH_SIZE + file->header_size;
    if (span.data[SFT_LENGTH_SIZE] != '{') {
        const fmt_str start = {(const char *)span.data + SFT_LENGTH_SIZE,
                               file->header_size < 8 ? file->header_size : 8};
        const diag_place here = {SFT_LENGTH_SIZE, FMT_NO_INDEX, '{', span.data[SFT_LENGTH_SIZE]};
        return sft_refuse(diag, FMT_BAD_FILE, SFT_R_HEADER_START, here, "the header begins with %s",
                          diag_quote(quoted, start));
    }
    return FMT_OK;
}

/* ---------------------------------------------------------------- all entries */

static int compare_data(const void *a, const void *b) {
    const sft_tensor *x = a, *y = b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->size != y->size) {
        return x->size < y->size ? -1 : 1;
    }
    return x->entry_at < y->entry_at ? -1 : x->entry_at > y->entry_at;
}

/* In order of their data each tensor must begin where the one before ends. */
static fmt_status check_cover(const sft_reading *r) {
    char quoted[2][DIAG_QUOTE_SIZE];
    const uint64_t data_size = r->file->span.size - r->file->data_at;
    const fmt_str start = {"start", 5};
    uint64_t covered = 0;
    for (uint64_t i = 0; i < r->file->n_tensors; i++) {
        const sft_tensor *tensor = &r->memory->tensors[i];
        const fmt_str before = i == 0 ? start : r->memory->tensors[i - 1].name;
        const diag_place here = {r->file->data_at + (tensor->begin < covered ? tensor->begin : covered), i, covered,
                                 tensor->begin};
        if (tensor->begin < covered) {
            return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_OVERLAP, here,
                              "tensor %s begins at byte %llu of the data, %s ends at byte %llu",
                              diag_quote(quoted[0], tensor->name), (unsigned long long)tensor->begin,
                              diag_quote(quoted[1], before), (unsigned long long)covered);
        }
        if (tensor->begin > covered) {
            return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_HOLE, here,
                              "bytes %llu to %llu of the data, before tensor %s, are unused",
                              (unsigned long long)covered, (unsigned long long)tensor->begin - 1,
                              diag_quote(quoted[0], tensor->name));
        }
        covered += tensor->size;
    }
    if (covered != data_size) {
        const diag_place here = {r->file->data_at + covered, FMT_NO_INDEX, covered, data_size};
        return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_TAIL, here, "%llu bytes follow the last tensor",
                          (unsigned long long)(data_size - covered));
    }
    return FMT_OK;
}

/* Numbers in all shapes together, so that one allocation holds them. */
static uint64_t count_dims(json_t *root) {
    const char *key;
    json_t *entry;
    uint64_t n = 0;
    json_object_foreach(root, key, entry) {
        n += json_array_size(json_object_get(entry, "shape"));
    }
    return n;
}

static fmt_status allocate_lists(sft_reading *r) {
    sft_memory *memory = r->memory;
    const uint64_t n = json_object_size(memory->root);
    memory->tensors = sft_allocate(n, sizeof *memory->tensors);
    memory->name_order = sft_allocate(n, sizeof *memory->name_order);
    memory->dims = sft_allocate(count_dims(memory->root), sizeof *memory->dims);
    if (memory->tensors == NULL || memory->name_order == NULL || memory->dims == NULL) {
        return sft_refuse(r->diag, FMT_NO_SPACE, SFT_R_MEMORY, sft_place(r, 0, 0), "memory ran out for %llu tensors",
                          (unsigned long long)n);
    }
    return FMT_OK;
}

static fmt_status read_entries(sft_reading *r, fmt_span header) {
    const char *key;
    json_t *entry;
    sft_scan scan = sft_scan_object(header, 0);
    json_object_foreach(r->memory->root, key, entry) {
        uint64_t key_at = 0, value_at = 0;
        sft_scan_member(&scan, &key_at, &value_at);
        r->name.data = key;
        r->name.size = strlen(key);
        r->entry_at = SFT_LENGTH_SIZE + key_at;
        const fmt_status status =
            strcmp(key, METADATA_KEY) == 0 ? sft_read_metadata(r, entry) : sft_read_tensor(r, entry);
        if (status != FMT_OK) {
            return status;
        }
        r->index++;
    }
    return FMT_OK;
}

/* Heap sort, since qsort has no place for the table that the indices point into. */
static void sift_down(uint32_t *order, uint64_t from, uint64_t n, const sft_tensor *tensors) {
    for (uint64_t child = 2 * from + 1; child < n; child = 2 * from + 1) {
        if (child + 1 < n && strcmp(tensors[order[child]].name.data, tensors[order[child + 1]].name.data) < 0) {
            child++;
        }
        if (strcmp(tensors[order[from]].name.data, tensors[order[child]].name.data) >= 0) {
            return;
        }
        const uint32_t swap = order[from];
        order[from] = order[child];
        order[child] = swap;
        from = child;
    }
}

static void sort_names(uint32_t *order, uint64_t n, const sft_tensor *tensors) {
    for (uint64_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    for (uint64_t i = n / 2; i > 0; i--) {
        sift_down(order, i - 1, n, tensors);
    }
    for (uint64_t last = n; last > 1; last--) {
        const uint32_t swap = order[0];
        order[0] = order[last - 1];
        order[last - 1] = swap;
        sift_down(order, 0, last - 1, tensors);
    }
}

static void free_memory(sft_memory *memory) {
    if (memory != NULL) {
        json_decref(memory->root);
        sft_free(memory->tensors);
        sft_free(memory->metadata);
        sft_free(memory->name_order);
        sft_free(memory->dims);
        sft_free(memory);
    }
}

/* With the JSON tree at hand: entries, order, cover. */
static fmt_status read_header(sft_reading *r, fmt_span header) {
    fmt_status status = allocate_lists(r);
    if (status == FMT_OK) {
        status = read_entries(r, header);
    }
    if (status != FMT_OK) {
        return status;
    }
    qsort(r->memory->tensors, (size_t)r->file->n_tensors, sizeof *r->memory->tensors, compare_data);
    sort_names(r->memory->name_order, r->file->n_tensors, r->memory->tensors);
    return check_cover(r);
}

fmt_status sft_open(fmt_span span, sft_file *out_file, fmt_diag *diag) {
    sft_file file;
    memset(&file, 0, sizeof file);
    fmt_status status = read_length(span, &file, diag);
    if (status != FMT_OK) {
        return status;
    }
    const fmt_span header = {span.data + SFT_LENGTH_SIZE, file.header_size};
    sft_reading r = {&file, NULL, diag, 0, {"", 0}, SFT_LENGTH_SIZE, 0};
    json_t *root = sft_parse(header, SFT_LENGTH_SIZE, &status, diag);
    if (root == NULL) {
        return status;
    }
    r.memory = sft_allocate(1, sizeof *r.memory);
    if (r.memory == NULL) {
        json_decref(root);
        return sft_refuse(diag, FMT_NO_SPACE, SFT_R_MEMORY, sft_place(&r, 0, 0), "memory ran out");
    }
    r.memory->root = root;
    status = read_header(&r, header);
    if (status != FMT_OK) {
        free_memory(r.memory);
        return status;
    }
    file.tensors = r.memory->tensors;
    file.metadata = r.memory->metadata;
    file.name_order = r.memory->name_order;
    file.memory = r.memory;
    *out_file = file;
    return FMT_OK;
}

void sft_close(sft_file *file) {
    free_memory(file->memory);
    memset(file, 0, sizeof *file);
}

const sft_tensor *sft_find(const sft_file *file, const char *name) {
    uint64_t low = 0, high = file->n_tensors;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const sft_tensor *tensor = &file->tensors[file->name_order[middle]];
        const int order = strcmp(tensor->name.data, name);
        if (order == 0) {
            return tensor;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

const fmt_str *sft_find_metadata(const sft_file *file, const char *key) {
    for (uint64_t i = 0; i < file->n_metadata; i++) {
        if (strcmp(file->metadata[i].key.data, key) == 0) {
            return &file->metadata[i].value;
        }
    }
    return NULL;
}
