/* crc32c_avx2.c — folding of 128 bytes a step with pairs of carry-less products in 256-bit registers. */
#include "crc32c_paths.h"

#include "crc32c_x86.h"

#define STEP 128

static __m256i load_32(const uint8_t *at) {
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

static __m256i fold(__m256i value, __m256i factors, __m256i next) {
    const __m256i low = _mm256_clmulepi64_epi128(value, factors, 0x00);
    const __m256i high = _mm256_clmulepi64_epi128(value, factors, 0x11);
    return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}

static uint32_t reduce(__m256i value) {
    const __m128i first = crc32c_fold(_mm256_castsi256_si128(value), crc32c_fold_pair(CRC32C_FOLD_128));
    return crc32c_reduce(_mm_xor_si128(first, _mm256_extracti128_si256(value, 1)));
}

uint32_t crc32c_extend_avx2(uint32_t crc, const void *data, uint64_t size) {
    const uint8_t *bytes = data;
    if (size < STEP) {
        return ~crc32c_serial(~crc, bytes, size);
    }
    const __m256i over_1024 = _mm256_broadcastsi128_si256(crc32c_fold_pair(CRC32C_FOLD_1024));
    const __m256i over_256 = _mm256_broadcastsi128_si256(crc32c_fold_pair(CRC32C_FOLD_256));
    __m256i a = _mm256_xor_si256(load_32(bytes), _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)~crc)));
    __m256i b = load_32(bytes + 32);
    __m256i c = load_32(bytes + 64);
    __m256i d = load_32(bytes + 96);
    for (bytes += STEP, size -= STEP; size >= STEP; bytes += STEP, size -= STEP) {
        crc32c_prefetch(bytes, STEP);
        a = fold(a, over_1024, load_32(bytes));
        b = fold(b, over_1024, load_32(bytes + 32));
        c = fold(c, over_1024, load_32(bytes + 64));
        d = fold(d, over_1024, load_32(bytes + 96));
    }
    d = fold(fold(fold(a, over_256, b), over_256, c), over_256, d);
    for (; size >= 32; bytes += 32, size -= 32) {
        d = fold(d, over_256, load_32(bytes));
    }
    return ~crc32c_serial(reduce(d), bytes, size);
}
