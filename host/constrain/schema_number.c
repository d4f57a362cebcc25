/* schema_number.c — integers between two bounds, digit by digit, and numbers between whole bounds. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "constrain/schema_internal.h"

#define MOST INT64_C(999999999999999999) /* 18 digits */
#define MAX_DIGITS 18u
#define MAX_FRACTION 16u
#define EXACT_REAL 9007199254740992.0 /* 2^53: up to here a double is the whole number that it says */

typedef struct bounds {
    int64_t low, high;     /* whole; exclusive ones are moved by one */
    bool has_low, has_high;
} bounds;

/* ---------------------------------------------------------------------------------------------------- ranges of digits */

static grammar_fragment digits(schema_reader *r, char low, char high, uint32_t n) {
    return grammar_repeat(&r->b, grammar_byte(&r->b, (uint8_t)low, (uint8_t)high), n, n);
}

/* Texts of n digits from `low` to `high`: the first digit decides whether the rest is bound from below, from above, both or not. */
static grammar_fragment same_length(schema_reader *r, const char *low, const char *high, uint32_t n) {
    static const char zeros[] = "000000000000000000", nines[] = "999999999999999999";
    if (n == 0) {
        return grammar_empty(&r->b);
    }
    if (memcmp(low, zeros, n) == 0 && memcmp(high, nines, n) == 0) {
        return digits(r, '0', '9', n);
    }
    if (low[0] == high[0]) {
        return grammar_join(&r->b, digits(r, low[0], low[0], 1), same_length(r, low + 1, high + 1, n - 1));
    }
    grammar_fragment text = grammar_join(&r->b, digits(r, low[0], low[0], 1), same_length(r, low + 1, nines, n - 1));
    if (high[0] - low[0] > 1) {
        const grammar_fragment between = digits(r, (char)(low[0] + 1), (char)(high[0] - 1), 1);
        text = grammar_either(&r->b, text, grammar_join(&r->b, between, digits(r, '0', '9', n - 1)));
    }
    return grammar_either(&r->b, text, grammar_join(&r->b, digits(r, high[0], high[0], 1), same_length(r, zeros, high + 1, n - 1)));
}

static void spell(uint64_t value, char *out, uint32_t n) {
    for (uint32_t i = n; i > 0; i--) {
        out[i - 1] = (char)('0' + value % 10);
        value /= 10;
    }
}

/* low..high without leading zeros; low <= high. */
static grammar_fragment magnitude(schema_reader *r, uint64_t low, uint64_t high) {
    grammar_fragment text = {0, 0};
    bool has_text = false;
    uint64_t least = 0, next = 10;
    for (uint32_t n = 1; n <= MAX_DIGITS; n++, least = next, next *= 10) {
        const uint64_t from = low > least ? low : least, to = high < next - 1 ? high : next - 1;
        if (from <= to) {
            char first[MAX_DIGITS], last[MAX_DIGITS];
            spell(from, first, n);
            spell(to, last, n);
            const grammar_fragment one = same_length(r, first, last, n);
            text = has_text ? grammar_either(&r->b, text, one) : one;
            has_text = true;
        }
    }
    return text;
}

/* ---------------------------------------------------------------------------------------------------- what is in bounds */

static void add(schema_reader *r, grammar_fragment *text, bool *has_text, grammar_fragment one) {
    *text = *has_text ? grammar_either(&r->b, *text, one) : one;
    *has_text = true;
}

static grammar_fragment negative(schema_reader *r, grammar_fragment text) {
    return grammar_join(&r->b, grammar_literal(&r->b, "-", 1), text);
}

static grammar_fragment integers(schema_reader *r, const bounds *b) {
    grammar_fragment text = {0, 0};
    bool has_text = false;
    if (b->low < 0) {
        add(r, &text, &has_text, negative(r, magnitude(r, b->high < 0 ? (uint64_t)-b->high : 1, (uint64_t)-b->low)));
    }
    if (b->high >= 0) {
        add(r, &text, &has_text, magnitude(r, b->low > 0 ? (uint64_t)b->low : 0, (uint64_t)b->high));
    }
    return text;
}

static grammar_fragment fraction(schema_reader *r, char high) {
    const grammar_fragment some = grammar_repeat(&r->b, grammar_byte(&r->b, '0', (uint8_t)high), 1, MAX_FRACTION);
    return grammar_optional(&r->b, grammar_join(&r->b, grammar_literal(&r->b, ".", 1), some));
}

/* Numbers without sign from `low` to `high`: any fraction below the upper bound, none but zeros at it. */
static grammar_fragment decimals(schema_reader *r, uint64_t low, uint64_t high) {
    const grammar_fragment last = grammar_join(&r->b, magnitude(r, high, high), fraction(r, '0'));
    return low == high ? last : grammar_either(&r->b, grammar_join(&r->b, magnitude(r, low, high - 1), fraction(r, '9')), last);
}

static grammar_fragment numbers(schema_reader *r, const bounds *b) {
    grammar_fragment text = {0, 0};
    bool has_text = false;
    if (b->low < 0) {
        add(r, &text, &has_text, negative(r, decimals(r, b->high < 0 ? (uint64_t)-b->high : 0, (uint64_t)-b->low)));
    }
    if (b->high >= 0) {
        add(r, &text, &has_text, decimals(r, b->low > 0 ? (uint64_t)b->low : 0, (uint64_t)b->high));
    }
    return text;
}

/* --------------------------------------------------------------------------------------------------------- the keywords */

/* The whole number that bounds what `key` bounds. A bound that is no whole number moves inwards for integers, and is refused for
 * numbers. */
static bool read_bound(schema_reader *r, json_t *schema, const char *key, bool is_lower, bool is_integer, int64_t *out) {
    json_t *value = json_object_get(schema, key);
    const bool is_exclusive = key[0] == 'e';
    if (value == NULL) {
        return false;
    }
    if (!json_is_number(value)) {
        schema_fail(r, QN_BAD_INPUT, key, "must be a number");
        return false;
    }
    const double real = json_number_value(value), whole = is_lower ? ceil(real) : floor(real);
    if (json_is_real(value) && fabs(real) >= EXACT_REAL) {
        schema_fail(r, QN_UNSUPPORTED, key, "a bound written with point or exponent is exact up to 2^53 only");
        return false;
    }
    if (!is_integer && (is_exclusive || (json_is_real(value) && whole != real))) {
        schema_fail(r, QN_UNSUPPORTED, key, "of a number that need not be an integer, only whole bounds with minimum and maximum are known");
        return false;
    }
    const bool is_at_bound = json_is_integer(value) || whole == real;
    int64_t bound = json_is_integer(value) ? (int64_t)json_integer_value(value) : (int64_t)whole;
    bound = bound > MOST ? MOST + 1 : bound < -MOST ? -MOST - 1 : bound;
    *out = bound + (is_exclusive && is_at_bound ? (is_lower ? 1 : -1) : 0);
    return true;
}

static bounds read_bounds(schema_reader *r, json_t *schema, bool is_integer) {
    bounds b = {.low = -MOST, .high = MOST};
    static const char *const keys[] = {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"};
    for (size_t i = 0; i < 4 && r->status >= 0; i++) {
        int64_t bound;
        if (!read_bound(r, schema, keys[i], i < 2, is_integer, &bound)) {
            continue;
        }
        if (i < 2) {
            b.has_low = true;
            b.low = bound > b.low ? bound : b.low;
        } else {
            b.has_high = true;
            b.high = bound < b.high ? bound : b.high;
        }
    }
    return b;
}

grammar_fragment schema_number(schema_reader *r, json_t *schema, bool is_integer) {
    const bounds b = read_bounds(r, schema, is_integer);
    if (r->status < 0) {
        return grammar_empty(&r->b);
    }
    if (b.low > b.high) {
        schema_fail(r, QN_BAD_INPUT, NULL, "no number of up to %u digits is between the bounds %" PRId64 " and %" PRId64, MAX_DIGITS, b.low, b.high);
        return grammar_empty(&r->b);
    }
    if (!b.has_low && !b.has_high) {
        return schema_shared(r, is_integer ? SHARED_INTEGER : SHARED_NUMBER);
    }
    return is_integer ? integers(r, &b) : numbers(r, &b);
}
