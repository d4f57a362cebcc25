/* spread.h — one quantity, measured several times.
 *
 * Threading: one thread at a time. Memory: the struct.
 */
#ifndef HOST_SPREAD_H
#define HOST_SPREAD_H
#include <stdint.h>

#define SPREAD_MOST 100u

typedef struct spread {
    double values[SPREAD_MOST]; /* [n], in the order of measuring until it is sorted */
    uint32_t n;
} spread;

/* Ignored when SPREAD_MOST values are there. */
void spread_add(spread *s, double value);

/* Sorts: the least value stands first and the greatest last. 0 without values; the mean of the two in the middle of an even number. */
double spread_median(spread *s);

#endif
