/* crc32c_clmul.c — folding of 64 bytes a step with 128-bit carry-less products: one stream from memory. */
#include "crc32c_paths.h"

#include "crc32c_x86.h"

#define STEP 64

static __m128i load_16(const uint8_t *at) {
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

uint32_t crc32c_extend_clmul(uint32_t crc, const void *data, uint64_t size) {
    const uint8_t *bytes = data;
    if (size < STEP) {
        return ~crc32c_serial(~crc, bytes, size);
    }
    const __m128i over_512 = crc32c_fold_pair(CRC32C_FOLD_512);
    const __m128i over_128 = crc32c_fold_pair(CRC32C_FOLD_128);
    __m128i a = _mm_xor_si128(load_16(bytes), _mm_cvtsi32_si128((int)~crc));
    __m128i b = load_16(bytes + 16);
    __m128i c = load_16(bytes + 32);
    __m128i d = load_16(bytes + 48);
    for (bytes += STEP, size -= STEP; size >= STEP; bytes += STEP, size -= STEP) {
        crc32c_prefetch(bytes, STEP);
        a = _mm_xor_si128(crc32c_fold(a, over_512), load_16(bytes));
        b = _mm_xor_si128(crc32c_fold(b, over_512), load_16(bytes + 16));
        c = _mm_xor_si128(crc32c_fold(c, over_512), load_16(bytes + 32));
        d = _mm_xor_si128(crc32c_fold(d, over_512), load_16(bytes + 48));
    }
    b = _mm_xor_si128(crc32c_fold(a, over_128), b);
    c = _mm_xor_si128(crc32c_fold(b, over_128), c);
    d = _mm_xor_si128(crc32c_fold(c, over_128), d);
    return ~crc32c_serial(crc32c_reduce(d), bytes, size);
}
