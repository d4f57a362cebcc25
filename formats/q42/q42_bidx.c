/* q42_bidx.c — the index of objects: which blocks may hold an object (section 5.1 of the format's document). */
#include <string.h>

#include "common/checked.h"
#include "q42_internal.h"

fmt_status q42_check_index_header(const q42_reader *reader, const q42_header *header, q42_section section,
                                  const char *magic, q42_rule_no rule) {
    const uint8_t *at = q42_section_data(reader->span, section);
    if (section.length < Q42_INDEX_HEADER_BYTES) {
        const diag_place here = {section.offset, FMT_NO_INDEX, Q42_INDEX_HEADER_BYTES, section.length};
        return q42_refuse(reader->diag, rule, here, "the %s has %llu bytes", magic, (ull)section.length);
    }
    if (memcmp(at, magic, 4) != 0) {
        char quoted[DIAG_QUOTE_SIZE];
        return q42_refuse(reader->diag, rule, ((diag_place){section.offset, FMT_NO_INDEX, 0, 0}),
                          "the section begins with %s", diag_quote(quoted, (fmt_str){(const char *)at, 4}));
    }
    const uint32_t version = load_u32(at + Q42_INDEX_VERSION_AT);
    if (version != Q42_INDEX_VERSION) {
        const diag_place here = {section.offset + Q42_INDEX_VERSION_AT, FMT_NO_INDEX, Q42_INDEX_VERSION, version};
        return q42_refuse(reader->diag, rule, here, "the %s has version %u", magic, version);
    }
    const uint32_t count = load_u32(at + Q42_INDEX_COUNT_AT);
    if (count != header->block_count) {
        const diag_place here = {section.offset + Q42_INDEX_COUNT_AT, FMT_NO_INDEX, header->block_count, count};
        return q42_refuse(reader->diag, rule, here, "the %s is of %u blocks, the volume has %llu", magic, count,
                          (ull)header->block_count);
    }
    return FMT_OK;
}

static q42_range load_range(const uint8_t *at) {
    const q42_range range = {load_u64(at), load_u64(at + 8)};
    return range;
}

static fmt_status check_range(const q42_reader *reader, uint64_t offset, uint64_t block, q42_range before,
                              q42_range range) {
    if (range.least > range.most) {
        const diag_place here = {offset, block, range.most, range.least};
        return q42_refuse(reader->diag, Q42_R_BIDX_RANGE, here, "block %llu goes from object %016llx to %016llx",
                          (ull)block, (ull)range.least, (ull)range.most);
    }
    if (range.least < before.least || range.most < before.most) {
        const bool is_least = range.least < before.least;
        const diag_place here = {offset + (is_least ? 0 : 8), block, is_least ? before.least : before.most,
                                 is_least ? range.least : range.most};
        return q42_refuse(reader->diag, Q42_R_BIDX_ORDER, here,
                          "block %llu goes from object %016llx to %016llx, the one before from %016llx to %016llx",
                          (ull)block, (ull)range.least, (ull)range.most, (ull)before.least, (ull)before.most);
    }
    return FMT_OK;
}

fmt_status q42_check_bidx(const q42_reader *reader, const q42_header *header) {
    const q42_section section = header->bidx;
    if (section.length == 0) {
        return FMT_OK;
    }
    const fmt_status status = q42_check_index_header(reader, header, section, Q42_BIDX_MAGIC, Q42_R_BIDX_HEADER);
    if (status != FMT_OK) {
        return status;
    }
    const uint64_t length = Q42_INDEX_HEADER_BYTES + Q42_BIDX_ENTRY_BYTES * header->block_count; /* count is u32 */
    if (section.length != length) {
        const diag_place here = {Q42_BIDX_AT + 8, FMT_NO_INDEX, length, section.length};
        return q42_refuse(reader->diag, Q42_R_BIDX_HEADER, here, "the BIDX has %llu bytes for %llu blocks",
                          (ull)section.length, (ull)header->block_count);
    }
    const uint8_t *entries = q42_section_data(reader->span, section) + Q42_INDEX_HEADER_BYTES;
    q42_range before = {0, 0};
    for (uint64_t i = 0; i < header->block_count; i++) {
        const q42_range range = load_range(entries + i * Q42_BIDX_ENTRY_BYTES);
        const uint64_t offset = section.offset + Q42_INDEX_HEADER_BYTES + i * Q42_BIDX_ENTRY_BYTES;
        const fmt_status here = check_range(reader, offset, i, before, range);
        if (here != FMT_OK) {
            return here;
        }
        before = range;
    }
    return FMT_OK;
}

fmt_status q42_bidx_check(fmt_span span, uint64_t *out_n_blocks, fmt_diag *diag) {
    const q42_reader reader = {.span = span, .diag = diag};
    const bool has_head = span.size >= Q42_INDEX_HEADER_BYTES;
    const q42_header header = {.bidx = {0, span.size},
                               .block_count = has_head ? load_u32(span.data + Q42_INDEX_COUNT_AT) : 0};
    const fmt_status status = has_head ? q42_check_bidx(&reader, &header)
                                       : q42_refuse(diag, Q42_R_BIDX_HEADER,
                                                    ((diag_place){0, FMT_NO_INDEX, Q42_INDEX_HEADER_BYTES, span.size}),
                                                    "the file has %llu bytes", (ull)span.size);
    if (status == FMT_OK) {
        *out_n_blocks = header.block_count;
    }
    return status;
}

q42_range q42_object_range(const q42_volume *volume, uint64_t block) {
    return load_range(q42_section_data(volume->span, volume->header.bidx) + Q42_INDEX_HEADER_BYTES +
                      block * Q42_BIDX_ENTRY_BYTES);
}

/* First block whose largest object (or, with is_least, whose smallest) is at or above `object`; block_count without
 * one. */
static uint64_t lower_bound(const q42_volume *volume, bool is_least, uint64_t object) {
    uint64_t low = 0, high = volume->header.block_count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const q42_range range = q42_object_range(volume, middle);
        if ((is_least ? range.least : range.most) < object) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void q42_object_blocks(const q42_volume *volume, uint64_t least, uint64_t most, uint64_t *out_begin,
                       uint64_t *out_end) {
    const uint64_t begin = lower_bound(volume, false, least);
    const uint64_t end = most == UINT64_MAX ? volume->header.block_count : lower_bound(volume, true, most + 1);
    *out_begin = begin;
    *out_end = least <= most && end > begin ? end : begin;
}
