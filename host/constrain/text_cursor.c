/* text_cursor.c — reading text byte by byte. */
#include "constrain/text_cursor.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/utf8.h"

void text_cursor_place(const text_cursor *c, uint64_t at, uint32_t *out_line, uint32_t *out_column) {
    uint64_t line_begin = 0;
    *out_line = 1;
    for (uint64_t i = 0; i < at && i < c->size; i++) {
        if (c->text[i] == '\n') {
            ++*out_line;
            line_begin = i + 1;
        }
    }
    *out_column = (uint32_t)(at - line_begin) + 1;
}

void text_cursor_fail(text_cursor *c, qn_status code, uint64_t at, const char *format, ...) {
    char words[ERROR_TEXT_SIZE / 2];
    uint32_t line, column;
    if (c->status < 0) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    text_cursor_place(c, at, &line, &column);
    c->status = FAIL(c->err, code, "%.400s: line %u, column %u: %s", c->name, line, column, words);
}

const char *text_cursor_found(const text_cursor *c, char out[TEXT_CURSOR_FOUND_SIZE]) {
    const unsigned char byte = (unsigned char)text_cursor_peek(c, 0);
    if (c->at >= c->size) {
        snprintf(out, TEXT_CURSOR_FOUND_SIZE, "the end");
    } else if (byte == '\n') {
        snprintf(out, TEXT_CURSOR_FOUND_SIZE, "the line's end");
    } else if (byte >= ' ' && byte < 0x7F) {
        snprintf(out, TEXT_CURSOR_FOUND_SIZE, "'%c'", byte);
    } else {
        snprintf(out, TEXT_CURSOR_FOUND_SIZE, "byte 0x%02x", byte);
    }
    return out;
}

bool text_cursor_take(text_cursor *c, char wanted) {
    const bool is_there = c->at < c->size && c->text[c->at] == wanted;
    c->at += is_there;
    return is_there;
}

uint32_t text_cursor_number(text_cursor *c, uint32_t most, const char *what) {
    const uint64_t begin = c->at;
    char found[TEXT_CURSOR_FOUND_SIZE];
    uint64_t value = 0;
    for (char digit = text_cursor_peek(c, 0); digit >= '0' && digit <= '9'; digit = text_cursor_peek(c, 0)) {
        value = value <= most ? value * 10 + (uint64_t)(digit - '0') : value;
        c->at++;
    }
    if (c->at == begin) {
        text_cursor_fail(c, QN_BAD_INPUT, begin, "%s is a whole number, found is %s", what, text_cursor_found(c, found));
    } else if (value > most) {
        text_cursor_fail(c, QN_LIMIT, begin, "%s is %.*s; the limit is %u", what, (int)(c->at - begin < 24 ? c->at - begin : 24),
                         c->text + begin, most);
    }
    return (uint32_t)(value <= most ? value : 0);
}

static int find_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

uint32_t text_cursor_hex(text_cursor *c, unsigned digits) {
    char found[TEXT_CURSOR_FOUND_SIZE];
    uint32_t value = 0;
    for (unsigned i = 0; i < digits && c->status >= 0; i++) {
        const int digit = find_digit(text_cursor_peek(c, 0));
        if (digit < 0) {
            text_cursor_fail(c, QN_BAD_INPUT, c->at, "this escape has %u hexadecimal digits, found is %s", digits,
                             text_cursor_found(c, found));
        } else {
            value = value * 16 + (uint32_t)digit;
            c->at++;
        }
    }
    return value;
}

uint32_t text_cursor_character(text_cursor *c) {
    uint32_t code = 0;
    const unsigned size = utf8_decode((const uint8_t *)c->text + c->at, c->size - c->at, &code);
    if (size == 0) {
        char found[TEXT_CURSOR_FOUND_SIZE];
        text_cursor_fail(c, QN_BAD_INPUT, c->at, "a character of UTF-8 belongs here, found is %s", text_cursor_found(c, found));
    }
    c->at += size;
    return code;
}
