/* crc32c_avx512.c — folding of 256 bytes a step with carry-less products, four at once, in 512-bit registers. */
#include "crc32c_paths.h"

#include "crc32c_x86.h"

#define STEP 256

static __m512i load_64(const uint8_t *at) {
    return _mm512_loadu_si512(at);
}

static __m512i fold(__m512i value, __m512i factors, __m512i next) {
    const __m512i low = _mm512_clmulepi64_epi128(value, factors, 0x00);
    const __m512i high = _mm512_clmulepi64_epi128(value, factors, 0x11);
    return _mm512_ternarylogic_epi64(low, high, next, 0x96); /* low ^ high ^ next */
}

/* The first three quarters are moved onto the last one. */
static uint32_t reduce(__m512i value) {
    const __m128i q0 = crc32c_fold(_mm512_castsi512_si128(value), crc32c_fold_pair(CRC32C_FOLD_384));
    const __m128i q1 = crc32c_fold(_mm512_extracti32x4_epi32(value, 1), crc32c_fold_pair(CRC32C_FOLD_256));
    const __m128i q2 = crc32c_fold(_mm512_extracti32x4_epi32(value, 2), crc32c_fold_pair(CRC32C_FOLD_128));
    const __m128i q3 = _mm512_extracti32x4_epi32(value, 3);
    return crc32c_reduce(_mm_xor_si128(_mm_xor_si128(q0, q1), _mm_xor_si128(q2, q3)));
}

uint32_t crc32c_extend_avx512(uint32_t crc, const void *data, uint64_t size) {
    const uint8_t *bytes = data;
    if (size < STEP) {
        return ~crc32c_serial(~crc, bytes, size);
    }
    const __m512i over_2048 = _mm512_broadcast_i32x4(crc32c_fold_pair(CRC32C_FOLD_2048));
    const __m512i over_512 = _mm512_broadcast_i32x4(crc32c_fold_pair(CRC32C_FOLD_512));
    __m512i a = _mm512_xor_si512(load_64(bytes), _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
    __m512i b = load_64(bytes + 64);
    __m512i c = load_64(bytes + 128);
    __m512i d = load_64(bytes + 192);
    for (bytes += STEP, size -= STEP; size >= STEP; bytes += STEP, size -= STEP) {
        crc32c_prefetch(bytes, STEP);
        a = fold(a, over_2048, load_64(bytes));
        b = fold(b, over_2048, load_64(bytes + 64));
        c = fold(c, over_2048, load_64(bytes + 128));
        d = fold(d, over_2048, load_64(bytes + 192));
    }
    d = fold(fold(fold(a, over_512, b), over_512, c), over_512, d);
    for (; size >= 64; bytes += 64, size -= 64) {
        d = fold(d, over_512, load_64(bytes));
    }
    return ~crc32c_serial(reduce(d), bytes, size);
}
