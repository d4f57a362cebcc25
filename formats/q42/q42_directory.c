/* q42_directory.c — where each compressed block lies (section 6 of the format's document). */
#include "q42_internal.h"

static fmt_status check_entry(const q42_reader *reader, uint64_t offset, uint64_t block, uint64_t sum) {
    const uint8_t *entry = reader->span.data + offset;
    const uint64_t start = load_u64(entry);
    const uint32_t size = load_u32(entry + 8);
    const uint32_t decoded = load_u32(entry + 12);
    if (size < Q42_PAYLOAD_PREFIX_BYTES) {
        const diag_place here = {offset + 8, block, Q42_PAYLOAD_PREFIX_BYTES, size};
        return q42_refuse(reader->diag, Q42_R_DIRECTORY_SIZE, here, "block %llu has %u bytes", (ull)block, size);
    }
    if (decoded != Q42_BLOCK_BYTES) {
        const diag_place here = {offset + 12, block, Q42_BLOCK_BYTES, decoded};
        return q42_refuse(reader->diag, Q42_R_DIRECTORY_DECODED, here, "block %llu has %u bytes decoded", (ull)block,
                          decoded);
    }
    if (start != sum) {
        const diag_place here = {offset, block, sum, start};
        return q42_refuse(reader->diag, Q42_R_DIRECTORY_OFFSET, here,
                          "block %llu begins at byte %llu of the data, the blocks before end at byte %llu", (ull)block,
                          (ull)start, (ull)sum);
    }
    return FMT_OK;
}

fmt_status q42_check_directory(const q42_reader *reader, const q42_header *header) {
    uint64_t sum = 0; /* at most block_count * 2^32; the directory itself lies in the file, so this cannot wrap */
    for (uint64_t i = 0; i < header->block_count; i++) {
        const uint64_t offset = header->directory.offset + i * Q42_DIRECTORY_ENTRY_BYTES;
        const fmt_status status = check_entry(reader, offset, i, sum);
        if (status != FMT_OK) {
            return status;
        }
        sum += load_u32(reader->span.data + offset + 8);
    }
    if (sum != header->data.length) {
        const diag_place here = {Q42_DATA_AT + 8, FMT_NO_INDEX, sum, header->data.length};
        return q42_refuse(reader->diag, Q42_R_DIRECTORY_TOTAL, here,
                          "the blocks have %llu bytes together, the data section has %llu", (ull)sum,
                          (ull)header->data.length);
    }
    return FMT_OK;
}

q42_directory_entry q42_get_directory_entry(const q42_volume *volume, uint64_t block) {
    const uint8_t *entry =
        q42_section_data(volume->span, volume->header.directory) + block * Q42_DIRECTORY_ENTRY_BYTES;
    const q42_directory_entry found = {volume->header.data.offset + load_u64(entry), load_u32(entry + 8)};
    return found;
}
