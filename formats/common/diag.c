/* diag.c — diagnoses and safe quoting. */
#include "diag.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

/* Takes away the bytes of a character that a full buffer cut in two. */
static void drop_broken_tail(char *text) {
    const uint64_t bad = utf8_first_invalid(text, strlen(text));
    if (bad != UTF8_ALL_VALID) {
        text[bad] = '\0';
    }
}

fmt_status diag_refuse(fmt_diag *diag, fmt_status status, const fmt_rule *rule, diag_place place,
                       const char *format, ...) {
    if (diag == NULL) {
        return status;
    }
    diag->rule = rule->id;
    diag->section = rule->section;
    diag->offset = place.offset;
    diag->index = place.index;
    diag->expected = place.expected;
    diag->got = place.got;
    va_list args;
    va_start(args, format);
    const int written = vsnprintf(diag->text, sizeof diag->text, format, args);
    va_end(args);
    const size_t length = written < 0 ? 0 : (size_t)written;
    if (length < sizeof diag->text) {
        snprintf(diag->text + length, sizeof diag->text - length, "%s%s.", length == 0 ? "" : ": ", rule->sentence);
    }
    drop_broken_tail(diag->text);
    return status;
}

/* C1 controls, line and paragraph separators and bidirectional marks could rearrange a terminal line. */
static bool is_printable(uint32_t code) {
    return code >= 0x20 && code != 0x7F && code != '"' && code != '\\' && !(code >= 0x80 && code <= 0x9F) &&
           !(code >= 0x200B && code <= 0x200F) && !(code >= 0x2028 && code <= 0x202E) &&
           !(code >= 0x2066 && code <= 0x2069) && code != 0xFEFF;
}

/* Writes one byte of a character that is not printed as it is; returns how many bytes that took. */
static size_t escape_byte(char *out, uint8_t byte) {
    static const char hex[] = "0123456789abcdef";
    out[0] = '\\';
    if (byte == '"' || byte == '\\') {
        out[1] = (char)byte;
        return 2;
    }
    out[1] = 'x';
    out[2] = hex[byte >> 4];
    out[3] = hex[byte & 15];
    return 4;
}

const char *diag_quote(char out[DIAG_QUOTE_SIZE], fmt_str text) {
    const uint8_t *bytes = (const uint8_t *)text.data;
    const size_t room = DIAG_QUOTE_SIZE - sizeof "...\"";
    size_t n = 0;
    uint64_t at = 0;
    out[n++] = '"';
    while (at < text.size) {
        uint32_t code = 0;
        unsigned length = utf8_decode(bytes + at, text.size - at, &code);
        const bool is_plain = length > 0 && is_printable(code);
        length = length == 0 ? 1 : length;
        if (n + (is_plain ? length : 4 * length) > room) {
            break;
        }
        for (unsigned i = 0; i < length; i++) {
            if (is_plain) {
                out[n++] = (char)bytes[at + i];
            } else {
                n += escape_byte(out + n, bytes[at + i]);
            }
        }
        at += length;
    }
    snprintf(out + n, DIAG_QUOTE_SIZE - n, "%s\"", at < text.size ? "..." : "");
    return out;
}
