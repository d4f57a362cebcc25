/* timestamp.c — the time that a volume is stamped with. */
#include <stdlib.h>
#include <time.h>

#include "common/checked.h"
#include "graph/volume_writer.h"

static qn_status read_epoch(const char *text, uint64_t *out_ms, error_context *err) {
    uint64_t ms = 0;
    bool fits = true;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        fits = fits && checked_mul(ms, 10, &ms) && checked_add(ms, (uint64_t)(*at - '0') * 1000, &ms);
    }
    if (at == text || *at != 0 || !fits) {
        return FAIL(err, QN_BAD_INPUT, "SOURCE_DATE_EPOCH is \"%s\": it must be a number of seconds since 1970", text);
    }
    *out_ms = ms;
    return QN_OK;
}

qn_status volume_timestamp(uint64_t *out_ms, error_context *err) {
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    if (epoch != NULL && epoch[0] != 0) {
        return read_epoch(epoch, out_ms, err);
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *out_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return QN_OK;
}
