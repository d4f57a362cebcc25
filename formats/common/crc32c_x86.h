/* crc32c_x86.h — what the x86 paths share; include it only in files compiled with -msse4.2 -mpclmul or more.
 *
 * Folding: with V the register file's 128 bits read as a reflected polynomial (bit 127 of V stands for x^0), moving V
 * over D bits of the message is V * x^D mod P, but any value congruent to it will do, so each half of V is multiplied
 * by a 32-bit constant: the lower one (the earlier bytes) by x^(D + 31) mod P, the upper one by x^(D - 33) mod P,
 * both reflected. The odd exponents make up for where a product of 64 by 32 bits lies in 128.
 *
 * Threading: pure.
 */
#ifndef FMT_CRC32C_X86_H
#define FMT_CRC32C_X86_H
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/*                       x^(D + 31)   x^(D - 33) */
#define CRC32C_FOLD_128  0xF20C0DFE, 0x493C7D27
#define CRC32C_FOLD_256  0x3DA6D0CB, 0xBA4FC28E
#define CRC32C_FOLD_384  0x1C291D04, 0xDDC0152B
#define CRC32C_FOLD_512  0x740EEF02, 0x9E4ADDF8
#define CRC32C_FOLD_1024 0x6992CEA2, 0x0D3B6092
#define CRC32C_FOLD_2048 0xDCB17AA4, 0xB9E02B86

/* One stream from memory is bound by how many lines are on their way: measured at 1 GiB, asking this far ahead made the
 * 512-bit path a third faster; in cache it costs a seventh. Asking beyond the end of the data is harmless. */
#define CRC32C_AHEAD 16384

static inline void crc32c_prefetch(const uint8_t *bytes, int size) {
    for (int line = 0; line < size; line += 64) {
        _mm_prefetch((const void *)((uintptr_t)bytes + CRC32C_AHEAD + (uintptr_t)line), _MM_HINT_T1);
    }
}

static inline uint64_t crc32c_load_8(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The instruction itself, one stream. `state` is the register, without complements. */
static inline uint32_t crc32c_serial(uint32_t state, const uint8_t *bytes, uint64_t size) {
    uint64_t wide = state;
    for (; size >= 8; size -= 8, bytes += 8) {
        wide = _mm_crc32_u64(wide, crc32c_load_8(bytes));
    }
    state = (uint32_t)wide;
    for (; size > 0; size--, bytes++) {
        state = _mm_crc32_u8(state, *bytes);
    }
    return state;
}

/* Register after the 16 bytes of `folded`, begun at 0: what V is congruent to. */
static inline uint32_t crc32c_reduce(__m128i folded) {
    const uint64_t low = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(folded));
    return (uint32_t)_mm_crc32_u64(low, (uint64_t)_mm_extract_epi64(folded, 1));
}

static inline __m128i crc32c_fold_pair(long long low, long long high) {
    return _mm_set_epi64x(high, low);
}

static inline __m128i crc32c_fold(__m128i value, __m128i factors) {
    return _mm_xor_si128(_mm_clmulepi64_si128(value, factors, 0x00), _mm_clmulepi64_si128(value, factors, 0x11));
}

#endif
