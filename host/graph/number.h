/* number.h — numbers compared exactly: integers, decimals and floats that a quin holds in its object, and what a user types.
 *
 * Threading: pure. Memory: values.
 */
#ifndef HOST_GRAPH_NUMBER_H
#define HOST_GRAPH_NUMBER_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>

/* whole + fraction * 10^-18, and a little more when has_more. Beyond 64 bits `whole` stands at its limit and `rough` decides. */
typedef struct exact_number {
    int64_t whole;
    uint64_t fraction; /* below 10^18 */
    bool has_more;
    double rough;
} exact_number;

/* Negative, 0 or positive. */
int exact_number_compare(const exact_number *a, const exact_number *b);

/* Reads [+-]digits[.digits][e[+-]digits] at text[0..size); returns the bytes read, 0 when there is no number. */
uint64_t exact_number_read(const char *text, uint64_t size, exact_number *out_number);

/* The number in an object word; false when it holds none (or NaN). */
bool exact_number_of_object(uint64_t object, exact_number *out_number);

/* Which inline numbers are wanted. */
typedef struct number_bounds {
    int64_t integer_least, integer_most; /* none when least > most */
    int64_t decimal_least, decimal_most; /* in millionths */
} number_bounds;

number_bounds number_bounds_all(void);

/* Keeps what is less than, at most, ... `number`. Floats are not bounded. */
void number_bounds_keep_below(number_bounds *bounds, const exact_number *number, bool is_equal_kept);
void number_bounds_keep_above(number_bounds *bounds, const exact_number *number, bool is_equal_kept);

/* The same as ranges of object words, ascending; the last one holds all floats. Returns how many. */
#define NUMBER_MAX_RANGES 5u
uint32_t number_bounds_ranges(const number_bounds *bounds, q42_range out_ranges[NUMBER_MAX_RANGES]);

#endif
