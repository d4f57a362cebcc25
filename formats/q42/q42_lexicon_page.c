/* q42_lexicon_page.c — the entries of one page (section 4 of the format's document). */
#include <string.h>

#include "common/checked.h"
#include "common/cursor.h"
#include "common/fnv.h"
#include "common/utf8.h"
#include "q42_lexicon.h"

#define DID_PREFIX "did:q42:"
#define MOST_NAMES 65536u /* what 16 bits can tell apart */

/* ------------------------------------------------------------------------------------------------- finding the page */

static void view_flat(const q42_lexicon *lexicon, lexicon_page *page) {
    const uint64_t strings_at = Q42_LEX_HEADER_BYTES + Q42_LEX_KEY_BYTES * lexicon->n_entries;
    page->keys = lexicon->span.data + Q42_LEX_HEADER_BYTES;
    page->n_entries = lexicon->n_entries;
    page->blob = lexicon->span.data + strings_at;
    page->blob_size = lexicon->span.size - strings_at;
    page->blob_at = lexicon->base + strings_at;
}

static fmt_status check_text(fmt_str text, uint64_t offset, uint64_t page, fmt_diag *diag) {
    const uint64_t bad = utf8_first_invalid(text.data, text.size);
    if (bad != UTF8_ALL_VALID) {
        char quoted[DIAG_QUOTE_SIZE];
        return q42_refuse(diag, Q42_R_LEXICON_TEXT, ((diag_place){offset + bad, page, 0, (uint8_t)text.data[bad]}),
                          "the text %s is no UTF-8 from its byte %llu on", diag_quote(quoted, text), (ull)bad);
    }
    return FMT_OK;
}

/* The next shared prefix of a page of format 4. */
static fmt_status read_name(const lexicon_page *page, cursor *c, fmt_str *out_name, fmt_diag *diag) {
    const uint64_t at = page->blob_at + c->at;
    const uint16_t size = cursor_u16(c);
    const uint8_t *bytes = cursor_bytes(c, size);
    if (bytes == NULL) {
        return q42_refuse(diag, Q42_R_LEXICON_PAGE, ((diag_place){at, page->number, page->n_names, 0}),
                          "the %u shared prefixes of page %llu do not fit in it", page->n_names, (ull)page->number);
    }
    const fmt_str name = {(const char *)bytes, size};
    *out_name = name;
    return check_text(name, at + 2, page->number, diag);
}

/* How many prefixes one mark stands for. */
static uint32_t mark_distance(const lexicon_page *page) {
    return page->n_names / Q42_PREFIX_MARKS + 1;
}

static fmt_status mark_names(const lexicon_page *page, q42_prefix_marks *marks, fmt_diag *diag) {
    const uint32_t distance = mark_distance(page);
    cursor c = cursor_make((fmt_span){page->blob, page->blob_size}, 0);
    fmt_str name;
    for (uint32_t i = 0; i < page->n_names; i++) {
        if (i % distance == 0) {
            marks->at[i / distance] = c.at;
        }
        const fmt_status status = read_name(page, &c, &name, diag);
        if (status != FMT_OK) {
            return status;
        }
    }
    marks->end = c.at;
    marks->page = page->number + 1;
    return FMT_OK;
}

/* Prefix `i` of a page whose prefixes have been read once. */
static fmt_str get_name(const lexicon_page *page, uint32_t i) {
    const uint32_t distance = mark_distance(page);
    cursor c = cursor_make((fmt_span){page->blob, page->blob_size}, page->marks->at[i / distance]);
    for (uint32_t passed = 0; passed < i % distance; passed++) {
        const uint16_t size = cursor_u16(&c);
        (void)cursor_bytes(&c, size);
    }
    const uint16_t size = cursor_u16(&c);
    const uint8_t *bytes = cursor_bytes(&c, size);
    return bytes != NULL ? (fmt_str){(const char *)bytes, size} : (fmt_str){"", 0};
}

fmt_status lexicon_get_page(const q42_lexicon *lexicon, uint64_t number, q42_prefix_marks *marks, lexicon_page *out_page,
                            fmt_diag *diag) {
    lexicon_page page = {.number = number, .marks = marks};
    if (lexicon_is_flat(lexicon)) {
        view_flat(lexicon, &page);
        *out_page = page;
        return FMT_OK;
    }
    const uint8_t *record = lexicon_record(lexicon, number);
    const uint64_t at = load_u64(record + Q42_LEX_RECORD_OFFSET_AT);
    const uint64_t size = load_u64(record + Q42_LEX_RECORD_LENGTH_AT);
    const uint8_t *start = lexicon->span.data + at;
    page.n_entries = load_u32(record + Q42_LEX_RECORD_COUNT_AT);
    page.n_names = load_u32(start + Q42_LEX_PAGE_NAMES_AT);
    const uint32_t count = load_u32(start + Q42_LEX_PAGE_COUNT_AT);
    const uint64_t blob = load_u64(start + Q42_LEX_PAGE_BLOB_AT);
    const uint64_t blob_wanted = Q42_LEX_PAGE_HEADER_BYTES + Q42_LEX_KEY_BYTES * page.n_entries;
    if (count != page.n_entries || blob != blob_wanted || (lexicon->form == Q42_LEXICON_PAGED && page.n_names != 0)) {
        return q42_refuse(diag, Q42_R_LEXICON_PAGE, ((diag_place){lexicon->base + at, number, page.n_entries, count}),
                          "page %llu says %u entries, %u prefixes and texts at byte %llu; its record says %llu entries",
                          (ull)number, count, page.n_names, (ull)blob, (ull)page.n_entries);
    }
    if (page.n_names > page.n_entries || page.n_names > MOST_NAMES) {
        return q42_refuse(diag, Q42_R_LEXICON_PAGE,
                          ((diag_place){lexicon->base + at + Q42_LEX_PAGE_NAMES_AT, number, page.n_entries, page.n_names}),
                          "page %llu has %u shared prefixes for %llu entries, whose prefix is named in 16 bits", (ull)number,
                          page.n_names, (ull)page.n_entries);
    }
    page.keys = start + Q42_LEX_PAGE_HEADER_BYTES;
    page.blob = start + blob;
    page.blob_size = size - blob;
    page.blob_at = lexicon->base + at + blob;
    const bool is_marked = page.n_names == 0 || marks->page == number + 1;
    const fmt_status status = is_marked ? FMT_OK : mark_names(&page, marks, diag);
    if (status == FMT_OK) {
        page.entries_begin = page.n_names == 0 ? 0 : marks->end;
        *out_page = page;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------ an entry */

static fmt_str take_text(cursor *c) {
    const uint16_t size = cursor_u16(c);
    const fmt_str text = {(const char *)cursor_bytes(c, size), size};
    return text;
}

static fmt_status take_named(const lexicon_page *page, cursor *c, q42_term *term, fmt_diag *diag) {
    const uint16_t name = cursor_u16(c);
    term->text = take_text(c);
    if (name >= page->n_names) {
        return q42_refuse(diag, Q42_R_LEXICON_KIND, ((diag_place){term->offset + 1, page->number, page->n_names, name}),
                          "the entry names prefix %u, page %llu has %u", name, (ull)page->number, page->n_names);
    }
    term->prefix = get_name(page, name);
    return FMT_OK;
}

/* What follows the kind byte. */
static fmt_status take_body(const q42_lexicon *lexicon, const lexicon_page *page, uint8_t tag, cursor *c,
                            q42_term *term, fmt_diag *diag) {
    const bool is_flat = lexicon->form == Q42_LEXICON_TAGGED;
    term->kind = Q42_TERM_STRING;
    if (tag == Q42_LEX_TAG_STRING) {
        term->text = take_text(c);
        return FMT_OK;
    }
    if (tag == Q42_LEX_TAG_NAMED && lexicon->form == Q42_LEXICON_NAMED) {
        return take_named(page, c, term, diag);
    }
    if (tag == Q42_LEX_TAG_TRIPLE && is_flat) {
        term->kind = Q42_TERM_TRIPLE;
        for (uint32_t i = 0; i < 3; i++) {
            term->triple[i] = cursor_u64(c);
        }
        return FMT_OK;
    }
    if (tag == Q42_LEX_TAG_WEBIZEN && is_flat) {
        term->kind = Q42_TERM_WEBIZEN;
        term->text = take_text(c);
        return FMT_OK;
    }
    return q42_refuse(diag, Q42_R_LEXICON_KIND, ((diag_place){term->offset, page->number, Q42_LEX_TAG_STRING, tag}),
                      "the entry has kind %u", tag);
}

static fmt_status refuse_bounds(const lexicon_page *page, const q42_term *term, uint64_t wanted, uint64_t end,
                                fmt_diag *diag) {
    return q42_refuse(diag, Q42_R_LEXICON_ENTRY, ((diag_place){term->offset, page->number, wanted, end}),
                      "the entry of %016llx ends at byte %llu of the texts of page %llu, and should at byte %llu",
                      (ull)term->hash, (ull)end, (ull)page->number, (ull)wanted);
}

fmt_status lexicon_get_entry(const q42_lexicon *lexicon, const lexicon_page *page, uint64_t i, q42_term *out_term,
                             fmt_diag *diag) {
    const uint8_t *key = page->keys + i * Q42_LEX_KEY_BYTES;
    const uint64_t at = load_u64(key + 8);
    const bool is_last = i + 1 == page->n_entries;
    const uint64_t end = is_last ? page->blob_size : load_u64(key + Q42_LEX_KEY_BYTES + 8);
    q42_term term = {.hash = load_u64(key), .prefix = {"", 0}, .text = {"", 0}};
    term.offset = page->blob_at + (at <= page->blob_size ? at : page->blob_size);
    if (at < page->entries_begin || at > end || end > page->blob_size || (i == 0 && at != page->entries_begin)) {
        return q42_refuse(diag, Q42_R_LEXICON_ENTRY, ((diag_place){term.offset, page->number, page->blob_size, at}),
                          "the entry of %016llx lies from byte %llu to %llu of the %llu bytes of texts of page %llu",
                          (ull)term.hash, (ull)at, (ull)end, (ull)page->blob_size, (ull)page->number);
    }
    cursor c = cursor_make((fmt_span){page->blob, end}, at);
    const uint8_t tag = lexicon->form == Q42_LEXICON_UNTAGGED ? Q42_LEX_TAG_STRING : cursor_u8(&c);
    fmt_status status = cursor_ok(&c) ? take_body(lexicon, page, tag, &c, &term, diag) : FMT_OK;
    if (status == FMT_OK && !cursor_ok(&c)) {
        return refuse_bounds(page, &term, end, page->blob_size + 1, diag);
    }
    if (status == FMT_OK && c.at != end) {
        return refuse_bounds(page, &term, end, c.at, diag);
    }
    if (status == FMT_OK && term.prefix.size + term.text.size > Q42_MAX_TERM) {
        const diag_place here = {term.offset, page->number, Q42_MAX_TERM, term.prefix.size + term.text.size};
        return q42_refuse(diag, Q42_R_LEXICON_TEXT, here, "the text has %llu bytes",
                          (ull)(term.prefix.size + term.text.size));
    }
    if (status == FMT_OK && term.text.size > 0) {
        const uint64_t text_at = page->blob_at + (uint64_t)((const uint8_t *)term.text.data - page->blob);
        status = check_text(term.text, text_at, page->number, diag);
    }
    if (status == FMT_OK) {
        *out_term = term;
    }
    return status;
}

/* --------------------------------------------------------------------------------------------------- a key */

static bool starts_with_did(const q42_term *term) {
    const uint64_t n = sizeof DID_PREFIX - 1;
    if (term->prefix.size == 0) {
        return term->text.size > n && memcmp(term->text.data, DID_PREFIX, n) == 0;
    }
    /* a shared prefix ends with a separator, so the scheme is never cut in two */
    return term->prefix.size >= n && memcmp(term->prefix.data, DID_PREFIX, n) == 0 &&
           term->prefix.size + term->text.size > n;
}

/* Hash of the whole text from byte `skip` on. */
static uint64_t hash_from(const q42_term *term, uint64_t skip) {
    const uint64_t in_prefix = skip < term->prefix.size ? skip : term->prefix.size;
    const uint64_t first = fnv1a64(term->prefix.data + in_prefix, term->prefix.size - in_prefix);
    const uint64_t in_text = skip - in_prefix;
    return fnv1a64_more(first, term->text.data + in_text, term->text.size - in_text);
}

/* Two keys are right: the hash, and for did:q42 the pointer form; untagged lexicons of version 1 have all 64 bits. */
static bool is_key_of_text(const q42_lexicon *lexicon, const q42_term *term) {
    const uint64_t whole = hash_from(term, 0);
    if (term->hash == (whole & FNV_Q_MASK) || (lexicon->form == Q42_LEXICON_UNTAGGED && term->hash == whole)) {
        return true;
    }
    return (term->hash & Q42_POINTER_BIT) != 0 && starts_with_did(term) &&
           term->hash == ((hash_from(term, sizeof DID_PREFIX - 1) & FNV_Q_MASK) | Q42_POINTER_BIT);
}

fmt_status lexicon_check_key(const q42_lexicon *lexicon, const q42_term *term, fmt_diag *diag) {
    const uint64_t *t = term->triple;
    if (term->kind == Q42_TERM_TRIPLE && term->hash != q42_triple_id(t[0], t[1], t[2])) {
        const diag_place here = {term->offset, FMT_NO_INDEX, q42_triple_id(t[0], t[1], t[2]), term->hash};
        return q42_refuse(diag, Q42_R_LEXICON_KEYS, here, "the key %016llx stands before a triple whose id is %016llx",
                          (ull)here.got, (ull)here.expected);
    }
    if (term->kind == Q42_TERM_STRING && !is_key_of_text(lexicon, term)) {
        char quoted[DIAG_QUOTE_SIZE];
        const diag_place here = {term->offset, FMT_NO_INDEX, hash_from(term, 0) & FNV_Q_MASK, term->hash};
        return q42_refuse(diag, Q42_R_LEXICON_KEYS, here, "the key %016llx stands before %s%s, whose hash is %016llx",
                          (ull)here.got, term->prefix.size > 0 ? "..." : "", diag_quote(quoted, term->text),
                          (ull)here.expected);
    }
    return FMT_OK;
}
