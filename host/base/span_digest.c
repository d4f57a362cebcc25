/* span_digest.c — SHA-256 in pieces of 4 MiB. */
#include "base/span_digest.h"

#include <stddef.h>

#define STEP (UINT64_C(4) << 20)

fmt_status span_digest(fmt_span span, const span_watch *watch, uint8_t out[SHA256_BYTES]) {
    sha256_stream stream;
    if (!sha256_begin(&stream)) {
        return FMT_NO_SPACE;
    }
    for (uint64_t at = 0, size; at < span.size; at += size) {
        size = span.size - at < STEP ? span.size - at : STEP;
        sha256_add(&stream, span.data + at, size);
        if (watch->release != NULL) {
            watch->release(watch->release_ctx, at, size);
        }
        if (watch->progress != NULL && !watch->progress(watch->progress_ctx, at + size, span.size)) {
            sha256_abandon(&stream);
            return FMT_CANCELLED;
        }
    }
    return sha256_end(&stream, out) ? FMT_OK : FMT_NO_SPACE;
}
