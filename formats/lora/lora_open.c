/* lora_open.c — which version it is, version 1, and reading a payload. */
#include <string.h>

#include "lora_internal.h"

#include "common/checked.h"
#include "common/endian.h"
#include "common/sha.h"

static const char magic[4] = {'L', 'O', 'R', 'A'};

static float load_f32(const uint8_t *at) {
    const uint32_t bits = load_u32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool lora_has_magic(fmt_span span) {
    return span.size >= sizeof magic && memcmp(span.data, magic, sizeof magic) == 0;
}

fmt_status lora_open(fmt_span span, lora_file *out_file, fmt_diag *diag) {
    const diag_place start = {0, FMT_NO_INDEX, LORA_V1_HEADER_BYTES, span.size};
    const size_t readable = span.size < sizeof magic ? (size_t)span.size : sizeof magic;
    if (readable > 0 && memcmp(span.data, magic, readable) != 0) {
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_MAGIC, start, "the file begins otherwise");
    }
    if (span.size < LORA_V1_HEADER_BYTES) {
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_HEADER_SIZE, start, "the file has %llu bytes",
                           (unsigned long long)span.size);
    }
    const uint32_t version = load_u32(span.data + 4);
    switch (version) {
    case 1: return lora_open_v1(span, out_file, diag);
    case 2: return lora_open_v2(span, out_file, diag);
    default: break;
    }
    const diag_place place = {4, FMT_NO_INDEX, 2, version};
    return lora_refuse(diag, FMT_BAD_FILE, LORA_R_VERSION, place, "the file has version %u", version);
}

lora_entry lora_read_entry_v1(fmt_span span) {
    const uint8_t *header = span.data;
    lora_entry entry = {.role = LORA_EMBEDDING,
                        .layer = LORA_NO_LAYER,
                        .rank = load_u32(header + LORA_V1_RANK_AT),
                        .alpha = load_f32(header + LORA_V1_ALPHA_AT),
                        .n_in = load_u32(header + LORA_V1_IN_AT),
                        .n_out = load_u32(header + LORA_V1_OUT_AT),
                        .type = BLK_F32,
                        .a_at = LORA_V1_HEADER_BYTES};
    entry.a_bytes = (uint64_t)entry.rank * entry.n_in * sizeof(float);
    entry.b_bytes = (uint64_t)entry.rank * entry.n_out * sizeof(float);
    entry.b_at = entry.a_at + entry.a_bytes;
    return entry;
}

fmt_status lora_open_v1(fmt_span span, lora_file *out_file, fmt_diag *diag) {
    static const lora_places places = {LORA_V1_RANK_AT, LORA_V1_ALPHA_AT, LORA_V1_IN_AT, LORA_V1_OUT_AT, FMT_NO_INDEX};
    lora_entry entry = lora_read_entry_v1(span);
    uint64_t size;
    const fmt_status status = lora_check_shape(&entry, &places, FMT_BAD_FILE, diag);
    if (status != FMT_OK) {
        return status;
    }
    if (!checked_add(entry.a_bytes + entry.b_bytes, LORA_V1_HEADER_BYTES, &size)) {
        const diag_place place = {LORA_V1_RANK_AT, FMT_NO_INDEX, 0, entry.rank};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_SIZE, place, "rank %u, n_in %u and n_out %u", entry.rank, entry.n_in,
                           entry.n_out);
    }
    if (size != span.size) {
        const diag_place place = {size < span.size ? size : span.size, FMT_NO_INDEX, size, span.size};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_LENGTH, place, "the file has %llu bytes, its header asks for %llu",
                           (unsigned long long)span.size, (unsigned long long)size);
    }
    *out_file = (lora_file){.span = span,
                            .version = 1,
                            .n_entries = 1,
                            .adapter_id = span.data[LORA_V1_ID_AT],
                            .payload_at = LORA_V1_HEADER_BYTES};
    memcpy(out_file->payload, span.data + LORA_V1_DIGEST_AT, LORA_DIGEST_BYTES);
    return FMT_OK;
}

lora_entry lora_get_entry(const lora_file *file, uint32_t index) {
    return file->version == 1 ? lora_read_entry_v1(file->span) : lora_read_entry_v2(file->span, index);
}

/* ---------------------------------------------------------------- the payload */

static fmt_status check_digest(const lora_file *file, fmt_diag *diag) {
    uint8_t digest[SHA256_BYTES];
    const uint64_t size = file->span.size - file->payload_at;
    const diag_place place = {file->version == 1 ? LORA_V1_DIGEST_AT : LORA_DIGEST_AT, FMT_NO_INDEX, 0, 0};
    if (!sha256_digest(file->span.data + file->payload_at, size, digest)) {
        return lora_refuse(diag, FMT_IO, LORA_R_DIGEST, place, "libcrypto made no digest");
    }
    if (memcmp(digest, file->payload, sizeof digest) != 0) {
        char got[SHA256_HEX_SIZE];
        sha256_to_hex(digest, got);
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_DIGEST, place, "the payload has %.16s…", got);
    }
    return FMT_OK;
}

static fmt_status check_padding(const lora_file *file, uint64_t from, uint64_t to, uint64_t index, fmt_diag *diag) {
    for (uint64_t at = from; at < to; at++) {
        if (file->span.data[at] != 0) {
            const diag_place place = {at, index, 0, file->span.data[at]};
            return lora_refuse(diag, FMT_BAD_FILE, LORA_R_PADDING, place, "byte %llu is 0x%02x", (unsigned long long)at,
                               file->span.data[at]);
        }
    }
    return FMT_OK;
}

static fmt_status check_values(const lora_file *file, const lora_entry *entry, uint64_t index, fmt_diag *diag) {
    const uint64_t width = entry->type == BLK_F16 ? 2 : 4;
    const uint64_t at[] = {entry->a_at, entry->b_at}, bytes[] = {entry->a_bytes, entry->b_bytes};
    for (int k = 0; k < 2; k++) {
        uint64_t element;
        if (blk_find_nonfinite(entry->type, file->span.data + at[k], 0, bytes[k] / width, &element)) {
            const diag_place place = {at[k] + element * width, index, 0, 0};
            return lora_refuse(diag, FMT_BAD_FILE, LORA_R_VALUE, place, "element %llu of %c of entry %llu, %s, is NaN or infinite",
                               (unsigned long long)element, "AB"[k], (unsigned long long)index,
                               lora_role_name(entry->role));
        }
    }
    return FMT_OK;
}

fmt_status lora_check_payload(const lora_file *file, fmt_diag *diag) {
    uint64_t end = file->payload_at;
    fmt_status status = FMT_OK;
    for (uint32_t i = 0; i < file->n_entries && status == FMT_OK && file->version > 1; i++) {
        const lora_entry entry = lora_get_entry(file, i);
        status = check_padding(file, end, entry.a_at, i, diag);
        status = status == FMT_OK ? check_padding(file, entry.a_at + entry.a_bytes, entry.b_at, i, diag) : status;
        end = entry.b_at + entry.b_bytes;
    }
    status = status == FMT_OK ? check_digest(file, diag) : status;
    for (uint32_t i = 0; i < file->n_entries && status == FMT_OK; i++) {
        const lora_entry entry = lora_get_entry(file, i);
        status = check_values(file, &entry, i, diag);
    }
    return status;
}
