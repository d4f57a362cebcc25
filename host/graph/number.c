/* number.c — exact comparison without wide integers: a whole part and eighteen digits behind the point. */
#include "graph/number.h"

#include <math.h>
#include <string.h>

#define FRACTION_DIGITS 18
#define FRACTION_ONE UINT64_C(1000000000000000000)
#define MILLION INT64_C(1000000)
#define FRACTION_PER_MILLIONTH (FRACTION_ONE / 1000000)
#define MOST_INLINE ((INT64_C(1) << 59) - 1)
#define LEAST_INLINE (-(INT64_C(1) << 59))
#define PAYLOAD_MASK ((UINT64_C(1) << 60) - 1)
#define MOST_EXPONENT 400 /* beyond it a number is 0 or too large for a double anyway */
#define MOST_DIGITS 800   /* digits that count; a user who types more is asking for nothing that can be stored */

static int compare_rough(double a, double b) {
    return a < b ? -1 : a > b;
}

static bool is_at_limit(const exact_number *n) {
    return n->whole == INT64_MAX || n->whole == INT64_MIN;
}

int exact_number_compare(const exact_number *a, const exact_number *b) {
    if (is_at_limit(a) && is_at_limit(b)) {
        return compare_rough(a->rough, b->rough);
    }
    if (a->whole != b->whole) {
        return a->whole < b->whole ? -1 : 1;
    }
    if (a->fraction != b->fraction) {
        return a->fraction < b->fraction ? -1 : 1;
    }
    return a->has_more && b->has_more ? compare_rough(a->rough, b->rough) : (int)a->has_more - (int)b->has_more;
}

/* -(whole + fraction) keeps its fraction positive: the whole part goes one further down. */
static void negate(exact_number *n) {
    n->rough = -n->rough;
    if (n->whole == INT64_MAX) {
        n->whole = INT64_MIN;
        return;
    }
    n->whole = -n->whole;
    if (n->fraction == 0 && !n->has_more) {
        return;
    }
    n->whole--;
    n->fraction = FRACTION_ONE - n->fraction - (n->has_more ? 1 : 0);
    if (n->fraction == FRACTION_ONE) {
        n->fraction = 0;
        n->whole++;
    }
}

typedef struct digit_text {
    char digits[MOST_DIGITS];
    uint32_t n_digits;
    int64_t point;  /* digits before the point; may be negative or beyond n_digits */
    bool has_more;  /* a digit that is not 0 did not fit */
} digit_text;

static void add_digit(digit_text *d, char digit) {
    if (d->n_digits < MOST_DIGITS) {
        d->digits[d->n_digits++] = digit;
    } else {
        d->has_more = d->has_more || digit != '0';
    }
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Reads digits and one point; returns the bytes, 0 when there is no digit, or none behind the point. */
static uint64_t read_digits(const char *text, uint64_t size, digit_text *d) {
    uint64_t at = 0;
    while (at < size && is_digit(text[at])) {
        add_digit(d, text[at++]);
        d->point++;
    }
    const bool has_whole = at > 0;
    if (at + 1 < size && text[at] == '.' && is_digit(text[at + 1])) {
        for (at++; at < size && is_digit(text[at]); at++) {
            add_digit(d, text[at]);
        }
        return at;
    }
    return has_whole ? at : 0;
}

static uint64_t read_exponent(const char *text, uint64_t size, digit_text *d) {
    uint64_t at = 1;
    if (size == 0 || (text[0] != 'e' && text[0] != 'E')) {
        return 0;
    }
    const bool is_negative = at < size && text[at] == '-';
    at += at < size && (text[at] == '-' || text[at] == '+') ? 1 : 0;
    const uint64_t first = at;
    int64_t exponent = 0;
    for (; at < size && is_digit(text[at]); at++) {
        exponent = exponent > MOST_EXPONENT ? exponent : exponent * 10 + (text[at] - '0');
    }
    if (at == first) {
        return 0;
    }
    d->point += is_negative ? -exponent : exponent;
    return at;
}

static exact_number assemble(const digit_text *d) {
    exact_number n = {.has_more = d->has_more};
    bool is_large = false;
    const int64_t last = d->point > (int64_t)d->n_digits ? d->point : (int64_t)d->n_digits;
    for (int64_t i = d->point < 0 ? d->point : 0; i < last; i++) {
        const int64_t digit = i >= 0 && i < (int64_t)d->n_digits ? d->digits[i] - '0' : 0;
        if (i < d->point) {
            is_large = is_large || n.whole > (INT64_MAX - 9) / 10 - 1;
            n.whole = is_large ? INT64_MAX : n.whole * 10 + digit;
            n.rough = n.rough * 10 + (double)digit;
        } else if (i < d->point + FRACTION_DIGITS) {
            n.fraction = n.fraction * 10 + (uint64_t)digit;
        } else {
            n.has_more = n.has_more || digit != 0;
        }
    }
    for (int64_t i = last; i < d->point + FRACTION_DIGITS; i++) {
        n.fraction *= 10;
    }
    n.rough += (double)n.fraction / (double)FRACTION_ONE;
    return n;
}

uint64_t exact_number_read(const char *text, uint64_t size, exact_number *out_number) {
    digit_text d = {.point = 0};
    const bool is_negative = size > 0 && text[0] == '-';
    const uint64_t sign = size > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    const uint64_t n_digits = read_digits(text + sign, size - sign, &d);
    if (n_digits == 0) {
        return 0;
    }
    const uint64_t at = sign + n_digits;
    const uint64_t used = at + read_exponent(text + at, size - at, &d);
    *out_number = assemble(&d);
    if (is_negative) {
        negate(out_number);
    }
    return used;
}

static exact_number from_millionths(int64_t value) {
    const int64_t rest = value % MILLION;
    const int64_t below = rest < 0 ? 1 : 0;
    return (exact_number){.whole = value / MILLION - below,
                          .fraction = (uint64_t)(rest + below * MILLION) * FRACTION_PER_MILLIONTH,
                          .rough = (double)value / (double)MILLION};
}

static bool from_float(uint64_t object, exact_number *out_number) {
    const uint32_t bits = (uint32_t)object;
    float value;
    memcpy(&value, &bits, sizeof value);
    if (isnan(value)) {
        return false;
    }
    *out_number = (exact_number){.whole = value > 0 ? INT64_MAX : INT64_MIN, .rough = (double)value};
    if (fabs((double)value) < 0x1p62) {
        /* a float's fraction is exact in a double; eighteen digits of it are taken in two steps of nine, which are exact too */
        const double below = floor((double)value), part = (double)value - below;
        const double high = floor(part * 1e9), rest = part * 1e9 - high;
        out_number->whole = (int64_t)below;
        out_number->fraction = (uint64_t)high * UINT64_C(1000000000) + (uint64_t)floor(rest * 1e9);
        out_number->has_more = rest * 1e9 != floor(rest * 1e9);
    }
    return true;
}

bool exact_number_of_object(uint64_t object, exact_number *out_number) {
    if ((object & Q42_POINTER_BIT) != 0) {
        return false;
    }
    switch (q42_object_tag(object)) {
    case Q42_TAG_INTEGER:
        *out_number = (exact_number){.whole = q42_object_value(object), .rough = (double)q42_object_value(object)};
        return true;
    case Q42_TAG_DECIMAL: *out_number = from_millionths(q42_object_value(object)); return true;
    case Q42_TAG_FLOAT: return from_float(object, out_number);
    default: return false;
    }
}

number_bounds number_bounds_all(void) {
    return (number_bounds){LEAST_INLINE, MOST_INLINE, LEAST_INLINE, MOST_INLINE};
}

/* The number in steps of 1 or of a millionth, rounded down, and whether something was lost; at a limit outside the inline range. */
static int64_t round_down(const exact_number *n, bool is_decimal, bool *out_is_rounded) {
    const uint64_t unit = is_decimal ? FRACTION_PER_MILLIONTH : FRACTION_ONE;
    *out_is_rounded = n->has_more || n->fraction % unit != 0;
    if (!is_decimal) {
        return n->whole;
    }
    if (n->whole > MOST_INLINE / MILLION + 1 || n->whole < LEAST_INLINE / MILLION - 1) {
        return n->whole > 0 ? INT64_MAX : INT64_MIN;
    }
    return n->whole * MILLION + (int64_t)(n->fraction / unit);
}

static void keep_below(int64_t *most, const exact_number *n, bool is_decimal, bool is_equal_kept) {
    bool is_rounded;
    const int64_t floor_value = round_down(n, is_decimal, &is_rounded);
    const bool is_taken = is_rounded || is_equal_kept || floor_value == INT64_MIN;
    const int64_t limit = is_taken ? floor_value : floor_value - 1;
    *most = limit < *most ? limit : *most;
}

static void keep_above(int64_t *least, const exact_number *n, bool is_decimal, bool is_equal_kept) {
    bool is_rounded;
    const int64_t floor_value = round_down(n, is_decimal, &is_rounded);
    const bool is_taken = (!is_rounded && is_equal_kept) || floor_value == INT64_MAX;
    const int64_t limit = is_taken ? floor_value : floor_value + 1;
    *least = limit > *least ? limit : *least;
}

void number_bounds_keep_below(number_bounds *bounds, const exact_number *number, bool is_equal_kept) {
    keep_below(&bounds->integer_most, number, false, is_equal_kept);
    keep_below(&bounds->decimal_most, number, true, is_equal_kept);
}

void number_bounds_keep_above(number_bounds *bounds, const exact_number *number, bool is_equal_kept) {
    keep_above(&bounds->integer_least, number, false, is_equal_kept);
    keep_above(&bounds->decimal_least, number, true, is_equal_kept);
}

/* Negative payloads sort behind the others, so an interval over zero becomes two. */
static uint32_t add_ranges(unsigned tag, int64_t least, int64_t most, q42_range *out) {
    const uint64_t high = (uint64_t)tag << 60;
    uint32_t n = 0;
    if (most >= 0 && least <= most) {
        out[n++] = (q42_range){high | (uint64_t)(least > 0 ? least : 0), high | (uint64_t)most};
    }
    if (least < 0 && least <= most) {
        out[n++] = (q42_range){high | ((uint64_t)least & PAYLOAD_MASK),
                               high | ((uint64_t)(most < 0 ? most : -1) & PAYLOAD_MASK)};
    }
    return n;
}

uint32_t number_bounds_ranges(const number_bounds *bounds, q42_range out_ranges[NUMBER_MAX_RANGES]) {
    uint32_t n = add_ranges(Q42_TAG_INTEGER, bounds->integer_least, bounds->integer_most, out_ranges);
    n += add_ranges(Q42_TAG_DECIMAL, bounds->decimal_least, bounds->decimal_most, out_ranges + n);
    const uint64_t floats = (uint64_t)Q42_TAG_FLOAT << 60;
    out_ranges[n++] = (q42_range){floats, floats | PAYLOAD_MASK};
    return n;
}
