/* raw_container.c — bytes at the places that the document says. */
#include "certify/raw_container.h"

#include <string.h>

enum { TENSORS_AT = 12, HPARAMS_AT = 20, STRINGS_AT = 24, COUNT_AT = 36, HEADER_BYTES = 64, ENTRY_BYTES = 64 };

/* Four bytes, lowest first; 0 behind the end. */
static uint32_t number_at(fmt_span s, uint64_t at) {
    if (at > s.size || s.size - at < 4) {
        return 0;
    }
    return (uint32_t)s.data[at] | (uint32_t)s.data[at + 1] << 8 | (uint32_t)s.data[at + 2] << 16 | (uint32_t)s.data[at + 3] << 24;
}

static float float_at(fmt_span s, uint64_t at) {
    const uint32_t bits = number_at(s, at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool is_container(fmt_span s) {
    return s.size >= HEADER_BYTES && memcmp(s.data, "p64", 4) == 0;
}

bool raw_container_shape(fmt_span s, raw_shape *out) {
    if (!is_container(s)) {
        return false;
    }
    const uint64_t at = number_at(s, HPARAMS_AT);
    *out = (raw_shape){number_at(s, at), number_at(s, at + 4), number_at(s, at + 8), number_at(s, at + 12), float_at(s, at + 20)};
    return true;
}

static bool has_name(fmt_span s, uint64_t entry, const char *name) {
    const uint64_t at = (uint64_t)number_at(s, STRINGS_AT) + number_at(s, entry), length = strlen(name) + 1;
    return at < s.size && s.size - at >= length && memcmp(s.data + at, name, length) == 0;
}

bool raw_container_find(fmt_span s, const char *name, raw_matrix *out) {
    const uint64_t n = is_container(s) ? number_at(s, COUNT_AT) : 0, table = number_at(s, TENSORS_AT);
    for (uint64_t i = 0; i < n && table + (i + 1) * ENTRY_BYTES <= s.size; i++) {
        const uint64_t entry = table + i * ENTRY_BYTES;
        if (!has_name(s, entry, name)) {
            continue;
        }
        const uint32_t rank = number_at(s, entry + 12);
        const uint64_t begin = number_at(s, entry + 32), size = number_at(s, entry + 36);
        if (begin > s.size || s.size - begin < size || rank < 1 || rank > 2) {
            return false;
        }
        *out = (raw_matrix){number_at(s, entry + 4) >> 16, number_at(s, entry + 16), rank == 2 ? number_at(s, entry + 20) : 1,
                            s.data + begin, size};
        return true;
    }
    return false;
}
