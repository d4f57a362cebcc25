/* cursor.h — a little-endian reader over a span with a sticky error: read a whole record, then ask once whether all
 * of it was there. A read past the end gives zero, moves nothing and sets `failed_at` to the offset of the first read
 * that did not fit.
 *
 * Threading: one thread at a time per cursor.
 * Memory:    borrows the span.
 */
#ifndef FMT_CURSOR_H
#define FMT_CURSOR_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <quoin/span.h>

#define CURSOR_OK UINT64_MAX

typedef struct cursor {
    fmt_span span;
    uint64_t at;        /* next byte; always <= span.size */
    uint64_t failed_at; /* CURSOR_OK, or where the first read failed */
} cursor;

static inline cursor cursor_make(fmt_span span, uint64_t at) {
    const cursor c = {span, at <= span.size ? at : span.size, at <= span.size ? CURSOR_OK : at};
    return c;
}

static inline uint64_t cursor_left(const cursor *c) {
    return c->span.size - c->at;
}

static inline bool cursor_ok(const cursor *c) {
    return c->failed_at == CURSOR_OK;
}

/* The next `size` bytes, or null (and failed) when fewer are left. */
static inline const uint8_t *cursor_bytes(cursor *c, uint64_t size) {
    if (!cursor_ok(c) || size > cursor_left(c)) {
        if (cursor_ok(c)) {
            c->failed_at = c->at;
        }
        return NULL;
    }
    const uint8_t *bytes = c->span.data + c->at;
    c->at += size;
    return bytes;
}

static inline uint64_t cursor_uint(cursor *c, unsigned size) {
    const uint8_t *bytes = cursor_bytes(c, size);
    uint64_t value = 0;
    for (unsigned i = 0; bytes != NULL && i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static inline uint8_t cursor_u8(cursor *c) {
    return (uint8_t)cursor_uint(c, 1);
}

static inline uint16_t cursor_u16(cursor *c) {
    return (uint16_t)cursor_uint(c, 2);
}

static inline uint32_t cursor_u32(cursor *c) {
    return (uint32_t)cursor_uint(c, 4);
}

static inline uint64_t cursor_u64(cursor *c) {
    return cursor_uint(c, 8);
}

static inline float cursor_f32(cursor *c) {
    const uint32_t bits = cursor_u32(c);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
