/* utf8.c — strict UTF-8 decoding and encoding. */
#include "utf8.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_scalar_value(uint32_t code) {
    return code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

unsigned utf8_decode(const uint8_t *data, uint64_t size, uint32_t *out_code) {
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (size == 0) {
        return 0;
    }
    const uint8_t lead = data[0];
    const unsigned length = lead < 0x80 ? 1 : lead >= 0xF0 && lead <= 0xF4 ? 4 : lead >= 0xE0 && lead < 0xF0 ? 3
                          : lead >= 0xC2 && lead < 0xE0 ? 2 : 0;
    if (length == 0 || length > size) {
        return 0;
    }
    uint32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (unsigned i = 1; i < length; i++) {
        if ((data[i] & 0xC0) != 0x80) {
            return 0;
        }
        code = code << 6 | (data[i] & 0x3F);
    }
    if (code < smallest[length] || !is_scalar_value(code)) {
        return 0;
    }
    if (out_code != NULL) {
        *out_code = code;
    }
    return length;
}

uint64_t utf8_first_invalid(const void *data, uint64_t size) {
    const uint8_t *bytes = data;
    for (uint64_t at = 0; at < size;) {
        if (bytes[at] < 0x80) {
            at++;
            continue;
        }
        const unsigned length = utf8_decode(bytes + at, size - at, NULL);
        if (length == 0) {
            return at;
        }
        at += length;
    }
    return UTF8_ALL_VALID;
}

unsigned utf8_encode(uint32_t code, uint8_t out[4]) {
    if (!is_scalar_value(code)) {
        return 0;
    }
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    const unsigned length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (unsigned i = length - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (uint8_t)(code | (0xF00u >> length & 0xFF));
    return length;
}
