/* crc32c_armv8.c — the CRC32 instructions of ARMv8 on three streams at once. No carry-less product is used: cheap cores
 * have the CRC instructions but not that one. The lanes are long enough to hide two products in plain arithmetic. */
#include "crc32c_paths.h"

#include <arm_acle.h>
#include <string.h>

/* Lane length in bytes, and x^(16 * lane), x^(8 * lane) mod P, reflected. */
#define LANE 8192
#define OVER_2_LANES 0xBF455269u
#define OVER_1_LANE 0x28461564u

static uint64_t load_8(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t take_three_lanes(uint32_t state, const uint8_t *bytes) {
    uint32_t a = state;
    uint32_t b = 0;
    uint32_t c = 0;
    for (uint64_t i = 0; i < LANE; i += 8) {
        a = __crc32cd(a, load_8(bytes + i));
        b = __crc32cd(b, load_8(bytes + LANE + i));
        c = __crc32cd(c, load_8(bytes + 2 * LANE + i));
    }
    return crc32c_multiply(a, OVER_2_LANES) ^ crc32c_multiply(b, OVER_1_LANE) ^ c;
}

uint32_t crc32c_extend_armv8(uint32_t crc, const void *data, uint64_t size) {
    const uint8_t *bytes = data;
    uint32_t state = ~crc;
    for (; size >= 3 * LANE; size -= 3 * LANE, bytes += 3 * LANE) {
        state = take_three_lanes(state, bytes);
    }
    for (; size >= 8; size -= 8, bytes += 8) {
        state = __crc32cd(state, load_8(bytes));
    }
    for (; size > 0; size--, bytes++) {
        state = __crc32cb(state, *bytes);
    }
    return ~state;
}
