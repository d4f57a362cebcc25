/* blk_pack_avx2.c — packing eight rows at once in 256-bit registers. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LANES 8
#define PACK_PANEL blk_pack_avx2

typedef __m256i vec;

static inline __m128i load_16(const uint8_t *at) {
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline vec join_32(const uint8_t *at, uint64_t row_bytes) {
    (void)row_bytes;
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

/* This row and the fourth behind it. */
static inline vec join_16(const uint8_t *at, uint64_t row_bytes) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(at)), load_16(at + 4 * row_bytes), 1);
}

static inline vec low_32(vec a, vec b) {
    return _mm256_unpacklo_epi32(a, b);
}

static inline vec high_32(vec a, vec b) {
    return _mm256_unpackhi_epi32(a, b);
}

static inline vec low_64(vec a, vec b) {
    return _mm256_unpacklo_epi64(a, b);
}

static inline vec high_64(vec a, vec b) {
    return _mm256_unpackhi_epi64(a, b);
}

static inline vec cross_low(vec a, vec b) {
    return _mm256_permute2x128_si256(a, b, 0x20);
}

static inline vec cross_high(vec a, vec b) {
    return _mm256_permute2x128_si256(a, b, 0x31);
}

static inline vec keep(vec a, uint8_t bits) {
    return _mm256_and_si256(a, _mm256_set1_epi8((char)bits));
}

static inline vec flip(vec a, uint8_t bits) {
    return _mm256_xor_si256(a, _mm256_set1_epi8((char)bits));
}

static inline vec shift_left(vec a, int by) {
    return _mm256_slli_epi16(a, by);
}

static inline vec shift_right(vec a, int by) {
    return _mm256_srli_epi16(a, by);
}

static inline vec choose(uint8_t mask, vec a, vec b) {
    const vec bits = _mm256_set1_epi8((char)mask);
    return _mm256_or_si256(_mm256_and_si256(bits, a), _mm256_andnot_si256(bits, b));
}

static inline void put(uint8_t *at, vec a) {
    _mm256_storeu_si256((__m256i *)(void *)at, a);
}

/* Bytes of each 128 bits brought together by `order`, then its words by 0, 4, 1, 5, 2, 6, 3, 7. */
static inline vec gather(vec a, __m128i order) {
    const vec in_halves = _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(order));
    return _mm256_permutevar8x32_epi32(in_halves, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

static inline void put_low_halves(uint8_t *at, vec a) {
    const vec in_halves = _mm256_shuffle_epi8(
        a, _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1)));
    const vec halves = _mm256_permute4x64_epi64(in_halves, 0x08);
    _mm_storeu_si128((__m128i *)(void *)at, _mm256_castsi256_si128(halves));
}

static inline void put_high_halves(uint8_t *at, vec a) {
    put_low_halves(at, _mm256_srli_epi32(a, 16));
}

static inline void put_bytes(uint8_t *at, vec a) {
    uint8_t bytes[32];
    put(bytes, gather(a, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
    for (int j = 0; j < 4; j++) {
        memcpy(at + 16 * j, bytes + 8 * j, 8);
    }
}

#include "blk_pack_simd.h"
