/* unicode_class.h — what kind of character a code point is: the few properties that pre-tokenizers ask for.
 *
 * A class is a set of bits, so that "letter or mark" is one test. The data are ranges (unicode_ranges.inc, generated); a
 * pre-tokenizer that wants speed spreads the first plane over a flat table once and looks the rest up by binary search.
 *
 * Threading: pure; a filled table is read-only.
 * Memory:    the table is the caller's, UNICODE_TABLE_SIZE bytes.
 */
#ifndef HOST_UNICODE_CLASS_H
#define HOST_UNICODE_CLASS_H
#include <stdint.h>

/* Bits of a class; a code point has at most one of the first seven. */
enum {
    UNICODE_UPPER = 1,         /* Lu, Lt */
    UNICODE_LOWER = 2,         /* Ll */
    UNICODE_OTHER_LETTER = 4,  /* Lm, Lo */
    UNICODE_MARK = 8,          /* M* */
    UNICODE_NUMBER = 16,       /* N* */
    UNICODE_PUNCTUATION = 32,  /* P* */
    UNICODE_SYMBOL = 64,       /* S* */
    UNICODE_SPACE = 128,       /* property White_Space: what \s means in the patterns */
    UNICODE_LETTER = UNICODE_UPPER | UNICODE_LOWER | UNICODE_OTHER_LETTER /* \p{L} */
};

#define UNICODE_TABLE_SIZE 0x10000u

/* Bits of any code point up to 0x10FFFF; 0 above. About 12 steps. [any-thread] [no-alloc] */
unsigned unicode_find_class(uint32_t code);

/* table[code] = class for every code point below 0x10000. */
void unicode_fill_table(uint8_t table[UNICODE_TABLE_SIZE]);

/* Class of the character at `at`, which must be well-formed UTF-8; *out_size receives its length, 1..4 bytes. */
static inline unsigned unicode_class_at(const uint8_t *table, const uint8_t *at, unsigned *out_size) {
    const uint32_t lead = at[0];
    if (lead < 0x80) {
        *out_size = 1;
        return table[lead];
    }
    if (lead < 0xe0) {
        *out_size = 2;
        return table[(lead & 0x1f) << 6 | (at[1] & 0x3fu)];
    }
    if (lead < 0xf0) {
        *out_size = 3;
        return table[(lead & 0x0f) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu)];
    }
    *out_size = 4;
    return unicode_find_class((lead & 0x07) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu));
}

#endif
