/* ntr_lines.c — where lines end, for cutting a file into chunks. */
#include "ntr_bytes.h"
#include "ntr_internal.h"

/* A CR at the very end may be half of a CR LF: only what follows tells. */
uint64_t ntriples_whole_lines(fmt_span bytes) {
    uint64_t size = bytes.size;
    if (size > 0 && bytes.data[size - 1] == '\r') {
        size--;
    }
    while (size > 0 && !ntr_is_line_end(bytes.data[size - 1])) {
        size--;
    }
    return size;
}

static uint64_t count_line_ends_slowly(const uint8_t *bytes, uint64_t size, uint8_t before) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < size; i++) {
        n += bytes[i] == '\r' || (bytes[i] == '\n' && before != '\r');
        before = bytes[i];
    }
    return n;
}

uint64_t ntriples_count_lines(fmt_span bytes) {
    uint64_t at = 0, n = 0;
#if defined(__SSE2__)
    /* Line feeds are counted sixteen at a time; a carriage return among them is looked at closely. */
    const __m128i feed = _mm_set1_epi8('\n'), back = _mm_set1_epi8('\r');
    for (; bytes.size - at >= 16; at += 16) {
        const __m128i some = _mm_loadu_si128((const __m128i *)(const void *)(bytes.data + at));
        const int backs = _mm_movemask_epi8(_mm_cmpeq_epi8(some, back));
        const bool is_split = at > 0 && bytes.data[at - 1] == '\r';
        if (backs != 0 || is_split) {
            n += count_line_ends_slowly(bytes.data + at, 16, is_split ? '\r' : 0);
        } else {
            n += (uint64_t)__builtin_popcount((unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(some, feed)));
        }
    }
#endif
    return n + count_line_ends_slowly(bytes.data + at, bytes.size - at, at > 0 ? bytes.data[at - 1] : 0);
}
