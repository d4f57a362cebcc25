/* p64_header.c — section 3: the first 64 bytes, before anything else is believed. */
#include <string.h>

#include "common/endian.h"
#include "p64_layout.h"

static p64_header load_header(const uint8_t *at) {
    return (p64_header){
        .version = load_u16(at + P64_HDR_VERSION_AT),
        .flags = load_u16(at + P64_HDR_FLAGS_AT),
        .role_table_at = load_u32(at + P64_HDR_ROLE_TABLE_AT),
        .tensor_table_at = load_u32(at + P64_HDR_TENSOR_TABLE_AT),
        .tokenizer_at = load_u32(at + P64_HDR_TOKENIZER_AT),
        .hparams_at = load_u32(at + P64_HDR_HPARAMS_AT),
        .string_table_at = load_u32(at + P64_HDR_STRING_TABLE_AT),
        .checksum_at = load_u32(at + P64_HDR_CHECKSUM_AT),
        .manifold_at = load_u32(at + P64_HDR_MANIFOLD_AT),
        .tensor_count = load_u32(at + P64_HDR_TENSOR_COUNT_AT),
        .page_size = load_u32(at + P64_HDR_PAGE_SIZE_AT),
    };
}

/* What a file that is no P64 probably is instead; "" when nothing is recognised. */
static const char *guess_kind(const uint8_t *magic) {
    if (memcmp(magic, "GGUF", 4) == 0) {
        return " (that is a GGUF file)";
    }
    if (memcmp(magic, "P64", 4) == 0) {
        return " (upper case: no P64 writer does that)";
    }
    if (memcmp(magic, "vers", 4) == 0) {
        return " (this looks like a Git LFS pointer: fetch the real file)";
    }
    return "";
}

static fmt_status check_flags(const p64_reader *r, const p64_header *h) {
    const p64_at at = {P64_HDR_FLAGS_AT, FMT_NO_INDEX, 0, h->flags};
    if ((h->flags & P64_FLAG_LITTLE_ENDIAN) == 0) {
        return p64_refuse(r, P64_R_ENDIAN_FLAG, at, "The flags are 0x%04x; bit 0 (little-endian) must be set",
                          h->flags);
    }
    const unsigned allowed = h->version == 3 ? P64_MAX_READ_FLAGS_V3 : P64_MAX_READ_FLAGS;
    if ((h->flags & ~allowed) != 0) {
        return p64_refuse(r, P64_R_RESERVED_FLAGS, at,
                          "The flags are 0x%04x; version %u defines only the bits of 0x%04x", h->flags, h->version,
                          allowed);
    }
    return FMT_OK;
}

fmt_status p64_check_header(p64_reader *r) {
    const uint64_t size = r->span.size;
    if (size < P64_RECORD_BYTES || size > UINT32_MAX) {
        return p64_refuse(r, P64_R_FILE_SIZE, (p64_at){size, FMT_NO_INDEX, P64_RECORD_BYTES, size},
                          "The file has %llu bytes; a P64 container has 64 to 4294967295", (unsigned long long)size);
    }
    const uint8_t *bytes = r->span.data;
    if (memcmp(bytes, P64_MAGIC_BYTES, 4) != 0) {
        return p64_refuse(r, P64_R_MAGIC, (p64_at){0, FMT_NO_INDEX, 0x00343670, load_u32(bytes)},
                          "The file begins with %02x %02x %02x %02x instead of 70 36 34 00%s", bytes[0], bytes[1],
                          bytes[2], bytes[3], guess_kind(bytes));
    }
    const p64_header h = load_header(bytes);
    if (h.version != 4 && (h.version != 3 || r->mode == FMT_MODE_STRICT)) {
        return p64_refuse(r, P64_R_VERSION, (p64_at){P64_HDR_VERSION_AT, FMT_NO_INDEX, 4, h.version},
                          "The container's version is %u; this reader knows %s", h.version,
                          r->mode == FMT_MODE_STRICT ? "4 (strict mode)" : "3 and 4");
    }
    const fmt_status status = check_flags(r, &h);
    if (status != FMT_OK) {
        return status;
    }
    if (h.page_size < P64_MIN_PAGE_SIZE || (h.page_size & (h.page_size - 1)) != 0) {
        return p64_refuse(r, P64_R_PAGE_SIZE,
                          (p64_at){P64_HDR_PAGE_SIZE_AT, FMT_NO_INDEX, P64_MIN_PAGE_SIZE, h.page_size},
                          "The page size is %u; it must be a power of two of at least 256", h.page_size);
    }
    if (h.version == 3) {
        p64_note(r, P64_R_VERSION_3, (p64_at){P64_HDR_VERSION_AT, FMT_NO_INDEX, 4, 3},
                 "The container is of version 3, the first edition of the standard");
    }
    r->file->span = r->span;
    r->file->header = h;
    return FMT_OK;
}
