/* q42_postings_write.c — which values a field of a block holds: a list of differences, or a Bloom filter when that is shorter
 * (section 5.3 of the format's document). The form is part of the format: every writer must choose the same. */
#include <string.h>

#include "common/endian.h"
#include "q42_write_impl.h"

enum {
    KIND_LIST = 0, KIND_BLOOM = 1,
    BLOOM_BYTES = 256, BLOOM_BITS = 2048,
    LIST_HEAD = 2,              /* count word, in the sum that is compared with the filter's size */
    MAX_LIST_VALUES = 255,      /* each takes a byte at least */
    ALWAYS_LISTED = 8,
    SLOTS = 2048
};

/* ------------------------------------------------------------------------------------------------- distinct values */

typedef struct value_set {
    uint64_t values[Q42_BLOCK_QUINS];
    uint32_t n;
    uint16_t slots[SLOTS]; /* position in values, plus 1 */
} value_set;

static void add_value(value_set *set, uint64_t value) {
    uint32_t slot = (uint32_t)(value * UINT64_C(0x9E3779B97F4A7C15) >> 53);
    while (set->slots[slot] != 0) {
        if (set->values[set->slots[slot] - 1] == value) {
            return;
        }
        slot = (slot + 1) % SLOTS;
    }
    set->values[set->n] = value;
    set->slots[slot] = (uint16_t)++set->n;
}

static void collect(value_set *set, const uint64_t *field, uint32_t n) {
    const uint32_t stride = sizeof(q42_quin) / sizeof(uint64_t);
    set->n = 0;
    memset(set->slots, 0, sizeof set->slots);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || field[i * stride] != field[(i - 1) * stride]) {
            add_value(set, field[i * stride]);
        }
    }
}

/* Insertion: at most 255 values, and mostly a handful. */
static void sort_values(uint64_t *values, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        const uint64_t value = values[i];
        uint32_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
}

/* ------------------------------------------------------------------------------------------------------- two forms */

static uint32_t varint_size(uint64_t value) {
    uint32_t size = 1;
    for (; value > 127; value >>= 7) {
        size++;
    }
    return size;
}

static uint32_t list_size(const uint64_t *values, uint32_t n) {
    uint32_t size = LIST_HEAD;
    for (uint32_t i = 0; i < n; i++) {
        size += varint_size(values[i] - (i > 0 ? values[i - 1] : 0));
    }
    return size;
}

static uint32_t write_list(const uint64_t *values, uint32_t n, uint8_t *out) {
    uint32_t at = 3;
    out[0] = KIND_LIST;
    store_u16(out + 1, (uint16_t)n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t left = values[i] - (i > 0 ? values[i - 1] : 0);
        for (; left > 127; left >>= 7) {
            out[at++] = (uint8_t)(left | 128);
        }
        out[at++] = (uint8_t)left;
    }
    return at;
}

static void set_bit(uint8_t *filter, uint64_t hash) {
    const uint64_t bit = hash % BLOOM_BITS;
    filter[bit / 8] |= (uint8_t)(1u << (bit % 8));
}

static uint32_t write_filter(const uint64_t *values, uint32_t n, uint8_t *out) {
    uint8_t *filter = out + 1;
    out[0] = KIND_BLOOM;
    memset(filter, 0, BLOOM_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t a = values[i] * UINT64_C(0x9E3779B97F4A7C15);
        const uint64_t b = ~values[i] * UINT64_C(0xBF58476D1CE4E5B9);
        set_bit(filter, a);
        set_bit(filter, b);
        set_bit(filter, a + b);
        set_bit(filter, a ^ (b << 17 | b >> 47));
    }
    return 1 + BLOOM_BYTES;
}

uint32_t q42_postings_encode(const uint64_t *field, uint32_t n, uint8_t *out) {
    value_set set;
    collect(&set, field, n);
    if (set.n > MAX_LIST_VALUES) {
        return write_filter(set.values, set.n, out);
    }
    sort_values(set.values, set.n);
    const bool is_list = set.n <= ALWAYS_LISTED || list_size(set.values, set.n) <= 1 + BLOOM_BYTES;
    return is_list ? write_list(set.values, set.n, out) : write_filter(set.values, set.n, out);
}
