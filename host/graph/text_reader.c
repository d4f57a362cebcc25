/* text_reader.c — reading what a user typed. */
#include "graph/text_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"

#define SHOWN_BEFORE 60u /* characters of the text that are shown before and behind the fault */
#define SHOWN_AFTER 30u
#define SHOWN_SIZE ((SHOWN_BEFORE + SHOWN_AFTER) * 4 + 8)

void text_reader_begin(text_reader *r, const char *what, const char *text, error_context *err) {
    *r = (text_reader){text, text, text + strlen(text), what, err};
}

void text_reader_skip_blanks(text_reader *r) {
    while (r->at < r->end && strchr(" \t\r\n", *r->at) != NULL) {
        r->at++;
    }
}

static bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
}

uint64_t text_reader_name_size(const text_reader *r) {
    const char *at = r->at;
    while (at < r->end && is_name_byte(*at)) {
        at++;
    }
    return (uint64_t)(at - r->at);
}

bool text_reader_take_word(text_reader *r, const char *word) {
    const size_t size = strlen(word);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0) {
        return false;
    }
    const char *behind = r->at + size;
    if (behind < r->end && (is_name_byte(*behind) || *behind == ':' || *behind == '-')) {
        return false;
    }
    r->at = behind;
    return true;
}

static unsigned step(const char *at, const char *end) {
    const unsigned length = utf8_decode((const uint8_t *)at, (uint64_t)(end - at), NULL);
    return length > 0 ? length : 1;
}

/* Copies characters from `at` until `end` or `most` characters; controls become blanks, so that the caret stays in its place. */
static size_t copy_shown(char *out, const char *at, const char *end, unsigned most) {
    size_t n = 0;
    for (unsigned i = 0; at < end && i < most; i++) {
        const unsigned length = step(at, end);
        const bool is_shown = length > 1 || ((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7F);
        memcpy(out + n, is_shown ? at : " ", is_shown ? length : 1);
        n += is_shown ? length : 1;
        at += length;
    }
    return n;
}

qn_status text_reader_refuse(text_reader *r, const char *place, const char *format, ...) {
    char message[512], shown[SHOWN_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    unsigned column = 0;
    for (const char *at = r->begin; at < place; at += step(at, r->end)) {
        column++;
    }
    const unsigned hidden = column > SHOWN_BEFORE ? column - SHOWN_BEFORE : 0;
    const char *first = r->begin;
    for (unsigned i = 0; i < hidden; i++) {
        first += step(first, r->end);
    }
    const size_t n = copy_shown(shown, first, r->end, SHOWN_BEFORE + SHOWN_AFTER);
    const char *dots = hidden > 0 ? "..." : "";
    return FAIL(r->err, QN_BAD_INPUT, "%s, column %u: %s\n  %s%.*s\n  %*s^", r->what, column + 1, message, dots, (int)n,
                shown, (int)(strlen(dots) + column - hidden), "");
}
