/* ntr_scan.c — the tokens of N-Triples: each is proved right and its end found, nothing is copied. */
#include "common/utf8.h"
#include "ntr_bytes.h"
#include "ntr_internal.h"

#define BETWEEN(c, low, high) ((c) >= (low) && (c) <= (high))
#define LETTER(c) (BETWEEN(c, 'A', 'Z') || BETWEEN(c, 'a', 'z'))
#define DIGIT(c) BETWEEN(c, '0', '9')
#define HEX(c) (DIGIT(c) || BETWEEN(c, 'A', 'F') || BETWEEN(c, 'a', 'f'))
#define IRI_PLAIN(c) \
    (BETWEEN(c, 0x21, 0x7F) && (c) != '<' && (c) != '>' && (c) != '"' && (c) != '{' && (c) != '|' && (c) != '}' && \
     (c) != '^' && (c) != '`' && (c) != '\\')
#define QUOTED_PLAIN(c) ((c) < 0x80 && (c) != '"' && (c) != '\\' && (c) != '\n' && (c) != '\r')
#define LABEL_FIRST(c) (LETTER(c) || DIGIT(c) || (c) == '_')
#define CLASSES(c) \
    (uint8_t)((IRI_PLAIN(c) ? NTR_IRI_PLAIN : 0) | (QUOTED_PLAIN(c) ? NTR_QUOTED_PLAIN : 0) | \
              (LABEL_FIRST(c) ? NTR_LABEL_FIRST | NTR_LABEL_REST : 0) | ((c) == '-' || (c) == '.' ? NTR_LABEL_REST : 0) | \
              (LETTER(c) ? NTR_LETTER | NTR_SCHEME_REST : 0) | (DIGIT(c) ? NTR_DIGIT | NTR_SCHEME_REST : 0) | \
              ((c) == '+' || (c) == '-' || (c) == '.' ? NTR_SCHEME_REST : 0) | (HEX(c) ? NTR_HEX : 0))
#define FOUR(c) CLASSES(c), CLASSES((c) + 1), CLASSES((c) + 2), CLASSES((c) + 3)
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)

const uint8_t ntr_classes[256] = {
    SIXTEEN(0x00), SIXTEEN(0x10), SIXTEEN(0x20), SIXTEEN(0x30), SIXTEEN(0x40), SIXTEEN(0x50), SIXTEEN(0x60), SIXTEEN(0x70),
    SIXTEEN(0x80), SIXTEEN(0x90), SIXTEEN(0xA0), SIXTEEN(0xB0), SIXTEEN(0xC0), SIXTEEN(0xD0), SIXTEEN(0xE0), SIXTEEN(0xF0),
};

/* Runs over characters beyond ASCII; null after a fault. */
static const uint8_t *skip_wide(ntr_reader *r, const uint8_t *at) {
    while (at < r->end && *at >= 0x80) {
        const unsigned size = utf8_decode(at, (uint64_t)(r->end - at), NULL);
        if (size == 0) {
            ntr_fail(r, NTR_R_UTF_8, at);
            return NULL;
        }
        at += size;
    }
    return at;
}

/* Behind the \u or \U escape at `at`, whose code point it gives; null after a fault. */
static const uint8_t *scan_code_escape(ntr_reader *r, const uint8_t *at, uint32_t *out_code) {
    const unsigned n_digits = at[1] == 'u' ? 4 : 8;
    const uint8_t *end = ntr_skip_class(at + 2, r->end, NTR_HEX);
    if ((uint64_t)(end - at) < 2 + n_digits) {
        ntr_fail(r, NTR_R_ESCAPE, at);
        return NULL;
    }
    unsigned size;
    uint8_t utf8[4];
    *out_code = ntr_code_escape(at, &size);
    if (utf8_encode(*out_code, utf8) == 0) {
        ntr_fail(r, NTR_R_CODE_POINT, at);
        return NULL;
    }
    return at + size;
}

static bool is_code_escape(const ntr_reader *r, const uint8_t *at) {
    return r->end - at >= 2 && (at[1] == 'u' || at[1] == 'U');
}

static const uint8_t *scan_iri_escape(ntr_reader *r, const uint8_t *at) {
    uint32_t code;
    if (!is_code_escape(r, at)) {
        ntr_fail(r, NTR_R_IRI_CHARACTER, at);
        return NULL;
    }
    const uint8_t *behind = scan_code_escape(r, at, &code);
    if (behind != NULL && code < 0x80 && !ntr_is((uint8_t)code, NTR_IRI_PLAIN)) {
        ntr_fail(r, NTR_R_IRI_CHARACTER, at);
        return NULL;
    }
    return behind;
}

bool ntr_scan_iri(ntr_reader *r, bool *io_rebuild) {
    const uint8_t *at = r->at + 1;
    for (;;) {
        at = ntr_skip_iri_plain(at, r->end);
        if (at == r->end) {
            return ntr_fail(r, NTR_R_IRI_END, at);
        }
        if (*at == '>') {
            r->at = at + 1;
            return true;
        }
        if (*at >= 0x80) {
            at = skip_wide(r, at);
        } else if (*at == '\\') {
            *io_rebuild = true;
            at = scan_iri_escape(r, at);
        } else {
            return ntr_fail(r, ntr_is_line_end(*at) ? NTR_R_IRI_END : NTR_R_IRI_CHARACTER, at);
        }
        if (at == NULL) {
            return false;
        }
    }
}

static const uint8_t *scan_quoted_escape(ntr_reader *r, const uint8_t *at, bool *io_rebuild) {
    const uint8_t letter = r->end - at >= 2 ? at[1] : 0;
    uint32_t code;
    switch (letter) {
    case 'n': case 'r': case '"': case '\\':
        return at + 2;
    case 't': case 'b': case 'f': case '\'':
        *io_rebuild = true;
        return at + 2;
    case 'u': case 'U':
        *io_rebuild = true;
        return scan_code_escape(r, at, &code);
    default:
        ntr_fail(r, NTR_R_ESCAPE, at);
        return NULL;
    }
}

bool ntr_scan_quoted(ntr_reader *r, bool *io_rebuild) {
    const uint8_t *at = r->at + 1;
    for (;;) {
        at = ntr_skip_quoted_plain(at, r->end);
        if (at == r->end || ntr_is_line_end(*at)) {
            return ntr_fail(r, NTR_R_LITERAL_END, at);
        }
        if (*at == '"') {
            r->at = at + 1;
            return true;
        }
        at = *at == '\\' ? scan_quoted_escape(r, at, io_rebuild) : skip_wide(r, at);
        if (at == NULL) {
            return false;
        }
    }
}

/* Characters beyond ASCII that may begin a label (first), or only follow in it. */
static const struct {
    uint32_t low, high;
    bool is_first;
} label_ranges[] = {
    {0xB7, 0xB7, false},      {0xC0, 0xD6, true},      {0xD8, 0xF6, true},      {0xF8, 0x2FF, true},
    {0x300, 0x36F, false},    {0x370, 0x37D, true},    {0x37F, 0x1FFF, true},   {0x200C, 0x200D, true},
    {0x203F, 0x2040, false},  {0x2070, 0x218F, true},  {0x2C00, 0x2FEF, true},  {0x3001, 0xD7FF, true},
    {0xF900, 0xFDCF, true},   {0xFDF0, 0xFFFD, true},  {0x10000, 0xEFFFF, true},
};

/* Size of the character beyond ASCII at `at` when it may stand there in a label, otherwise 0. */
static unsigned wide_label_size(const ntr_reader *r, const uint8_t *at, bool is_first) {
    uint32_t code = 0;
    const unsigned size = utf8_decode(at, (uint64_t)(r->end - at), &code);
    for (size_t i = 0; size > 0 && i < sizeof label_ranges / sizeof label_ranges[0]; i++) {
        if (BETWEEN(code, label_ranges[i].low, label_ranges[i].high)) {
            return is_first && !label_ranges[i].is_first ? 0 : size;
        }
    }
    return 0;
}

/* Dots belong to a label only when something of it follows. */
bool ntr_scan_label(ntr_reader *r) {
    const uint8_t *at = r->at, *end = r->at;
    while (at < r->end) {
        const bool is_first = at == r->at;
        unsigned size = ntr_is(*at, is_first ? NTR_LABEL_FIRST : NTR_LABEL_REST) ? 1 : 0;
        if (*at >= 0x80) {
            size = wide_label_size(r, at, is_first);
        }
        if (size == 0) {
            break;
        }
        end = *at == '.' ? end : at + size;
        at += size;
    }
    if (at < r->end && *at >= 0x80 && utf8_decode(at, (uint64_t)(r->end - at), NULL) == 0) {
        return ntr_fail(r, NTR_R_UTF_8, at);
    }
    if (end == r->at || (at < r->end && (*at == ':' || *at >= 0x80))) {
        return ntr_fail(r, NTR_R_LABEL, at);
    }
    r->at = end;
    return true;
}

bool ntr_scan_language(ntr_reader *r) {
    const uint8_t *at = ntr_skip_class(r->at, r->end, NTR_LETTER);
    if (at == r->at) {
        return ntr_fail(r, NTR_R_LANGUAGE, at);
    }
    while (at < r->end && *at == '-') {
        const uint8_t *part = at + 1;
        at = ntr_skip_class(part, r->end, NTR_LETTER | NTR_DIGIT);
        if (at == part) {
            const bool is_direction = r->end - at >= 2 && at[0] == '-' && ntr_is(at[1], NTR_LETTER);
            return ntr_fail(r, is_direction ? NTR_R_DIRECTION : NTR_R_LANGUAGE, at);
        }
    }
    r->at = at;
    return true;
}

bool ntr_has_scheme(const uint8_t *text, uint64_t size) {
    const uint8_t *end = text + size;
    const uint8_t *at = ntr_skip_class(text, end, NTR_SCHEME_REST);
    return at < end && *at == ':' && ntr_is(*text, NTR_LETTER);
}
