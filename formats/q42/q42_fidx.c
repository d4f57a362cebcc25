/* q42_fidx.c — the index of fields: smallest and largest subject, predicate and context of each block (section 5.2 of
 * the format's document). */
#include "q42_internal.h"

static q42_range load_range(const uint8_t *entry, q42_field field) {
    const q42_range range = {load_u64(entry + 16 * field), load_u64(entry + 16 * field + 8)};
    return range;
}

static const uint8_t *find_entry(fmt_span span, q42_section section, uint64_t block) {
    return q42_section_data(span, section) + Q42_INDEX_HEADER_BYTES + block * Q42_FIDX_ENTRY_BYTES;
}

static fmt_status check_entry(const q42_reader *reader, q42_section section, uint64_t block) {
    static const char *const names[] = {"subject", "predicate", "context"};
    const uint8_t *entry = find_entry(reader->span, section, block);
    for (q42_field field = Q42_SUBJECT; field <= Q42_CONTEXT; field++) {
        const q42_range range = load_range(entry, field);
        if (range.least > range.most) {
            const uint64_t offset = (uint64_t)(entry - reader->span.data) + 16 * field;
            return q42_refuse(reader->diag, Q42_R_FIDX_RANGE, ((diag_place){offset, block, range.most, range.least}),
                              "block %llu goes from %s %016llx to %016llx", (ull)block, names[field], (ull)range.least,
                              (ull)range.most);
        }
    }
    return FMT_OK;
}

fmt_status q42_check_fidx(const q42_reader *reader, const q42_header *header) {
    const q42_section section = header->fidx;
    if (section.length == 0) {
        return FMT_OK;
    }
    fmt_status status = q42_check_index_header(reader, header, section, Q42_FIDX_MAGIC, Q42_R_FIDX_HEADER);
    const uint64_t length = Q42_INDEX_HEADER_BYTES + Q42_FIDX_ENTRY_BYTES * header->block_count;
    if (status == FMT_OK && section.length != length) {
        const diag_place here = {Q42_FIDX_AT + 8, FMT_NO_INDEX, length, section.length};
        return q42_refuse(reader->diag, Q42_R_FIDX_HEADER, here, "the FIDX has %llu bytes for %llu blocks",
                          (ull)section.length, (ull)header->block_count);
    }
    for (uint64_t i = 0; status == FMT_OK && i < header->block_count; i++) {
        status = check_entry(reader, section, i);
    }
    return status;
}

q42_range q42_field_range(const q42_volume *volume, uint64_t block, q42_field field) {
    return load_range(find_entry(volume->span, volume->header.fidx, block), field);
}
