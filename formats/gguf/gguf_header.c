/* gguf_header.c — the 24 bytes in front: is it GGUF at all, of which version, and can the counts be true. */
#include <string.h>

#include "gguf_internal.h"

#define QUOTED_START 8u /* bytes shown of a file that is something else */

static const char lfs_start[] = "version https://git-lfs";

/* What people hand over by mistake, told from its first bytes. */
static const struct {
    const char *start;
    const char *what;
} other_kinds[] = {
    {"p64", "a P64 container"},
    {"lmgg", "a GGML file from before GGUF"},
    {"fmgg", "a GGMF file from before GGUF"},
    {"tjgg", "a GGJT file from before GGUF"},
    {"PK\x03\x04", "a ZIP archive, perhaps PyTorch weights"},
    {"<", "a web page or XML"},
};

bool gguf_has_magic(fmt_span span) {
    return span.size >= GGUF_MAGIC_SIZE && memcmp(span.data, "GGUF", GGUF_MAGIC_SIZE) == 0;
}

static bool starts_with(fmt_span span, const char *start) {
    const size_t size = strlen(start);
    return span.size >= size && memcmp(span.data, start, size) == 0;
}

static fmt_status refuse_magic(fmt_span span, fmt_diag *diag) {
    const diag_place here = {0, FMT_NO_INDEX, 0, 0};
    if (starts_with(span, lfs_start)) {
        return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_LFS_POINTER, here,
                           "this is a Git LFS pointer, a text of %llu bytes", (unsigned long long)span.size);
    }
    const fmt_str start = {(const char *)span.data, span.size < QUOTED_START ? span.size : QUOTED_START};
    const fmt_str magic = {start.data, GGUF_MAGIC_SIZE};
    char quoted[DIAG_QUOTE_SIZE];
    for (size_t i = 0; i < sizeof other_kinds / sizeof other_kinds[0]; i++) {
        if (starts_with(span, other_kinds[i].start)) {
            return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_MAGIC, here, "the magic is %s, this looks like %s",
                               diag_quote(quoted, magic), other_kinds[i].what);
        }
    }
    return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_MAGIC, here, "the magic is %s", diag_quote(quoted, magic));
}

static bool is_version(uint32_t version) {
    return version == 2 || version == 3;
}

static uint32_t swap_bytes(uint32_t value) {
    return value << 24 | (value & 0xFF00) << 8 | (value >> 8 & 0xFF00) | value >> 24;
}

static fmt_status check_version(uint32_t version, fmt_diag *diag) {
    const diag_place here = {GGUF_VERSION_AT, FMT_NO_INDEX, 3, version};
    if (is_version(version)) {
        return FMT_OK;
    }
    if (is_version(swap_bytes(version))) {
        return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_BYTE_ORDER, here, "version %lu looks like a big-endian file",
                           (unsigned long)version);
    }
    return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_VERSION, here, "the version is %lu", (unsigned long)version);
}

/* The smallest possible entries must fit; gguf_walk_… then proves each one. */
static fmt_status check_counts(const gguf_file *file, fmt_diag *diag) {
    const uint64_t left = file->span.size - GGUF_HEADER_SIZE;
    uint64_t most = left / GGUF_KV_MIN;
    most = most < GGUF_MAX_ENTRIES ? most : GGUF_MAX_ENTRIES;
    if (file->n_kv > most) {
        const diag_place here = {GGUF_N_KV_AT, FMT_NO_INDEX, most, file->n_kv};
        return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_KEY_COUNT, here,
                           "the header counts %llu keys, a file of %llu bytes has room for %llu",
                           (unsigned long long)file->n_kv, (unsigned long long)file->span.size,
                           (unsigned long long)most);
    }
    most = (left - file->n_kv * GGUF_KV_MIN) / GGUF_TENSOR_MIN;
    most = most < GGUF_MAX_ENTRIES ? most : GGUF_MAX_ENTRIES;
    if (file->n_tensors > most) {
        const diag_place here = {GGUF_N_TENSORS_AT, FMT_NO_INDEX, most, file->n_tensors};
        return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_TENSOR_COUNT, here,
                           "the header counts %llu tensors, a file of %llu bytes has room for %llu",
                           (unsigned long long)file->n_tensors, (unsigned long long)file->span.size,
                           (unsigned long long)most);
    }
    return FMT_OK;
}

fmt_status gguf_read_header(fmt_span span, gguf_file *out_file, fmt_diag *diag) {
    if (span.size >= GGUF_MAGIC_SIZE && !gguf_has_magic(span)) {
        return refuse_magic(span, diag);
    }
    if (span.size < GGUF_HEADER_SIZE) {
        const diag_place here = {span.size, FMT_NO_INDEX, GGUF_HEADER_SIZE, span.size};
        return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_HEADER_SIZE, here, "the file has %llu bytes",
                           (unsigned long long)span.size);
    }
    cursor c = cursor_make(span, GGUF_VERSION_AT);
    memset(out_file, 0, sizeof *out_file);
    out_file->span = span;
    out_file->version = cursor_u32(&c);
    out_file->alignment = GGUF_DEFAULT_ALIGNMENT;
    out_file->n_tensors = cursor_u64(&c);
    out_file->n_kv = cursor_u64(&c);
    const fmt_status status = check_version(out_file->version, diag);
    return status == FMT_OK ? check_counts(out_file, diag) : status;
}
