/* companion_map.c — words, inline objects and number texts of companion volumes. */
#include "model/companion_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VALUE_BITS 60
#define VALUE_MASK ((UINT64_C(1) << VALUE_BITS) - 1)
#define F64_MANTISSA_BITS 52
#define F64_EXPONENT_MASK 0x7FFu
#define F64_BIAS 1023

static const char *const prefixes[COMPANION_N_FAMILIES] = {"gguf:",      "gguf-f32:", "gguf-txt:", "gguf-hex:",
                                                           "gguf-part:", "gguf-len:", "gguf-type:"};

static bool equals(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

const char *companion_prefix(companion_family family) {
    return prefixes[family];
}

bool companion_split_predicate(fmt_str predicate, companion_family *out_family, fmt_str *out_key) {
    for (companion_family i = 0; i < COMPANION_N_FAMILIES; i++) {
        const size_t length = strlen(prefixes[i]);
        if (predicate.size > length && memcmp(predicate.data, prefixes[i], length) == 0) {
            *out_family = i;
            *out_key = (fmt_str){predicate.data + length, predicate.size - length};
            return true;
        }
    }
    return false;
}

uint64_t companion_integer(uint64_t value) {
    return (uint64_t)Q42_TAG_INTEGER << VALUE_BITS | (value & VALUE_MASK);
}

uint64_t companion_boolean(bool value) {
    return (uint64_t)Q42_TAG_BOOLEAN << VALUE_BITS | value;
}

bool companion_get_integer(uint64_t object, uint64_t *out_value) {
    if (object >> VALUE_BITS != Q42_TAG_INTEGER) {
        return false;
    }
    *out_value = object & VALUE_MASK;
    return true;
}

bool companion_get_boolean(uint64_t object, bool *out_value) {
    if (object != companion_boolean(false) && object != companion_boolean(true)) {
        return false;
    }
    *out_value = object == companion_boolean(true);
    return true;
}

bool companion_is_held_key(fmt_str key) {
    return equals(key, COMPANION_TOKENS_KEY) || equals(key, COMPANION_MERGES_KEY);
}

bool companion_get_omitted(fmt_str key, gguf_type type, uint64_t *out_value) {
    if (gguf_type_class(type) == GGUF_INTEGERS && equals(key, "tokenizer.ggml.token_type")) {
        *out_value = 1;
        return true;
    }
    if (type == GGUF_F32 && equals(key, "tokenizer.ggml.scores")) {
        *out_value = 0;
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

const char *companion_print_whole(companion_whole value, char out[COMPANION_NUMBER_SIZE]) {
    snprintf(out, COMPANION_NUMBER_SIZE, "%s%" PRIu64, value.is_negative ? "-" : "", value.magnitude);
    return out;
}

bool companion_parse_whole(fmt_str text, companion_whole *out_value) {
    companion_whole value = {0, text.size > 0 && text.data[0] == '-'};
    char again[COMPANION_NUMBER_SIZE];
    if (text.size >= COMPANION_NUMBER_SIZE) {
        return false;
    }
    for (uint64_t i = value.is_negative ? 1 : 0; i < text.size; i++) {
        value.magnitude = value.magnitude * 10 + (uint64_t)(text.data[i] - '0');
    }
    if (!equals(text, companion_print_whole(value, again)) || (value.is_negative && value.magnitude == 0)) {
        return false; /* no digits, leading zeros, a sign before zero, or more than 64 bits */
    }
    *out_value = value;
    return true;
}

/* As the C library of GNU prints %a, whatever the locale's decimal point is. */
const char *companion_print_f64(uint64_t bits, char out[COMPANION_NUMBER_SIZE]) {
    const char *sign = bits >> 63 != 0 ? "-" : "";
    const unsigned exponent = (unsigned)(bits >> F64_MANTISSA_BITS) & F64_EXPONENT_MASK;
    const uint64_t mantissa = bits & ((UINT64_C(1) << F64_MANTISSA_BITS) - 1);
    if (exponent == F64_EXPONENT_MASK) {
        if (mantissa == 0) {
            snprintf(out, COMPANION_NUMBER_SIZE, "%sinf", sign);
        } else {
            snprintf(out, COMPANION_NUMBER_SIZE, "%snan(0x%" PRIx64 ")", sign, mantissa);
        }
        return out;
    }
    char digits[16];
    int length = snprintf(digits, sizeof digits, ".%013" PRIx64, mantissa);
    while (digits[length - 1] == '0') {
        digits[--length] = '\0';
    }
    const int scale = exponent != 0 ? (int)exponent - F64_BIAS : mantissa != 0 ? 1 - F64_BIAS : 0;
    snprintf(out, COMPANION_NUMBER_SIZE, "%s0x%d%sp%+d", sign, exponent != 0, mantissa != 0 ? digits : "", scale);
    return out;
}

static int digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Hexadecimal digits from `at` on, at most 13; returns how many. */
static unsigned read_hex(const char *at, uint64_t *out) {
    unsigned n = 0;
    for (*out = 0; n < 13 && digit_of(at[n]) >= 0; n++) {
        *out = *out << 4 | (unsigned)digit_of(at[n]);
    }
    return n;
}

/* Bits of a finite text behind its sign; the caller prints them again to see whether that is the text. */
static uint64_t read_finite(const char *at) {
    uint64_t mantissa = 0;
    const bool is_normal = at[2] == '1';
    unsigned n = 0;
    at += 3;
    if (at[0] == '.') {
        n = read_hex(at + 1, &mantissa);
        at += n + 1;
    }
    mantissa <<= 4 * (13 - n);
    int scale = 0;
    bool is_negative = at[0] == 'p' && at[1] == '-';
    for (at += at[0] == 'p' && at[1] != '\0' ? 2 : 0; *at >= '0' && *at <= '9' && scale < 10000; at++) {
        scale = scale * 10 + (*at - '0');
    }
    const int exponent = is_normal ? F64_BIAS + (is_negative ? -scale : scale) : 0;
    return (uint64_t)(exponent & (int)F64_EXPONENT_MASK) << F64_MANTISSA_BITS | mantissa;
}

bool companion_parse_f64(fmt_str text, uint64_t *out_bits) {
    char copy[COMPANION_NUMBER_SIZE] = "", again[COMPANION_NUMBER_SIZE];
    if (text.size >= sizeof copy) {
        return false;
    }
    memcpy(copy, text.data, text.size);
    const bool is_negative = copy[0] == '-';
    const char *at = copy + is_negative;
    uint64_t bits = (uint64_t)F64_EXPONENT_MASK << F64_MANTISSA_BITS, payload = 0;
    if (strncmp(at, "nan(0x", 6) == 0) {
        read_hex(at + 6, &payload);
        bits |= payload;
    } else if (strncmp(at, "0x", 2) == 0 && at[2] != '\0') {
        bits = read_finite(at);
    }
    bits |= (uint64_t)is_negative << 63;
    if (memchr(text.data, 0, text.size) != NULL || strcmp(companion_print_f64(bits, again), copy) != 0) {
        return false;
    }
    *out_bits = bits;
    return true;
}
