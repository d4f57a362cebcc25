/* span.h — a read-only range of bytes: what every reader of this library takes.
 *
 * Threading: a value; nothing is shared.
 * Memory:    borrowed; the bytes belong to whoever made the span (usually a file mapping).
 */
#ifndef QUOIN_SPAN_H
#define QUOIN_SPAN_H
#include <stddef.h>
#include <stdint.h>

typedef struct fmt_span {
    const uint8_t *data; /* may be null when size is 0 */
    uint64_t size;       /* bytes */
} fmt_span;

/* A string inside a span: not terminated, length in bytes. */
typedef struct fmt_str {
    const char *data;
    uint64_t size;
} fmt_str;

#endif
