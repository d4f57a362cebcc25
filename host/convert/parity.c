/* parity.c — a container against the file that it was made of. */
#include <string.h>

#include "common/diag.h"
#include "common/fnv.h"
#include "convert/convert.h"
#include "convert/standard_bytes.h"

typedef unsigned long long ull;

static const fmt_rule rule_parity = {"parity", "17", "the container must hold the source's tensors unchanged"};

enum { P64_ENTRY_BYTES = 64 };

const gguf_tensor *convert_find_source(const gguf_file *source, uint64_t offset) {
    uint64_t low = 0, high = source->n_tensors;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (source->tensors[source->tensors_by_offset[middle]].offset < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == source->n_tensors) {
        return NULL;
    }
    const gguf_tensor *t = &source->tensors[source->tensors_by_offset[low]];
    return t->offset == offset ? t : NULL;
}

static uint32_t base_type(const p64_tensor *t) {
    return blk_panel_of_dtype(t->dtype) != BLK_NO_PANELS ? t->dtype - BLK_PANEL_DTYPE : t->dtype;
}

static const char *find_difference(const p64_tensor *t, const gguf_tensor *from) {
    if (from == NULL) {
        return "no tensor of the source begins at its source_offset";
    }
    if (t->source_name_hash != from->hash) {
        return "its source_name_hash is not that of the source's name";
    }
    if (t->rank != from->rank) {
        return "it has another rank";
    }
    for (uint32_t k = 0; k < 4; k++) {
        if (t->dims[k] != from->dims[k]) {
            return "it has other dimensions";
        }
    }
    return base_type(t) == from->type && standard_bytes_size(t) != from->size ? "it has another size" : NULL;
}

/* First differing byte, or UINT64_MAX. */
static uint64_t compare_bytes(const uint8_t *a, const uint8_t *b, uint64_t size) {
    if (memcmp(a, b, size) == 0) {
        return UINT64_MAX;
    }
    uint64_t at = 0;
    while (a[at] == b[at]) {
        at++;
    }
    return at;
}

fmt_status convert_refuse_tensor(const p64_file *p64, uint32_t index, const char *difference, fmt_diag *diag) {
    char name[DIAG_QUOTE_SIZE];
    const uint64_t at = p64->header.tensor_table_at + (uint64_t)P64_ENTRY_BYTES * index;
    return diag_refuse(diag, FMT_BAD_FILE, &rule_parity, (diag_place){at, index, 0, 0}, "tensor %u (%s): %s", index,
                       diag_quote(name, p64_get_tensor(p64, index).name), difference);
}

fmt_status convert_parity_bytes(const p64_file *p64, uint32_t index, uint32_t type, const uint8_t *source,
                                convert_parity_report *report, fmt_diag *diag) {
    const p64_tensor t = p64_get_tensor(p64, index);
    char name[DIAG_QUOTE_SIZE];
    if (base_type(&t) != type) {
        report->n_converted++;
        return FMT_OK;
    }
    standard_bytes standard;
    standard_bytes_init(&standard);
    const uint64_t size = standard_bytes_size(&t);
    const uint8_t *bytes = standard_bytes_of(&standard, &t);
    const uint64_t at = bytes == NULL ? 0 : compare_bytes(bytes, source, size);
    fmt_status status = FMT_OK;
    if (bytes == NULL) {
        status = diag_refuse(diag, FMT_NO_SPACE, &rule_parity, (diag_place){0, index, size, 0}, "%llu bytes cannot be had",
                             (ull)size);
    } else if (at != UINT64_MAX) {
        status = diag_refuse(diag, FMT_BAD_FILE, &rule_parity,
                             (diag_place){t.blob_offset + (bytes == t.blob.data ? at : 0), index, source[at], bytes[at]},
                             "byte %llu of tensor %u (%s) differs from the source", (ull)at, index, diag_quote(name, t.name));
    } else {
        report->n_equal++;
        report->n_unpacked += bytes != t.blob.data;
        report->bytes_equal += size;
    }
    standard_bytes_free(&standard);
    return status;
}

fmt_status convert_parity_tensor(const p64_file *p64, const gguf_file *source, uint32_t index,
                                 convert_parity_report *report, fmt_diag *diag) {
    const p64_tensor t = p64_get_tensor(p64, index);
    const gguf_tensor *from = convert_find_source(source, t.source_offset);
    const char *difference = find_difference(&t, from);
    return difference != NULL ? convert_refuse_tensor(p64, index, difference, diag)
                              : convert_parity_bytes(p64, index, from->type, source->span.data + from->at, report, diag);
}

fmt_status convert_refuse_count(const p64_file *p64, uint64_t n_source, fmt_diag *diag) {
    return diag_refuse(diag, FMT_BAD_FILE, &rule_parity,
                       (diag_place){0, FMT_NO_INDEX, n_source, p64->header.tensor_count},
                       "the container has %u tensors, the source %llu", p64->header.tensor_count, (ull)n_source);
}

fmt_status convert_parity(const p64_file *p64, const gguf_file *source, convert_parity_report *out_report,
                          fmt_diag *diag) {
    convert_parity_report report = {.n_tensors = p64->header.tensor_count};
    if (p64->header.tensor_count != source->n_tensors) {
        return convert_refuse_count(p64, source->n_tensors, diag);
    }
    for (uint32_t i = 0; i < p64->header.tensor_count; i++) {
        const fmt_status status = convert_parity_tensor(p64, source, i, &report, diag);
        if (status != FMT_OK) {
            return status;
        }
    }
    *out_report = report;
    return FMT_OK;
}
