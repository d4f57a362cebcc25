/* q42_lexicon.c — opening a lexicon, and finding and walking its terms (section 4 of the format's document). */
#include <string.h>

#include "common/checked.h"
#include "q42_lexicon.h"

#define SETTLED_ENTRIES 64u /* of a flat lexicon: so many decide whether it is tagged */
#define MIN_ENTRY_BYTES 18u /* key, offset and an empty untagged text */
#define MIN_PAGE_BYTES (Q42_LEX_PAGE_HEADER_BYTES + Q42_LEX_KEY_BYTES)

const char *q42_lexicon_form_name(q42_lexicon_form form) {
    static const char *const names[] = {"none", "flat, untagged (1)", "flat, tagged (1)", "paged (2)",
                                        "paged with prefixes (4)"};
    return form <= Q42_LEXICON_NAMED ? names[form] : "unknown";
}

/* ---------------------------------------------------------------------------------------------------------- opening */

static fmt_status read_header(fmt_span span, uint64_t base, q42_lexicon *lexicon, uint64_t *out_format,
                              fmt_diag *diag) {
    if (span.size < Q42_LEX_HEADER_BYTES || memcmp(span.data, Q42_LEX_MAGIC, Q42_LEX_MAGIC_BYTES) != 0) {
        return q42_refuse(diag, Q42_R_LEXICON_HEADER,
                          ((diag_place){base, FMT_NO_INDEX, Q42_LEX_HEADER_BYTES, span.size}),
                          "the lexicon of %llu bytes begins with other bytes", (ull)span.size);
    }
    *out_format = load_u64(span.data + Q42_LEX_FORMAT_AT);
    lexicon->span = span;
    lexicon->base = base;
    lexicon->n_entries = load_u64(span.data + Q42_LEX_COUNT_AT);
    if (*out_format != Q42_LEX_FLAT && *out_format != Q42_LEX_PAGED && *out_format != Q42_LEX_NAMED) {
        const diag_place here = {base + Q42_LEX_FORMAT_AT, FMT_NO_INDEX, Q42_LEX_PAGED, *out_format};
        return q42_refuse(diag, Q42_R_LEXICON_FORMAT, here, "the lexicon has format %llu", (ull)*out_format);
    }
    if (lexicon->n_entries > (span.size - Q42_LEX_HEADER_BYTES) / MIN_ENTRY_BYTES) {
        const diag_place here = {base + Q42_LEX_COUNT_AT, FMT_NO_INDEX, span.size / MIN_ENTRY_BYTES,
                                 lexicon->n_entries};
        return q42_refuse(diag, Q42_R_LEXICON_COUNT, here, "the lexicon says %llu entries in %llu bytes",
                          (ull)lexicon->n_entries, (ull)span.size);
    }
    const uint64_t strings_at = load_u64(span.data + Q42_LEX_STRINGS_AT);
    const uint64_t strings_wanted =
        Q42_LEX_HEADER_BYTES + (*out_format == Q42_LEX_FLAT ? Q42_LEX_KEY_BYTES * lexicon->n_entries : 0);
    if (strings_at != strings_wanted) {
        const diag_place here = {base + Q42_LEX_STRINGS_AT, FMT_NO_INDEX, strings_wanted, strings_at};
        return q42_refuse(diag, Q42_R_LEXICON_STRINGS, here, "strings_offset is %llu with %llu entries",
                          (ull)strings_at, (ull)lexicon->n_entries);
    }
    return FMT_OK;
}

/* Whether the first entries fit the form that the lexicon is given. */
static fmt_status try_form(const q42_lexicon *lexicon, fmt_diag *diag) {
    q42_prefix_marks marks;
    lexicon_page page;
    q42_term term;
    marks.page = 0;
    fmt_status status = lexicon_get_page(lexicon, 0, &marks, &page, diag);
    for (uint64_t i = 0; status == FMT_OK && i < page.n_entries && i < SETTLED_ENTRIES; i++) {
        status = lexicon_get_entry(lexicon, &page, i, &term, diag);
    }
    return status;
}

static fmt_status open_flat(q42_lexicon *lexicon, fmt_diag *diag) {
    lexicon->n_pages = lexicon->n_entries > 0;
    lexicon->form = Q42_LEXICON_TAGGED;
    if (lexicon->n_entries == 0) {
        const uint64_t extra = lexicon->span.size - Q42_LEX_HEADER_BYTES;
        return extra == 0 ? FMT_OK
                          : q42_refuse(diag, Q42_R_LEXICON_ENTRY,
                                       ((diag_place){lexicon->base + Q42_LEX_HEADER_BYTES, FMT_NO_INDEX, 0, extra}),
                                       "%llu bytes follow in a lexicon without entries", (ull)extra);
    }
    const fmt_status status = try_form(lexicon, diag);
    if (status == FMT_OK) {
        return FMT_OK;
    }
    lexicon->form = Q42_LEXICON_UNTAGGED;
    return try_form(lexicon, NULL) == FMT_OK ? FMT_OK : status;
}

/* One record of the page directory; `end` is where the page before ends, in the lexicon, and moves on. */
static fmt_status check_record(const q42_lexicon *lexicon, uint64_t number, uint64_t *end, uint64_t *n_entries,
                               fmt_diag *diag) {
    const uint8_t *record = lexicon_record(lexicon, number);
    const uint64_t at = load_u64(record + Q42_LEX_RECORD_OFFSET_AT);
    const uint64_t size = load_u64(record + Q42_LEX_RECORD_LENGTH_AT);
    const uint32_t count = load_u32(record + Q42_LEX_RECORD_COUNT_AT);
    const diag_place here = {lexicon->base + (uint64_t)(record - lexicon->span.data), number, *end, at};
    if (at != *end || !checked_range(at, size, lexicon->span.size) || count == 0 || size < MIN_PAGE_BYTES ||
        count > (size - Q42_LEX_PAGE_HEADER_BYTES) / Q42_LEX_KEY_BYTES) {
        return q42_refuse(diag, Q42_R_LEXICON_DIRECTORY, here,
                          "page %llu has %u entries in %llu bytes at byte %llu; the one before ends at byte %llu",
                          (ull)number, count, (ull)size, (ull)at, (ull)*end);
    }
    if (number > 0 && load_u64(record) <= load_u64(record - Q42_LEX_PAGE_RECORD_BYTES)) {
        return q42_refuse(diag, Q42_R_LEXICON_DIRECTORY, here,
                          "page %llu begins with key %016llx, not above the page before", (ull)number,
                          (ull)load_u64(record));
    }
    *end = at + size;
    *n_entries += count;
    return FMT_OK;
}

static fmt_status open_paged(q42_lexicon *lexicon, fmt_diag *diag) {
    const uint64_t size = lexicon->span.size;
    const uint64_t n_pages = size < Q42_LEX_PAGES_AT ? UINT64_MAX : load_u64(lexicon->span.data + Q42_LEX_HEADER_BYTES);
    if (size < Q42_LEX_PAGES_AT || n_pages > (size - Q42_LEX_PAGES_AT) / Q42_LEX_PAGE_RECORD_BYTES) {
        const diag_place here = {lexicon->base + Q42_LEX_HEADER_BYTES, FMT_NO_INDEX, 0, n_pages};
        return q42_refuse(diag, Q42_R_LEXICON_DIRECTORY, here, "%llu pages in %llu bytes", (ull)n_pages, (ull)size);
    }
    lexicon->n_pages = n_pages;
    uint64_t end = Q42_LEX_PAGES_AT + Q42_LEX_PAGE_RECORD_BYTES * n_pages, n_entries = 0;
    for (uint64_t i = 0; i < n_pages; i++) {
        const fmt_status status = check_record(lexicon, i, &end, &n_entries, diag);
        if (status != FMT_OK) {
            return status;
        }
    }
    if (end != size || n_entries != lexicon->n_entries) {
        const diag_place here = {lexicon->base + Q42_LEX_COUNT_AT, FMT_NO_INDEX, lexicon->n_entries, n_entries};
        return q42_refuse(diag, Q42_R_LEXICON_DIRECTORY, here,
                          "the pages end at byte %llu of %llu with %llu of %llu entries", (ull)end, (ull)size,
                          (ull)n_entries, (ull)lexicon->n_entries);
    }
    return FMT_OK;
}

fmt_status q42_lexicon_open(fmt_span span, uint64_t base, q42_lexicon *out_lexicon, fmt_diag *diag) {
    q42_lexicon lexicon = {0};
    uint64_t format = 0;
    fmt_status status = read_header(span, base, &lexicon, &format, diag);
    if (status == FMT_OK && format == Q42_LEX_FLAT) {
        status = open_flat(&lexicon, diag);
    } else if (status == FMT_OK) {
        lexicon.form = format == Q42_LEX_PAGED ? Q42_LEXICON_PAGED : Q42_LEXICON_NAMED;
        status = open_paged(&lexicon, diag);
    }
    if (status == FMT_OK) {
        *out_lexicon = lexicon;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------ checking */

uint64_t q42_lexicon_page_of(const q42_lexicon *lexicon, uint64_t hash) {
    if (lexicon->n_pages == 0 || lexicon_is_flat(lexicon)) {
        return lexicon->n_pages == 0 ? FMT_NO_INDEX : 0;
    }
    uint64_t low = 0, high = lexicon->n_pages; /* the first page that begins above `hash` */
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (load_u64(lexicon_record(lexicon, middle)) <= hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? FMT_NO_INDEX : low - 1;
}

static fmt_status refuse_order(const lexicon_page *page, uint64_t i, uint64_t before, fmt_diag *diag) {
    const uint64_t blob_to_keys = Q42_LEX_KEY_BYTES * (page->n_entries - i); /* the keys end where the texts begin */
    const uint64_t key = lexicon_key(page, i);
    return q42_refuse(diag, Q42_R_LEXICON_ORDER,
                      ((diag_place){page->blob_at - blob_to_keys, page->number, before, key}),
                      "key %llu of page %llu is %016llx %s %016llx", (ull)i, (ull)page->number, (ull)key,
                      key == before ? "again, after" : "and stands beside", (ull)before);
}

/* Keys rise inside the page, from the key that its record tells and up to the next page's. */
static fmt_status check_position(const q42_lexicon *lexicon, const lexicon_page *page, uint64_t i, fmt_diag *diag) {
    const bool is_flat = lexicon_is_flat(lexicon);
    const uint64_t key = lexicon_key(page, i);
    if (i > 0 && key <= lexicon_key(page, i - 1)) {
        return refuse_order(page, i, lexicon_key(page, i - 1), diag);
    }
    if (!is_flat && i == 0 && key != load_u64(lexicon_record(lexicon, page->number))) {
        return refuse_order(page, i, load_u64(lexicon_record(lexicon, page->number)), diag);
    }
    if (!is_flat && i + 1 == page->n_entries && page->number + 1 < lexicon->n_pages &&
        key >= load_u64(lexicon_record(lexicon, page->number + 1))) {
        return refuse_order(page, i, load_u64(lexicon_record(lexicon, page->number + 1)), diag);
    }
    return FMT_OK;
}

fmt_status q42_lexicon_check_form(const q42_lexicon *lexicon, uint64_t number, fmt_diag *diag) {
    q42_prefix_marks marks;
    lexicon_page page;
    q42_term term;
    marks.page = 0;
    fmt_status status = lexicon_get_page(lexicon, number, &marks, &page, diag);
    for (uint64_t i = 0; status == FMT_OK && i < page.n_entries; i++) {
        status = check_position(lexicon, &page, i, diag);
        status = status == FMT_OK ? lexicon_get_entry(lexicon, &page, i, &term, diag) : status;
    }
    return status;
}

fmt_status q42_lexicon_check_keys(const q42_lexicon *lexicon, uint64_t number, fmt_diag *diag) {
    q42_prefix_marks marks;
    lexicon_page page;
    q42_term term;
    marks.page = 0;
    fmt_status status = lexicon_get_page(lexicon, number, &marks, &page, diag);
    for (uint64_t i = 0; status == FMT_OK && i < page.n_entries; i++) {
        status = lexicon_get_entry(lexicon, &page, i, &term, diag);
        status = status == FMT_OK ? lexicon_check_key(lexicon, &term, diag) : status;
    }
    return status;
}

uint64_t q42_lexicon_page_size(const q42_lexicon *lexicon, uint64_t page) {
    return lexicon_is_flat(lexicon) ? lexicon->n_entries
                                    : load_u32(lexicon_record(lexicon, page) + Q42_LEX_RECORD_COUNT_AT);
}

uint64_t q42_lexicon_page_key(const q42_lexicon *lexicon, uint64_t page, uint64_t entry) {
    uint64_t keys_at = Q42_LEX_HEADER_BYTES;
    if (!lexicon_is_flat(lexicon)) {
        keys_at = load_u64(lexicon_record(lexicon, page) + Q42_LEX_RECORD_OFFSET_AT) + Q42_LEX_PAGE_HEADER_BYTES;
    }
    return load_u64(lexicon->span.data + keys_at + entry * Q42_LEX_KEY_BYTES);
}

fmt_status q42_lexicon_check_page(const q42_lexicon *lexicon, uint64_t page, fmt_diag *diag) {
    const fmt_status status = q42_lexicon_check_form(lexicon, page, diag);
    return status == FMT_OK ? q42_lexicon_check_keys(lexicon, page, diag) : status;
}

/* ------------------------------------------------------------------------------------------------- finding, walking */

/* Index of the key in the page, or of the first one above it. */
static uint64_t find_key(const lexicon_page *page, uint64_t hash) {
    uint64_t low = 0, high = page->n_entries;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (lexicon_key(page, middle) < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

fmt_status q42_lexicon_find(const q42_lexicon *lexicon, uint64_t hash, q42_term *out_term, fmt_diag *diag) {
    const uint64_t number = q42_lexicon_page_of(lexicon, hash);
    if (number == FMT_NO_INDEX) {
        return FMT_NOT_FOUND;
    }
    q42_prefix_marks marks;
    lexicon_page page;
    marks.page = 0;
    fmt_status status = lexicon_get_page(lexicon, number, &marks, &page, diag);
    if (status != FMT_OK) {
        return status;
    }
    const uint64_t i = find_key(&page, hash);
    if (i == page.n_entries || lexicon_key(&page, i) != hash) {
        return FMT_NOT_FOUND;
    }
    if (i + 1 < page.n_entries && lexicon_key(&page, i + 1) <= hash) {
        return refuse_order(&page, i + 1, hash, diag);
    }
    q42_term term;
    status = lexicon_get_entry(lexicon, &page, i, &term, diag);
    status = status == FMT_OK ? lexicon_check_key(lexicon, &term, diag) : status;
    if (status == FMT_OK) {
        *out_term = term;
    }
    return status;
}

fmt_status q42_lexicon_next(const q42_lexicon *lexicon, q42_lexicon_walk *walk, q42_term *out_term, fmt_diag *diag) {
    if (walk->page >= lexicon->n_pages) {
        return FMT_NOT_FOUND;
    }
    lexicon_page page;
    fmt_status status = lexicon_get_page(lexicon, walk->page, &walk->marks, &page, diag);
    if (status == FMT_OK && walk->entry >= page.n_entries) {
        return FMT_BAD_ARG; /* a walk that the caller set where nothing is */
    }
    status = status == FMT_OK ? check_position(lexicon, &page, walk->entry, diag) : status;
    status = status == FMT_OK ? lexicon_get_entry(lexicon, &page, walk->entry, out_term, diag) : status;
    if (status != FMT_OK) {
        return status;
    }
    walk->entry++;
    if (walk->entry == page.n_entries) {
        walk->page++;
        walk->entry = 0;
    }
    return FMT_OK;
}
