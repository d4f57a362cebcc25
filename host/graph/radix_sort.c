/* radix_sort.c — most significant byte first, exchanged in place ("American flag"), insertion for what is small. */
#include "graph/radix_sort.h"

#include <stdbool.h>
#include <string.h>

#define SMALL 20u
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE uint32_t digit_of(const uint64_t *record, uint32_t digit) {
    return (uint32_t)(record[digit / 8] >> (56 - 8 * (digit % 8))) & 255u;
}

ALWAYS_INLINE bool is_less(const uint64_t *a, const uint64_t *b, uint32_t from, uint32_t n_keys) {
    uint32_t i = from;
    while (i + 1 < n_keys && a[i] == b[i]) {
        i++;
    }
    return a[i] < b[i];
}

ALWAYS_INLINE void insertion_sort(uint64_t *records, uint64_t n, uint32_t width, uint32_t from, uint32_t n_keys) {
    const size_t size = width * sizeof *records;
    for (uint64_t i = 1; i < n; i++) {
        uint64_t one[RADIX_MAX_WORDS];
        uint64_t at = i;
        memcpy(one, records + i * width, size);
        for (; at > 0 && is_less(one, records + (at - 1) * width, from, n_keys); at--) {
            memcpy(records + at * width, records + (at - 1) * width, size);
        }
        memcpy(records + at * width, one, size);
    }
}

ALWAYS_INLINE void swap(uint64_t *a, uint64_t *b, uint32_t width) {
    for (uint32_t i = 0; i < width; i++) {
        const uint64_t word = a[i];
        a[i] = b[i];
        b[i] = word;
    }
}

/* Every record goes to the next free place of its bucket, and what stood there goes on. */
ALWAYS_INLINE void exchange(uint64_t *records, uint32_t width, uint32_t digit, const uint64_t *ends, uint64_t *heads) {
    for (uint32_t bucket = 0; bucket < 256; bucket++) {
        while (heads[bucket] < ends[bucket]) {
            uint64_t *here = records + heads[bucket] * width;
            const uint32_t home = digit_of(here, digit);
            if (home != bucket) {
                swap(here, records + heads[home]++ * width, width);
            } else {
                heads[bucket]++;
            }
        }
    }
}

/* False when all records have the same digit: nothing to do for it. */
ALWAYS_INLINE bool find_buckets(const uint64_t *records, uint64_t n, uint32_t width, uint32_t digit, uint64_t *ends,
                                uint64_t *heads) {
    uint64_t counts[256] = {0};
    for (uint64_t i = 0; i < n; i++) {
        counts[digit_of(records + i * width, digit)]++;
    }
    if (counts[digit_of(records, digit)] == n) {
        return false;
    }
    uint64_t sum = 0;
    for (uint32_t bucket = 0; bucket < 256; bucket++) {
        heads[bucket] = sum;
        sum += counts[bucket];
        ends[bucket] = sum;
    }
    return true;
}

typedef void sort_fn(uint64_t *records, uint64_t n, uint32_t digit, uint32_t n_keys);

ALWAYS_INLINE void sort_by(uint64_t *records, uint64_t n, uint32_t width, uint32_t digit, uint32_t n_keys,
                           sort_fn *recurse) {
    uint64_t ends[256], heads[256];
    if (n <= SMALL) {
        insertion_sort(records, n, width, digit / 8, n_keys);
        return;
    }
    while (digit < 8 * n_keys && !find_buckets(records, n, width, digit, ends, heads)) {
        digit++;
    }
    if (digit >= 8 * n_keys) {
        return;
    }
    exchange(records, width, digit, ends, heads);
    uint64_t begin = 0;
    for (uint32_t bucket = 0; bucket < 256; bucket++) {
        if (ends[bucket] - begin > 1 && digit + 1 < 8 * n_keys) {
            recurse(records + begin * width, ends[bucket] - begin, digit + 1, n_keys);
        }
        begin = ends[bucket];
    }
}

/* One copy for each width, so that records are moved by whole registers. */
static void sort_2(uint64_t *records, uint64_t n, uint32_t digit, uint32_t n_keys) {
    sort_by(records, n, 2, digit, n_keys, sort_2);
}
static void sort_3(uint64_t *records, uint64_t n, uint32_t digit, uint32_t n_keys) {
    sort_by(records, n, 3, digit, n_keys, sort_3);
}
static void sort_4(uint64_t *records, uint64_t n, uint32_t digit, uint32_t n_keys) {
    sort_by(records, n, 4, digit, n_keys, sort_4);
}
static void sort_5(uint64_t *records, uint64_t n, uint32_t digit, uint32_t n_keys) {
    sort_by(records, n, 5, digit, n_keys, sort_5);
}

void radix_sort(uint64_t *records, uint64_t n, uint32_t width, uint32_t n_keys) {
    static sort_fn *const sorts[] = {sort_2, sort_3, sort_4, sort_5};
    sorts[width - 2](records, n, 0, n_keys);
}
