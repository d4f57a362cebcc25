/* unicode_class.c — ranges of code points with the same class, searched or spread out. */
#include "text/unicode_class.h"

#include <stddef.h>
#include <string.h>

/* FIRST << 8 | class bits, ascending; each entry reaches up to the next one. */
static const uint32_t ranges[] = {
#include "text/unicode_ranges.inc"
};
enum { N_RANGES = sizeof ranges / sizeof ranges[0] };

unsigned unicode_find_class(uint32_t code) {
    if (code > 0x10ffff) {
        return 0;
    }
    size_t low = 0, high = N_RANGES; /* ranges[low] begins at or before code; ranges[high] after it */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (ranges[middle] >> 8 <= code) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return ranges[low] & 0xff;
}

void unicode_fill_table(uint8_t table[UNICODE_TABLE_SIZE]) {
    for (size_t i = 0; i < N_RANGES && ranges[i] >> 8 < UNICODE_TABLE_SIZE; i++) {
        const size_t begin = ranges[i] >> 8;
        const size_t next = i + 1 < N_RANGES ? ranges[i + 1] >> 8 : UNICODE_TABLE_SIZE;
        const size_t end = next < UNICODE_TABLE_SIZE ? next : UNICODE_TABLE_SIZE;
        memset(table + begin, (int)(ranges[i] & 0xff), end - begin);
    }
}
