/* blk_pack_avx512.c — packing sixteen rows at once in 512-bit registers. */
#include <immintrin.h>
#include <stdint.h>

#define LANES 16
#define PACK_PANEL blk_pack_avx512

typedef __m512i vec;

static inline __m256i load_32(const uint8_t *at) {
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

static inline __m128i load_16(const uint8_t *at) {
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* This row and the eighth behind it. */
static inline vec join_32(const uint8_t *at, uint64_t row_bytes) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(load_32(at)), load_32(at + 8 * row_bytes), 1);
}

/* This row and every fourth behind it. */
static inline vec join_16(const uint8_t *at, uint64_t row_bytes) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(at)), load_16(at + 4 * row_bytes), 1);
    const __m256i high =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(at + 8 * row_bytes)), load_16(at + 12 * row_bytes), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

static inline vec low_32(vec a, vec b) {
    return _mm512_unpacklo_epi32(a, b);
}

static inline vec high_32(vec a, vec b) {
    return _mm512_unpackhi_epi32(a, b);
}

static inline vec low_64(vec a, vec b) {
    return _mm512_unpacklo_epi64(a, b);
}

static inline vec high_64(vec a, vec b) {
    return _mm512_unpackhi_epi64(a, b);
}

static inline vec cross_low(vec a, vec b) {
    return _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b);
}

static inline vec cross_high(vec a, vec b) {
    return _mm512_permutex2var_epi64(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b);
}

static inline vec keep(vec a, uint8_t bits) {
    return _mm512_and_si512(a, _mm512_set1_epi8((char)bits));
}

static inline vec flip(vec a, uint8_t bits) {
    return _mm512_xor_si512(a, _mm512_set1_epi8((char)bits));
}

static inline vec shift_left(vec a, int by) {
    return _mm512_slli_epi16(a, (unsigned)by);
}

static inline vec shift_right(vec a, int by) {
    return _mm512_srli_epi16(a, (unsigned)by);
}

static inline vec choose(uint8_t mask, vec a, vec b) {
    return _mm512_ternarylogic_epi64(_mm512_set1_epi8((char)mask), a, b, 0xCA);
}

static inline void put(uint8_t *at, vec a) {
    _mm512_storeu_si512(at, a);
}

static inline void put_low_halves(uint8_t *at, vec a) {
    _mm256_storeu_si256((__m256i *)(void *)at, _mm512_cvtepi32_epi16(a));
}

static inline void put_high_halves(uint8_t *at, vec a) {
    put_low_halves(at, _mm512_srli_epi32(a, 16));
}

static inline void put_bytes(uint8_t *at, vec a) {
    const vec by_byte = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const vec by_word = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    put(at, _mm512_permutexvar_epi32(by_word, _mm512_shuffle_epi8(a, by_byte)));
}

#include "blk_pack_simd.h"
