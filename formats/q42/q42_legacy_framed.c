/* q42_legacy_framed.c — framed transport, bare quins, and version 2 headers (sections 11.1, 12.2 and 12.3 of the format's document). */
#include <lz4.h>
#include <string.h>

#include "common/endian.h"
#include "q42_files_internal.h"

#define FRAME_HEAD 16u
#define SIZE_WORD 4u

static fmt_status check_frame(fmt_span span, uint64_t at, fmt_diag *diag) {
    if (span.size - at < FRAME_HEAD + SIZE_WORD) {
        const diag_place here = {at, FMT_NO_INDEX, FRAME_HEAD + SIZE_WORD, span.size - at};
        return files_refuse(diag, Q42F_R_FRAME_HEAD, here, "%llu bytes are left", (unsigned long long)(span.size - at));
    }
    const uint32_t packed = load_u32(span.data + at + 8), plain = load_u32(span.data + at + 12);
    if (packed < SIZE_WORD || packed > span.size - at - FRAME_HEAD) {
        const diag_place here = {at + 8, FMT_NO_INDEX, span.size - at - FRAME_HEAD, packed};
        return files_refuse(diag, Q42F_R_FRAME_HEAD, here, "a frame says %u bytes and %llu are left", packed,
                            (unsigned long long)(span.size - at - FRAME_HEAD));
    }
    const uint32_t word = load_u32(span.data + at + FRAME_HEAD);
    if (plain > Q42_CHUNK_BYTES || plain % Q42_QUIN_BYTES != 0 || word != plain) {
        const diag_place here = {at + 12, FMT_NO_INDEX, word, plain};
        return files_refuse(diag, Q42F_R_FRAME_SIZE, here, "a frame says %u bytes, its content %u", plain, word);
    }
    return FMT_OK;
}

static bool is_zero_quin(const uint8_t *quin) {
    static const uint8_t zeros[Q42_QUIN_BYTES];
    return memcmp(quin, zeros, sizeof zeros) == 0;
}

/* Moves the quins that are no padding together. */
static uint32_t drop_padding(uint8_t *room, uint32_t n_quins) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_quins; i++) {
        const uint8_t *quin = room + (uint64_t)i * Q42_QUIN_BYTES;
        if (!is_zero_quin(quin)) {
            memmove(room + (uint64_t)kept * Q42_QUIN_BYTES, quin, Q42_QUIN_BYTES);
            kept++;
        }
    }
    return kept;
}

fmt_status q42_framed_next(fmt_span span, uint64_t *at, uint8_t *room, uint32_t *out_n_quins, fmt_diag *diag) {
    const uint64_t begin = *at;
    if (begin == span.size) {
        return FMT_NOT_FOUND;
    }
    const fmt_status status = check_frame(span, begin, diag);
    if (status != FMT_OK) {
        return status;
    }
    const uint32_t packed = load_u32(span.data + begin + 8), plain = load_u32(span.data + begin + 12);
    const char *content = (const char *)span.data + begin + FRAME_HEAD + SIZE_WORD;
    const int decoded = LZ4_decompress_safe(content, (char *)room, (int)(packed - SIZE_WORD), (int)plain);
    if (packed - SIZE_WORD > (uint32_t)INT32_MAX || decoded < 0 || (uint32_t)decoded != plain) {
        const diag_place here = {begin + FRAME_HEAD + SIZE_WORD, FMT_NO_INDEX, plain, decoded < 0 ? 0 : (uint64_t)decoded};
        return files_refuse(diag, Q42F_R_FRAME_LZ4, here, "a content of %u bytes does not give %u", packed, plain);
    }
    *out_n_quins = drop_padding(room, plain / Q42_QUIN_BYTES);
    *at = begin + FRAME_HEAD + packed;
    return FMT_OK;
}

fmt_status q42_flat_count(fmt_span span, uint64_t *out_n_quins, fmt_diag *diag) {
    if (span.size % Q42_QUIN_BYTES != 0) {
        const diag_place here = {span.size - span.size % Q42_QUIN_BYTES, FMT_NO_INDEX, 0, span.size % Q42_QUIN_BYTES};
        return files_refuse(diag, Q42F_R_FLAT_SIZE, here, "the file has %llu bytes, %llu too many",
                            (unsigned long long)span.size, (unsigned long long)(span.size % Q42_QUIN_BYTES));
    }
    *out_n_quins = span.size / Q42_QUIN_BYTES;
    return FMT_OK;
}

fmt_status q42_migrate_header(uint8_t header[Q42_HEADER_BYTES], bool *out_changed, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    const uint16_t version = load_u16(header + 4);
    if (memcmp(header, "Q42\0", 4) != 0) {
        const fmt_str start = {(const char *)header, 4};
        return files_refuse(diag, Q42F_R_MIGRATE_MAGIC, files_at(0), "the file begins with %s",
                            diag_quote(quoted, start));
    }
    if (version < 2 || version > 4) {
        const diag_place here = {4, FMT_NO_INDEX, 2, version};
        return files_refuse(diag, Q42F_R_MIGRATE_VERSION, here, "the version is %u", (unsigned)version);
    }
    *out_changed = version == 2;
    if (version == 2) {
        store_u16(header + 4, 3);
        store_u16(header + 6, load_u16(header + 6) & (Q42_FLAG_BLOCKS_LZ4 | Q42_FLAG_OBJECT_SORTED));
        memset(header + 88, 0, Q42_HEADER_BYTES - 88);
    }
    return FMT_OK;
}
