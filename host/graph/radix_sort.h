/* radix_sort.h — sorting records of 64-bit words, in place, with no more memory than the stack.
 *
 * Threading: pure.
 */
#ifndef HOST_GRAPH_RADIX_SORT_H
#define HOST_GRAPH_RADIX_SORT_H
#include <stdint.h>

#define RADIX_MAX_WORDS 5u

/* Sorts records[n][width] ascending by their first n_keys words, the first word first. 1 <= n_keys <= width <= RADIX_MAX_WORDS, width >= 2. */
void radix_sort(uint64_t *records, uint64_t n, uint32_t width, uint32_t n_keys);

#endif
