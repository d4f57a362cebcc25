/* text_cursor.h — where a parser of text stands, and what it says when it cannot go on (internal to constrain/).
 *
 * Threading: one thread at a time. Memory: the text is borrowed.
 */
#ifndef HOST_CONSTRAIN_TEXT_CURSOR_H
#define HOST_CONSTRAIN_TEXT_CURSOR_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

typedef struct text_cursor {
    const char *text;
    uint64_t at, size;
    const char *name;      /* of the file, for messages */
    error_context *err;
    qn_status status;      /* the first failure */
} text_cursor;

/* Fails once with "NAME: line L, column C: ..."; `at` is a byte of the text. */
void text_cursor_fail(text_cursor *c, qn_status code, uint64_t at, const char *format, ...) ERROR_PRINTF(4, 5);

void text_cursor_place(const text_cursor *c, uint64_t at, uint32_t *out_line, uint32_t *out_column);

/* The byte here as a word for messages: 'x', "the end", "the line's end" or byte 0xHH. */
#define TEXT_CURSOR_FOUND_SIZE 24
const char *text_cursor_found(const text_cursor *c, char out[TEXT_CURSOR_FOUND_SIZE]);

/* The byte `ahead` bytes from here, or 0 behind the end. */
static inline char text_cursor_peek(const text_cursor *c, uint64_t ahead) {
    return c->at + ahead < c->size ? c->text[c->at + ahead] : '\0';
}

bool text_cursor_take(text_cursor *c, char wanted);

/* A decimal number up to `most`; fails above it or where none stands. */
uint32_t text_cursor_number(text_cursor *c, uint32_t most, const char *what);

/* `digits` hexadecimal digits as a number. */
uint32_t text_cursor_hex(text_cursor *c, unsigned digits);

/* One well-formed character. */
uint32_t text_cursor_character(text_cursor *c);

#endif
