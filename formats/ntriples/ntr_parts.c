/* ntr_parts.c — looking into surface texts: one text as a term, its parts, its value. */
#include <string.h>

#include "ntr_internal.h"

fmt_status ntriples_read_term(fmt_str text, void *scratch, ntriples_term *out_term, uint64_t *out_used, fmt_diag *diag) {
    const uint8_t *begin = (const uint8_t *)text.data;
    ntriples_term term;
    ntr_reader r = {.at = begin, .end = text.size == 0 ? begin : begin + text.size, .out = scratch};
    bool is_right = ntr_read_any(&r, NTR_ANY_KIND, NTR_R_TERM, &term);
    if (is_right && out_used == NULL && r.at != r.end) {
        is_right = ntr_fail(&r, NTR_R_TERM_TAIL, r.at);
    }
    if (!is_right) {
        return ntr_refuse(&r, (ntr_line){begin, 1, 0}, NULL, diag);
    }
    *out_term = term;
    if (out_used != NULL) {
        *out_used = (uint64_t)(r.at - begin);
    }
    return FMT_OK;
}

bool ntriples_is_canonical(fmt_str text, ntriples_term *out_term) {
    const uint8_t *begin = (const uint8_t *)text.data;
    ntriples_term term;
    ntr_reader r = {.at = begin, .end = text.size == 0 ? begin : begin + text.size};
    if (!ntr_read_any(&r, NTR_ANY_KIND, NTR_R_TERM, &term) || term.size != text.size) {
        return false;
    }
    if (out_term != NULL) {
        *out_term = term;
    }
    return true;
}

fmt_str ntriples_escaped_value(const ntriples_term *literal) {
    return (fmt_str){literal->text + 1, literal->close - 1};
}

/* What follows the closing quotation mark and `skipped` bytes, when the byte after the mark is `mark`. */
static fmt_str suffix_after(const ntriples_term *literal, char mark, uint32_t skipped, uint32_t dropped) {
    const uint32_t at = literal->close + 1;
    if (literal->size <= at || literal->text[at] != mark) {
        return (fmt_str){literal->text + literal->size, 0};
    }
    return (fmt_str){literal->text + at + skipped, literal->size - at - skipped - dropped};
}

fmt_str ntriples_language(const ntriples_term *literal) {
    return suffix_after(literal, '@', 1, 0);
}

fmt_str ntriples_datatype(const ntriples_term *literal) {
    return suffix_after(literal, '^', 3, 1);
}

static uint32_t decode_value(fmt_str escaped, char *out) {
    uint32_t n = 0;
    for (uint64_t i = 0; i < escaped.size; i++) {
        char c = escaped.data[i];
        if (c == '\\' && i + 1 < escaped.size) {
            const char letter = escaped.data[++i];
            c = letter == 'n' ? '\n' : letter == 'r' ? '\r' : letter;
        }
        out[n++] = c;
    }
    return n;
}

uint32_t ntriples_decode(const ntriples_term *term, char *out) {
    if (term->kind == NTRIPLES_LITERAL) {
        return decode_value(ntriples_escaped_value(term), out);
    }
    const uint32_t around = term->kind == NTRIPLES_IRI ? 1 : 2;
    memcpy(out, term->text + around, term->size - 2);
    return term->size - 2;
}
