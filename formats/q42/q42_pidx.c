/* q42_pidx.c — postings: which subjects, predicates and contexts a block may hold (section 5.3 of the format's
 * document).
 *
 *     16 bytes   header
 *     4 (n + 1)  where the lists of each block begin; the first 0
 *     lists      of each block: subject, predicate, context; each a list of rising values or a Bloom filter
 */
#include "q42_internal.h"

static const uint8_t *find_table(fmt_span span, q42_section section) {
    return q42_section_data(span, section) + Q42_INDEX_HEADER_BYTES;
}

static fmt_status check_table(const q42_reader *reader, q42_section section, uint64_t n_blocks) {
    const uint8_t *table = find_table(reader->span, section);
    const uint64_t table_at = section.offset + Q42_INDEX_HEADER_BYTES;
    const uint64_t lists = section.length - Q42_INDEX_HEADER_BYTES - 4 * (n_blocks + 1);
    uint32_t before = 0;
    for (uint64_t i = 0; i <= n_blocks; i++) {
        const uint32_t at = load_u32(table + 4 * i);
        if ((i == 0 && at != 0) || at < before) {
            return q42_refuse(reader->diag, Q42_R_PIDX_TABLE, ((diag_place){table_at + 4 * i, i, before, at}),
                              "entry %llu of the table is %u, %s %u", (ull)i, at,
                              i == 0 ? "and must be" : "below the one before,", before);
        }
        before = at;
    }
    if (before != lists) {
        return q42_refuse(reader->diag, Q42_R_PIDX_TABLE,
                          ((diag_place){table_at + 4 * n_blocks, FMT_NO_INDEX, lists, before}),
                          "the table ends with %u, there are %llu bytes of postings", before, (ull)lists);
    }
    return FMT_OK;
}

fmt_status q42_check_pidx(const q42_reader *reader, const q42_header *header) {
    const q42_section section = header->pidx;
    if (section.length == 0) {
        return FMT_OK;
    }
    const fmt_status status = q42_check_index_header(reader, header, section, Q42_PIDX_MAGIC, Q42_R_PIDX_HEADER);
    if (status != FMT_OK) {
        return status;
    }
    const uint64_t fixed = Q42_INDEX_HEADER_BYTES + 4 * (header->block_count + 1); /* count is u32 */
    if (section.length < fixed) {
        const diag_place here = {Q42_PIDX_AT + 8, FMT_NO_INDEX, fixed, section.length};
        return q42_refuse(reader->diag, Q42_R_PIDX_TABLE, here, "the PIDX has %llu bytes, its table alone %llu",
                          (ull)section.length, (ull)fixed);
    }
    return check_table(reader, section, header->block_count);
}

/* ---------------------------------------------------------------------------------------------------------- a list */

/* The next LEB128 number; false when there is none that fits in 64 bits. */
static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out_value) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;
        if (shift == 63 && byte > 1) {
            return false;
        }
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out_value = value;
            return true;
        }
    }
    return false;
}

bool q42_postings_next(q42_postings *list, uint64_t *out_value) {
    uint64_t step;
    if (list->n_left == 0 || !read_varint(&list->at, list->end, &step) || step > UINT64_MAX - list->value ||
        (step == 0 && !list->is_first)) {
        return false;
    }
    list->n_left--;
    list->is_first = false;
    list->value += step;
    *out_value = list->value;
    return true;
}

/* Reads the list at *at and moves behind it; false when it is malformed. */
static bool read_list(const uint8_t **at, const uint8_t *end, q42_postings *out_list) {
    const uint64_t left = (uint64_t)(end - *at);
    if (left > Q42_BLOOM_BYTES && (*at)[0] == Q42_POSTINGS_BLOOM) {
        const q42_postings filter = {.bloom = *at + 1};
        *out_list = filter;
        *at += 1 + Q42_BLOOM_BYTES;
        return true;
    }
    if (left < Q42_POSTINGS_LIST_HEAD || (*at)[0] != Q42_POSTINGS_LIST) {
        return false;
    }
    const q42_postings list = {NULL, *at + Q42_POSTINGS_LIST_HEAD, end, load_u16(*at + 1), true, 0};
    q42_postings walk = list;
    uint64_t value;
    while (q42_postings_next(&walk, &value)) {
        /* to the end of the list */
    }
    *out_list = list;
    out_list->end = walk.at;
    *at = walk.at;
    return walk.n_left == 0;
}

fmt_status q42_read_postings(const q42_volume *volume, uint64_t block, q42_postings out_lists[3], fmt_diag *diag) {
    static const char *const names[] = {"subjects", "predicates", "contexts"};
    const q42_section section = volume->header.pidx;
    const uint8_t *table = find_table(volume->span, section);
    const uint8_t *lists = table + 4 * (volume->header.block_count + 1);
    const uint8_t *at = lists + load_u32(table + 4 * block);
    const uint8_t *end = lists + load_u32(table + 4 * block + 4);
    for (q42_field field = Q42_SUBJECT; field <= Q42_CONTEXT; field++) {
        const uint64_t offset = (uint64_t)(at - volume->span.data);
        if (!read_list(&at, end, &out_lists[field])) {
            return q42_refuse(diag, Q42_R_PIDX_LIST, ((diag_place){offset, block, 0, 0}),
                              "the %s of block %llu are malformed", names[field], (ull)block);
        }
    }
    if (at != end) {
        const diag_place here = {(uint64_t)(at - volume->span.data), block, 0, (uint64_t)(end - at)};
        return q42_refuse(diag, Q42_R_PIDX_LIST, here, "%llu bytes follow the lists of block %llu", (ull)(end - at),
                          (ull)block);
    }
    return FMT_OK;
}

static bool bloom_holds(const uint8_t *bloom, uint64_t value) {
    uint32_t bits[Q42_BLOOM_HASHES];
    q42_bloom_bits(value, bits);
    for (uint32_t i = 0; i < Q42_BLOOM_HASHES; i++) {
        if ((bloom[bits[i] / 8] >> bits[i] % 8 & 1) == 0) {
            return false;
        }
    }
    return true;
}

fmt_status q42_postings_test(const q42_volume *volume, uint64_t block, q42_field field, uint64_t value,
                             bool *out_may_hold, fmt_diag *diag) {
    q42_postings lists[3];
    const fmt_status status = q42_read_postings(volume, block, lists, diag);
    if (status != FMT_OK) {
        return status;
    }
    if (lists[field].bloom != NULL) {
        *out_may_hold = bloom_holds(lists[field].bloom, value);
        return FMT_OK;
    }
    uint64_t listed = 0;
    bool is_found = false;
    while (!is_found && q42_postings_next(&lists[field], &listed) && listed <= value) {
        is_found = listed == value;
    }
    *out_may_hold = is_found;
    return FMT_OK;
}
