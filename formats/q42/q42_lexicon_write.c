/* q42_lexicon_write.c — the lexicon: pages of 4,096 strings (format 2), or one flat table of entries of every kind (format 1 with
 * kind bytes); section 4 of the format's document.
 *
 * A page's table of keys stands before its strings, and nobody knows how long those will be. So the spools keep both apart:
 *
 *     LEXICON_INDEX   of each page its table of (key, offset), then one word: the bytes of its strings
 *     LEXICON         the strings of all pages, back to back
 */
#include <string.h>

#include "common/diag.h"
#include "common/endian.h"
#include "common/fnv.h"
#include "common/utf8.h"
#include "q42_write_impl.h"

typedef unsigned long long ull;

enum { SPOOLED_PAGE = Q42_PAGE_ENTRIES * WRITE_ENTRY_BYTES + 8, TRIPLE_BYTES = 25, TEXT_HEAD = 3 };

static const fmt_rule rule_order = {"write-key-order", "4.2", "the keys of a lexicon rise"};
static const fmt_rule rule_key = {"write-key", "4", "the key of a string is the hash of its text"};
static const fmt_rule rule_length = {"write-term-length", "4.6", "a term has at most 65535 bytes"};
static const fmt_rule rule_text = {"write-term-text", "4.6", "a term is valid UTF-8"};
static const fmt_rule rule_kind = {"write-kind", "4.3", "pages hold strings alone; other kinds need a flat lexicon"};
static const fmt_rule rule_state = {"write-state", "4", "a writer that has failed takes nothing more"};

/* ---------------------------------------------------------------------------------------------------------- checking */

static bool is_key_of(uint64_t key, fmt_str text) {
    static const char did[] = "did:q42:";
    const uint64_t skipped = sizeof did - 1;
    if (key == fnv_q_hash(text.data, text.size)) {
        return true;
    }
    return text.size > skipped && memcmp(text.data, did, skipped) == 0 &&
           key == (fnv_q_hash(text.data + skipped, text.size - skipped) | Q42_POINTER_BIT);
}

static fmt_status check_string(const q42_term *term, diag_place place, fmt_diag *diag) {
    char quote[DIAG_QUOTE_SIZE];
    if (term->text.size > Q42_MAX_TERM) {
        place.expected = Q42_MAX_TERM;
        place.got = term->text.size;
        return diag_refuse(diag, FMT_BAD_ARG, &rule_length, place, "the term %s has %llu bytes",
                           diag_quote(quote, term->text), (ull)term->text.size);
    }
    if (utf8_first_invalid((const uint8_t *)term->text.data, term->text.size) != UTF8_ALL_VALID) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_text, place, "the term %s", diag_quote(quote, term->text));
    }
    if (term->kind == Q42_TERM_STRING && !is_key_of(term->hash, term->text)) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_key, place, "the term %s under the key %016llx",
                           diag_quote(quote, term->text), (ull)term->hash);
    }
    return FMT_OK;
}

static fmt_status check_term(const q42_writer *writer, const q42_term *term, fmt_diag *diag) {
    const diag_place place = {0, writer->n_entries, writer->last_key, term->hash};
    if (writer->failed != FMT_OK) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_state, place, "a term after an error");
    }
    if (writer->n_entries > 0 && term->hash <= writer->last_key) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_order, place, "the key %016llx after %016llx", (ull)term->hash,
                           (ull)writer->last_key);
    }
    const bool is_known = term->kind >= Q42_TERM_STRING && term->kind <= Q42_TERM_WEBIZEN;
    if (!is_known || term->prefix.size != 0 || (term->kind != Q42_TERM_STRING && !writer->options.is_flat)) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_kind, place, "an entry of kind %u", term->kind);
    }
    return term->kind == Q42_TERM_TRIPLE ? FMT_OK : check_string(term, place, diag);
}

/* ------------------------------------------------------------------------------------------------------------ adding */

static fmt_status append_strings(q42_writer *writer, const q42_term *term, fmt_diag *diag) {
    uint8_t head[TRIPLE_BYTES] = {(uint8_t)term->kind};
    if (term->kind == Q42_TERM_TRIPLE) {
        for (unsigned i = 0; i < 3; i++) {
            store_u64(head + 1 + 8 * i, term->triple[i]);
        }
        return q42_writer_append(writer, Q42_SPOOL_LEXICON, head, TRIPLE_BYTES, diag);
    }
    store_u16(head + 1, (uint16_t)term->text.size);
    const fmt_status status = q42_writer_append(writer, Q42_SPOOL_LEXICON, head, TEXT_HEAD, diag);
    return status != FMT_OK ? status
                            : q42_writer_append(writer, Q42_SPOOL_LEXICON, term->text.data, term->text.size, diag);
}

static fmt_status close_page(q42_writer *writer, fmt_diag *diag) {
    uint8_t word[8];
    store_u64(word, writer->page_strings);
    writer->page_strings = 0;
    return q42_writer_append(writer, Q42_SPOOL_LEXICON_INDEX, word, sizeof word, diag);
}

static bool is_mark(const q42_term *term) {
    return term->kind == Q42_TERM_STRING && term->text.size == sizeof Q42_SURFACE_MARK - 1 &&
           memcmp(term->text.data, Q42_SURFACE_MARK, term->text.size) == 0;
}

static fmt_status append_term(q42_writer *writer, const q42_term *term, fmt_diag *diag) {
    uint8_t entry[WRITE_ENTRY_BYTES];
    store_u64(entry, term->hash);
    store_u64(entry + 8, writer->page_strings);
    const uint64_t before = writer->sizes[Q42_SPOOL_LEXICON];
    fmt_status status = q42_writer_append(writer, Q42_SPOOL_LEXICON_INDEX, entry, sizeof entry, diag);
    if (status == FMT_OK) {
        status = append_strings(writer, term, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    writer->page_strings += writer->sizes[Q42_SPOOL_LEXICON] - before;
    writer->first_key = writer->n_entries == 0 ? term->hash : writer->first_key;
    writer->last_key = term->hash;
    writer->n_marks += is_mark(term) ? 1 : 0;
    writer->n_entries++;
    return !writer->options.is_flat && writer->n_entries % Q42_PAGE_ENTRIES == 0 ? close_page(writer, diag) : FMT_OK;
}

fmt_status q42_writer_add_term(q42_writer *writer, const q42_term *term, fmt_diag *diag) {
    fmt_status status = check_term(writer, term, diag);
    if (status == FMT_OK) {
        status = append_term(writer, term, diag);
    }
    writer->failed = writer->failed == FMT_OK ? status : writer->failed;
    return status;
}

/* --------------------------------------------------------------------------------------------------------- finishing */

static uint64_t count_pages(const q42_writer *writer) {
    return (writer->n_entries + Q42_PAGE_ENTRIES - 1) / Q42_PAGE_ENTRIES;
}

uint64_t q42_lexicon_bytes(const q42_writer *writer) {
    const uint64_t body = writer->n_entries * WRITE_ENTRY_BYTES + writer->sizes[Q42_SPOOL_LEXICON];
    const uint64_t paging = 8 + count_pages(writer) * (WRITE_PAGE_RECORD + WRITE_PAGE_BYTES);
    return WRITE_LEXICON_BYTES + body + (writer->options.is_flat ? 0 : paging);
}

static void store_head(uint8_t head[WRITE_LEXICON_BYTES], uint64_t n_entries, uint64_t strings_at, uint64_t form) {
    memcpy(head, "Q42LEX\0", 8);
    store_u64(head + 8, n_entries);
    store_u64(head + 16, strings_at);
    store_u64(head + 24, form);
}

static fmt_status put_flat(q42_write_out *out) {
    const q42_writer *writer = out->writer;
    const uint64_t index = writer->sizes[Q42_SPOOL_LEXICON_INDEX];
    uint8_t head[WRITE_LEXICON_BYTES];
    store_head(head, writer->n_entries, WRITE_LEXICON_BYTES + index, 1);
    fmt_status status = q42_write_put(out, head, sizeof head);
    if (status == FMT_OK) {
        status = q42_write_put_spool(out, Q42_SPOOL_LEXICON_INDEX, 0, index);
    }
    return status != FMT_OK ? status
                            : q42_write_put_spool(out, Q42_SPOOL_LEXICON, 0, writer->sizes[Q42_SPOOL_LEXICON]);
}

typedef struct spooled_page {
    uint64_t index_at; /* of its table in LEXICON_INDEX */
    uint64_t n_entries, first_key, strings;
} spooled_page;

static fmt_status read_word(q42_write_out *out, uint64_t offset, uint64_t *out_word) {
    const q42_spool *spool = &out->writer->spools[Q42_SPOOL_LEXICON_INDEX];
    uint8_t word[8];
    const fmt_status status = spool->read(spool->ctx, offset, word, sizeof word, out->diag);
    *out_word = status == FMT_OK ? load_u64(word) : 0;
    return status;
}

static fmt_status read_page(q42_write_out *out, uint64_t page, spooled_page *p) {
    const uint64_t left = out->writer->n_entries - page * Q42_PAGE_ENTRIES;
    p->n_entries = left < Q42_PAGE_ENTRIES ? left : Q42_PAGE_ENTRIES;
    p->index_at = page * SPOOLED_PAGE;
    const fmt_status status = read_word(out, p->index_at, &p->first_key);
    return status != FMT_OK ? status
                            : read_word(out, p->index_at + p->n_entries * WRITE_ENTRY_BYTES, &p->strings);
}

static fmt_status put_page_directory(q42_write_out *out, uint64_t n_pages) {
    uint64_t at = WRITE_LEXICON_BYTES + 8 + n_pages * WRITE_PAGE_RECORD;
    for (uint64_t i = 0; i < n_pages; i++) {
        uint8_t record[WRITE_PAGE_RECORD] = {0};
        spooled_page page;
        fmt_status status = read_page(out, i, &page);
        const uint64_t size = WRITE_PAGE_BYTES + page.n_entries * WRITE_ENTRY_BYTES + page.strings;
        store_u64(record, page.first_key);
        store_u64(record + 8, at);
        store_u64(record + 16, size);
        store_u32(record + 24, (uint32_t)page.n_entries);
        at += size;
        status = status == FMT_OK ? q42_write_put(out, record, sizeof record) : status;
        if (status != FMT_OK) {
            return status;
        }
    }
    return FMT_OK;
}

static fmt_status put_page(q42_write_out *out, uint64_t index, uint64_t *strings_at) {
    uint8_t head[WRITE_PAGE_BYTES] = {0};
    spooled_page page;
    fmt_status status = read_page(out, index, &page);
    const uint64_t table = page.n_entries * WRITE_ENTRY_BYTES;
    store_u32(head, (uint32_t)page.n_entries);
    store_u64(head + 8, WRITE_PAGE_BYTES + table);
    status = status == FMT_OK ? q42_write_put(out, head, sizeof head) : status;
    status = status == FMT_OK ? q42_write_put_spool(out, Q42_SPOOL_LEXICON_INDEX, page.index_at, table) : status;
    status = status == FMT_OK ? q42_write_put_spool(out, Q42_SPOOL_LEXICON, *strings_at, page.strings) : status;
    *strings_at += page.strings;
    return status;
}

static fmt_status put_paged(q42_write_out *out) {
    const uint64_t n_pages = count_pages(out->writer);
    uint8_t head[WRITE_LEXICON_BYTES + 8];
    uint64_t strings_at = 0;
    fmt_status status = FMT_OK;
    if (out->writer->n_entries % Q42_PAGE_ENTRIES != 0) {
        status = close_page(out->writer, out->diag);
    }
    store_head(head, out->writer->n_entries, WRITE_LEXICON_BYTES, 2);
    store_u64(head + WRITE_LEXICON_BYTES, n_pages);
    status = status == FMT_OK ? q42_write_put(out, head, sizeof head) : status;
    status = status == FMT_OK ? put_page_directory(out, n_pages) : status;
    for (uint64_t i = 0; i < n_pages && status == FMT_OK; i++) {
        status = put_page(out, i, &strings_at);
    }
    return status;
}

fmt_status q42_lexicon_put(q42_write_out *out) {
    return out->writer->options.is_flat ? put_flat(out) : put_paged(out);
}
