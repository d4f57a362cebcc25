/* fuzz_q42.h — what the fuzz targets of the Q42 reader share. */
#ifndef FUZZ_Q42_H
#define FUZZ_Q42_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/q42.h>

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A diagnosis is one sentence about a rule of the table, and points into the file. */
static inline void require_diag(const fmt_diag *diag, uint64_t size) {
    uint32_t n;
    const fmt_rule *rules = q42_rules(&n);
    uint32_t i = 0;
    while (i < n && strcmp(rules[i].id, diag->rule) != 0) {
        i++;
    }
    REQUIRE(i < n);
    REQUIRE(diag->text[0] != '\0' && memchr(diag->text, 0, sizeof diag->text) != NULL &&
            strchr(diag->text, '\n') == NULL);
    REQUIRE(diag->offset <= size);
}

/* Reads both ends, so that tools see a view that leaves its file. */
static inline uint64_t touch(const void *bytes, uint64_t size) {
    const uint8_t *at = bytes;
    return size > 0 ? (uint64_t)at[0] + at[size - 1] : 0;
}

/* Walks and finds everything in a lexicon. Entries beyond the first thousand are walked and not looked up. */
static inline uint64_t visit_lexicon(const q42_lexicon *lexicon, uint64_t file_size) {
    q42_lexicon_walk walk = {0};
    q42_term term, found;
    fmt_diag diag;
    uint64_t sum = 0, n = 0;
    fmt_status status;
    while ((status = q42_lexicon_next(lexicon, &walk, &term, &diag)) == FMT_OK) {
        sum += touch(term.prefix.data, term.prefix.size) + touch(term.text.data, term.text.size);
        REQUIRE(term.prefix.size + term.text.size <= Q42_MAX_TERM && term.offset <= file_size);
        if (n++ < 1000) {
            const fmt_status looked = q42_lexicon_find(lexicon, term.hash, &found, &diag);
            REQUIRE(looked == FMT_OK || looked == FMT_BAD_FILE || looked == FMT_NOT_FOUND);
            if (looked == FMT_BAD_FILE) {
                require_diag(&diag, file_size);
            }
        }
    }
    REQUIRE(n <= lexicon->n_entries && (status == FMT_BAD_FILE || n == lexicon->n_entries));
    bool is_good = true;
    for (uint64_t page = 0; page < lexicon->n_pages; page++) {
        if (q42_lexicon_check_page(lexicon, page, &diag) != FMT_OK) {
            require_diag(&diag, file_size);
            is_good = false;
        }
    }
    if (is_good) { /* what passed can be walked and found */
        REQUIRE(status == FMT_NOT_FOUND);
        walk = (q42_lexicon_walk){0};
        for (n = 0; n < 1000 && q42_lexicon_next(lexicon, &walk, &term, &diag) == FMT_OK; n++) {
            REQUIRE(q42_lexicon_find(lexicon, term.hash, &found, &diag) == FMT_OK && found.offset == term.offset);
        }
    }
    return sum;
}

#endif
