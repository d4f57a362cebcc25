/* checked.h — sums and products on numbers that came from a file. Each answers false when the result does not fit; the
 * result is then undefined and must not be used.
 *
 * Threading: pure.
 */
#ifndef FMT_CHECKED_H
#define FMT_CHECKED_H
#include <stdbool.h>
#include <stdint.h>

static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *out_sum) {
    return !__builtin_add_overflow(a, b, out_sum);
}

static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t *out_product) {
    return !__builtin_mul_overflow(a, b, out_product);
}

/* Smallest multiple of `alignment` (a power of two) that is >= value. */
static inline bool checked_align(uint64_t value, uint64_t alignment, uint64_t *out_aligned) {
    uint64_t sum;
    if (!checked_add(value, alignment - 1, &sum)) {
        return false;
    }
    *out_aligned = sum & ~(alignment - 1);
    return true;
}

/* True when [offset, offset + size) lies inside [0, limit). Never wraps. */
static inline bool checked_range(uint64_t offset, uint64_t size, uint64_t limit) {
    return size <= limit && offset <= limit - size;
}

#endif
