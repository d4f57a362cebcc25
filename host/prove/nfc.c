/* nfc.c — the quick check over a table of ranges. */
#include "prove/nfc.h"

#include <stdbool.h>
#include <stddef.h>

#include "common/utf8.h"

typedef struct nfc_range {
    uint32_t first, last;
    uint8_t combining, is_refused;
} nfc_range;

static const nfc_range ranges[] = {
#include "nfc_ranges.inc"
};

static const nfc_range *find_range(uint32_t code) {
    size_t low = 0, high = sizeof ranges / sizeof ranges[0];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ranges[middle].last < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < sizeof ranges / sizeof ranges[0] && ranges[low].first <= code ? &ranges[low] : NULL;
}

uint64_t nfc_first_unsure(const void *text, uint64_t size) {
    const uint8_t *bytes = text;
    uint8_t last = 0;
    for (uint64_t at = 0; at < size;) {
        uint32_t code = bytes[at];
        const unsigned length = code < 0x80 ? 1 : utf8_decode(bytes + at, size - at, &code);
        const nfc_range *range = code < 0x80 ? NULL : find_range(code);
        const uint8_t combining = range != NULL ? range->combining : 0;
        if (length == 0 || (range != NULL && range->is_refused) || (combining != 0 && combining < last)) {
            return at;
        }
        last = combining;
        at += length;
    }
    return NFC_ALL;
}
