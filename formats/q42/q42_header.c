/* q42_header.c — the first 256 bytes of a volume: is it one, of which version, and what does it say (section 3 of the
 * format's document). */
#include <string.h>

#include "common/checked.h"
#include "q42_internal.h"

#define OLD_CHUNK_BYTES 393216u /* decoded size of a full block in the early imports */

/* ---------------------------------------------------------------------------------------------- what kind of file */

static const struct {
    const char *magic;
    uint32_t size;
    const char *what;
} other_kinds[] = {
    {"Q42J", 4, "a journal of edits (Q42J)"},   {"Q42LEX\0", 8, "a lexicon on its own (Q42LEX)"},
    {"BIDX", 4, "an index of objects on its own (BIDX)"},
    {"QCHK", 4, "a capability envelope (QCHK)"}, {"p64\0", 4, "a P64 container"},
    {"Q42W", 4, "a file of weights of the old kind Q42W"}, {"QKVP", 4, "a page of a KV cache (QKVP)"},
    {"GGUF", 4, "a GGUF file"},
};

static fmt_status refuse_magic(const q42_reader *reader) {
    const uint8_t *start = reader->span.data;
    for (size_t i = 0; i < sizeof other_kinds / sizeof other_kinds[0]; i++) {
        if (memcmp(start, other_kinds[i].magic, other_kinds[i].size) == 0) {
            return diag_refuse(reader->diag, FMT_UNSUPPORTED, q42_get_rule(Q42_R_OTHER_KIND),
                               (diag_place){0, FMT_NO_INDEX, 0, 0}, "this is %s", other_kinds[i].what);
        }
    }
    return q42_refuse(reader->diag, Q42_R_MAGIC, ((diag_place){0, FMT_NO_INDEX, 0, 0}),
                      "the file begins with %02x %02x %02x %02x", start[0], start[1], start[2], start[3]);
}

static fmt_status check_version(const q42_reader *reader, uint16_t version) {
    const diag_place here = {Q42_VERSION_AT, FMT_NO_INDEX, Q42_VERSION_WRITTEN, version};
    if (version < Q42_VERSION_WRITTEN) {
        return diag_refuse(reader->diag, FMT_UNSUPPORTED, q42_get_rule(Q42_R_VERSION_OLD), here,
                           "this is a volume of version %u", version);
    }
    if (version > Q42_VERSION_NEWEST) {
        return diag_refuse(reader->diag, FMT_UNSUPPORTED, q42_get_rule(Q42_R_VERSION), here,
                           "this is a volume of version %u", version);
    }
    return FMT_OK;
}

/* ---------------------------------------------------------------------------------------------------------- fields */

static q42_section load_section(const uint8_t *header, uint32_t at) {
    const q42_section section = {load_u64(header + at), load_u64(header + at + 8)};
    return section;
}

static void load_header(const uint8_t *at, q42_header *header) {
    header->version = load_u16(at + Q42_VERSION_AT);
    header->flags = load_u16(at + Q42_FLAGS_AT);
    header->lexicon = load_section(at, Q42_LEXICON_AT);
    header->bidx = load_section(at, Q42_BIDX_AT);
    header->directory = load_section(at, Q42_DIRECTORY_AT);
    header->data = load_section(at, Q42_DATA_AT);
    header->block_count = load_u64(at + Q42_BLOCK_COUNT_AT);
    header->temporal = load_section(at, Q42_TEMPORAL_AT);
    memcpy(header->merkle_root, at + Q42_MERKLE_ROOT_AT, Q42_DIGEST_BYTES);
    header->timestamp_ms = load_u64(at + Q42_TIMESTAMP_AT);
    header->dag = load_section(at, Q42_DAG_AT);
    header->person_did_at = load_u64(at + Q42_PERSON_DID_AT);
    header->agent_did_at = load_u64(at + Q42_AGENT_DID_AT);
    const q42_section absent = {0, 0}; /* what a flag does not announce is not there, whatever the words say */
    header->manifest = header->flags & Q42_FLAG_VOLUME_ROOT ? load_section(at, Q42_MANIFEST_AT) : absent;
    header->fidx = header->flags & Q42_FLAG_FIELD_RANGES ? load_section(at, Q42_FIDX_AT) : absent;
    header->pidx = header->flags & Q42_FLAG_FIELD_POSTINGS ? load_section(at, Q42_PIDX_AT) : absent;
}

/* The imports of June 2026: version 3, no lexicon, no BIDX, blocks of up to 8,192 bare quins. */
static bool is_early_import(const q42_reader *reader, const q42_header *header) {
    if (header->block_count == 0 || header->lexicon.length != 0 || header->bidx.length != 0 ||
        header->directory.length < Q42_DIRECTORY_ENTRY_BYTES ||
        !checked_range(header->directory.offset, header->directory.length, reader->span.size)) {
        return false;
    }
    const uint32_t decoded = load_u32(q42_section_data(reader->span, header->directory) + 12);
    return decoded != Q42_BLOCK_BYTES && decoded > 0 && decoded <= OLD_CHUNK_BYTES && decoded % Q42_QUIN_BYTES == 0;
}

static fmt_status check_constants(const q42_reader *reader, const q42_header *header) {
    const uint8_t *at = reader->span.data;
    const uint32_t block_size = load_u32(at + Q42_BLOCK_SIZE_AT);
    const uint32_t per_block = load_u32(at + Q42_QUINS_PER_BLOCK_AT);
    const diag_place flags = {Q42_FLAGS_AT, FMT_NO_INDEX, 0, header->flags};
    if ((header->flags & Q42_FLAG_BLOCKS_LZ4) == 0) {
        return q42_refuse(reader->diag, Q42_R_BLOCKS_LZ4, flags, "the flags are 0x%04x", header->flags);
    }
    if (header->block_count > 0 && (header->flags & Q42_FLAG_OBJECT_SORTED) == 0) {
        return q42_refuse(reader->diag, Q42_R_OBJECT_SORTED, flags, "the flags are 0x%04x", header->flags);
    }
    if (block_size != Q42_BLOCK_BYTES) {
        const diag_place here = {Q42_BLOCK_SIZE_AT, FMT_NO_INDEX, Q42_BLOCK_BYTES, block_size};
        return q42_refuse(reader->diag, Q42_R_BLOCK_SIZE, here, "block_size is %u", block_size);
    }
    if (per_block != Q42_BLOCK_QUINS) {
        const diag_place here = {Q42_QUINS_PER_BLOCK_AT, FMT_NO_INDEX, Q42_BLOCK_QUINS, per_block};
        return q42_refuse(reader->diag, Q42_R_QUINS_PER_BLOCK, here, "quins_per_block is %u", per_block);
    }
    return FMT_OK;
}

/* A flag without its section. */
static fmt_status check_announced(const q42_reader *reader, const q42_header *header) {
    const struct {
        uint16_t flag;
        q42_section section;
        uint32_t at;
        const char *name;
    } announced[] = {
        {Q42_FLAG_VOLUME_ROOT, header->manifest, Q42_MANIFEST_AT, "manifest"},
        {Q42_FLAG_FIELD_RANGES, header->fidx, Q42_FIDX_AT, "index of fields (FIDX)"},
        {Q42_FLAG_FIELD_POSTINGS, header->pidx, Q42_PIDX_AT, "section of postings (PIDX)"},
    };
    for (size_t i = 0; i < sizeof announced / sizeof announced[0]; i++) {
        if ((header->flags & announced[i].flag) != 0 && announced[i].section.length == 0) {
            const diag_place here = {announced[i].at + 8, FMT_NO_INDEX, 1, 0};
            return q42_refuse(reader->diag, Q42_R_SECTION_ABSENT, here, "flag 0x%04x announces a %s, whose length is 0",
                              announced[i].flag, announced[i].name);
        }
    }
    return FMT_OK;
}

static fmt_status check_lengths(const q42_reader *reader, const q42_header *header) {
    uint64_t directory_length;
    if (!checked_mul(header->block_count, Q42_DIRECTORY_ENTRY_BYTES, &directory_length) ||
        header->directory.length != directory_length) {
        const diag_place here = {Q42_DIRECTORY_AT + 8, FMT_NO_INDEX, header->block_count, header->directory.length};
        return q42_refuse(reader->diag, Q42_R_DIRECTORY_LENGTH, here, "the directory has %llu bytes for %llu blocks",
                          (ull)header->directory.length, (ull)header->block_count);
    }
    if (header->block_count > 0 && header->bidx.length == 0) {
        return q42_refuse(reader->diag, Q42_R_BIDX_ABSENT, ((diag_place){Q42_BIDX_AT + 8, FMT_NO_INDEX, 1, 0}),
                          "the volume has %llu blocks and no BIDX", (ull)header->block_count);
    }
    if (header->block_count == 0 && header->data.length != 0) {
        const diag_place here = {Q42_DATA_AT + 8, FMT_NO_INDEX, 0, header->data.length};
        return q42_refuse(reader->diag, Q42_R_DATA_LENGTH, here, "there are %llu bytes of data for 0 blocks",
                          (ull)header->data.length);
    }
    return check_announced(reader, header);
}

static fmt_status check_did_offsets(const q42_reader *reader, const q42_header *header) {
    const uint64_t offsets[2] = {header->person_did_at, header->agent_did_at};
    for (uint32_t i = 0; i < 2; i++) {
        if (offsets[i] > reader->span.size) {
            const diag_place here = {Q42_PERSON_DID_AT + 8 * i, FMT_NO_INDEX, reader->span.size, offsets[i]};
            return q42_refuse(reader->diag, Q42_R_DID_OFFSET, here, "a DID offset is %llu in a file of %llu bytes",
                              (ull)offsets[i], (ull)reader->span.size);
        }
    }
    return FMT_OK;
}

fmt_status q42_read_header(const q42_reader *reader, q42_header *out_header) {
    const fmt_span span = reader->span;
    if (span.size >= Q42_MAGIC_BYTES && memcmp(span.data, Q42_MAGIC, Q42_MAGIC_BYTES) != 0 &&
        span.size >= Q42_LEX_MAGIC_BYTES) {
        return refuse_magic(reader);
    }
    if (span.size < Q42_HEADER_BYTES) {
        const diag_place here = {span.size, FMT_NO_INDEX, Q42_HEADER_BYTES, span.size};
        return q42_refuse(reader->diag, Q42_R_FILE_SIZE, here, "the file has %llu bytes", (ull)span.size);
    }
    load_header(span.data, out_header);
    fmt_status status = check_version(reader, out_header->version);
    if (status == FMT_OK && is_early_import(reader, out_header)) {
        return diag_refuse(reader->diag, FMT_UNSUPPORTED, q42_get_rule(Q42_R_EARLY_IMPORT),
                           (diag_place){Q42_VERSION_AT, FMT_NO_INDEX, 0, 0},
                           "this is a volume of the early version-3 import, without lexicon and index");
    }
    status = status == FMT_OK ? check_constants(reader, out_header) : status;
    status = status == FMT_OK ? check_lengths(reader, out_header) : status;
    return status == FMT_OK ? check_did_offsets(reader, out_header) : status;
}
