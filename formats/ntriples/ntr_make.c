/* ntr_make.c — surface texts made from parts. */
#include <string.h>

#include "common/utf8.h"
#include "ntr_internal.h"

/* A part is read where it lies, so that a fault is counted inside it. The brackets around it are not in the input. */
static fmt_status refuse_part(fmt_str part, ntr_rule_no rule, uint64_t at, uint64_t length, fmt_diag *diag) {
    const uint8_t *begin = (const uint8_t *)part.data;
    const ntr_reader r = {.end = begin + part.size, .fault = begin + at, .rule = rule, .length = length};
    return ntr_refuse(&r, (ntr_line){begin, 1, 0}, NULL, diag);
}

static fmt_status check_size(fmt_str part, uint64_t size, fmt_diag *diag) {
    return size <= NTRIPLES_MAX_TERM ? FMT_OK : refuse_part(part, NTR_R_TERM_TOO_LONG, 0, size, diag);
}

/* Appends <iri> to `out`, which holds *io_size bytes. */
static fmt_status append_iri(fmt_str iri, char *out, uint64_t *io_size, fmt_diag *diag) {
    const uint64_t start = *io_size, size = start + iri.size + 2;
    fmt_status status = check_size(iri, size, diag);
    if (status != FMT_OK) {
        return status;
    }
    uint64_t n = ntr_append(out, start, "<", 1);
    n = ntr_append(out, n, iri.data, iri.size);
    *io_size = ntr_append(out, n, ">", 1);
    const uint8_t *begin = (const uint8_t *)out + start;
    ntr_reader r = {.at = begin, .end = begin + iri.size + 2};
    bool is_escaped = false;
    if (!ntr_scan_iri(&r, &is_escaped)) {
        return refuse_part(iri, r.rule, (uint64_t)(r.fault - begin) - 1, 0, diag);
    }
    const char *escape = is_escaped ? memchr(iri.data, '\\', iri.size) : NULL;
    if (escape != NULL || r.at != r.end) {
        const uint64_t at = escape != NULL ? (uint64_t)(escape - iri.data) : (uint64_t)(r.at - begin) - 2;
        return refuse_part(iri, NTR_R_IRI_CHARACTER, at, 0, diag);
    }
    return ntr_has_scheme(begin + 1, iri.size) ? FMT_OK : refuse_part(iri, NTR_R_IRI_RELATIVE, 0, 0, diag);
}

fmt_status ntriples_make_iri(fmt_str iri, char *out, ntriples_term *out_term, fmt_diag *diag) {
    uint64_t size = 0;
    const fmt_status status = append_iri(iri, out, &size, diag);
    if (status == FMT_OK) {
        *out_term = (ntriples_term){out, (uint32_t)size, NTRIPLES_IRI, 0};
    }
    return status;
}

fmt_status ntriples_make_blank(fmt_str label, char *out, ntriples_term *out_term, fmt_diag *diag) {
    const uint64_t size = label.size + 2;
    const uint8_t *begin = (const uint8_t *)label.data;
    ntr_reader r = {.at = begin, .end = begin + label.size};
    if (!ntr_scan_label(&r)) {
        return refuse_part(label, r.rule, (uint64_t)(r.fault - begin), 0, diag);
    }
    if (r.at != r.end) {
        return refuse_part(label, NTR_R_LABEL, (uint64_t)(r.at - begin), 0, diag);
    }
    const fmt_status status = check_size(label, size, diag);
    if (status == FMT_OK) {
        ntr_append(out, ntr_append(out, 0, "_:", 2), label.data, label.size);
        *out_term = (ntriples_term){out, (uint32_t)size, NTRIPLES_BLANK, 0};
    }
    return status;
}

/* The value between quotation marks, escaped. */
static uint64_t append_value(fmt_str value, char *out) {
    uint64_t n = ntr_append(out, 0, "\"", 1), run = 0;
    for (uint64_t i = 0; i < value.size; i++) {
        const char c = value.data[i];
        if (c == '"' || c == '\\' || c == '\n' || c == '\r') {
            n = ntr_append(out, n, value.data + run, i - run);
            n = ntr_append_code(out, n, (uint8_t)c, true);
            run = i + 1;
        }
    }
    n = ntr_append(out, n, value.data + run, value.size - run);
    return ntr_append(out, n, "\"", 1);
}

static fmt_status append_language(fmt_str language, char *out, uint64_t *io_size, fmt_diag *diag) {
    const uint8_t *begin = (const uint8_t *)language.data;
    ntr_reader r = {.at = begin, .end = begin + language.size};
    if (!ntr_scan_language(&r)) {
        return refuse_part(language, r.rule, (uint64_t)(r.fault - begin), 0, diag);
    }
    if (r.at != r.end) {
        return refuse_part(language, NTR_R_LANGUAGE, (uint64_t)(r.at - begin), 0, diag);
    }
    *io_size = ntr_append(out, ntr_append(out, *io_size, "@", 1), language.data, language.size);
    return FMT_OK;
}

fmt_status ntriples_make_literal(fmt_str value, fmt_str language, fmt_str datatype, char *out, ntriples_term *out_term,
                                 fmt_diag *diag) {
    static const char string[] = "http://www.w3.org/2001/XMLSchema#string";
    if (language.size > 0 && datatype.size > 0) {
        return refuse_part(language, NTR_R_LITERAL_PARTS, 0, 0, diag);
    }
    const uint64_t bad = utf8_first_invalid(value.data, value.size);
    if (bad != UTF8_ALL_VALID) {
        return refuse_part(value, NTR_R_UTF_8, bad, 0, diag);
    }
    uint64_t size = append_value(value, out);
    const uint64_t close = size - 1;
    fmt_status status = check_size(value, size, diag);
    const bool is_string = datatype.size == sizeof string - 1 && memcmp(datatype.data, string, datatype.size) == 0;
    if (status != FMT_OK) {
        return status;
    }
    if (language.size > 0) {
        status = append_language(language, out, &size, diag);
    } else if (datatype.size > 0 && !is_string) {
        size = ntr_append(out, size, "^^", 2);
        status = append_iri(datatype, out, &size, diag);
    }
    status = status == FMT_OK ? check_size(value, size, diag) : status;
    if (status == FMT_OK) {
        *out_term = (ntriples_term){out, (uint32_t)size, NTRIPLES_LITERAL, (uint32_t)close};
    }
    return status;
}
