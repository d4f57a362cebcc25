/* crc32c_sse42.c — the crc32 instruction on three streams at once: it takes a new word each cycle but answers after
 * three.
 *
 * A stretch is cut in three lanes of equal length; the registers of the first two are then moved over the lanes
 * behind them by one carry-less product each.
 */
#include "crc32c_paths.h"

#include "crc32c_x86.h"

/* Lane lengths in bytes, and x^(16 * lane - 33), x^(8 * lane - 33) mod P, reflected. */
#define LONG_LANE 2048
#define LONG_OVER_2 0x82F89C77u
#define LONG_OVER_1 0xA51B6135u
#define SHORT_LANE 256
#define SHORT_OVER_2 0xDD7E3B0Cu
#define SHORT_OVER_1 0xB9E02B86u

static __m128i multiply(uint64_t state, uint32_t factor) {
    return _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)state), _mm_cvtsi64_si128((long long)factor), 0x00);
}

static uint32_t take_three_lanes(uint32_t state, const uint8_t *bytes, uint64_t lane, uint32_t over_2,
                                 uint32_t over_1) {
    uint64_t a = state;
    uint64_t b = 0;
    uint64_t c = 0;
    for (uint64_t i = 0; i < lane; i += 8) {
        a = _mm_crc32_u64(a, crc32c_load_8(bytes + i));
        b = _mm_crc32_u64(b, crc32c_load_8(bytes + lane + i));
        c = _mm_crc32_u64(c, crc32c_load_8(bytes + 2 * lane + i));
    }
    const __m128i moved = _mm_xor_si128(multiply(a, over_2), multiply(b, over_1));
    return (uint32_t)(_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(moved)) ^ c);
}

uint32_t crc32c_extend_sse42(uint32_t crc, const void *data, uint64_t size) {
    const uint8_t *bytes = data;
    uint32_t state = ~crc;
    for (; size >= 3 * LONG_LANE; size -= 3 * LONG_LANE, bytes += 3 * LONG_LANE) {
        state = take_three_lanes(state, bytes, LONG_LANE, LONG_OVER_2, LONG_OVER_1);
    }
    for (; size >= 3 * SHORT_LANE; size -= 3 * SHORT_LANE, bytes += 3 * SHORT_LANE) {
        state = take_three_lanes(state, bytes, SHORT_LANE, SHORT_OVER_2, SHORT_OVER_1);
    }
    return ~crc32c_serial(state, bytes, size);
}
