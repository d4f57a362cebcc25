/* ntr_bytes.h — running over bytes that need no thought, sixteen at a time where the processor has vectors of sixteen.
 *
 * Threading: pure.
 */
#ifndef NTR_BYTES_H
#define NTR_BYTES_H
#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Classes of a byte, a bit each. */
#define NTR_IRI_PLAIN 1u     /* ASCII that may stand in an IRI */
#define NTR_QUOTED_PLAIN 2u  /* ASCII that stands for itself in a literal */
#define NTR_LABEL_FIRST 4u   /* ASCII that may begin a label */
#define NTR_LABEL_REST 8u    /* ASCII that may follow in a label, the dot counted */
#define NTR_LETTER 16u
#define NTR_DIGIT 32u
#define NTR_SCHEME_REST 64u  /* may follow in a scheme */
#define NTR_HEX 128u

extern const uint8_t ntr_classes[256];

static inline int ntr_is(uint8_t byte, uint8_t classes) {
    return (ntr_classes[byte] & classes) != 0;
}

static inline const uint8_t *ntr_skip_class(const uint8_t *at, const uint8_t *end, uint8_t classes) {
    while (at < end && ntr_is(*at, classes)) {
        at++;
    }
    return at;
}

#if defined(__SSE2__)
/* All bits of a byte are set where the sixteen bytes hold what ends a run of NTR_IRI_PLAIN. */
static inline __m128i ntr_iri_stops(__m128i bytes) {
    const __m128i two = _mm_set1_epi8(2);
    const __m128i paired = _mm_or_si128(bytes, two); /* < becomes >, and \ becomes ^ */
    /* As signed numbers, 80..FF are below 21 like white space and controls; { | } are 7B..7D. */
    __m128i stops = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x21));
    stops = _mm_or_si128(stops, _mm_cmpeq_epi8(paired, _mm_set1_epi8('>')));
    stops = _mm_or_si128(stops, _mm_cmpeq_epi8(paired, _mm_set1_epi8('^')));
    stops = _mm_or_si128(stops, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    stops = _mm_or_si128(stops, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('`')));
    const __m128i brace = _mm_sub_epi8(bytes, _mm_set1_epi8('{'));
    return _mm_or_si128(stops, _mm_cmpeq_epi8(_mm_min_epu8(brace, two), brace));
}

static inline __m128i ntr_quoted_stops(__m128i bytes) {
    __m128i stops = bytes; /* the top bit of a byte of 80..FF is what movemask takes */
    stops = _mm_or_si128(stops, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    stops = _mm_or_si128(stops, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    stops = _mm_or_si128(stops, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));
    return _mm_or_si128(stops, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));
}

#define NTR_RUN(stops_of) \
    while (end - at >= 16) { \
        const int stops = _mm_movemask_epi8(stops_of(_mm_loadu_si128((const __m128i *)(const void *)at))); \
        if (stops != 0) { \
            return at + __builtin_ctz((unsigned)stops); \
        } \
        at += 16; \
    }
#else
#define NTR_RUN(stops_of)
#endif

/* The first byte from `at` on that is not of the class, or `end`. */
static inline const uint8_t *ntr_skip_iri_plain(const uint8_t *at, const uint8_t *end) {
    NTR_RUN(ntr_iri_stops)
    return ntr_skip_class(at, end, NTR_IRI_PLAIN);
}

static inline const uint8_t *ntr_skip_quoted_plain(const uint8_t *at, const uint8_t *end) {
    NTR_RUN(ntr_quoted_stops)
    return ntr_skip_class(at, end, NTR_QUOTED_PLAIN);
}

#endif
