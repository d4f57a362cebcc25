/* text_reader.h — reading what a user typed, and pointing at what is wrong in it.
 *
 * Threading: one thread at a time per reader.
 * Memory:    borrows the text.
 */
#ifndef HOST_GRAPH_TEXT_READER_H
#define HOST_GRAPH_TEXT_READER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct text_reader {
    const char *begin, *at, *end;
    const char *what; /* "pattern": for messages */
    error_context *err;
} text_reader;

void text_reader_begin(text_reader *r, const char *what, const char *text, error_context *err);

void text_reader_skip_blanks(text_reader *r);

/* True when `word` stands here and no letter, digit or ':' follows it; then it was read. */
bool text_reader_take_word(text_reader *r, const char *word);

/* Bytes of a name (letters, digits, '_', and what is not ASCII) that begins here; 0 when there is none. */
uint64_t text_reader_name_size(const text_reader *r);

/* QN_BAD_INPUT: "WHAT, column N: MESSAGE", the text, and a caret below the character at `place`. */
qn_status text_reader_refuse(text_reader *r, const char *place, const char *format, ...) ERROR_PRINTF(3, 4);

#endif
