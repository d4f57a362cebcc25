/* ntr_fault.c — a fault becomes a sentence with line and column. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"
#include "ntr_internal.h"

#define FINDING_SIZE (DIAG_QUOTE_SIZE + 80)
#define LONGEST_WORD 40u

/* Number of characters from `from` to `to`; a byte that is part of none counts as one. */
static uint64_t count_characters(const uint8_t *from, const uint8_t *to) {
    uint64_t n = 0;
    while (from < to) {
        const unsigned size = utf8_decode(from, (uint64_t)(to - from), NULL);
        from += size == 0 ? 1 : size;
        n++;
    }
    return n;
}

static fmt_status status_of(ntr_rule_no rule) {
    switch (rule) {
    case NTR_R_TERM_TOO_LONG:
        return FMT_LIMIT;
    case NTR_R_TRIPLE_TERM: case NTR_R_DIRECTION: case NTR_R_VERSION:
        return FMT_UNSUPPORTED;
    default:
        return FMT_BAD_FILE;
    }
}

/* Bytes of the escape at the fault that are worth showing. */
static uint64_t escape_size(const ntr_reader *r, uint64_t left) {
    const uint64_t most = left < 2 ? 1 : r->fault[1] == 'U' ? 10 : r->fault[1] == 'u' ? 6 : 2;
    uint64_t size = 1;
    while (size < most && size < left && r->fault[size] > ' ' && (size == 1 || r->fault[size] != '"')) {
        size++;
    }
    return size;
}

/* Is the fault a word that is not understood, rather than one character? */
static bool is_word(ntr_rule_no rule) {
    switch (rule) {
    case NTR_R_SUBJECT: case NTR_R_PREDICATE: case NTR_R_OBJECT: case NTR_R_GRAPH: case NTR_R_DIRECTIVE: case NTR_R_TERM:
    case NTR_R_IRI_RELATIVE: case NTR_R_VERSION: case NTR_R_TRIPLE_TERM:
        return true;
    default:
        return false;
    }
}

/* The bytes to quote: one character, the whole of an escape, or the beginning of a word. */
static fmt_str quoted_text(const ntr_reader *r) {
    const uint64_t left = (uint64_t)(r->end - r->fault);
    uint64_t size = utf8_decode(r->fault, left, NULL);
    if (*r->fault == '\\') {
        size = escape_size(r, left);
    } else if (size == 1 && is_word(r->rule)) {
        while (size < left && size < LONGEST_WORD && r->fault[size] > ' ') {
            size++;
        }
    }
    return (fmt_str){(const char *)r->fault, size == 0 ? 1 : size};
}

static void describe(const ntr_reader *r, char out[FINDING_SIZE]) {
    char quote[DIAG_QUOTE_SIZE];
    if (r->rule == NTR_R_TERM_TOO_LONG) {
        snprintf(out, FINDING_SIZE, "a term of %" PRIu64 " bytes", r->length);
    } else if (r->rule == NTR_R_LITERAL_PARTS) {
        snprintf(out, FINDING_SIZE, "a literal with both");
    } else if (r->fault == r->end) {
        snprintf(out, FINDING_SIZE, "the text ends here");
    } else if (ntr_is_line_end(*r->fault)) {
        snprintf(out, FINDING_SIZE, "the line ends here");
    } else {
        snprintf(out, FINDING_SIZE, "%s stands here", diag_quote(quote, quoted_text(r)));
    }
}

fmt_status ntr_refuse(const ntr_reader *r, ntr_line line, uint64_t *out_column, fmt_diag *diag) {
    char finding[FINDING_SIZE];
    const bool is_long = r->rule == NTR_R_TERM_TOO_LONG;
    const uint64_t column = 1 + count_characters(line.start, r->fault);
    const diag_place place = {
        .offset = line.offset + (uint64_t)(r->fault - line.start),
        .index = line.number,
        .expected = is_long ? NTRIPLES_MAX_TERM : 0,
        .got = is_long ? r->length : r->fault < r->end ? *r->fault : 0,
    };
    if (out_column != NULL) {
        *out_column = column;
    }
    describe(r, finding);
    return diag_refuse(diag, status_of(r->rule), ntr_get_rule(r->rule), place, "line %" PRIu64 ", column %" PRIu64 ": %s",
                       line.number, column, finding);
}
