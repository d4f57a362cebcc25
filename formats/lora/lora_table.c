/* lora_table.c — header and table of version 2, rule by rule. */
#include <string.h>

#include "lora_internal.h"

#include "common/checked.h"
#include "common/crc32c.h"
#include "common/endian.h"

static bool is_zero(const uint8_t *bytes, uint64_t size) {
    uint8_t all = 0;
    for (uint64_t i = 0; i < size; i++) {
        all |= bytes[i];
    }
    return all == 0;
}

lora_entry lora_read_entry_v2(fmt_span span, uint32_t index) {
    const uint8_t *at = span.data + LORA_V2_HEADER_BYTES + (uint64_t)index * LORA_ENTRY_BYTES;
    const uint32_t alpha = load_u32(at + LORA_ENTRY_ALPHA_AT);
    lora_entry entry = {.role = load_u32(at + LORA_ENTRY_ROLE_AT),
                        .layer = load_u32(at + LORA_ENTRY_LAYER_AT),
                        .rank = load_u32(at + LORA_ENTRY_RANK_AT),
                        .n_in = load_u32(at + LORA_ENTRY_IN_AT),
                        .n_out = load_u32(at + LORA_ENTRY_OUT_AT),
                        .type = load_u32(at + LORA_ENTRY_DTYPE_AT),
                        .a_at = load_u64(at + LORA_ENTRY_A_AT),
                        .b_at = load_u64(at + LORA_ENTRY_B_AT)};
    const uint64_t width = entry.type == BLK_F16 ? 2 : 4;
    memcpy(&entry.alpha, &alpha, sizeof alpha);
    entry.a_bytes = (uint64_t)entry.rank * entry.n_in * width;
    entry.b_bytes = (uint64_t)entry.rank * entry.n_out * width;
    return entry;
}

static fmt_status check_header(fmt_span span, fmt_diag *diag) {
    const uint8_t *header = span.data;
    if (span.size < LORA_V2_HEADER_BYTES) {
        const diag_place place = {0, FMT_NO_INDEX, LORA_V2_HEADER_BYTES, span.size};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_HEADER_SIZE, place, "the file has %llu bytes",
                           (unsigned long long)span.size);
    }
    const uint32_t crc = crc32c(header, LORA_HEADER_CRC_AT), said = load_u32(header + LORA_HEADER_CRC_AT);
    if (crc != said) {
        const diag_place place = {LORA_HEADER_CRC_AT, FMT_NO_INDEX, crc, said};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_HEADER_CRC, place, "the header has %08x and says %08x", crc, said);
    }
    if (load_u32(header + LORA_ZERO_AT) != 0 || !is_zero(header + LORA_REST_AT, LORA_HEADER_CRC_AT - LORA_REST_AT)) {
        const diag_place place = {load_u32(header + LORA_ZERO_AT) != 0 ? LORA_ZERO_AT : LORA_REST_AT, FMT_NO_INDEX, 0, 0};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_HEADER_ZERO, place, "there is something in them");
    }
    return FMT_OK;
}

/* Counts against the bytes that are there. *out_end is where the table ends. */
static fmt_status check_extent(fmt_span span, uint32_t n_entries, uint64_t *out_end, fmt_diag *diag) {
    const uint8_t *header = span.data;
    const uint64_t bytes = load_u64(header + LORA_FILE_BYTES_AT), data_at = load_u64(header + LORA_DATA_AT_AT);
    uint64_t wanted = 0;
    if (n_entries == 0 || n_entries > LORA_MAX_ENTRIES) {
        const diag_place place = {LORA_COUNT_AT, FMT_NO_INDEX, LORA_MAX_ENTRIES, n_entries};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_COUNT, place, "the file says %u", n_entries);
    }
    if (is_zero(header + LORA_BASE_AT, LORA_DIGEST_BYTES)) {
        const diag_place place = {LORA_BASE_AT, FMT_NO_INDEX, 0, 0};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_BASE, place, "the digest of the model is not there");
    }
    if (bytes != span.size) {
        const diag_place place = {LORA_FILE_BYTES_AT, FMT_NO_INDEX, bytes, span.size};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_FILE_SIZE, place, "the file has %llu bytes, its header says %llu",
                           (unsigned long long)span.size, (unsigned long long)bytes);
    }
    *out_end = LORA_V2_HEADER_BYTES + (uint64_t)n_entries * LORA_ENTRY_BYTES;
    if (!checked_align(*out_end, LORA_ALIGNMENT, &wanted) || *out_end > span.size || data_at != wanted) {
        const diag_place place = {LORA_DATA_AT_AT, FMT_NO_INDEX, wanted, data_at};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_TABLE, place,
                           "%u entries end at byte %llu, the file has %llu bytes and its data at %llu", n_entries,
                           (unsigned long long)*out_end, (unsigned long long)span.size, (unsigned long long)data_at);
    }
    return FMT_OK;
}

static fmt_status check_order(const lora_entry *before, const lora_entry *entry, uint64_t at, uint64_t index,
                              fmt_diag *diag) {
    const lora_pair left = {.role = before->role, .layer = before->layer}, right = {.role = entry->role, .layer = entry->layer};
    if (index == 0 || lora_compare(&left, &right) < 0) {
        return FMT_OK;
    }
    const diag_place place = {at, index, 0, 0};
    return lora_refuse(diag, FMT_BAD_FILE, LORA_R_ORDER, place, "entry %llu is %s of layer %u, behind %s of layer %u",
                       (unsigned long long)index, lora_role_name(entry->role), entry->layer, lora_role_name(before->role),
                       before->layer);
}

static fmt_status check_type(fmt_span span, const lora_entry *entry, uint64_t at, uint64_t index, fmt_diag *diag) {
    if (entry->type != BLK_F32 && entry->type != BLK_F16) {
        const diag_place place = {at + LORA_ENTRY_DTYPE_AT, index, 0, entry->type};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_DTYPE, place, "entry %llu has type %u", (unsigned long long)index,
                           entry->type);
    }
    if (load_u32(span.data + at + LORA_ENTRY_ZERO_AT) != 0) {
        const diag_place place = {at + LORA_ENTRY_ZERO_AT, index, 0, load_u32(span.data + at + LORA_ENTRY_ZERO_AT)};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_ENTRY_ZERO, place, "entry %llu has something in them",
                           (unsigned long long)index);
    }
    return FMT_OK;
}

/* The matrices of an entry stand where they must, and inside the file. `*end`: where the one before ends. */
static fmt_status check_matrices(fmt_span span, const lora_entry *entry, uint64_t at, uint64_t index, uint64_t *end,
                                 fmt_diag *diag) {
    lora_entry wanted = *entry;
    const bool fits = lora_place_matrices(&wanted, end);
    if (fits && (entry->a_at != wanted.a_at || entry->b_at != wanted.b_at)) {
        const bool is_a = entry->a_at != wanted.a_at;
        const diag_place place = {at + (is_a ? LORA_ENTRY_A_AT : LORA_ENTRY_B_AT), index, is_a ? wanted.a_at : wanted.b_at,
                                  is_a ? entry->a_at : entry->b_at};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_OFFSET, place, "%c of entry %llu is at %llu, not at %llu",
                           is_a ? 'A' : 'B', (unsigned long long)index, (unsigned long long)place.got,
                           (unsigned long long)place.expected);
    }
    if (!fits || *end > span.size) {
        const diag_place place = {at + LORA_ENTRY_B_AT, index, span.size, *end};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_BOUNDS, place, "entry %llu ends behind the file's %llu bytes",
                           (unsigned long long)index, (unsigned long long)span.size);
    }
    return FMT_OK;
}

static fmt_status check_entries(fmt_span span, uint32_t n_entries, uint64_t end, fmt_diag *diag) {
    lora_entry before = {0};
    fmt_status status = FMT_OK;
    for (uint32_t i = 0; i < n_entries && status == FMT_OK; i++) {
        const uint64_t at = LORA_V2_HEADER_BYTES + (uint64_t)i * LORA_ENTRY_BYTES;
        const lora_places places = {at + LORA_ENTRY_RANK_AT, at + LORA_ENTRY_ALPHA_AT, at + LORA_ENTRY_IN_AT,
                                    at + LORA_ENTRY_OUT_AT, i};
        lora_entry entry = lora_read_entry_v2(span, i);
        status = lora_check_place(&entry, at, i, FMT_BAD_FILE, diag);
        status = status == FMT_OK ? check_order(&before, &entry, at, i, diag) : status;
        status = status == FMT_OK ? check_type(span, &entry, at, i, diag) : status;
        status = status == FMT_OK ? lora_check_shape(&entry, &places, FMT_BAD_FILE, diag) : status;
        status = status == FMT_OK ? check_matrices(span, &entry, at, i, &end, diag) : status;
        before = entry;
    }
    if (status == FMT_OK && end != span.size) {
        const diag_place place = {end, FMT_NO_INDEX, end, span.size};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_LENGTH, place, "the last matrix ends at byte %llu of %llu",
                           (unsigned long long)end, (unsigned long long)span.size);
    }
    return status;
}

fmt_status lora_open_v2(fmt_span span, lora_file *out_file, fmt_diag *diag) {
    uint64_t table_end = 0;
    fmt_status status = check_header(span, diag);
    const uint32_t n_entries = status == FMT_OK ? load_u32(span.data + LORA_COUNT_AT) : 0;
    status = status == FMT_OK ? check_extent(span, n_entries, &table_end, diag) : status;
    if (status != FMT_OK) {
        return status;
    }
    const uint32_t crc = crc32c(span.data + LORA_V2_HEADER_BYTES, table_end - LORA_V2_HEADER_BYTES);
    const uint32_t said = load_u32(span.data + LORA_TABLE_CRC_AT);
    if (crc != said) {
        const diag_place place = {LORA_TABLE_CRC_AT, FMT_NO_INDEX, crc, said};
        return lora_refuse(diag, FMT_BAD_FILE, LORA_R_TABLE_CRC, place, "the table has %08x, the header says %08x", crc, said);
    }
    status = check_entries(span, n_entries, table_end, diag);
    if (status == FMT_OK) {
        *out_file = (lora_file){.span = span, .version = 2, .n_entries = n_entries, .payload_at = table_end};
        memcpy(out_file->base, span.data + LORA_BASE_AT, LORA_DIGEST_BYTES);
        memcpy(out_file->payload, span.data + LORA_DIGEST_AT, LORA_DIGEST_BYTES);
    }
    return status;
}
