/* grammar_class.c — characters as sequences of bytes. */
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "constrain/grammar_internal.h"

#define LAST_CODE 0x10FFFFu

static int compare_ranges(const void *left, const void *right) {
    const code_range *a = left, *b = right;
    return a->low != b->low ? (a->low < b->low ? -1 : 1) : (a->high > b->high) - (a->high < b->high);
}

static uint32_t merge(code_range *ranges, uint32_t n) {
    uint32_t kept = 0;
    qsort(ranges, n, sizeof *ranges, compare_ranges);
    for (uint32_t i = 0; i < n; i++) {
        if (kept > 0 && ranges[i].low <= ranges[kept - 1].high + 1) {
            ranges[kept - 1].high = ranges[i].high > ranges[kept - 1].high ? ranges[i].high : ranges[kept - 1].high;
        } else {
            ranges[kept++] = ranges[i];
        }
    }
    return kept;
}

/* What the class is made of while it is built. */
typedef struct class_builder {
    grammar_builder *b;
    grammar_fragment text;
    bool has_text;
} class_builder;

static void add(class_builder *c, grammar_fragment one) {
    c->text = c->has_text ? grammar_either(c->b, one, c->text) : one;
    c->has_text = true;
}

static void add_sequence(class_builder *c, const uint8_t *low, const uint8_t *high, unsigned size) {
    grammar_fragment text = grammar_byte(c->b, low[0], high[0]);
    for (unsigned i = 1; i < size; i++) {
        text = grammar_join(c->b, text, grammar_byte(c->b, low[i], high[i]));
    }
    add(c, text);
}

/* Adds characters low..high, which all have `size` bytes. A range is one sequence of byte ranges when behind the first byte that differs
 * every byte runs through all of its values; otherwise it is cut where it does not. */
static void add_same_size(class_builder *c, uint32_t low, uint32_t high, unsigned size) {
    for (unsigned i = 1; i < size; i++) {
        const uint32_t mask = (UINT32_C(1) << (6 * i)) - 1;
        if ((low & ~mask) == (high & ~mask)) {
            continue;
        }
        if ((low & mask) != 0) {
            add_same_size(c, low, low | mask, size);
            add_same_size(c, (low | mask) + 1, high, size);
            return;
        }
        if ((high & mask) != mask) {
            add_same_size(c, low, (high & ~mask) - 1, size);
            add_same_size(c, high & ~mask, high, size);
            return;
        }
    }
    uint8_t first[4], last[4];
    utf8_encode(low, first);
    utf8_encode(high, last);
    add_sequence(c, first, last, size);
}

static void add_range(class_builder *c, uint32_t low, uint32_t high) {
    /* characters of one size; surrogates are between two of them */
    static const struct {
        uint32_t low, high;
        unsigned size;
    } bands[] = {{0, 0x7F, 1}, {0x80, 0x7FF, 2}, {0x800, 0xD7FF, 3}, {0xE000, 0xFFFF, 3}, {0x10000, LAST_CODE, 4}};
    for (size_t i = 0; i < sizeof bands / sizeof bands[0]; i++) {
        const uint32_t from = low > bands[i].low ? low : bands[i].low, to = high < bands[i].high ? high : bands[i].high;
        if (from <= to) {
            add_same_size(c, from, to, bands[i].size);
        }
    }
}

grammar_fragment grammar_class(grammar_builder *b, code_range *ranges, uint32_t n_ranges, bool is_negated) {
    class_builder c = {.b = b};
    const uint32_t n = merge(ranges, n_ranges);
    uint32_t from = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_negated) {
            add_range(&c, ranges[i].low, ranges[i].high);
        } else if (ranges[i].low > from) {
            add_range(&c, from, ranges[i].low - 1);
        }
        from = ranges[i].high + 1;
    }
    if (is_negated && from <= LAST_CODE) {
        add_range(&c, from, LAST_CODE);
    }
    if (!c.has_text && b->status >= 0) {
        b->status = FAIL(b->err, QN_BAD_INPUT, "a class of characters that no character is in");
    }
    return c.has_text ? c.text : grammar_empty(b);
}
