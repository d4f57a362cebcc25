/* ntr_inline_float.c — the shortest decimal text of a binary32.
 *
 * A text reads back as f when it lies between the midpoints of f and its neighbours. A double holds these midpoints
 * exactly, and their decimal expansions have at most 113 significant digits, so that comparing digits is exact.
 */
#include <stdio.h>
#include <string.h>

#include "ntr_inline.h"

#define EXACT_DIGITS 113
#define MOST_NEEDED 9 /* significant digits that always suffice */
#define INFINITY_BITS 0x7F800000u

typedef struct decimal_number {
    char digits[EXACT_DIGITS]; /* the first is not 0; zeros behind the last that was asked for */
    int exponent;              /* of ten, for a dot behind the first digit */
} decimal_number;

static decimal_number to_decimal(double value, int n_digits) {
    decimal_number number;
    char text[EXACT_DIGITS + 16];
    size_t n = 0;
    const char *at = text;
    memset(number.digits, '0', sizeof number.digits);
    snprintf(text, sizeof text, "%.*e", n_digits - 1, value);
    for (; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') {
            number.digits[n++] = *at;
        }
    }
    const int sign = at[1] == '-' ? -1 : 1;
    number.exponent = 0;
    for (at += 2; *at != '\0'; at++) {
        number.exponent = number.exponent * 10 + (*at - '0');
    }
    number.exponent *= sign;
    return number;
}

static int compare(const decimal_number *a, const decimal_number *b) {
    if (a->exponent != b->exponent) {
        return a->exponent < b->exponent ? -1 : 1;
    }
    return memcmp(a->digits, b->digits, sizeof a->digits);
}

static double to_double(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Of a positive finite number that is not zero. */
static decimal_number shortest(uint32_t bits) {
    const double value = to_double(bits), below = to_double(bits - 1);
    const double above = bits + 1 < INFINITY_BITS ? to_double(bits + 1) : value + (value - below);
    const decimal_number low = to_decimal((below + value) / 2, EXACT_DIGITS);
    const decimal_number high = to_decimal((value + above) / 2, EXACT_DIGITS);
    decimal_number number = to_decimal(value, 1);
    for (int n = 2; n <= MOST_NEEDED && (compare(&low, &number) >= 0 || compare(&number, &high) >= 0); n++) {
        number = to_decimal(value, n);
    }
    return number;
}

void ntr_print_float(uint32_t bits, char out[NTR_FLOAT_ROOM]) {
    const char *sign = bits >> 31 != 0 ? "-" : "";
    bits &= UINT32_MAX >> 1;
    if (bits >= INFINITY_BITS) {
        snprintf(out, NTR_FLOAT_ROOM, "%s%s", bits == INFINITY_BITS ? sign : "", bits == INFINITY_BITS ? "INF" : "NaN");
        return;
    }
    if (bits == 0) {
        snprintf(out, NTR_FLOAT_ROOM, "%s0.0E0", sign);
        return;
    }
    const decimal_number number = shortest(bits);
    int n_fraction = MOST_NEEDED - 1;
    while (n_fraction > 1 && number.digits[n_fraction] == '0') {
        n_fraction--;
    }
    snprintf(out, NTR_FLOAT_ROOM, "%s%c.%.*sE%d", sign, number.digits[0], n_fraction, number.digits + 1, number.exponent);
}
