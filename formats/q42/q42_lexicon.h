/* q42_lexicon.h — one page of a lexicon, whichever of the four forms it has; for the reader's own files.
 *
 * A flat lexicon is one page: its index and its strings. In every form an entry ends where the next begins.
 *
 * Threading: pure functions.
 * Memory:    borrows the lexicon's span.
 */
#ifndef Q42_LEXICON_H
#define Q42_LEXICON_H
#include "q42_internal.h"

typedef struct lexicon_page {
    const uint8_t *keys; /* [n_entries] key u64, offset u64 into the blob */
    uint64_t n_entries;
    const uint8_t *blob;
    uint64_t blob_size;
    uint64_t blob_at;       /* of the blob in the file */
    uint64_t entries_begin; /* in the blob; behind the shared prefixes of format 4 */
    uint32_t n_names;       /* format 4: shared prefixes */
    const q42_prefix_marks *marks; /* where they stand; the caller's */
    uint64_t number;        /* of the page */
} lexicon_page;

/* Finds a page and checks its head; format 4: also its prefixes, unless they are marked already. `marks` is borrowed by the page;
 * its `page` is 0 or says which it marks. */
fmt_status lexicon_get_page(const q42_lexicon *lexicon, uint64_t number, q42_prefix_marks *marks, lexicon_page *out_page,
                            fmt_diag *diag);

/* Entry `i` of a page: bounds, kind, UTF-8. Not its key. */
fmt_status lexicon_get_entry(const q42_lexicon *lexicon, const lexicon_page *page, uint64_t i, q42_term *out_term,
                             fmt_diag *diag);

/* That the key of an entry is the hash of its text, or of its three words; FMT_OK for identities, whose keys follow no
 * rule. */
fmt_status lexicon_check_key(const q42_lexicon *lexicon, const q42_term *term, fmt_diag *diag);

static inline uint64_t lexicon_key(const lexicon_page *page, uint64_t i) {
    return load_u64(page->keys + i * Q42_LEX_KEY_BYTES);
}

static inline bool lexicon_is_flat(const q42_lexicon *lexicon) {
    return lexicon->form == Q42_LEXICON_TAGGED || lexicon->form == Q42_LEXICON_UNTAGGED;
}

/* Record of a page in the page directory of a paged lexicon. */
static inline const uint8_t *lexicon_record(const q42_lexicon *lexicon, uint64_t page) {
    return lexicon->span.data + Q42_LEX_PAGES_AT + page * Q42_LEX_PAGE_RECORD_BYTES;
}

#endif
