/* cf_sizes.c — one struct in all its sizes. */
#include <string.h>

#include "protocol/protocol.h"

#define MOST_BYTES 512u
#define MORE_BYTES 64u

typedef struct sized {
    cf_context *ctx;
    const char *what;
    const void *good;
    uint32_t size;
    size_call *call;
    void *arg;
    _Alignas(16) unsigned char bytes[MOST_BYTES];
} sized;

/* The struct with this size, and byte `dirty` behind it set (0: none). */
static qn_status try_size(sized *s, uint32_t size, uint32_t dirty, qn_error *error) {
    memset(s->bytes, 0, sizeof s->bytes);
    memcpy(s->bytes, s->good, s->size);
    memcpy(s->bytes, &size, sizeof size);
    if (dirty > 0) {
        s->bytes[s->size + dirty - 1] = 1;
    }
    cf_clear(error);
    return s->call(s->ctx, s->arg, s->bytes, error);
}

void require_sizes(cf_context *ctx, const char *what, const void *good, uint32_t size, uint32_t least, size_call *call, void *arg) {
    static const uint32_t dirty[] = {1, 2, 33, MORE_BYTES};
    const uint32_t shorter[] = {least - 1, least - 4, least / 2, 4, 0};
    sized s = {.ctx = ctx, .what = what, .good = good, .size = size, .call = call, .arg = arg};
    qn_error error;
    CF_CHECK(ctx, size + MORE_BYTES <= sizeof s.bytes, "%s has %u bytes, more than the test has room for", what, size);
    if (cf_case(ctx, "%s of its own size", what)) {
        cf_done(ctx, what, try_size(&s, size, 0, &error), &error);
    }
    if (cf_case(ctx, "%s with 64 more bytes, all zero", what)) {
        cf_done(ctx, what, try_size(&s, size + MORE_BYTES, 0, &error), &error);
    }
    for (size_t i = 0; i < CF_COUNT_OF(dirty); i++) {
        if (cf_case(ctx, "%s with byte %u behind its end set", what, dirty[i])) {
            cf_refused(ctx, what, try_size(&s, size + MORE_BYTES, dirty[i], &error), QN_TOO_NEW, &error);
        }
    }
    for (size_t i = 0; i < CF_COUNT_OF(shorter); i++) {
        if (cf_case(ctx, "%s of %u bytes instead of %u", what, shorter[i], size)) {
            cf_refused(ctx, what, try_size(&s, shorter[i], 0, &error), QN_BAD_ARG, &error);
        }
    }
}
