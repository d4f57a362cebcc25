/* endian.h — little-endian loads and stores at any address.
 *
 * Threading: pure.
 */
#ifndef FMT_ENDIAN_H
#define FMT_ENDIAN_H
#include <stdint.h>
#include <string.h>

/* A copy and, on big-endian machines, a swap: compilers make it one load or store, also inside vectorised loops. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LITTLE_16(value) (value)
#define LITTLE_32(value) (value)
#define LITTLE_64(value) (value)
#else
#define LITTLE_16(value) __builtin_bswap16(value)
#define LITTLE_32(value) __builtin_bswap32(value)
#define LITTLE_64(value) __builtin_bswap64(value)
#endif

static inline uint16_t load_u16(const uint8_t *at) {
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return LITTLE_16(value);
}

static inline uint32_t load_u32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return LITTLE_32(value);
}

static inline uint64_t load_u64(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return LITTLE_64(value);
}

static inline void store_u16(uint8_t *at, uint16_t value) {
    const uint16_t bytes = LITTLE_16(value);
    memcpy(at, &bytes, sizeof bytes);
}

static inline void store_u32(uint8_t *at, uint32_t value) {
    const uint32_t bytes = LITTLE_32(value);
    memcpy(at, &bytes, sizeof bytes);
}

static inline void store_u64(uint8_t *at, uint64_t value) {
    const uint64_t bytes = LITTLE_64(value);
    memcpy(at, &bytes, sizeof bytes);
}

#endif
