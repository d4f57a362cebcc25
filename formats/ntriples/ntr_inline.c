/* ntr_inline.c — integers, decimals and booleans in a 64-bit word, and back. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ntr_inline.h"

#define XSD "http://www.w3.org/2001/XMLSchema#"

enum { TAG_INTEGER = 1, TAG_DECIMAL = 2, TAG_BOOLEAN = 3, TAG_FLOAT = 5 };

#define TAG_SHIFT 60
#define PAYLOAD_MASK ((UINT64_C(1) << TAG_SHIFT) - 1)
#define MOST_MAGNITUDE (UINT64_C(1) << 59) /* of a negative number; a positive one has one less */
#define MOST_DIGITS 18u                    /* 2^59 has eighteen */
#define MILLION UINT64_C(1000000)
#define FRACTION_DIGITS 6u

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Takes digits without a superfluous zero in front off *io_text; false when there are none or too many. */
static bool take_whole(fmt_str *io_text, uint64_t *out_value) {
    uint64_t value = 0, n = 0;
    for (; n < io_text->size && n <= MOST_DIGITS && is_digit(io_text->data[n]); n++) {
        value = value * 10 + (uint64_t)(io_text->data[n] - '0');
    }
    if (n == 0 || n > MOST_DIGITS || (n > 1 && io_text->data[0] == '0')) {
        return false;
    }
    *io_text = (fmt_str){io_text->data + n, io_text->size - n};
    *out_value = value;
    return true;
}

static bool take_sign(fmt_str *io_text) {
    const bool is_negative = io_text->size > 0 && io_text->data[0] == '-';
    *io_text = (fmt_str){io_text->data + is_negative, io_text->size - is_negative};
    return is_negative;
}

/* The word of a signed number; false when it does not fit or is -0. */
static bool pack_number(uint64_t tag, bool is_negative, uint64_t magnitude, uint64_t *out_id) {
    if (magnitude > MOST_MAGNITUDE - !is_negative || (is_negative && magnitude == 0)) {
        return false;
    }
    const uint64_t payload = is_negative ? UINT64_C(0) - magnitude : magnitude;
    *out_id = tag << TAG_SHIFT | (payload & PAYLOAD_MASK);
    return true;
}

static bool pack_integer(fmt_str text, uint64_t *out_id) {
    uint64_t magnitude;
    const bool is_negative = take_sign(&text);
    return take_whole(&text, &magnitude) && text.size == 0 && pack_number(TAG_INTEGER, is_negative, magnitude, out_id);
}

static bool pack_decimal(fmt_str text, uint64_t *out_id) {
    uint64_t whole, fraction = 0;
    const bool is_negative = take_sign(&text);
    if (!take_whole(&text, &whole) || text.size < 2 || text.size > 1 + FRACTION_DIGITS || text.data[0] != '.') {
        return false;
    }
    if (whole > MOST_MAGNITUDE / MILLION || (text.size > 2 && text.data[text.size - 1] == '0')) {
        return false;
    }
    for (uint64_t i = 1; i <= FRACTION_DIGITS; i++) {
        if (i < text.size && !is_digit(text.data[i])) {
            return false;
        }
        fraction = fraction * 10 + (i < text.size ? (uint64_t)(text.data[i] - '0') : 0);
    }
    return pack_number(TAG_DECIMAL, is_negative, whole * MILLION + fraction, out_id);
}

static bool is_text(fmt_str text, const char *expected) {
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

bool ntriples_inline_object(const ntriples_term *term, uint64_t *out_id) {
    static const size_t space = sizeof XSD - 1;
    if (term->kind != NTRIPLES_LITERAL) {
        return false;
    }
    const fmt_str value = ntriples_escaped_value(term), datatype = ntriples_datatype(term);
    if (datatype.size <= space || memcmp(datatype.data, XSD, space) != 0) {
        return false;
    }
    const fmt_str name = {datatype.data + space, datatype.size - space};
    if (is_text(name, "integer")) {
        return pack_integer(value, out_id);
    }
    if (is_text(name, "decimal")) {
        return pack_decimal(value, out_id);
    }
    const bool is_true = is_text(value, "true");
    if (!is_text(name, "boolean") || (!is_true && !is_text(value, "false"))) {
        return false;
    }
    *out_id = (uint64_t)TAG_BOOLEAN << TAG_SHIFT | is_true;
    return true;
}

/* The payload as a number of 60 bits with a sign. */
static uint64_t unpack_number(uint64_t id, const char **out_sign) {
    const uint64_t payload = id & PAYLOAD_MASK;
    const bool is_negative = (payload & MOST_MAGNITUDE) != 0;
    *out_sign = is_negative ? "-" : "";
    return is_negative ? PAYLOAD_MASK + 1 - payload : payload;
}

static uint32_t print_decimal(uint64_t id, ntriples_decimal_form form, char *out) {
    char fraction[FRACTION_DIGITS + 1];
    const char *sign;
    const uint64_t magnitude = unpack_number(id, &sign);
    snprintf(fraction, sizeof fraction, "%06" PRIu32, (uint32_t)(magnitude % MILLION));
    for (size_t i = FRACTION_DIGITS - 1; form == NTRIPLES_DECIMAL_CANONICAL && i > 0 && fraction[i] == '0'; i--) {
        fraction[i] = '\0';
    }
    return (uint32_t)snprintf(out, NTRIPLES_INLINE_ROOM, "\"%s%" PRIu64 ".%s\"^^<" XSD "decimal>", sign,
                              magnitude / MILLION, fraction);
}

uint32_t ntriples_inline_text(uint64_t id, ntriples_decimal_form form, char *out) {
    char number[NTR_FLOAT_ROOM];
    const char *sign;
    switch (id >> TAG_SHIFT) {
    case TAG_INTEGER: {
        const uint64_t magnitude = unpack_number(id, &sign);
        return (uint32_t)snprintf(out, NTRIPLES_INLINE_ROOM, "\"%s%" PRIu64 "\"^^<" XSD "integer>", sign, magnitude);
    }
    case TAG_DECIMAL:
        return print_decimal(id, form, out);
    case TAG_BOOLEAN:
        if ((id & PAYLOAD_MASK) > 1) {
            return 0;
        }
        return (uint32_t)snprintf(out, NTRIPLES_INLINE_ROOM, "\"%s\"^^<" XSD "boolean>", (id & 1) != 0 ? "true" : "false");
    case TAG_FLOAT:
        ntr_print_float((uint32_t)id, number);
        return (uint32_t)snprintf(out, NTRIPLES_INLINE_ROOM, "\"%s\"^^<" XSD "float>", number);
    default:
        return 0;
    }
}
