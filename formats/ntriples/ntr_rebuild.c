/* ntr_rebuild.c — copying text with its escapes resolved; what is read here has been scanned. */
#include <string.h>

#include "common/utf8.h"
#include "ntr_internal.h"

static unsigned hex_value(uint8_t digit) {
    return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
}

uint32_t ntr_code_escape(const uint8_t *at, unsigned *out_size) {
    *out_size = at[1] == 'u' ? 6 : 10;
    uint32_t code = 0;
    for (unsigned i = 2; i < *out_size; i++) {
        code = code << 4 | hex_value(at[i]);
    }
    return code;
}

uint64_t ntr_append(char *out, uint64_t size, const void *bytes, uint64_t n) {
    if (size < NTRIPLES_TERM_ROOM && n > 0) {
        const uint64_t room = NTRIPLES_TERM_ROOM - size;
        memcpy(out + size, bytes, n < room ? n : room);
    }
    return size + n;
}

uint64_t ntr_append_code(char *out, uint64_t size, uint32_t code, bool in_literal) {
    static const char escaped[] = "\"\\\n\r", letters[] = "\"\\nr";
    uint8_t utf8[4];
    const char *found = in_literal && code != 0 && code < 0x80 ? strchr(escaped, (int)code) : NULL;
    if (found != NULL) {
        const char pair[2] = {'\\', letters[found - escaped]};
        return ntr_append(out, size, pair, sizeof pair);
    }
    return ntr_append(out, size, utf8, utf8_encode(code, utf8));
}

/* Code point of the escape at `at`, whatever its kind. */
static uint32_t escape_code(const uint8_t *at, unsigned *out_size) {
    static const char letters[] = "tbnrf", codes[] = "\t\b\n\r\f";
    if (at[1] == 'u' || at[1] == 'U') {
        return ntr_code_escape(at, out_size);
    }
    const char *found = strchr(letters, at[1]);
    *out_size = 2;
    return found != NULL ? (uint32_t)codes[found - letters] : at[1];
}

uint64_t ntr_append_unescaped(char *out, uint64_t size, const uint8_t *from, const uint8_t *to, bool in_literal) {
    while (from < to) {
        const uint8_t *escape = memchr(from, '\\', (size_t)(to - from));
        const uint8_t *plain_end = escape == NULL ? to : escape;
        size = ntr_append(out, size, from, (uint64_t)(plain_end - from));
        from = plain_end;
        if (escape != NULL) {
            unsigned escape_size;
            const uint32_t code = escape_code(escape, &escape_size);
            size = ntr_append_code(out, size, code, in_literal);
            from += escape_size;
        }
    }
    return size;
}
