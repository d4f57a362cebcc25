/* decimal.h — decimal numbers in text that a program wrote.
 *
 * Threading: pure.
 */
#ifndef HOST_DECIMAL_H
#define HOST_DECIMAL_H
#include <stdbool.h>
#include <stdint.h>

/* A number of digits alone, at most `most`; *at moves behind it. False without a digit, and for a larger number. */
static inline bool decimal_read(const char **at, uint64_t most, uint64_t *out) {
    const char *const begin = *at;
    uint64_t value = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        const uint64_t digit = (uint64_t)(**at - '0');
        if (digit > most || value > (most - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return *at > begin;
}

/* The same for a text that is nothing but the number. */
static inline bool decimal_read_whole(const char *text, uint64_t most, uint64_t *out) {
    return decimal_read(&text, most, out) && *text == '\0';
}

#endif
