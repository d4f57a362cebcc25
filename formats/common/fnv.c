/* fnv.c — FNV-1a-64, byte by byte as its definition says. */
#include "fnv.h"

uint64_t fnv1a64_more(uint64_t before, const void *data, uint64_t size) {
    const uint8_t *bytes = data;
    uint64_t hash = before;
    for (uint64_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    }
    return hash;
}

uint64_t fnv1a64(const void *data, uint64_t size) {
    return fnv1a64_more(UINT64_C(0xCBF29CE484222325), data, size);
}

uint64_t fnv_q_hash(const void *data, uint64_t size) {
    return fnv1a64(data, size) & FNV_Q_MASK;
}
