/* words_of_text.c — cutting and folding words. */
#include "ground/words_of_text.h"

#include <string.h>

#include "common/fnv.h"
#include "common/utf8.h"

typedef struct code_range {
    uint32_t first, last;
} code_range;

static bool is_in(const code_range *ranges, size_t n, uint32_t code) {
    size_t i = 0;
    while (i < n && (code < ranges[i].first || code > ranges[i].last)) {
        i++;
    }
    return i < n;
}

/* Beyond ASCII everything is taken for a letter but these: Latin-1 signs, punctuation, arrows to dingbats, CJK punctuation, full-width
 * signs, private use, specials. */
static bool is_letter(uint32_t code) {
    static const code_range others[] = {{0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb9},     {0xbb, 0xbf},    {0xd7, 0xd7},
                                        {0xf7, 0xf7},     {0x37e, 0x37e},   {0x387, 0x387},   {0x589, 0x589},  {0x5be, 0x5be},
                                        {0x60c, 0x60c},   {0x61b, 0x61f},   {0x6d4, 0x6d4},   {0x964, 0x965},  {0x2000, 0x206f},
                                        {0x20a0, 0x20cf}, {0x2190, 0x2bff}, {0x2e00, 0x2e7f}, {0x3000, 0x3004}, {0x3008, 0x3020},
                                        {0x3030, 0x3030}, {0xe000, 0xf8ff}, {0xfe00, 0xfe6f}, {0xff00, 0xff0f}, {0xff1a, 0xff20},
                                        {0xff3b, 0xff40}, {0xff5b, 0xff65}, {0xffe0, 0xffff}, {0x1f000, 0x1faff}, {0xe0000, 0x10ffff}};
    if (code < 0x80) {
        return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
    }
    return !is_in(others, sizeof others / sizeof others[0], code);
}

/* Scripts without blanks between words. */
static bool stands_alone(uint32_t code) {
    static const code_range scripts[] = {{0xe00, 0xe7f},   {0x3005, 0x3007}, {0x3040, 0x30ff},
                                         {0x3400, 0x9fff}, {0xac00, 0xd7af}, {0xf900, 0xfaff}, {0x20000, 0x323af}};
    return code >= 0xe00 && is_in(scripts, sizeof scripts / sizeof scripts[0], code);
}

static uint32_t fold(uint32_t code) {
    if (code < 0x80) {
        return code >= 'A' && code <= 'Z' ? code + 32 : code;
    }
    if ((code >= 0xc0 && code <= 0xde) || (code >= 0x391 && code <= 0x3ab) || (code >= 0x410 && code <= 0x42f)) {
        return code + 32;
    }
    if ((code >= 0x100 && code <= 0x137 && code != 0x130 && code != 0x131) || (code >= 0x14a && code <= 0x177) ||
        (code >= 0x460 && code <= 0x481) || (code >= 0x48a && code <= 0x4bf)) {
        return code | 1;
    }
    if ((code >= 0x139 && code <= 0x148) || (code >= 0x179 && code <= 0x17e)) {
        return code + (code & 1);
    }
    static const struct {
        uint32_t first, last, by;
    } runs[] = {{0x386, 0x386, 38}, {0x388, 0x38a, 37}, {0x38c, 0x38c, 64}, {0x38e, 0x38f, 63},
                {0x3c2, 0x3c2, 1}, {0x400, 0x40f, 80}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        if (code >= runs[i].first && code <= runs[i].last) {
            return code + runs[i].by;
        }
    }
    return code;
}

static bool is_upper(uint32_t code) {
    return fold(code) != code;
}

void word_reader_init(word_reader *reader, const char *text, uint64_t size) {
    const uint8_t *begin = (const uint8_t *)text;
    *reader = (word_reader){.begin = begin, .at = begin, .end = begin + size};
}

/* The character at r->at, and its length; 0 at the end or for bytes that are none. */
static unsigned peek(const word_reader *r, const uint8_t *at, uint32_t *out_code) {
    if (at < r->end && *at < 0x80) { /* most of them, and most of the time of a search */
        *out_code = *at;
        return 1;
    }
    return at < r->end ? utf8_decode(at, (uint64_t)(r->end - at), out_code) : 0;
}

/* Moves to the first letter; false at the end. */
static bool skip_to_word(word_reader *r) {
    while (r->at < r->end) {
        uint32_t code;
        const unsigned n = peek(r, r->at, &code);
        if (n > 0 && is_letter(code)) {
            return true;
        }
        if (n == 1 && code == '\\' && r->has_escapes && r->end - r->at > 1) {
            r->at++; /* the character behind it goes too */
            const unsigned escaped = peek(r, r->at, &code);
            r->at += escaped > 0 ? escaped : 1;
        } else {
            r->at += n > 0 ? n : 1;
        }
    }
    return false;
}

static void append(text_word *word, uint32_t code) {
    uint8_t bytes[4] = {(uint8_t)code};
    const unsigned n = code < 0x80 ? 1 : utf8_encode(code, bytes);
    if (word->size + n <= WORD_ROOM) {
        memcpy(word->text + word->size, bytes, n);
        word->size += n;
    }
}

/* "dogs" becomes "dog"; "glass", "virus" and "basis" stay. */
static void drop_plural(text_word *word) {
    const uint32_t n = word->size;
    bool is_ascii = true;
    for (uint32_t i = 0; i < n; i++) {
        is_ascii = is_ascii && word->text[i] >= 'a' && word->text[i] <= 'z';
    }
    if (is_ascii && n > 3 && word->text[n - 1] == 's' && memchr("sui", word->text[n - 2], 3) == NULL) {
        word->size--;
    }
}

/* Whether a new word begins at `code`, which follows `before`: aB, or ABc at B. */
static bool is_case_edge(const word_reader *r, uint32_t before, uint32_t code, unsigned n) {
    uint32_t after = 0;
    if (!r->cuts_case || !is_upper(code)) {
        return false;
    }
    const bool has_lower_after = peek(r, r->at + n, &after) > 0 && is_letter(after) && !is_upper(after) && (after < '0' || after > '9');
    return !is_upper(before) || has_lower_after;
}

bool word_reader_next(word_reader *reader, text_word *out) {
    if (!skip_to_word(reader)) {
        return false;
    }
    uint32_t code, before = 0;
    unsigned n;
    out->size = 0;
    out->at = reader->at;
    while ((n = peek(reader, reader->at, &code)) > 0 && is_letter(code)) {
        const bool is_first = reader->at == out->at;
        if (!is_first && (stands_alone(code) || is_case_edge(reader, before, code, n))) {
            break;
        }
        append(out, fold(code));
        reader->at += n;
        before = code;
        if (stands_alone(code)) {
            break;
        }
    }
    out->n_bytes = (uint32_t)(reader->at - out->at);
    drop_plural(out);
    out->hash = fnv1a64(out->text, out->size);
    return true;
}

bool text_word_equals(const text_word *a, const text_word *b) {
    return a->hash == b->hash && a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

bool text_word_is_common(const text_word *word) {
    /* In the form of this file: "does" without its s. */
    static const char list[] =
        " a about all also an and any are as at be been but by can could did do doe for from give had has have he her him his how i if in "
        "into is it its know list made make many me more most much my name no not of on one or our out please say she should show so some "
        "tell than that the their them then there these they thing this those to up us use was we were what when where which who whom "
        "whose why will with would you your ";
    char wanted[WORD_ROOM + 3];
    if (word->size > 8) {
        return false;
    }
    wanted[0] = ' ';
    memcpy(wanted + 1, word->text, word->size);
    wanted[word->size + 1] = ' ';
    wanted[word->size + 2] = '\0';
    return strstr(list, wanted) != NULL;
}
