/* exact_decimal.h — decimal numbers of any length, compared exactly.
 *
 * A number is a view into its text: nothing is rounded, 0.1 is a tenth and 9007199254740993 is not its even neighbour.
 *
 * Threading: pure. Memory: borrows the text.
 */
#ifndef HOST_RULES_EXACT_DECIMAL_H
#define HOST_RULES_EXACT_DECIMAL_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

typedef uint32_t decimal_kind;
enum { DECIMAL_FINITE = 0, DECIMAL_INFINITE = 1, DECIMAL_NAN = 2 };

typedef struct exact_decimal {
    decimal_kind kind;
    bool is_negative;    /* never of zero */
    fmt_str whole;       /* digits without leading zeros; with an exponent the point is moved by it */
    fmt_str fraction;    /* digits, as written */
    int64_t exponent;    /* within +-10^9 */
} exact_decimal;

/* Which spellings count; each allows what those before it allow. */
typedef uint32_t decimal_syntax;
enum {
    DECIMAL_SYNTAX_INTEGER = 0, /* [+-]digits */
    DECIMAL_SYNTAX_DECIMAL = 1, /* also a point, with digits on one side at least */
    DECIMAL_SYNTAX_DOUBLE = 2   /* also an exponent, INF, +INF, -INF, NaN */
};

/* True when the whole text is such a number. [any-thread] [no-alloc] */
bool exact_decimal_parse(fmt_str text, decimal_syntax syntax, exact_decimal *out_number);

/* Sets *out_order negative, 0 or positive; false when one of them is NaN, which has no order. [any-thread] [no-alloc] */
bool exact_decimal_compare(const exact_decimal *a, const exact_decimal *b, int *out_order);

#endif
