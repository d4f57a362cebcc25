/* files_fixture.h — what the tests of the files around volumes share: bytes from hexadecimal text, notes that are counted, and what a
 * refusal must say. */
#ifndef FILES_FIXTURE_H
#define FILES_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/q42_files.h>

/* Bytes of hexadecimal text; white space is passed over. Answers how many. */
size_t fixture_bytes(const char *hex, uint8_t *out, size_t room);

/* The bytes are those of the hexadecimal text. */
void assert_bytes(const void *data, uint64_t size, const char *hex);

/* The refusal is FMT_BAD_FILE by this rule, and its text holds these words. */
void assert_refused(fmt_status status, const fmt_diag *diag, const char *rule, const char *words);

typedef struct note_count {
    uint32_t n;
    char last[64]; /* rule of the last one */
} note_count;
void count_note(void *ctx, const fmt_diag *note);

static inline fmt_span span_of(const void *data, uint64_t size) {
    const fmt_span span = {data, size};
    return span;
}

static inline fmt_str text_of(const char *text) {
    const fmt_str str = {text, strlen(text)};
    return str;
}

#endif
